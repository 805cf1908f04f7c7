/* SPDX-License-Identifier: MIT */
/* test/fault/world_look.c - what a scenario can see of its workers, and wait for. */
#include "world_parts.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "lib/server_parts.h"

/* ---- grants ---- */

uint64_t world_grants_of(const struct world *w, int worker)
{
  return atomic_load(&w->page->workers[worker].grants);
}

uint64_t world_grants(const struct world *w)
{
  uint64_t sum = 0;

  for (int i = 0; i < w->worker_count; i++)
    sum += world_grants_of(w, i);
  return sum;
}

uint64_t world_cycles(const struct world *w)
{
  uint64_t sum = 0;

  for (int i = 0; i < w->worker_count; i++)
    sum += atomic_load(&w->page->workers[i].cycles);
  return sum;
}

uint64_t world_losses(const struct world *w)
{
  uint64_t sum = 0;

  for (int i = 0; i < w->worker_count; i++)
    sum += atomic_load(&w->page->workers[i].lost);
  return sum;
}

struct goal { int worker; uint64_t grants; };

static bool is_reached(struct world *w, void *data)
{
  const struct goal *g = data;

  return (g->worker < 0 ? world_grants(w) : world_grants_of(w, g->worker)) >= g->grants;
}

bool world_wait_for_grants(struct world *w, uint64_t more, int limit_ms)
{
  struct goal g = { -1, world_grants(w) + more };

  return world_until(w, limit_ms, is_reached, &g);
}

bool world_wait_for_grants_of(struct world *w, int worker, uint64_t more, int limit_ms)
{
  struct goal g = { worker, world_grants_of(w, worker) + more };

  return world_until(w, limit_ms, is_reached, &g);
}

/* ---- holders ---- */

struct search { int lock, found; };

static bool holds(const struct world *w, int worker, int lock)
{
  uint32_t locks = atomic_load(&w->page->workers[worker].holds);

  return (lock < 0 ? locks : locks >> lock & 1) != 0;
}

/* Begins anywhere, so that not always the same one is found. */
static bool find_holder(struct world *w, void *data)
{
  struct search *s = data;
  int first = w->worker_count == 0 ? 0 : (int)world_chance(w, (uint64_t)w->worker_count);

  for (int i = 0; i < w->worker_count; i++) {
    int worker = (first + i) % w->worker_count;

    if (w->workers[worker].pid != 0 && !w->workers[worker].is_stopped &&
        holds(w, worker, s->lock)) {
      s->found = worker;
      return true;
    }
  }
  return false;
}

int world_holder_of(struct world *w, int lock, int limit_ms)
{
  struct search s = { lock, -1 };

  return world_until(w, limit_ms, find_holder, &s) ? s.found : -1;
}

static bool stop_one(struct world *w, void *data)
{
  struct search *s = data;

  if (!find_holder(w, s))
    return false;
  world_stop(w, s->found);
  if (w->workers[s->found].pid != 0 && holds(w, s->found, s->lock))
    return true;
  world_continue(w, s->found);
  return false;
}

int world_stop_holder(struct world *w, int lock, int limit_ms)
{
  struct search s = { lock, -1 };

  return world_until(w, limit_ms, stop_one, &s) ? s.found : -1;
}

uint32_t world_held(const struct world *w)
{
  uint32_t locks = 0;

  for (int i = 0; i < w->worker_count; i++)
    locks |= atomic_load(&w->page->workers[i].holds);
  return locks;
}

struct other_locks { uint32_t but; int first, stopped; };

static bool stop_holder_of_another(struct world *w, void *data)
{
  struct other_locks *s = data;
  const int count = (int)w->lock_count;

  for (int i = 0; i < count; i++) {
    const int lock = (s->first + i) % count;

    if ((s->but >> lock & 1) == 0 && (s->stopped = world_stop_holder(w, lock, 0)) >= 0)
      return true;
  }
  return false;
}

int world_stop_holders(struct world *w, uint32_t but, int count, int limit_ms,
                       int *ret_workers)
{
  struct other_locks s = { .but = but };
  int stopped = 0;

  while (stopped < count) {
    s.first = (int)world_chance(w, w->lock_count);
    if (!world_until(w, limit_ms, stop_holder_of_another, &s))
      break;
    ret_workers[stopped++] = s.stopped;
  }
  return stopped;
}

/* ---- the queue ---- */

void world_inspect(struct world *w, int lock)
{
  char life[16], number[16], log[32];
  const char *words[] = { w->directory, life, number, NULL, NULL };

  world_prepare(w);
  if ((w->inspected >> lock & 1) != 0)
    return;
  if (w->inspector_count == INSPECTORS_MAX)
    test_bail_out("too many inspectors");
  w->inspected |= 1U << lock;
  (void)snprintf(life, sizeof(life), "%d", w->inspector_count + 1);
  (void)snprintf(number, sizeof(number), "%d", lock);
  (void)snprintf(log, sizeof(log), "inspector%d", lock);
  words[3] = test_server_url(world_server(w));
  w->inspectors[w->inspector_count++] = world_spawn(w, "fault_inspector", words, log);
}

void world_end_inspectors(struct world *w)
{
  for (int i = 0; i < w->inspector_count; i++) {
    int how = 0;

    (void)kill(w->inspectors[i], SIGTERM);
    while (waitpid(w->inspectors[i], &how, 0) < 0 && errno == EINTR)
      ;
    if (WIFEXITED(how))
      world_note_exit(w, "an inspector", WEXITSTATUS(how));
    if (!WIFEXITED(how) || WEXITSTATUS(how) != 0)
      world_fail(w, "an inspector failed: see %s", w->directory);
  }
  w->inspector_count = 0;
}
