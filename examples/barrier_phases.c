/* SPDX-License-Identifier: MIT */
/* barrier_phases - a simulation in steps, spread over processes: nobody begins a step before
 * all have finished the one before. Kill one of them: the others stop within 10 s. */
#include <dibs/dibs.h>

#include <inttypes.h>
#include <stdio.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 3, STEPS = 3, WAIT_MS = 30000 };

static dibs_status step_end(dibs_client *client, int worker)
{
  dibs_wait_options options = DIBS_WAIT_OPTIONS_INIT;
  dibs_barrier_info info = { .size = sizeof(info) };
  dibs_status status;

  options.wait_ms = WAIT_MS;
  status = dibs_barrier_await(client, "example:step", WORKERS, &options, &info);
  if (status == DIBS_OK && info.index == WORKERS - 1)
    printf("worker %d was the last: step %" PRIu64 " is done\n", worker, info.generation);
  return status;
}

/* Each process has a client of its own: one opened before fork() belongs to the parent. */
static int work(int worker)
{
  dibs_client *client = NULL;
  dibs_status status = dibs_open(NULL, NULL, &client, NULL);

  for (int step = 0; step < STEPS && status == DIBS_OK; step++) {
    /* ... this worker's part of the step ... */
    status = step_end(client, worker);
  }
  if (status == DIBS_BROKEN)        /* somebody died: these results are worth nothing */
    fprintf(stderr, "worker %d: the team is not complete any more\n", worker);
  else if (status != DIBS_OK)
    fprintf(stderr, "worker %d: %s\n", worker, dibs_status_text(status));
  client = dibs_close(client);
  return status == DIBS_OK ? 0 : 1;
}

static void start_workers(void)
{
  for (int worker = 0; worker < WORKERS; worker++)
    if (fork() == 0) {
      int code = work(worker);

      fflush(stdout);
      _exit(code);
    }
}

int main(void)
{
  int failures = 0, status = 0, ended = 0;

  start_workers();
  while (wait(&status) > 0) {
    failures += status != 0;
    ended++;
  }
  return failures == 0 && ended == WORKERS ? 0 : 1;
}
