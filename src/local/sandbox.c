/* SPDX-License-Identifier: MIT */
/* local/sandbox.c - servers of one process, removed with that process.
 *
 *   owner  <- socket pair ->  watcher  -- parent, death signal ->  servers
 *     ^------- pidfd ------------'
 *
 * The watcher waits for the end of the owner (its pidfd: children of the owner that
 * inherited descriptors do not count), a byte on the socket pair or SIGTERM. Then it kills
 * the servers, removes the directory and exits. If the watcher is killed, the kernel kills
 * the servers, and the directory stays until the next sandbox of this user, which finds
 * the owner's pid in its name. A sandbox that is kept has no owner: only SIGTERM ends it. */
#include <dibs/local.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "local/ask.h"
#include "local/detach.h"
#include "local/failure.h"
#include "local/local.h"
#include "local/place.h"
#include "local/sandbox_plan.h"
#include "local/server_program.h"
#include "local/server_run.h"
#include "local/server_start.h"
#include "local/tree.h"

enum { START_MS = 4500, FORM_MS = 40000, PING_MS = 1000, TURN_MS = 2,
       OWNER_TURN_MS = 200 };

/* Messages of the owner to the watcher, a byte each. */
static const char word_stop = 'q', word_keep = 'k';

static const char prefix[] = "dibs-sandbox-";

struct dibs_sandbox {
  pid_t owner;
  int control;
  char directory[PLACE_SOCKET_MAX];
};

/* ---- the watcher: async-signal-safe calls only ---- */

/* Messages of the watcher, an int each: a positive one is the errno of a failed exec. */
enum { SERVER_ENDED = -1 };

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
    say(w, SERVER_ENDED);
  }
}

static void listen_to_owner(watcher *w, struct pollfd *control, bool *ret_stops)
{
  char byte;

  if (control->revents == 0)
    return;
  if (read(w->control, &byte, 1) != 1) {
    control->fd = -1;   /* the owner closed its descriptors, but lives */
  } else if (byte == word_keep) {
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

/* ---- the owner ---- */

/* "dibs-sandbox-<pid>-..." of a dead process of this user, whose server is dead, too: the
 * owner may live in another pid name space with the same /tmp. */
static bool is_left_over(const char *name, const char *path)
{
  char first[PLACE_SOCKET_MAX];
  struct stat found;
  place p;
  char *end;
  long pid;

  if (strncmp(name, prefix, sizeof(prefix) - 1) != 0 || strlen(path) > 80)
    return false;
  pid = (long)strtoll(name + sizeof(prefix) - 1, &end, 10);
  if (pid <= 0 || *end != '-' || kill((pid_t)pid, 0) == 0 || errno != ESRCH)
    return false;
  if (lstat(path, &found) != 0 || !S_ISDIR(found.st_mode) || found.st_uid != geteuid())
    return false;
  place_in(path, &p);
  if (ask_whether_it_listens(p.socket) != ANSWER_NONE)
    return false;
  /* The first server of a deployment. */
  (void)snprintf(first, sizeof(first), "%.80s/0", path);
  place_in(first, &p);
  return ask_whether_it_listens(p.socket) == ANSWER_NONE;
}

static void sweep(void)
{
  DIR *directory = directory_read("/tmp");
  struct dirent *entry;
  char path[300];

  if (directory == NULL)
    return;
  while ((entry = readdir(directory)) != NULL) {
    (void)snprintf(path, sizeof(path), "/tmp/%s", entry->d_name);
    if (is_left_over(entry->d_name, path))
      tree_remove(path);
  }
  (void)closedir(directory);
}

static dibs_status start_watcher(const sandbox_plan *plan, dibs_sandbox *s,
                                 dibs_error *error)
{
  watcher w = { .plan = plan, .directory = s->directory, .owner = s->owner };
  int ends[2], kept[2];
  bool is_started;

  if (!detach_socket_pair(ends))
    return failure(error, DIBS_ERR_SYSTEM, "sandbox: %s", strerror(errno));
  w.owner_watch = watch_process(s->owner);
  w.control = ends[1];
  kept[0] = ends[1];
  kept[1] = w.owner_watch;
  is_started = detach(watch, &w, "dibs-sandbox", kept, w.owner_watch >= 0 ? 2 : 1);
  (void)close(ends[1]);
  if (w.owner_watch >= 0)
    (void)close(w.owner_watch);
  if (!is_started) {
    (void)close(ends[0]);
    return failure(error, DIBS_ERR_SYSTEM, "sandbox: no process can be made");
  }
  s->control = ends[0];
  return DIBS_OK;
}

/* Waits until it replies; the watcher reports the end of a server. */
static dibs_status wait_until_it_serves(const dibs_sandbox *s, const place *p,
                                        int64_t until, dibs_error *error)
{
  struct pollfd wait = { .fd = s->control, .events = POLLIN };
  char tail[256];
  int word;

  while (ask_ping(p->socket, PING_MS, NULL) != ANSWER_PONG) {
    if (poll(&wait, 1, TURN_MS) > 0) {
      if (read(s->control, &word, sizeof(word)) == (ssize_t)sizeof(word) && word > 0)
        return failure(error, DIBS_ERR_NO_SERVER,
                       "sandbox: the server program cannot be executed: %s",
                       strerror(word));
      log_tail(p->log, tail, sizeof(tail));
      return failure(error, DIBS_ERR_UNREACHABLE,
                     "sandbox: the server ended at once; the end of its log: %s", tail);
    }
    if (clock_ms() >= until)
      return failure(error, DIBS_ERR_UNREACHABLE, "sandbox: no answer in time");
  }
  return DIBS_OK;
}

/* Starts the servers in the new directory. */
static dibs_status fill_sandbox(dibs_sandbox *s, const dibs_sandbox_options *options,
                                const server_program *program, char *ret_url,
                                size_t url_size, dibs_error *error)
{
  sandbox_plan plan;
  dibs_status status = sandbox_plan_make(&plan, options, program, s->directory, error);
  int64_t until = clock_ms() + (plan.kind == DIBS_SANDBOX_SERVER ? START_MS : FORM_MS);

  if (status == DIBS_OK && !sandbox_plan_url(&plan, ret_url, url_size))
    status = failure(error, DIBS_ERR_ARGUMENT, "sandbox: no room for its URL");
  if (status == DIBS_OK)
    status = start_watcher(&plan, s, error);
  for (int i = 0; i < plan.count && status == DIBS_OK; i++)
    status = wait_until_it_serves(s, &plan.runs[i].place, until, error);
  if (status == DIBS_OK)
    status = sandbox_plan_form(&plan, until, error);
  sandbox_plan_free(&plan);
  return status;
}

dibs_status sandbox_start(const dibs_sandbox_options *options, dibs_sandbox **ret_sandbox,
                          char *ret_url, size_t url_size, dibs_error *error)
{
  server_program program;
  dibs_sandbox *s;
  dibs_status status;

  if (ret_sandbox == NULL || ret_url == NULL)
    return failure(error, DIBS_ERR_ARGUMENT, "sandbox: ret_sandbox or ret_url is NULL");
  status = server_program_get(&program, error);
  if (status != DIBS_OK)
    return status;
  sweep();
  s = calloc(1, sizeof(*s));
  if (s == NULL)
    return failure(error, DIBS_ERR_NO_MEMORY, "sandbox: no memory");
  s->owner = getpid();
  s->control = -1;
  (void)snprintf(s->directory, sizeof(s->directory), "/tmp/%s%ld-XXXXXX", prefix,
                 (long)s->owner);
  if (mkdtemp(s->directory) == NULL) {
    status = failure(error, DIBS_ERR_SYSTEM, "sandbox: %s cannot be made: %s",
                     s->directory, strerror(errno));
    free(s);
    return status;
  }
  status = fill_sandbox(s, options, &program, ret_url, url_size, error);
  if (status != DIBS_OK) {
    (void)sandbox_stop(s);
    return status;
  }
  *ret_sandbox = s;
  return DIBS_OK;
}

int64_t sandbox_keep(dibs_sandbox *sandbox)
{
  int word = 0;

  if (sandbox == NULL || sandbox->owner != getpid() || sandbox->control < 0
      || send(sandbox->control, &word_keep, 1, MSG_NOSIGNAL) != 1)
    return 0;
  /* Skip earlier messages about servers that ended. */
  while (word <= 0)
    if (read(sandbox->control, &word, sizeof(word)) != (ssize_t)sizeof(word))
      return 0;
  (void)close(sandbox->control);
  free(sandbox);
  return word;
}

dibs_sandbox *sandbox_stop(dibs_sandbox *sandbox)
{
  char words[64];
  bool is_owner;

  if (sandbox == NULL)
    return NULL;
  is_owner = sandbox->owner == getpid();
  if (is_owner && sandbox->control >= 0) {
    /* The socket closes when the watcher has ended: after the servers and the directory. */
    (void)send(sandbox->control, &word_stop, 1, MSG_NOSIGNAL);
    (void)shutdown(sandbox->control, SHUT_WR);
    while (read(sandbox->control, words, sizeof(words)) > 0 || errno == EINTR)
      errno = 0;
  }
  if (is_owner)
    tree_remove(sandbox->directory);   /* if the watcher was killed */
  if (sandbox->control >= 0)
    (void)close(sandbox->control);
  free(sandbox);
  return NULL;
}
