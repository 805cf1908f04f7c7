/* SPDX-License-Identifier: MIT */
/* test/fault/f30_memory.c - memory is refused now and then, often, and for a while always,
 * under three threads of one client: calls fail cleanly, exclusion holds, the client recovers
 * by itself, and in the end every block is given back. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"

enum { THREADS = 3, TTL_MS = 800 };

static char url[128];

/* ---- memory ---- */

static _Atomic int64_t asked, refused, live;
static _Atomic uint64_t chance;
static _Atomic int refuse_of_10000;

static bool is_refused(void)
{
  uint64_t drawn = atomic_fetch_add(&chance, 0x9e3779b97f4a7c15U);

  drawn = (drawn ^ drawn >> 30) * 0xbf58476d1ce4e5b9U;
  (void)atomic_fetch_add(&asked, 1);
  if ((int)((drawn >> 33) % 10000) >= atomic_load(&refuse_of_10000))
    return false;
  (void)atomic_fetch_add(&refused, 1);
  return true;
}

static void *allocate(size_t bytes, void *data)
{
  void *block = is_refused() ? NULL : malloc(bytes);

  (void)data;
  (void)atomic_fetch_add(&live, block != NULL);
  return block;
}

static void *reallocate(void *old, size_t bytes, void *data)
{
  void *block;

  (void)data;
  if (is_refused())
    return NULL;
  block = realloc(old, bytes);
  (void)atomic_fetch_add(&live, old == NULL && block != NULL);
  return block;
}

static void release(void *block, void *data)
{
  (void)data;
  (void)atomic_fetch_sub(&live, block != NULL);
  free(block);
}

/* ---- work ---- */

struct work {
  struct child *self;
  dibs_client *client;
  uint64_t chance;
  pthread_t thread;
};

static atomic_bool is_over;
static _Atomic int inside[3];
static _Atomic int64_t granted;

static uint64_t draw(struct work *x, uint64_t limit)
{
  x->chance = x->chance * 6364136223846793005U + 1442695040888963407U;
  return (x->chance >> 33) % limit;
}

static void no_answer(const dibs_error *error, dibs_hold *hold, void *data)
{
  (void)data;
  if (error->status == DIBS_OK)
    (void)dibs_release_async(hold, NULL, NULL);
}

static void take_one(struct work *x, const dibs_lock_options *o)
{
  int which = (int)draw(x, 3);
  char name[16];
  dibs_hold *hold = NULL;
  dibs_status status;

  (void)snprintf(name, sizeof(name), "scarce-%d", which);
  status = dibs_lock(x->client, name, o, &hold);
  (void)child_check(x->self, status != DIBS_OK || hold != NULL, "granted, and no hold");
  if (status != DIBS_OK)
    return;
  (void)atomic_fetch_add(&granted, 1);
  if (dibs_hold_state(hold) == DIBS_HOLD_HELD && dibs_hold_valid_ms(hold) > TTL_MS / 2) {
    promise_kept(atomic_fetch_add(&inside[which], 1) == 0, "two of us have %s", name);
    (void)atomic_fetch_sub(&inside[which], 1);
  }
  (void)dibs_release(hold);
}

static void take_other(struct work *x, const dibs_lock_options *o)
{
  const char *names[] = { "scarce-3", "scarce-4" };
  dibs_inspection *seen = NULL;
  dibs_hold *hold = NULL;

  switch (draw(x, 4)) {
  case 0:
    if (acquire_names(x->client, names, 2, o, &hold) == DIBS_OK)
      (void)dibs_release(hold);
    break;
  case 1:
    (void)!dibs_lock_async(x->client, "scarce-5", o, no_answer, NULL, NULL);
    break;
  case 2:
    if (dibs_inspect(x->client, dibs_text("scarce-0"), &seen) == DIBS_OK)
      seen = dibs_inspection_free(seen);
    break;
  default:
    if (dibs_acquire(x->client, DIBS_READ("scarce-6"), o, &hold) == DIBS_OK)
      (void)dibs_release(hold);
    break;
  }
}

static void *work(void *data)
{
  struct work *x = data;
  dibs_lock_options o = child_lock_options(TTL_MS, 200);

  while (!atomic_load(&is_over)) {
    struct child_time begun = child_time();

    if (draw(x, 3) == 0)
      take_other(x, &o);
    else
      take_one(x, &o);
    /* A wait, and a release that nobody confirms. */
    (void)child_check_time(x->self, "a call short of memory", begun, 200 + 500);
  }
  return NULL;
}

/* ---- phases ---- */

static void vary_scarcity(struct child *self, uint64_t *seed)
{
  static const int often[] = { 1, 10, 100, 1000, 10000 };
  int phase;

  *seed = *seed * 6364136223846793005U + 1442695040888963407U;
  phase = (int)((*seed >> 33) % 5);
  atomic_store(&refuse_of_10000, often[phase]);
  child_sleep_ms(phase == 4 ? 15 : 60);
  atomic_store(&refuse_of_10000, 0);
  child_mark(self, phase == 4 ? "times without any memory" : "times with little memory", 1);
}

static void recover(struct child *self, dibs_client *client)
{
  dibs_lock_options o = child_lock_options(TTL_MS, 1000);
  struct child_time begun = child_time();
  dibs_status status = DIBS_ERR_CLOSED;
  dibs_hold *hold = NULL;

  while (status != DIBS_OK && child_now_ms() - begun.at_ms < 5000)
    status = dibs_lock(client, "scarce-0", &o, &hold);
  (void)child_check(self, status == DIBS_OK, "no lock with memory again: %s",
                    dibs_status_name(status));
  (void)child_check_time(self, "recovery", begun, TTL_MS + 1000 + 1000);
  (void)dibs_release(hold);
}

static dibs_client *open_somehow(const dibs_options *options)
{
  dibs_client *client = NULL;

  atomic_store(&refuse_of_10000, 2000);
  for (int i = 0; i < 20 && client == NULL; i++)
    (void)!dibs_open(url, options, &client, NULL);
  atomic_store(&refuse_of_10000, 0);
  if (client == NULL)
    (void)!dibs_open(url, options, &client, NULL);
  return client;
}

static void one_client(struct child *self, uint64_t *seed)
{
  dibs_allocator allocator = { allocate, reallocate, release, NULL };
  dibs_options options = DIBS_OPTIONS_INIT;
  struct work works[THREADS];
  dibs_client *client;

  options.allocator = &allocator;
  options.command_timeout_ms = 250;
  options.connect_timeout_ms = 500;
  client = open_somehow(&options);
  if (!child_check(self, client != NULL, "no client with memory"))
    return;
  atomic_store(&is_over, false);
  for (int i = 0; i < THREADS; i++) {
    works[i] = (struct work){ .self = self, .client = client, .chance = *seed + (uint64_t)i };
    (void)pthread_create(&works[i].thread, NULL, work, &works[i]);
  }
  for (int i = 0; i < 8; i++)
    vary_scarcity(self, seed);
  recover(self, client);
  atomic_store(&is_over, true);
  for (int i = 0; i < THREADS; i++)
    (void)pthread_join(works[i].thread, NULL);
  client = dibs_close(client);
  (void)child_check(self, atomic_load(&live) == 0, "%lld blocks are left",
                    (long long)atomic_load(&live));
}

struct job { int ms; uint64_t seed; };

static void run_short(struct child *self, void *data)
{
  struct job *job = data;
  int64_t until = child_now_ms() + job->ms;
  long fds = child_fds(), threads = child_threads_settled();

  atomic_store(&chance, job->seed);
  do {
    one_client(self, &job->seed);
  } while (child_now_ms() < until);
  (void)child_check(self, child_fds() == fds, "%ld descriptors, before %ld", child_fds(), fds);
  (void)child_check(self, child_threads_settled() == threads, "%ld threads, before %ld",
                    child_threads_settled(), threads);
  child_mark(self, "allocations refused", atomic_load(&refused));
  child_mark(self, "grants without memory", atomic_load(&granted));
}

static void run(struct world *w, const struct scale *scale)
{
  struct job job = { (int)(scale->seconds * 400), scale->seed };
  struct plan plan = PLAN_INIT;
  struct child *c;

  (void)world_lock(w, 'm', "scarce-0", 0);
  (void)world_lock(w, 'm', "scarce-1", 0);
  (void)world_lock(w, 'm', "others", 0);
  (void)snprintf(url, sizeof(url), "%s", test_server_url(world_server(w)));
  (void)world_hire(w, &plan, 2);          /* with memory, at the same locks */
  world_demand(w, "allocations refused", 100);
  world_demand(w, "grants without memory", 50);
  world_demand(w, "times with little memory", 3);
  world_demand(w, "times without any memory", 1);
  c = child_start(w, run_short, &job);
  c = child_end(c, job.ms + 30000);
}

const struct scenario f30_memory = {
  .id = "F30", .name = "without_memory_calls_fail_cleanly_and_nothing_is_left", .run = run,
};
