/* SPDX-License-Identifier: MIT */
/* test/fault/f30_descriptors.c - a process runs out of descriptors: clean faults in time, and
 * nothing is left behind; a lease outlives a reconnection that has to wait for one. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "child.h"

enum { LIMIT = 96, SPARE_MAX = 14, TTL_MS = 1500 };

static char url[128];

/* ---- the child ---- */

static int eaten[LIMIT];
static int eaten_count;

/* All but `spare` of what this process may open. */
static void eat(int spare)
{
  int fd;

  while (eaten_count < LIMIT && (fd = fcntl(0, F_DUPFD_CLOEXEC, 0)) >= 0)
    eaten[eaten_count++] = fd;
  while (spare-- > 0 && eaten_count > 0)
    (void)close(eaten[--eaten_count]);
}

static void give_back(void)
{
  while (eaten_count > 0)
    (void)close(eaten[--eaten_count]);
}

static bool is_clean_fault(dibs_status status)
{
  return status == DIBS_ERR_SYSTEM || status == DIBS_ERR_UNREACHABLE ||
         status == DIBS_ERR_NO_MEMORY || status == DIBS_UNKNOWN;
}

/* A client from its opening to its end. Whether it got through. */
static bool try_all(struct child *self, int spare)
{
  dibs_options options = DIBS_OPTIONS_INIT;
  dibs_canceller *canceller = NULL;
  dibs_client *client = NULL;
  dibs_hold *hold = NULL;
  dibs_status status;

  options.connect_timeout_ms = 60;
  options.command_timeout_ms = 60;
  options.close_timeout_ms = 60;
  status = dibs_open(url, &options, &client, NULL);
  if (status == DIBS_OK) {
    status = dibs_try_lock(client, "spare", NULL, &hold);
    if (status == DIBS_OK) {
      (void)dibs_hold_fd(hold);
      if (dibs_canceller_new(&canceller) == DIBS_OK)
        canceller = dibs_canceller_free(canceller);
      status = dibs_release(hold);
    }
  }
  client = dibs_close(client);
  (void)child_check(self, status == DIBS_OK || is_clean_fault(status),
                    "with %d descriptors: %s", spare, dibs_status_name(status));
  return status == DIBS_OK;
}

/* The connection breaks, and for a while there is no descriptor for another. */
static void reconnect_late(struct child *self, dibs_client *client, dibs_hold *hold)
{
  int64_t valid = dibs_hold_valid_ms(hold), begun_ms = child_now_ms();
  bool is_late;
  uint64_t renewed;
  dibs_client_info stats = DIBS_CLIENT_INFO_INIT;

  eat(0);
  child_tell(self, "cut me");
  child_obey(self, "cut");
  child_sleep_ms(TTL_MS / 4);
  (void)child_check(self, dibs_hold_state(hold) != DIBS_HOLD_GONE ||
                          child_now_ms() - begun_ms >= valid, "lost while it was valid");
  give_back();
  is_late = child_now_ms() - begun_ms > valid / 2;      /* too little is left to save it */
  (void)dibs_client_get_info(client, &stats);
  renewed = stats.renewed;
  begun_ms = child_now_ms();
  while (stats.renewed == renewed && child_now_ms() - begun_ms < TTL_MS) {
    child_sleep_ms(2);
    (void)dibs_client_get_info(client, &stats);
  }
  is_late |= child_machine_slack_ms() != 0;
  if (stats.renewed > renewed && dibs_hold_state(hold) == DIBS_HOLD_HELD)
    child_mark(self, "leases kept without descriptors", 1);
  else
    (void)child_check(self, is_late, "not renewed though descriptors came back in time");
}

static void starve(struct child *self, void *data)
{
  struct rlimit limit = { LIMIT, LIMIT };
  int64_t until = child_now_ms() + *(int *)data;
  dibs_client *client;
  dibs_hold *hold;
  long fds, threads, refused = 0, passed = 0;

  (void)setrlimit(RLIMIT_NOFILE, &limit);
  client = child_open(self, url, NULL);
  hold = child_lock(self, client, "kept", TTL_MS);
  do {
    fds = child_fds();
    threads = child_threads_settled();
    for (int spare = 0; spare <= SPARE_MAX; spare++) {
      struct child_time begun = child_time();

      eat(spare);
      if (try_all(self, spare))
        passed++;
      else
        refused++;
      give_back();
      (void)child_check_time(self, "a client short of descriptors", begun, 60 * 4);
      (void)child_check(self, child_fds() == fds, "with %d spare: %ld descriptors, before %ld",
                        spare, child_fds(), fds);
    }
    (void)child_check(self, child_threads_settled() == threads, "%ld threads, before %ld",
                      child_threads_settled(), threads);
    reconnect_late(self, client, hold);
    if (dibs_hold_state(hold) == DIBS_HOLD_GONE) {
      (void)dibs_release(hold);
      hold = child_lock(self, client, "kept", TTL_MS);
    }
  } while (child_now_ms() < until);
  (void)dibs_release(hold);
  client = dibs_close(client);
  child_mark(self, "clients refused", refused);
  child_mark(self, "clients served", passed);
  child_tell(self, "fed");
}

static void run(struct world *w, const struct scale *scale)
{
  int ms = (int)(scale->seconds * 400);
  struct child *c;

  (void)world_lock(w, 'm', "kept", 0);
  (void)world_lock(w, 'm', "spare", 0);
  child_bystanders(w);
  (void)snprintf(url, sizeof(url), "%s", test_proxy_url(world_proxy(w)));
  world_demand(w, "clients refused", 3);
  world_demand(w, "clients served", 3);
  world_demand(w, "leases kept without descriptors", 1);
  c = child_start(w, starve, &ms);
  while (child_hear_either(c, "cut me", "fed", ms + 20000)) {
    test_proxy_cut(world_proxy(w));
    child_order(c, "cut");
  }
  c = child_end(c, 10000);
}

const struct scenario f30_descriptors = {
  .id = "F30", .name = "without_descriptors_calls_fail_cleanly_and_leases_last", .run = run,
};
