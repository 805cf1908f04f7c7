/* SPDX-License-Identifier: MIT */
/* test/fault/world.h - real servers, real worker processes, faults, and the verdict.
 *
 *   static void run(struct world *w, const struct scale *scale)
 *   {
 *     struct plan plan = PLAN_INIT;
 *     int lock = world_lock(w, 'm', "shop", 0);
 *
 *     plan.ttl_ms = 500;
 *     world_hire(w, &plan, 4);
 *     world_demand(w, "holders killed", 3);
 *     while (world_goes_on(w)) {
 *       int holder = world_holder_of(w, lock, 2000);
 *       if (holder >= 0) {
 *         world_kill(w, holder);
 *         world_mark(w, "holders killed");
 *         world_rehire(w, holder);
 *       }
 *       world_wait_for_grants(w, 50, 3000);
 *     }
 *   }
 *
 * When run() is back the runner calls world_settle(): heals everything, demands progress of
 * every living worker (L6), ends them, and checks history, keys and resources. Whatever goes
 * wrong in here ends the scenario as failed; its directory is kept then, and named.
 *
 * From one thread, the main thread of the scenario's process. */
#ifndef WORLD_H
#define WORLD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <dibs/dibs.h>

#include "lib/promise.h"
#include "lib/proxy.h"
#include "lib/server.h"

#include "page.h"
#include "plan.h"
#include "scenario.h"

struct world;

/* ---- time and chance ---- */

/* Until about two thirds of the scenario's seconds are gone: the rest is for settling. At
 * least once true. */
bool world_goes_on(struct world *w);
int64_t world_left_ms(const struct world *w);      /* of those; may be negative */
/* From the seed. A worker's chance is its own. */
uint64_t world_chance(struct world *w, uint64_t limit);           /* 0 .. limit - 1 */
int world_between(struct world *w, int least, int most);          /* both included */
/* The length of a fault, or between two: time that has to pass, not an event hoped for. */
void world_pass_ms(struct world *w, int ms);
/* Whether `is_so` within `limit_ms`. */
bool world_until(struct world *w, int limit_ms, bool (*is_so)(struct world *w, void *data),
                 void *data);

/* ---- servers and what is between ---- */

/* The server of this world, made at the first call: a plain one unless these options came
 * before. The world's end stops it. More: start them yourself, by test_server_start_with(),
 * and tell world_adopt(): its end stops those too. */
void world_server_options(struct world *w, const struct test_server_options *options);
struct test_server *world_server(struct world *w);
/* A client of the server, in the dialect of this world. */
dibs_status world_open(struct world *w, dibs_client **ret_client);
int world_adopt(struct world *w, struct test_server *s);   /* its number, from 1; ours: 0 */
/* A proxy before the server; healed by world_settle(), and stopped by the world's end. */
struct test_proxy *world_proxy(struct world *w);
/* What the scenario started itself: ended by this, after the workers, with the world. */
void world_at_end(struct world *w, void (*stop)(void *data), void *data);

/* ---- locks ---- */

/* `kind`: 'm' mutex, 'r' read/write, 'p' semaphore of `limit` permits. Its number. All
 * before the first world_hire(). */
int world_lock(struct world *w, char kind, const char *name, uint32_t limit);
const char *world_lock_key(struct world *w, int lock);     /* "dibs:m:{...}" */

/* ---- workers ---- */

/* Starts `count` workers by this plan, and waits until each had a grant (15 s); those who
 * only try: an answer. Returns the number of the first; the others follow. */
int world_hire(struct world *w, const struct plan *plan, int count);
/* The same without waiting: for clients that cannot connect now. */
int world_hire_blind(struct world *w, const struct plan *plan, int count);
void world_rehire(struct world *w, int worker);      /* a dead one, by its old plan */
pid_t world_pid(const struct world *w, int worker);  /* 0: dead */
int world_workers(const struct world *w);            /* hired so far, dead or alive */
bool world_is_alive(struct world *w, int worker);

void world_kill(struct world *w, int worker);        /* SIGKILL; dead and recorded on return */
void world_stop(struct world *w, int worker);        /* SIGSTOP; stopped on return */
void world_continue(struct world *w, int worker);
/* SIGTERM and its end, at most 10 s. A worker that ends otherwise than by 0, now or at any
 * time and not by world_kill(), is a failure of the scenario. */
void world_dismiss(struct world *w, int worker);

/* A worker in its critical section on `lock` (-1: on any), not stopped; -1: none within
 * `limit_ms`. It may have left when you act. */
int world_holder_of(struct world *w, int lock, int limit_ms);
/* Stops a holder in its critical section, for sure. -1: none within `limit_ms`. */
int world_stop_holder(struct world *w, int lock, int limit_ms);
/* The locks in whose critical section a worker is now: bit i for lock i. */
uint32_t world_held(const struct world *w);
/* Stops up to `count` workers in the critical sections of locks that are not in `but`, each as
 * above; how many it stopped, in `ret_workers`. `limit_ms` for each. */
int world_stop_holders(struct world *w, uint32_t but, int count, int limit_ms,
                       int *ret_workers);

uint64_t world_grants(const struct world *w);        /* by all workers so far */
uint64_t world_grants_of(const struct world *w, int worker);
uint64_t world_cycles(const struct world *w);
uint64_t world_losses(const struct world *w);        /* on_lost, by all workers so far */
/* So many more than now, within `limit_ms`; false: not. */
bool world_wait_for_grants(struct world *w, uint64_t more, int limit_ms);
bool world_wait_for_grants_of(struct world *w, int worker, uint64_t more, int limit_ms);
const struct page *world_page(const struct world *w);

/* ---- faults: recorded, so that checkers know what could be expected when ---- */

/* Begins one; its number. `worker` or EVERYBODY, `lock` or NO_LOCK. kill, stop, continue
 * above and the functions below record their own. */
int world_fault_begin(struct world *w, enum fault kind, int worker, int lock);
/* What surely holds: call the first when the fault is in force, the second before it is
 * lifted. Without them nothing is concluded from the fault (C11). */
void world_fault_in_force(struct world *w, int fault);
void world_fault_lifting(struct world *w, int fault);
void world_fault_end(struct world *w, int fault);    /* when it is over */
void world_fault_instant(struct world *w, enum fault kind, int worker, int lock);

void world_server_kill(struct world *w);             /* down until ... */
void world_server_start(struct world *w, bool keeps_data);   /* false: DATA_LOST too */
void world_server_stop(struct world *w);
void world_server_continue(struct world *w);

/* Stops a holder, lets `end` end the server and start it again with what it has kept, and
 * looks whether another gets the lock while the stopped one believes in it. */
bool world_lease_is_lost(struct world *w, int lock, int ttl_ms, void (*end)(struct world *w));

/* ---- the queue, seen from outside ---- */

/* Looks at the queue of `lock` by dibs_inspect(), every few ms, from a process of its own,
 * until the world settles: C7 and the exact part of C8 know only what it saw. */
void world_inspect(struct world *w, int lock);

/* ---- what must have happened (C13) ---- */

/* The scenario fails unless the marker is reached so often, and world_goes_on() gives it a
 * minute more for that: on a busy machine fewer rounds fit into the time. What is only counted
 * after the loop, or by children, is demanded there. At most MARKERS_MAX names. */
void world_demand(struct world *w, const char *marker, int64_t times);
void world_mark(struct world *w, const char *marker);
void world_mark_times(struct world *w, const char *marker, int64_t times);
/* So many grants must have been believed while a fault was on. */
void world_demand_overlap(struct world *w, int64_t grants);

/* Fails the scenario, with these words; goes on. */
void world_fail(struct world *w, const char *format, ...)
  __attribute__((format(printf, 2, 3)));
/* The same for a broken promise (test/lib/promise.h): it is not tried again. */
void world_break(struct world *w, const char *format, ...)
  __attribute__((format(printf, 2, 3)));
/* How a process of the world ended: what a sanitizer found in it is such a promise. */
void world_note_exit(struct world *w, const char *what, int exit_code);
bool world_has_broken(const struct world *w);
/* A line of diagnosis. */
void world_say(struct world *w, const char *format, ...)
  __attribute__((format(printf, 2, 3)));
/* For reports: a fact with a number, summed by tools/fault-night. */
void world_count(struct world *w, const char *what, int64_t times);

/* ---- settling, by hand where a scenario wants more than the default ---- */

enum {
  SETTLE_NO_PROGRESS = 1,   /* do not demand that every worker moves on */
  SETTLE_NO_KEYS = 2        /* keys are not looked at: emptied, evicted, or no server left */
};
void world_settle_how(struct world *w, int flags, int progress_ms);   /* 0: 2 ttl + 3 s */
/* Heals, and waits until every living worker has had three more grants. */
bool world_progress(struct world *w);

/* ---- for the runner ---- */

struct world *world_new(const struct scenario *scenario, const struct scale *scale);
/* Heals, demands progress, ends the workers, checks. Whether all is as expected; prints
 * the report with "# " in front. */
bool world_settle(struct world *w);
/* Stops all; removes the directory unless the scenario failed. Returns NULL. */
struct world *world_free(struct world *w);

#endif
