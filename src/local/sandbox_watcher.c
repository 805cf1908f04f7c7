/* SPDX-License-Identifier: MIT */
/* local/sandbox_watcher.c - the process that owns the servers of a sandbox. */
#include "local/sandbox_watcher.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "local/detach.h"
#include "local/failure.h"
#include "local/server_run.h"
#include "local/tree.h"

enum { OWNER_TURN_MS = 200 };

const char sandbox_word_stop = 'q', sandbox_word_keep = 'k';

typedef struct watcher {
  const sandbox_plan *plan;
  const char *directory;
  pid_t owner;
  int owner_watch;     /* -1 on kernels without pidfd: then polled */
  int control;
  bool is_kept;
  pid_t servers[SANDBOX_SERVERS_MAX];
  bool is_ended[SANDBOX_SERVERS_MAX];
} watcher;

static volatile sig_atomic_t is_reported_to_end;

static void on_end(int number)
{
  (void)number;
  is_reported_to_end = 1;
}

static bool is_owner_gone(const watcher *w, const struct pollfd *watch)
{
  if (w->is_kept)
    return false;
  if (w->owner_watch >= 0)
    return (watch->revents & POLLIN) != 0;
  return kill(w->owner, 0) != 0 && errno == ESRCH;
}

static bool has_ended(pid_t server)
{
  siginfo_t how = { 0 };

  return waitid(P_PID, (id_t)server, &how, WEXITED | WNOWAIT | WNOHANG | __WALL) != 0
         || how.si_pid == server;
}

static void say(const watcher *w, int word)
{
  (void)!send(w->control, &word, sizeof(word), MSG_NOSIGNAL);
}

/* The end of a server is only reported to the owner: its log is still needed, and the
 * program under test may have ended it. */
static void look_at_servers(watcher *w, struct pollfd *watches)
{
  for (int i = 0; i < w->plan->count; i++) {
    if (w->is_ended[i] || !has_ended(w->servers[i]))
      continue;
    w->is_ended[i] = true;
    watches[i].fd = -1;
    say(w, SANDBOX_SERVER_ENDED - i);
  }
}

static void listen_to_owner(watcher *w, struct pollfd *control, bool *ret_stops)
{
  char byte;

  if (control->revents == 0)
    return;
  if (read(w->control, &byte, 1) != 1) {
    control->fd = -1;   /* the owner closed its descriptors, but lives */
  } else if (byte == sandbox_word_keep) {
    w->is_kept = true;
    say(w, (int)getpid());
  } else {
    *ret_stops = true;
  }
}

/* Returns when the sandbox is to end. */
static void wait_for_a_reason(watcher *w)
{
  struct pollfd all[2 + SANDBOX_SERVERS_MAX] = { { .fd = w->owner_watch, .events = POLLIN },
                                                 { .fd = w->control, .events = POLLIN } };
  int turn = w->owner_watch >= 0 ? -1 : OWNER_TURN_MS;
  bool stops = false;

  for (int i = 0; i < w->plan->count; i++) {
    all[2 + i] = (struct pollfd){ .fd = watch_process(w->servers[i]), .events = POLLIN };
    turn = all[2 + i].fd < 0 ? OWNER_TURN_MS : turn;
  }
  while (!stops && is_reported_to_end == 0) {
    if (poll(all, 2 + (nfds_t)w->plan->count, turn) < 0) {
      if (errno != EINTR)
        return;
      continue;
    }
    if (is_owner_gone(w, &all[0]))
      return;
    if (w->is_kept)
      all[0].fd = -1;
    look_at_servers(w, &all[2]);
    listen_to_owner(w, &all[1], &stops);
  }
}

/* Async-signal-safe calls only. */
static void watch(void *data)
{
  struct sigaction end = { .sa_handler = on_end };
  watcher w = *(const watcher *)data;

  (void)sigaction(SIGTERM, &end, NULL);
  for (int i = 0; i < w.plan->count; i++)
    w.servers[i] = server_run_start(&w.plan->runs[i], true, w.control);
  wait_for_a_reason(&w);
  for (int i = 0; i < w.plan->count; i++) {
    if (w.servers[i] <= 0)
      continue;
    (void)kill(w.servers[i], SIGKILL);
    (void)waitpid(w.servers[i], NULL, __WALL);
  }
  tree_remove(w.directory);
}

dibs_status sandbox_watcher_start(const sandbox_plan *plan, const char *directory, pid_t owner,
                                  int *ret_control, dibs_error *error)
{
  watcher w = { .plan = plan, .directory = directory, .owner = owner };
  int ends[2], kept[2];
  bool is_started;

  if (!detach_socket_pair(ends))
    return failure(error, DIBS_ERR_SYSTEM, "sandbox: no socket: %s%s", strerror(errno),
                   failure_advice(errno));
  w.owner_watch = watch_process(owner);
  w.control = ends[1];
  kept[0] = ends[1];
  kept[1] = w.owner_watch;
  is_started = detach(watch, &w, "dibs-sandbox", kept, w.owner_watch >= 0 ? 2 : 1);
  (void)close(ends[1]);
  if (w.owner_watch >= 0)
    (void)close(w.owner_watch);
  if (!is_started) {
    (void)close(ends[0]);
    return failure(error, DIBS_ERR_SYSTEM, "sandbox: cannot start a process");
  }
  *ret_control = ends[0];
  return DIBS_OK;
}
