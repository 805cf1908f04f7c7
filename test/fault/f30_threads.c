/* SPDX-License-Identifier: MIT */
/* test/fault/f30_threads.c - no thread can be made: opening, callbacks and names that need one
 * fail cleanly and in time; a client that needs none works; with threads again all work. The
 * child becomes a user of its own, whose processes are counted by nobody else. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "child.h"

enum { USER = 54000, TTL_MS = 1000, THREADS_TRIED = 6 };

static char digits_url[64], name_url[64];

static bool become_nobody(void)
{
  uid_t user = USER + (uid_t)getpid() % 10000;

  return setresgid(user, user, user) == 0 && setresuid(user, user, user) == 0 &&
         prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;
}

/* So many threads more than there are now. */
static void allow(rlim_t hard, long more)
{
  struct rlimit limit = { (rlim_t)(child_threads() - 2 + more), hard };

  (void)setrlimit(RLIMIT_NPROC, &limit);
}

static void *return_at_once(void *data)
{
  return data;
}

static bool has_threads(void)
{
  pthread_t thread;

  if (pthread_create(&thread, NULL, return_at_once, NULL) != 0)
    return false;
  (void)pthread_join(thread, NULL);
  return true;
}

static _Atomic int answers;

static void on_answer(const dibs_error *error, dibs_hold *hold, void *data)
{
  (void)data;
  (void)answers++;
  if (error->status == DIBS_OK)
    (void)dibs_release_async(hold, NULL, NULL);
}

static dibs_status use(struct child *self, const char *url, uint32_t flags)
{
  dibs_lock_options o = child_lock_options(TTL_MS, 500);
  dibs_options options = DIBS_OPTIONS_INIT;
  struct child_time begun = child_time();
  dibs_client *client = NULL;
  dibs_hold *hold = NULL;
  dibs_status status;

  options.flags = flags | DIBS_CLIENT_NO_LOCAL;
  options.connect_timeout_ms = options.command_timeout_ms = 500;
  options.close_timeout_ms = 200;
  status = dibs_open(url, &options, &client, NULL);
  if (status == DIBS_OK)
    status = dibs_lock(client, "threads", &o, &hold);
  if (status == DIBS_OK)
    status = dibs_release(hold);
  if (status == DIBS_OK && flags == 0) {
    int before = answers;

    status = dibs_lock_async(client, "threads", &o, on_answer, NULL, NULL);
    for (int i = 0; i < 500 && status == DIBS_OK && answers == before; i++)
      child_sleep_ms(1);
    if (status == DIBS_OK && answers == before)
      status = DIBS_ERR_SYSTEM;
  }
  client = dibs_close(client);
  (void)child_check_time(self, "a client without threads", begun, 500 + 500 + 500 + 500 + 200);
  return status;
}

static bool is_clean(dibs_status status)
{
  return status == DIBS_OK || status == DIBS_ERR_SYSTEM || status == DIBS_ERR_UNREACHABLE;
}

static void starve(struct child *self, rlim_t hard, long more)
{
  dibs_status status;

  allow(hard, more);
  if (more == 0)
    (void)child_check(self, !has_threads(), "threads can be made all the same");
  status = use(self, digits_url, 0);
  (void)child_check(self, is_clean(status), "with %ld threads: %s", more,
                    dibs_status_name(status));
  child_mark(self, status == DIBS_OK ? "clients with threads" : "clients refused", 1);
  status = use(self, name_url, 0);
  (void)child_check(self, is_clean(status), "by name, with %ld threads: %s", more,
                    dibs_status_name(status));
  child_mark(self, status == DIBS_OK ? "clients with threads" : "clients refused", 1);
  status = use(self, digits_url, DIBS_CLIENT_NO_THREAD);
  (void)child_check(self, status == DIBS_OK, "a client that needs none, with %ld: %s", more,
                    dibs_status_name(status));
  child_mark(self, "clients that need no thread", 1);
}

static void be_alone(struct child *self, void *data)
{
  int64_t until = child_now_ms() + *(int *)data;
  dibs_status status = DIBS_OK;
  struct rlimit before;
  long fds, threads;

  (void)getrlimit(RLIMIT_NPROC, &before);
  if (!child_check(self, become_nobody(), "cannot become another user"))
    return;
  (void)child_check(self, use(self, digits_url, 0) == DIBS_OK, "no client before all this");
  fds = child_fds();
  threads = child_threads();
  do {
    for (long more = 0; more < THREADS_TRIED; more++)
      starve(self, before.rlim_max, more);
    (void)setrlimit(RLIMIT_NPROC, &before);
    for (int i = 0; i < 10 && (status = use(self, name_url, 0)) != DIBS_OK; i++)
      child_sleep_ms(20);                /* a busy machine: its time limits are short */
    (void)child_check(self, status == DIBS_OK, "no client with threads again: %s",
                      dibs_status_name(status));
  } while (child_now_ms() < until);
  for (int i = 0; i < 500 && child_threads() > threads; i++)
    child_sleep_ms(2);
  (void)child_check(self, child_fds() == fds, "%ld descriptors, before %ld", child_fds(), fds);
  (void)child_check(self, child_threads() == threads, "%ld threads, before %ld",
                    child_threads(), threads);
}

static void run(struct world *w, const struct scale *scale)
{
  int ms = (int)(scale->seconds * 300);
  struct child *c;

  (void)world_lock(w, 'm', "threads", 0);
  child_bystanders(w);
  (void)snprintf(digits_url, sizeof(digits_url), "%s", test_server_tcp_url(world_server(w)));
  (void)snprintf(name_url, sizeof(name_url), "redis://localhost:%d",
                 test_server_port(world_server(w)));
  world_demand(w, "clients refused", 1);
  world_demand(w, "clients with threads", 2);
  world_demand(w, "clients that need no thread", THREADS_TRIED);
  c = child_start(w, be_alone, &ms);
  c = child_end(c, ms + 30000);
}

const struct scenario f30_threads = {
  .id = "F30", .name = "without_threads_calls_fail_cleanly_and_who_needs_none_works",
  .run = run, .skip_without = "root",
};
