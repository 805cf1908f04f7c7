/* SPDX-License-Identifier: MIT */
/* drive/parts.h - the records of this room, for its own files only. */
#ifndef DRIVE_PARTS_H
#define DRIVE_PARTS_H

#include <netdb.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "drive/drive.h"
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

typedef enum transport_state {
  TRANSPORT_NONE = 0, TRANSPORT_RESOLVING, TRANSPORT_CONNECTING, TRANSPORT_GREETING,
  TRANSPORT_UP
} transport_state;

/* One connection of the engine, made of descriptors. */
typedef struct transport {
  transport_state state;
  int link;                       /* the engine's number of it */
  int fd;                         /* -1: none */
  uint64_t number;                /* of this socket or question; new for each */
  uint32_t events;                /* what epoll watches for */
  resolve *question;
  struct addrinfo *addresses, *address;   /* all, and the one being tried */
  instant try_until;              /* then the next address is tried */
  tls_session *tls;
  buffer ciphertext;              /* made by TLS, not sent yet */
  char words[200];                /* why the last address failed */
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
  uint64_t number;                /* last number given to a transport */

  char *host, *path, *server_name;
  char port[8];
  char shown[300];                /* the address for people */
  span connect_timeout, command_timeout;
  tls_context *tls;
  transport transports[ENGINE_LINKS];
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
  drive_job *first_job, *last_job;
  pthread_cond_t jobs_condition;

  /* fork_whole.c, under a mutex of its own: */
  drive *next_listed;
  bool stands_still;              /* the thread that forks has the mutex */
  bool is_whole;                  /* in a child: nobody was inside when it was made */
};

/* ---- fork_whole.c ---- */
void drive_list(drive *d);
void drive_unlist(drive *d);

/* ---- transport.c ---- */
void transport_init(transport *t, int link, const memory *m);
void transport_open(drive *d, transport *t);
void transport_close(drive *d, transport *t);       /* silently */
void transport_event(drive *d, transport *t, uint32_t events);
void transport_resolved(drive *d, transport *t);
void transport_tick(drive *d, transport *t, instant now);
/* Sends what the engine has for it. true: it broke, the engine was told. */
bool transport_flush(drive *d, transport *t);
instant transport_deadline(const transport *t);

/* ---- sockets.c ---- */
/* A non-blocking socket that begins to connect; -1 with errno. */
int socket_begin(const drive *d, const struct addrinfo *address);
int socket_begin_unix(const char *path);
void address_show(const struct addrinfo *address, text *out);

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
