/* SPDX-License-Identifier: MIT */
/* dibs/sim.h - your program, several machines and a server in one thread, one seed.
 *
 * Link with -ldibs-sim instead of -ldibs and -ldibs-data: every dibs_* function is the real one,
 * but below it there are no sockets, threads and clocks. Programs are functions that call dibs as
 * always; time is virtual and costs nothing; faults of networks, machines and servers
 * happen when you inject them, or when the seed does, and happen again
 * exactly when you run the same seed again.
 *
 *   static void worker(void *data)
 *   {
 *     dibs_client *client;
 *     dibs_hold *hold;
 *     (void)dibs_open("redis://server", NULL, &client, NULL);
 *     if (dibs_lock(client, "job", NULL, &hold) == DIBS_OK) {
 *       dibs_sim_sleep_ms(50);
 *       (void)dibs_release(hold);
 *     }
 *     client = dibs_close(client);
 *   }
 *
 *   dibs_sim *sim = dibs_sim_new(NULL);
 *   dibs_sim_start(sim, "a", worker, NULL);
 *   dibs_sim_start(sim, "b", worker, NULL);
 *   dibs_sim_run(sim, 60000);
 *   sim = dibs_sim_free(sim);
 *
 * Everything runs in the thread that calls dibs_sim_run(). A program is switched away from
 * only inside dibs_* calls; it must not sleep or block by other means. Its stack has 8
 * MiB. One simulation at a time in a process. When memory runs out the process ends: this
 * is for tests. Guide: doc/guide/simulator.md. Since 0.3. */
#ifndef DIBS_SIM_H
#define DIBS_SIM_H

#include <dibs/dibs.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dibs_sim dibs_sim;

/* Start from DIBS_SIM_OPTIONS_INIT. */
typedef struct dibs_sim_options {
  size_t size;                  /* set by DIBS_SIM_OPTIONS_INIT */
  uint64_t seed;                /* 1 */
  int32_t delay_min_us;         /* 20; one way, between a machine and the server */
  int32_t delay_max_us;         /* 200; each piece of a stream takes a time in between */
  int32_t preempt_per_mille;    /* 0; how often a dibs_* call lets others go first */
  int32_t split_per_mille;      /* 0; how often bytes arrive in two pieces */
  void (*on_trace)(const char *line, void *data);  /* NULL: no trace */
  void *on_trace_data;
  /* The servers. Hosts "s1", "s2", ... have port 6379: primaries first, then
   * replicas (of the first, of the second, ...). One kind of deployment at a time. */
  int32_t servers;              /* 1; independent of each other: a quorum's. At most 15 */
  int32_t replicas;             /* 0; of the server, or of each node */
  int32_t sentinels;            /* 0; hosts "sentinel1", ..., port 26379: they watch "service" */
  int32_t cluster_nodes;        /* 0; primaries of a cluster, with a share of the slots each */
  int32_t min_replicas_to_write;   /* 0; of each server */
  int32_t min_replicas_max_lag_s;  /* 10 */
  int32_t down_after_ms;        /* 1000; when sentinels and nodes count a server as down */
  uint32_t flags;               /* 0, or DIBS_SIM_IFEQ */
} dibs_sim_options;

#define DIBS_SIM_IFEQ 0x1u      /* servers know SET with IFEQ, as Redis 8.4 and Valkey 8.1 */

#define DIBS_SIM_OPTIONS_INIT \
  { sizeof(dibs_sim_options), 0, 0, 0, 0, 0, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Makes a world with one server, which answers to every host and port, is empty, and starts at
 * 2026-01-01 00:00. `options` may be NULL, and is copied. With several servers
 * each answers to its own name and port, and the first also to "server". Returns NULL for options
 * out of range, or if a world of this process has not been freed. */
DIBS_API dibs_sim *dibs_sim_new(const dibs_sim_options *options);
/* Ends all programs as by a kill. Returns NULL. Not from a program. */
DIBS_API dibs_sim *dibs_sim_free(dibs_sim *sim);

/* ---- programs ---- */

/* Adds a process on a machine of its own, which starts in dibs_sim_run(). `name` is
 * copied. Returns its number, from 1. From outside or from a program. */
DIBS_API int dibs_sim_start(dibs_sim *sim, const char *name,
                            void (*program)(void *data), void *data);
/* Starts a further thread of the calling process. From a program only. */
DIBS_API void dibs_sim_thread(void (*program)(void *data), void *data);
/* Runs until all programs have ended, or for `ms` of virtual time. Returns whether
 * all have ended. May be called again. */
DIBS_API bool dibs_sim_run(dibs_sim *sim, int64_t ms);

/* Lets virtual time pass for the calling program. From a program only. */
DIBS_API void dibs_sim_sleep_ms(int64_t ms);
DIBS_API void dibs_sim_sleep_us(int64_t us);
/* Returns the number of the calling program's process. From a program only. */
DIBS_API int dibs_sim_self(void);
/* Draws a number, 0 .. limit - 1, from the seed. From a program only. */
DIBS_API uint64_t dibs_sim_random(uint64_t limit);

/* Returns the true time since the start, microseconds. From anywhere. */
DIBS_API int64_t dibs_sim_now_us(const dibs_sim *sim);
/* Returns the world whose program runs now; NULL outside. */
DIBS_API dibs_sim *dibs_sim_current(void);
/* Writes a line of the trace. */
DIBS_API void dibs_sim_note(const char *format, ...) DIBS_PRINTF(1, 2);
/* Reports a broken invariant: written to the trace, counted, the first is kept. */
DIBS_API void dibs_sim_flaw(const char *format, ...) DIBS_PRINTF(1, 2);
/* Returns the first broken invariant; NULL: none. */
DIBS_API const char *dibs_sim_first_flaw(const dibs_sim *sim);
/* Returns whether the programs of process `process` have ended. */
DIBS_API bool dibs_sim_has_ended(const dibs_sim *sim, int process);
/* Returns a number that changes with every event: equal for two identical runs. */
DIBS_API uint64_t dibs_sim_fingerprint(const dibs_sim *sim);

/* Sets a function that is called after every event, when all programs have run as far as they
 * can: for checks of what must always be true. `watch` must not call blocking functions. */
DIBS_API void dibs_sim_watch(dibs_sim *sim, void (*watch)(dibs_sim *sim, void *data),
                             void *data);
/* Returns dibs_hold_valid_ms() of process `process` now, in us: for a watch. 0 also
 * if the process has been killed, or the hold released. */
DIBS_API int64_t dibs_sim_valid_us(dibs_sim *sim, int process, const dibs_hold *hold);

/* ---- what may happen ---- */

/* Faults of one process (`process`; 0: of all), or of its machine: */
typedef enum dibs_sim_fault_kind {
  DIBS_SIM_PAUSE = 1,     /* stopped for `ms`; its clock continues, its sockets fill up */
  DIBS_SIM_KILL,          /* kill -9; its connections close at once */
  DIBS_SIM_VANISH,        /* the machine loses power; no packet reaches the server */
  DIBS_SIM_WALL_STEP,     /* its wall clock is set on by `ms`, which may be < 0 */
  DIBS_SIM_RATE,          /* its clock runs faster by `ppm`, or slower */
  /* to the connections of a process with the server: */
  DIBS_SIM_CUT = 20,      /* all are reset; what was on its way is lost */
  DIBS_SIM_CUT_LATE,      /* the client learns at once; what it had sent arrives up to
                             `ms` later, and is executed without a reader of the reply */
  DIBS_SIM_CUT_REPLY,     /* the next request is executed, then its connection breaks
                             with the reply on it */
  DIBS_SIM_HOLD,          /* nothing arrives for `ms`, then everything: direction */
  DIBS_SIM_BLACK_HOLE,    /* for `ms` all bytes and their connections vanish without
                             notice to either side. New ones hang; direction */
  DIBS_SIM_SLOW,          /* for `ms`, each piece takes up to `delay_ms` more */
  DIBS_SIM_REFUSE,        /* for `ms` no connection can be made */
  /* to the server: */
  DIBS_SIM_SERVER_PAUSE = 40,   /* stopped for `ms`; requests wait in its sockets */
  DIBS_SIM_SERVER_RESTART,      /* down for `ms`, then back with its data */
  DIBS_SIM_SERVER_EMPTY,        /* down for `ms`, then back without */
  DIBS_SIM_SERVER_FLUSH,        /* FLUSHALL */
  DIBS_SIM_SERVER_FORGET,       /* SCRIPT FLUSH */
  DIBS_SIM_SERVER_WALL_STEP,    /* its clock is set on by `ms`, which may be < 0 */
  DIBS_SIM_SERVER_FULL,         /* out of memory for `ms` */
  DIBS_SIM_SERVER_BUSY,         /* another client's script runs for `ms` */
  DIBS_SIM_SERVER_LOADING,      /* answers LOADING for `ms` */
  DIBS_SIM_SERVER_READ_ONLY,    /* answers READONLY for `ms` */
  DIBS_SIM_SERVER_MISCONF,      /* cannot save for `ms`, and refuses writes */
  DIBS_SIM_SERVER_EVICT,        /* loses one key */
  DIBS_SIM_SERVER_KILL_CLIENTS, /* CLIENT KILL of all; ms > 0: of subscribers only */
  DIBS_SIM_SERVER_REPLICA,      /* has a replica with a lag of `ms` from now on; < 0: none */
  DIBS_SIM_SERVER_FAIL_OVER,    /* down for `ms`; then the replica is the server, and
                                   what had not reached it is lost */
  /* to one of several servers: */
  DIBS_SIM_SERVER_PART,         /* for `ms` nothing passes between it and `other_server`;
                                   then what was on its way does */
  DIBS_SIM_SERVER_LAG,          /* as a replica it gets each write `ms` late from now on */
  DIBS_SIM_SERVER_PROMOTE,      /* an administrator promotes it; the old primary continues until
                                   it is demoted */
  DIBS_SIM_SERVER_SLOT          /* `slot` moves to it, key by key, for at least `ms` */
} dibs_sim_fault_kind;

enum { DIBS_SIM_TO_SERVER = 1, DIBS_SIM_TO_CLIENT = 2, DIBS_SIM_BOTH_WAYS = 3 };

/* One fault, as data: lists of them can be drawn, printed, kept and made smaller. */
typedef struct dibs_sim_fault {
  dibs_sim_fault_kind kind;
  int64_t at_us;                /* of true time; in the past: now */
  int process;                  /* 0: all */
  int64_t ms;                   /* as the kind says; 0 where it says nothing */
  int32_t ppm, delay_ms;
  int direction;                /* 0: both */
  int server;                   /* of several, in the order of dibs_sim_options; 0: the first */
  int other_server;             /* 0: the programs (or only `process`); -1: all; -2: all
                                   other servers */
  int32_t slot;
} dibs_sim_fault;

/* Adds a fault to the world. From anywhere. `fault` is copied. Returns DIBS_OK,
 * DIBS_ERR_ARGUMENT (no such kind or process). */
DIBS_API dibs_status dibs_sim_inject(dibs_sim *sim, const dibs_sim_fault *fault);
/* Writes a fault as text, "PAUSE process 2 at 1200000 us for 300 ms", into `ret_text`. Returns
 * its length. */
DIBS_API size_t dibs_sim_fault_text(const dibs_sim_fault *fault, char *ret_text, size_t size);
/* Ends all present faults, and cancels those to come. */
DIBS_API void dibs_sim_heal(dibs_sim *sim);

/* ---- the server's side ---- */

/* Runs a command on the server directly: `command` as in redis-cli. Returns the
 * reply as text, as redis-cli prints it without a terminal; valid until the next call. */
DIBS_API const char *dibs_sim_server(dibs_sim *sim, const char *command);
/* The same on one of several, by number. Sentinels come last. "": there is no such server. */
DIBS_API const char *dibs_sim_server_at(dibs_sim *sim, int server, const char *command);

#ifdef __cplusplus
}
#endif

#endif
