/* SPDX-License-Identifier: MIT */
/* test/fault/worker.c - a process that works under locks until SIGTERM, and writes down all.
 *
 *   fault_worker DIRECTORY NUMBER LIFE SEED URL "plan words"
 *
 * Started by world_hire(). Ends with 0 when it was told to; anything else is a failure. */
#include "worker.h"
#include "run_file.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { WARM_CYCLES = 40, REOPEN_CYCLES = 50 };

static struct worker the_worker;

static void on_end(int number)
{
  (void)number;
  atomic_store(&the_worker.is_ending, true);
}

static _Noreturn void die(const char *what)
{
  (void)fprintf(stderr, "worker %u: %s\n", the_worker.number, what);
  exit(70);
}

bool worker_open(struct worker *w)
{
  dibs_options o = DIBS_OPTIONS_INIT;
  char note[32];
  dibs_error error = DIBS_ERROR_INIT;

  (void)snprintf(note, sizeof(note), "w%u", w->number);
  o.flags = DIBS_CLIENT_NO_LOCAL;
  if (w->plan.has_no_thread)
    o.flags |= DIBS_CLIENT_NO_THREAD;
  o.connect_timeout_ms = w->plan.connect_timeout_ms;
  o.command_timeout_ms = w->plan.command_timeout_ms;
  o.renew_every_ms = w->plan.renew_every_ms;
  o.note = note;
  o.dialect = (dibs_dialect)w->run->dialect;
  o.registry = o.dialect == DIBS_DIALECT_SPRING ? FAULT_REGISTRY : NULL;
  if (dibs_open(w->url, &o, &w->client, &error) == DIBS_OK)
    return true;
  (void)fprintf(stderr, "worker %u: %s\n", w->number, error.text);
  return false;
}

static bool is_done(struct worker *w)
{
  uint64_t cycles = atomic_fetch_add(&w->cycles, 1);

  if (w->plan.cycles > 0 && cycles >= (uint64_t)w->plan.cycles)
    return true;
  return atomic_load(&w->is_ending);
}

static void *thread_run(void *data)
{
  struct thread *t = data;
  struct worker *w = t->worker;

  for (uint64_t cycles = 0; !is_done(w); cycles++) {
    if (t->number == 0 && cycles == WARM_CYCLES)
      usage_tell(w, PHASE_INFO);
    if (w->plan.reopens && w->plan.threads == 1 && cycles % REOPEN_CYCLES == 49) {
      w->client = dibs_close(w->client);
      if (!worker_open(w))
        die("cannot open again");
    }
    worker_cycle(t);
  }
  return NULL;
}

static void thread_init(struct worker *w, int number)
{
  struct thread *t = &w->threads[number];

  t->worker = w;
  t->number = (uint16_t)number;
  t->chance = (w->seed + 1) * 0x9e3779b97f4a7c15U ^ ((uint64_t)w->number << 32) ^
              ((uint64_t)w->life << 16) ^ (uint64_t)(number + 1);
  for (int i = 0; i < 8; i++)
    (void)chance_below(t, 2);
  (void)pthread_mutex_init(&t->mutex, NULL);
  for (int i = 0; i < HELD_KEPT; i++) {
    t->kept[i].thread = t;
    (void)pthread_mutex_init(&t->kept[i].mutex, NULL);
    (void)pthread_cond_init(&t->kept[i].changed, NULL);
  }
}

static void work(struct worker *w)
{
  for (int i = 1; i < w->plan.threads; i++)
    if (pthread_create(&w->threads[i].id, NULL, thread_run, &w->threads[i]) != 0)
      die("no thread");
  (void)thread_run(&w->threads[0]);
  for (int i = 1; i < w->plan.threads; i++)
    (void)pthread_join(w->threads[i].id, NULL);
}

/* Waits for what ends by itself soon after dibs_close(); what does not is a finding. */
static void let_go(long fds, long threads)
{
  for (int i = 0; i < 400 && (usage_fds() > fds || usage_threads() > threads); i++)
    pause_us(5000);
}

static void begin(struct worker *w, char **words)
{
  struct sigaction action = { .sa_handler = on_end };

  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
    die("prctl");
  (void)snprintf(w->directory, sizeof(w->directory), "%s", words[1]);
  w->number = (uint16_t)strtoul(words[2], NULL, 10);
  w->life = (uint16_t)strtoul(words[3], NULL, 10);
  w->seed = strtoull(words[4], NULL, 10);
  w->url = words[5];
  if (w->number >= WORKERS_MAX || !plan_read(words[6], &w->plan) || w->plan.threads < 1 ||
      w->plan.threads > WORKER_THREADS_MAX)
    die("arguments");
  (void)sigaction(SIGTERM, &action, NULL);
  w->run = calloc(1, sizeof(*w->run));
  if (w->run == NULL || !run_read(w->directory, w->run, NULL))
    die("run.txt");
  w->page = page_open(w->directory);
  w->counters = &w->page->workers[w->number];
  atomic_store(&w->counters->pid, getpid());
  atomic_store(&w->counters->holds, 0);
  w->recorder = recorder_open(w->directory, w->number, w->life);
  if (dibs_canceller_new(&w->quit) != DIBS_OK)
    die("no canceller");
  for (int i = 0; i < w->plan.threads; i++)
    thread_init(w, i);
}

int main(int argc, char **argv)
{
  struct worker *w = &the_worker;
  long fds, threads;

  if (argc != 7) {
    (void)fputs("fault_worker DIRECTORY NUMBER LIFE SEED URL PLAN\n", stderr);
    return 64;
  }
  begin(w, argv);
  watch_start(w);
  fds = usage_fds();
  threads = usage_threads();
  usage_tell(w, PHASE_INVOKE);
  if (!worker_open(w))
    return 70;
  work(w);
  usage_tell(w, PHASE_FAIL);
  w->client = dibs_close(w->client);
  let_go(fds, threads);
  usage_tell(w, PHASE_OK);
  watch_stop();
  w->quit = dibs_canceller_free(w->quit);
  w->recorder = recorder_close(w->recorder);
  w->page = page_close(w->page);
  free(w->run);
  return 0;
}
