/* SPDX-License-Identifier: MIT */
/* drive/internal.h - the records of drive/; internal to it. */
#ifndef DRIVE_INTERNAL_H
#define DRIVE_INTERNAL_H

#include <netdb.h>
#include <stdatomic.h>

#include "drive/drive.h"
#include "drive/errand.h"
#include "drive/jobs.h"
#include "drive/resolve.h"
#include "drive/spin.h"
#include "drive/tls_shared.h"

#define INPUT_BYTES 16384

struct dibs_canceller {
  atomic_bool has_fired;
  int fd;
};

/* The payload of an epoll event: a kind, and a number that distinguishes the present
 * socket from an earlier one with the same descriptor. */
typedef enum source {
  SOURCE_WAKE = 1, SOURCE_TIMER, SOURCE_LINKS, SOURCE_CALLBACKS,     /* in main */
  SOURCE_LEADER, SOURCE_SOCKET, SOURCE_RESOLVED, SOURCE_FILES,       /* in links */
  SOURCE_CANCELLER
} source;

static inline uint64_t source_word(source kind, uint64_t number)
{
  return number << 8 | (uint64_t)kind;
}

/* An event of `links` concerns a socket, or a name resolution, of a link. */
enum { LINK_BITS = 10 };

static inline uint64_t link_word(uint64_t number, int link)
{
  _Static_assert(ENGINE_LINKS_MAX <= 1 << LINK_BITS, "a link fits into an event");
  return number << LINK_BITS | (uint64_t)link;
}

static inline int link_of_word(uint64_t word)
{
  return (int)(word & ((1u << LINK_BITS) - 1));
}

typedef enum transport_state {
  TRANSPORT_NONE = 0, TRANSPORT_READING, TRANSPORT_RESOLVING, TRANSPORT_CONNECTING,
  TRANSPORT_GREETING, TRANSPORT_UP
} transport_state;

#define ATTEMPTS_MAX 8

/* One address of a server, being tried. */
typedef struct attempt {
  int fd;
  uint64_t number;                /* of this socket; new for each */
  const struct addrinfo *address; /* NULL: a unix socket */
} attempt;

/* The way to a connected socket: name resolution, then attempts. */
typedef struct dial {
  resolve *question;
  struct addrinfo *addresses;     /* all; freed with the connection */
  const struct addrinfo *next[2]; /* not tried yet: of the first family, of others */
  int turn;                       /* the family of the next attempt */
  attempt attempts[ATTEMPTS_MAX]; /* active ones, the oldest first */
  int count;
  instant next_at;                /* the next attempt begins then */
} dial;

/* The target of a link. Copied: the engine only lends it. */
typedef struct place {
  char *host, *path;              /* path: a unix socket */
  char *name;                     /* expected in the server's certificate */
  char port[8];
  char shown[300];                /* for people */
} place;

typedef struct reading reading;   /* files.c */

/* A connection of the engine, made of descriptors. Freed with its drive only: a reader may
 * notice later that it was closed meanwhile. */
typedef struct transport {
  transport_state state;
  int link;                       /* its number in the engine */
  int fd;                         /* -1: none, or not connected yet */
  uint64_t number;                /* of this socket; new for each */
  uint32_t events;                /* watched by epoll */
  tls_session *tls;
  buffer ciphertext;              /* made by TLS, not yet sent */
  place place;
  tls_context *context;           /* borrowed from tls_shared; NULL: no TLS */
  reading *reading;               /* of files; may be of an earlier attempt. NULL: none */
  uint64_t reading_number;
  instant read_until;             /* TRANSPORT_READING: then it is not awaited any more */
  dial dial;
  const struct addrinfo *address; /* connected, or failed last */
  char words[200];                /* the fault */
} transport;

/* A canceller that requests of this client use. */
typedef struct watched {
  struct watched *next;
  dibs_canceller *canceller;
  size_t uses;
  uint64_t number;
} watched;

struct drive {
  memory memory;
  uint64_t epoch;                 /* fork_epoch() of the creator */
  pthread_mutex_t mutex;          /* the client's mutex: all below, but constants */
  engine *engine;
  drive_handler handler;
  bool has_thread, has_callback_thread;

  int main_fd, links_fd, wake_fd, timer_fd, leader_fd, callbacks_fd;
  atomic_bool fd_is_shown;        /* drive_show_fd() */
  instant timer_at;               /* what the timerfd is set to */
  instant alarm_at;               /* drive_alarm() */
  uint64_t number;                /* last number of a socket or name resolution */

  span command_timeout;
  span read_limit;                /* how long a connection waits for files */
  tls_shared tls;
  transport *transports[ENGINE_LINKS_MAX];   /* created at first use */
  int transport_count;            /* later ones are NULL, earlier ones may be */
  resolve *resolves;              /* not answered, or without an asker */
  char up[300];                   /* the server connected last */
  const transport *heard_of;      /* its server replied or failed last; NULL: see node */
  char node[300];
  char input[INPUT_BYTES];

  watched *watched;
  uint64_t watched_number;

  drive_waiter *first_waiter, *last_waiter, *leader, *closer;
  drive_waiter *first_to_wake;
  bool leader_sleeps, links_are_taken;
  /* Of the leader, protected by being the leader: of waits for the server, and of those in which
   * only other clients are waited for. */
  spin_history reply_spins, grant_spins;
  instant show_at;                /* without a leader, `links` is hidden until then */
  size_t waiter_count;
  bool io_leads;                  /* many calls wait: dibs-io reads for all */
  atomic_bool reader_is_awake;    /* it will take the mutex and flush */
  _Atomic(drive_op *) submitted;  /* a stack: to be begun by the owner of the mutex */
  size_t finished;                /* calls that dibs-io has finished in its last round */
  atomic_size_t woken;            /* calls being woken, that do not run yet */
  size_t together;                /* calls whose commands share a packet; 0: none */
  atomic_size_t unsent;           /* calls whose commands wait for those of others */
  bool is_closed;
  bool must_stop;                 /* drive_end_effects(), or the threads are being stopped */
  bool io_thread_runs, callback_thread_runs;
  pthread_t io_thread, callback_thread;
  drive_jobs jobs;
  drive_waiter jobs_waiter;       /* of dibs-callback */
  bool jobs_are_shown;            /* callbacks_fd is readable */

  /* fork_whole.c, protected by its own mutex: */
  drive *next_listed;
  bool stands_still;              /* the forking thread has the mutex */
  bool is_whole;                  /* in a child: consistent, no thread was using it */
};

/* ---- fork_whole.c ---- */
void drive_list(drive *d);
void drive_stay_if_forked(const drive *d);     /* in a child it never returns */
void drive_unlist(drive *d);

/* ---- drive.c ---- */
/* In a forked child: closes its copies of all descriptors but one that the program has, of
 * drive_show_fd(). Of the epoll sets, which the parent has, too, nothing is removed. Calls only
 * close(). */
void descriptors_drop(drive *d);

/* ---- transports.c: all connections, by the engine's numbers ---- */
/* `refusal`: effect.status of EFFECT_CONNECT. */
void transports_open(drive *d, int link, const server_url *server, dibs_status refusal);
void transports_close(drive *d, int link);          /* without a report to the engine */
bool transports_flush(drive *d);                    /* true: a connection broke; reported
                                                       to the engine */
void transports_tick(drive *d, instant now);
instant transports_deadline(const drive *d);
/* In a forked child: closes its copies of the sockets, which the parent still uses. Calls only
 * close(): other threads of the parent may have been inside malloc(). */
void transports_drop(drive *d);
void transports_free(drive *d);
transport *transports_get(const drive *d, int link);         /* NULL: none */

/* ---- transport.c ---- */
void transport_close(drive *d, transport *t);       /* without a report to the engine */
/* Closes it and reports the reason to the engine. */
void transport_fail(drive *d, transport *t, dibs_status why, const char *words);
/* Uses the socket of a successful attempt, which is watched for `events`. */
void transport_connected(drive *d, transport *t, const attempt *a, uint32_t events);
void transport_event(drive *d, transport *t, uint64_t number, uint32_t events);
/* Sends the engine's output. true: the connection broke; reported to the engine. */
bool transport_flush(drive *d, transport *t);
/* Writes a message about the address that is connected, or was tried last. */
void transport_blame(transport *t, const char *what, int fault);

/* ---- dial.c ---- */
void dial_begin(drive *d, transport *t);            /* to its place */
void dial_end(drive *d, transport *t);              /* closes all attempts */
void dial_free(drive *d, transport *t);             /* ends it and frees the addresses */
void dial_event(drive *d, transport *t, uint64_t number, uint32_t events);
void dial_resolved(drive *d, transport *t);         /* its question is answered */
void dial_tick(drive *d, transport *t, instant now);

/* ---- files.c ---- */
/* Reads the files that were refused; then it dials. false: there is nothing to wait for. */
bool files_begin(drive *d, transport *t, const server_url *server, dibs_status refusal);
void files_event(drive *d, transport *t, uint64_t number);
void files_tick(drive *d, transport *t, instant now);
void files_end(drive *d, transport *t);             /* does not wait for the disk */
void files_drop(transport *t);                      /* in a forked child */

/* ---- sockets.c ---- */
/* A non-blocking socket that is connecting; -1 with errno. */
int socket_begin(span command_timeout, const struct addrinfo *address);
int socket_begin_unix(const char *path);
void address_show(const struct addrinfo *address, text *out);
/* Watches it in `links` under a new number; 0 with errno. */
uint64_t socket_watch(drive *d, int link, int fd, source kind, uint32_t events);
void socket_end(drive *d, int fd);

/* ---- effects.c ---- */
void drive_effects(drive *d);
/* After drive_effects(): the rest of drive_flush(); and of drive_flush_all(), for a reader, which
 * sends even while a reader is awake. */
void drive_send(drive *d);
void drive_send_all(drive *d);
void drive_flush_all(drive *d);

/* ---- canceller.c ---- */
void watched_event(drive *d, uint64_t number);

/* ---- loop.c ---- */
dibs_status loop_start(drive *d);
void loop_stop(drive *d);
void loop_timer_set(drive *d);
void loop_show(drive *d, bool are_taken);      /* whether dibs-io sees `links` */
void loop_show_later(drive *d);
void loop_lead(drive *d, instant until);       /* reads once, as the leader */
void loop_show_if_needed(drive *d);    /* before the mutex is released */
int loop_ms_until(instant until);      /* for poll(), rounded up; -1: never */
bool loop_ring(int fd);                /* writes to an eventfd */
void loop_quiet(int fd);               /* empties it */
/* Starts a thread with all signals blocked. `run` sets its name: that is one system call, while the
 * caller would open a file of /proc. */
bool loop_thread(pthread_t *ret_thread, void *(*run)(void *), void *data, bool is_detached);

/* ---- calls.c ---- */
bool calls_are_submitted(const drive *d);
void calls_run(drive *d, drive_waiter *own);

/* ---- waiter.c ---- */
bool drive_try_lock(drive *d);
void waiter_poke(drive *d, drive_waiter *w);     /* mutex held: lets it check its state */
/* Sleeps until poked or `until`. Mutex held on entry and return, not meanwhile. true: it is
 * done, and the mutex is not held. */
bool waiter_sleep(drive *d, drive_waiter *w, instant until);
/* The same without the mutex on entry. */
bool waiter_sleep_outside(drive *d, drive_waiter *w, instant until);
/* Mutex held: returns when no thread uses `w` any more. */
void waiter_part(drive *d, drive_waiter *w);

/* ---- callbacks.c ---- */
void callbacks_stop(drive *d);
/* Mutex held: runs a round of drive_process(); returns as drive_callbacks_run(). */
bool callbacks_serve(drive *d, bool (*round)(drive *d));
bool callbacks_are_served_here(const drive *d);        /* this thread is in that round */

#endif
