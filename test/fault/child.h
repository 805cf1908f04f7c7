/* SPDX-License-Identifier: MIT */
/* test/fault/child.h - a part of a scenario in a process of its own, made by fork(): what it
 * does to itself (limits, namespaces, other users, crashes) ends with it, and it dies with the
 * scenario. What it finds becomes the scenario's.
 *
 *   static void starve(struct child *self, void *data)
 *   {
 *     child_tell(self, "ready");
 *     child_obey(self, "go");
 *     child_check(self, dibs_ping(...) == DIBS_OK, "no ping: %s", ...);
 *     child_mark(self, "pings", 1);
 *   }
 *
 *   struct child *c = child_start(w, starve, NULL);
 *   child_hear(c, "ready", 5000);
 *   child_order(c, "go");
 *   c = child_end(c, 5000);            its end, at most so many ms later */
#ifndef CHILD_H
#define CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <dibs/dibs.h>

#include "lib/take.h"
#include "world.h"

struct child;

enum { CHILD_REPORTS_FD = 3, CHILD_ORDERS_FD = 4 };    /* what a child finds them as */

/* ---- the scenario's side: failures go to world_fail() ---- */

/* In the child all descriptors but 0 to 2 and its own are closed. */
struct child *child_start(struct world *w, void (*work)(struct child *self, void *data),
                          void *data);
bool child_hear(struct child *c, const char *word, int limit_ms);
/* True for `word`, false for `other`; neither within the limit: false, and a failure. */
bool child_hear_either(struct child *c, const char *word, const char *other, int limit_ms);
void child_order(struct child *c, const char *word);
pid_t child_pid(const struct child *c);
/* Waits for its end; kills it after `limit_ms`. Anything but a return of work() is a
 * failure. Returns NULL. */
struct child *child_end(struct child *c, int limit_ms);
/* SIGKILL on purpose. Returns NULL. */
struct child *child_kill(struct child *c);

/* Two workers at a lock of their own, whom nothing that a child does may disturb. After all
 * world_lock(), before the first child. */
void child_bystanders(struct world *w);

/* ---- the child's side ---- */

void child_tell(struct child *self, const char *word);
void child_obey(struct child *self, const char *word);     /* waits for that order */
/* Tells a failure unless `fact`; goes on. Returns `fact`. */
bool child_check(struct child *self, bool fact, const char *format, ...)
  __attribute__((format(printf, 3, 4)));
void child_say(struct child *self, const char *format, ...)
  __attribute__((format(printf, 2, 3)));
void child_mark(struct child *self, const char *marker, int64_t times);

/* Also: a client with connect_timeout_ms 1000 and command_timeout_ms 500; ends the child with
 * a failure if there is none. `options` may be NULL. */
dibs_client *child_open(struct child *self, const char *url, const dibs_options *options);
dibs_lock_options child_lock_options(int ttl_ms, int wait_ms);
/* A hold of `name`; ends the child with a failure if it is not had within 5 s. */
dibs_hold *child_lock(struct child *self, dibs_client *client, const char *name, int ttl_ms);
int64_t child_now_ms(void);                    /* CLOCK_BOOTTIME */
void child_sleep_ms(int ms);                   /* signals do not shorten it */
/* How long the threads of `pid` (0: of this process) have wanted a processor and had none, all
 * together. 0 where that cannot be known. */
int64_t child_starved_ms(pid_t pid);
/* What to add to any limit of time here and now: 0 unless the machine is overloaded. */
int64_t child_machine_slack_ms(void);
/* L7: whether `call` was back `limit_ms` and 50 ms after `begun`, beyond what this process and
 * the server were kept from running since. */
struct child_time { int64_t at_ms, stalled_ms; };
struct child_time child_time(void);
bool child_check_time(struct child *self, const char *call, struct child_time begun,
                      int limit_ms);
long child_fds(void);                          /* descriptors and threads it has now */
long child_threads(void);
/* Until a client that holds a lock listens for its end: from then on it has two connections. */
void child_listens(struct child *self, dibs_client *client);
/* The same when none has begun or ended for a moment: a join returns before the kernel is done. */
long child_threads_settled(void);

#endif
