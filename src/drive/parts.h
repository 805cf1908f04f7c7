/* SPDX-License-Identifier: MIT */
/* drive/parts.h - the records of this room, for its own files only. */
#ifndef DRIVE_PARTS_H
#define DRIVE_PARTS_H

#include <netdb.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "drive/drive.h"
#include "drive/jobs.h"
#include "drive/resolve.h"
#include "drive/tls.h"

#define INPUT_BYTES 16384

struct dibs_canceller {
  atomic_bool has_fired;
  int fd;
  pid_t maker;
};

/* What an epoll event is about: a kind below, and a number that tells apart the present
 * tenant from an earlier one. */
typedef enum source {
  SOURCE_WAKE = 1, SOURCE_TIMER, SOURCE_LINKS, SOURCE_CALLBACKS,     /* in main */
  SOURCE_LEADER, SOURCE_SOCKET, SOURCE_RESOLVED, SOURCE_CANCELLER    /* in links */
} source;

static inline uint64_t source_word(source kind, uint64_t number)
{
  return number << 8 | (uint64_t)kind;
}

/* What an event of `links` is about is a socket, or a question, of some link. */
static inline uint64_t link_word(uint64_t number, int link)
{
  _Static_assert(ENGINE_LINKS_MAX <= 256, "a link's number has 8 bits in an event");
  return number << 8 | (uint64_t)link;
}

typedef enum transport_state {
  TRANSPORT_NONE = 0, TRANSPORT_RESOLVING, TRANSPORT_CONNECTING, TRANSPORT_GREETING,
  TRANSPORT_UP
} transport_state;

#define ATTEMPTS_MAX 8

/* One address of a server that is being tried. */
typedef struct attempt {
  int fd;
  uint64_t number;                /* of this socket; new for each */
  const struct addrinfo *address; /* NULL: a unix socket */
} attempt;

/* On the way to a connected socket: a question of a name, then attempts. */
typedef struct dial {
  resolve *question;
  uint64_t question_number;
  struct addrinfo *addresses;     /* all; kept as long as the connection */
  const struct addrinfo *next[2]; /* not tried yet: of the family that came first, others */
  int turn;                       /* whose is the next attempt */
  attempt attempts[ATTEMPTS_MAX]; /* under way, the oldest first */
  int count;
  instant next_at;                /* then another one begins */
} dial;

/* Where a link leads. Copies: what the engine tells is borrowed. */
typedef struct place {
  char *host, *path;              /* path: a unix socket */
  char *name;                     /* that its certificate must have */
  char port[8];
  char shown[300];                /* for people */
} place;

/* One connection of the engine, made of descriptors. Never freed before its drive: whoever
 * reads from it may find out later that it was closed meanwhile. */
typedef struct transport {
  transport_state state;
  int link;                       /* the engine's number of it */
  int fd;                         /* -1: none, or not connected yet */
  uint64_t number;                /* of this socket; new for each */
  uint32_t events;                /* what epoll watches for */
  tls_session *tls;
  buffer ciphertext;              /* made by TLS, not sent yet */
  place place;
  tls_context *context;           /* borrowed from the drive's; NULL: no TLS */
  dial dial;
  const struct addrinfo *address; /* the one connected to, or that failed last */
  char words[200];                /* why it failed */
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
  uint64_t epoch;                 /* fork_epoch() of the maker */
  pthread_mutex_t mutex;          /* the client's mutex: all below, but constants */
  engine *engine;
  drive_handler handler;
  bool has_thread, has_callback_thread;

  int main_fd, links_fd, wake_fd, timer_fd, leader_fd, callbacks_fd;
  instant timer_at;               /* what the timerfd is set to */
  instant alarm_at;               /* drive_alarm() */
  uint64_t number;                /* last number given to a socket or question */

  span command_timeout;
  tls_shared tls;
  transport *transports[ENGINE_LINKS_MAX];   /* made when they are first wanted */
  int transport_count;            /* those after it are NULL, some before it may be */
  char up[300];                   /* the server that was connected to last */
  const transport *heard_of;      /* whose server answered or failed last; NULL: see node */
  char node[300];
  char input[INPUT_BYTES];

  watched *watched;
  uint64_t watched_number;

  drive_waiter *first_waiter, *last_waiter, *leader, *closer;
  drive_waiter *first_to_wake;
  bool leader_sleeps, links_are_taken;
  instant show_at;                /* nobody leads, and `links` is hidden until then */
  size_t waiter_count;
  bool io_leads;                  /* many wait: dibs-io reads for all */
  atomic_bool reader_is_awake;    /* it will take the mutex and settle */
  bool is_closed, must_stop;
  bool io_thread_runs, callback_thread_runs;
  pthread_t io_thread, callback_thread;
  drive_jobs jobs;
  pthread_cond_t jobs_condition;

  /* fork_whole.c, under a mutex of its own: */
  drive *next_listed;
  bool stands_still;              /* the thread that forks has the mutex */
  bool is_whole;                  /* in a child: nobody was inside when it was made */
};

/* ---- fork_whole.c ---- */
void drive_list(drive *d);
void drive_unlist(drive *d);

/* ---- transports.c: all of them, by the engine's numbers ---- */
void transports_open(drive *d, int link, const server_url *server);
void transports_close(drive *d, int link);          /* silently */
bool transports_flush(drive *d);                    /* true: one broke, the engine was told */
void transports_tick(drive *d, instant now);
instant transports_deadline(const drive *d);
void transports_free(drive *d);
transport *transports_get(const drive *d, int link);         /* NULL: there is none */

/* ---- transport.c ---- */
void transport_close(drive *d, transport *t);       /* silently */
/* ... and the engine is told why. */
void transport_fail(drive *d, transport *t, dibs_status why, const char *words);
/* An attempt has come through: it is the connection now. */
void transport_connected(drive *d, transport *t, const attempt *a);
void transport_event(drive *d, transport *t, uint64_t number, uint32_t events);
/* Sends what the engine has for it. true: it broke, the engine was told. */
bool transport_flush(drive *d, transport *t);
/* Words for people about the address that it is connected to, or tried last. */
void transport_blame(transport *t, const char *what, int fault);

/* ---- dial.c ---- */
void dial_begin(drive *d, transport *t);            /* to its place */
void dial_end(drive *d, transport *t);              /* no attempt goes on */
void dial_free(drive *d, transport *t);             /* and the addresses are forgotten */
void dial_event(drive *d, transport *t, uint64_t number, uint32_t events);
void dial_resolved(drive *d, transport *t, uint64_t number);
void dial_tick(drive *d, transport *t, instant now);

/* ---- sockets.c ---- */
/* A non-blocking socket that begins to connect; -1 with errno. */
int socket_begin(const drive *d, const struct addrinfo *address);
int socket_begin_unix(const char *path);
void address_show(const struct addrinfo *address, text *out);
/* Watched in `links` from now on, under a new number; 0 with errno. */
uint64_t socket_watch(drive *d, int link, int fd, source kind, uint32_t events);
void socket_end(drive *d, int fd);

/* ---- effects.c ---- */
void drive_effects(drive *d);
void drive_settle_all(drive *d);       /* for a reader: sends, whoever else is awake */

/* ---- canceller.c ---- */
void watched_event(drive *d, uint64_t number);

/* ---- loop.c ---- */
dibs_status loop_start(drive *d);
void loop_stop(drive *d);
void loop_timer_set(drive *d);
void loop_show_if_needed(drive *d);    /* before the mutex is released */
bool loop_ring(int fd);                /* writes to an eventfd */
void loop_quiet(int fd);               /* reads it empty */
/* Starts a thread with all signals blocked. */
bool loop_thread(pthread_t *ret_thread, const char *name, void *(*run)(void *), void *data,
                 bool is_detached);

/* ---- waiter.c ---- */
void waiter_poke(drive *d, drive_waiter *w);     /* mutex held: let it look around */
/* Sleeps until poked or `until`. Mutex held on entry and return, not meanwhile. */
void waiter_sleep(drive *d, drive_waiter *w, instant until);
/* Mutex held: nobody touches `w` any more. */
void waiter_part(drive *d, drive_waiter *w);

/* ---- callbacks.c ---- */
void callbacks_stop(drive *d);

#endif
