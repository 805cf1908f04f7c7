/* SPDX-License-Identifier: MIT */
/* test/fault/world_crew.c - the worker processes of a world: started, stopped, killed, and
 * every death of theirs noticed. */
#include "world_parts.h"
#include "run_file.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/server_parts.h"

enum { FIRST_GRANT_MS = 15000, END_MS = 10000 };

/* ---- processes ---- */

pid_t world_spawn(struct world *w, const char *program, const char *const *words,
                  const char *log)
{
  char path[600], log_path[600];
  char *copies[16] = { NULL };
  pid_t parent = getpid(), child;

  (void)snprintf(path, sizeof(path), "%s%s%s", program[0] == '/' ? "" : w->programs,
                 program[0] == '/' ? "" : "/", program);
  (void)snprintf(log_path, sizeof(log_path), "%s/%s.log", w->directory, log);
  copies[0] = path;
  for (int i = 0; words[i] != NULL && i < 14; i++)
    copies[i + 1] = strdup(words[i]);
  child = fork();
  if (child == 0)
    test_become(path, copies, environ, log_path, parent);
  if (child < 0)
    test_bail_out("fork: %s", strerror(errno));
  for (int i = 1; copies[i] != NULL; i++)
    free(copies[i]);
  return child;
}

static void tell_life(struct world *w, int worker, enum phase phase)
{
  struct hired *k = &w->workers[worker];
  struct record r = { .op = OP_LIFE, .phase = (uint8_t)phase, .lock = NO_LOCK,
                      .owner = (uint16_t)worker, .value = k->lives - 1,
                      .sent_ns = phase == PHASE_OK ? k->killed_ns : 0 };

  world_tell(w, &r);
}

static void start(struct world *w, int worker)
{
  struct hired *k = &w->workers[worker];
  char number[16], life[16], seed[32], plan[600], log[32];
  const char *words[] = { w->directory, number, life, seed, k->url, plan, NULL };

  (void)snprintf(number, sizeof(number), "%d", worker);
  (void)snprintf(life, sizeof(life), "%u", k->lives);
  (void)snprintf(seed, sizeof(seed), "%llu", (unsigned long long)w->scale.seed);
  (void)snprintf(log, sizeof(log), "w%02d", worker);
  plan_write(&k->plan, plan, sizeof(plan));
  k->lives++;
  k->is_stopped = k->is_expected_to_end = false;
  k->killed_ns = 0;
  tell_life(w, worker, PHASE_INVOKE);
  k->pid = world_spawn(w, k->program[0] != '\0' ? k->program : "fault_worker", words, log);
}

static void note_death(struct world *w, int worker, const siginfo_t *how)
{
  struct hired *k = &w->workers[worker];
  bool has_exited = how->si_code == CLD_EXITED;

  tell_life(w, worker, PHASE_OK);
  if (k->is_stopped)
    world_fault_end(w, k->stop_fault);
  k->pid = 0;
  k->is_stopped = false;
  if ((has_exited && how->si_status == 0) ||
      (k->killed_ns != 0 && !has_exited && how->si_status == SIGKILL))
    return;
  if (has_exited)
    world_note_exit(w, "a worker", how->si_status);
  world_fail(w, "worker %d ended by %s %d: see %s/w%02d.log", worker,
             has_exited ? "exit" : "signal", how->si_status, w->directory, worker);
}

/* Whether there is news of a worker: of its end, or of what `flags` say. It is not laid to
 * rest: to wait for a process to the end unmakes its entries in /proc, and that was seen to
 * take the kernel many seconds. Whoever inherits them does it when this process has ended. */
static bool has_news(const struct hired *k, int flags, siginfo_t *ret_how)
{
  ret_how->si_pid = 0;
  while (waitid(P_PID, (id_t)k->pid, ret_how, WEXITED | WNOWAIT | flags) != 0)
    if (errno != EINTR)
      return false;
  return ret_how->si_pid == k->pid;
}

void world_reap(struct world *w)
{
  siginfo_t how;

  for (int i = 0; i < w->worker_count; i++)
    if (w->workers[i].pid != 0 && has_news(&w->workers[i], WNOHANG, &how))
      note_death(w, i, &how);
}

static void wait_for_end(struct world *w, int worker)
{
  siginfo_t how;

  if (w->workers[worker].pid != 0 && has_news(&w->workers[worker], 0, &how))
    note_death(w, worker, &how);
}

/* ---- hiring ---- */

uint64_t world_answers_of(const struct world *w, int worker)
{
  uint64_t answers = world_grants_of(w, worker);

  if (w->workers[worker].plan.try_percent == 100)
    answers += atomic_load(&w->page->workers[worker].asks_failed);
  return answers;
}

static bool all_had_a_grant(struct world *w, void *data)
{
  const uint64_t *before = data;

  for (int i = 0; i < w->worker_count; i++)
    if (w->workers[i].pid != 0 && before[i] != UINT64_MAX &&
        world_answers_of(w, i) <= before[i])
      return false;
  return true;
}

int world_hire_blind(struct world *w, const struct plan *plan, int count)
{
  int first = w->worker_count;

  world_prepare(w);
  if (first + count > WORKERS_MAX)
    test_bail_out("too many workers");
  for (int i = 0; i < count; i++) {
    struct hired *k = &w->workers[w->worker_count++];

    k->plan = *plan;
    plan_defaults(&k->plan);
    (void)snprintf(k->url, sizeof(k->url), "%s",
                   plan->url != NULL ? plan->url : test_server_url(world_server(w)));
    (void)snprintf(k->program, sizeof(k->program), "%s",
                   plan->program != NULL ? plan->program : "");
    start(w, w->worker_count - 1);
  }
  return first;
}

int world_hire(struct world *w, const struct plan *plan, int count)
{
  uint64_t before[WORKERS_MAX];
  int first = w->worker_count;

  for (int i = 0; i < WORKERS_MAX; i++)
    before[i] = i < first ? UINT64_MAX : 0;
  (void)world_hire_blind(w, plan, count);
  if (!world_until(w, FIRST_GRANT_MS, all_had_a_grant, before))
    world_fail(w, "not every new worker had a grant within %d ms", FIRST_GRANT_MS);
  return first;
}

void world_rehire(struct world *w, int worker)
{
  world_reap(w);
  if (w->workers[worker].pid == 0)
    start(w, worker);
}

pid_t world_pid(const struct world *w, int worker) { return w->workers[worker].pid; }
int world_workers(const struct world *w) { return w->worker_count; }

bool world_is_alive(struct world *w, int worker)
{
  world_reap(w);
  return w->workers[worker].pid != 0;
}

/* ---- what can happen to them ---- */

void world_kill(struct world *w, int worker)
{
  struct hired *k = &w->workers[worker];

  world_reap(w);
  if (k->pid == 0)
    return;
  world_fault_instant(w, FAULT_KILL, worker, NO_LOCK);
  k->killed_ns = history_now_ns();
  (void)kill(k->pid, SIGKILL);
  wait_for_end(w, worker);
}

void world_stop(struct world *w, int worker)
{
  struct hired *k = &w->workers[worker];
  siginfo_t how;

  if (k->pid == 0 || k->is_stopped)
    return;
  k->stop_fault = world_fault_begin(w, FAULT_STOP, worker, NO_LOCK);
  k->is_stopped = true;
  (void)kill(k->pid, SIGSTOP);
  if (has_news(k, WSTOPPED, &how) && how.si_code != CLD_STOPPED)
    note_death(w, worker, &how);
  else
    world_fault_in_force(w, k->stop_fault);
}

void world_continue(struct world *w, int worker)
{
  struct hired *k = &w->workers[worker];

  if (k->pid == 0 || !k->is_stopped)
    return;
  world_fault_lifting(w, k->stop_fault);
  (void)kill(k->pid, SIGCONT);
  k->is_stopped = false;
  world_fault_end(w, k->stop_fault);
}

static bool is_gone(struct world *w, void *data)
{
  return w->workers[*(int *)data].pid == 0;
}

static void expect_end(struct world *w, int worker)
{
  if (world_until(w, END_MS, is_gone, &worker))
    return;
  world_fail(w, "worker %d does not end: it did not return from a call", worker);
  w->workers[worker].killed_ns = history_now_ns();
  (void)kill(w->workers[worker].pid, SIGKILL);
  wait_for_end(w, worker);
}

void world_dismiss(struct world *w, int worker)
{
  world_reap(w);
  if (w->workers[worker].pid == 0)
    return;
  world_continue(w, worker);
  (void)kill(w->workers[worker].pid, SIGTERM);
  expect_end(w, worker);
}

void world_end_crew(struct world *w)
{
  world_reap(w);
  for (int i = 0; i < w->worker_count; i++) {
    world_continue(w, i);
    if (w->workers[i].pid != 0)
      (void)kill(w->workers[i].pid, SIGTERM);
  }
  for (int i = 0; i < w->worker_count; i++)
    if (w->workers[i].pid != 0)
      expect_end(w, i);
}
