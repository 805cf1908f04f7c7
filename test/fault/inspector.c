/* SPDX-License-Identifier: MIT */
/* test/fault/inspector.c - a process that looks at one queue again and again, and writes down
 * who waits in which order.
 *
 *   fault_inspector DIRECTORY LIFE LOCK URL
 *
 * Workers are known by their process ids, which the server shows to people. */
#include "page.h"
#include "run_file.h"
#include "stall.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include <dibs/dibs.h>

enum { PAUSE_US = 3000 };

static _Atomic int is_ending;

static void on_end(int number)
{
  (void)number;
  atomic_store(&is_ending, 1);
}

static uint16_t worker_of(struct page *p, int64_t pid)
{
  for (uint16_t i = 0; i < WORKERS_MAX; i++)
    if (pid != 0 && atomic_load(&p->workers[i].pid) == pid)
      return i;
  return EVERYBODY;
}

static void look(struct recorder *r, struct page *p, const dibs_inspection *seen,
                 uint16_t lock, int64_t sent_ns, uint64_t number)
{
  int64_t now = history_now_ns();

  for (size_t i = 0; i < seen->party_count; i++) {
    struct record line = { .op = OP_QUEUED, .phase = PHASE_INFO, .lock = lock,
                           .owner = worker_of(p, seen->waiters[i]->pid), .call = number,
                           .value = (int64_t)i, .sent_ns = sent_ns, .at_ns = now };

    recorder_put(r, &line);
  }
}

int main(int argc, char **argv)
{
  struct sigaction action = { .sa_handler = on_end };
  struct history *run = calloc(1, sizeof(*run));
  dibs_options o = DIBS_OPTIONS_INIT;
  dibs_inspection *seen;
  dibs_client *client;
  struct recorder *r;
  struct page *page;
  uint16_t lock;

  if (argc != 5 || run == NULL || !run_read(argv[1], run, NULL) ||
      prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
    return 64;
  (void)sigaction(SIGTERM, &action, NULL);
  page = page_open(argv[1]);
  r = recorder_open(argv[1], RUNNER, (uint16_t)strtoul(argv[2], NULL, 10));
  lock = (uint16_t)strtoul(argv[3], NULL, 10);
  o.connect_timeout_ms = o.command_timeout_ms = 300;
  o.dialect = (dibs_dialect)run->dialect;
  o.registry = o.dialect == DIBS_DIALECT_SPRING ? FAULT_REGISTRY : NULL;
  if (dibs_open(argv[4], &o, &client, NULL) != DIBS_OK)
    return 70;
  for (uint64_t number = 1; !atomic_load(&is_ending); number++) {
    int64_t sent_ns = history_now_ns();

    if (dibs_inspect(client, dibs_text(run->locks[lock].name), &seen) == DIBS_OK) {
      look(r, page, seen, lock, sent_ns, number);
      seen = dibs_inspection_free(seen);
    }
    pause_us(PAUSE_US);
  }
  client = dibs_close(client);
  r = recorder_close(r);
  page = page_close(page);
  free(run);
  return 0;
}
