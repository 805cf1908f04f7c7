/* SPDX-License-Identifier: MIT */
/* local/sandbox.c - a server of one process's own, gone with that process.
 *
 *   owner  <- socket pair ->  watcher  -- parent, death signal ->  server
 *     ^------- pidfd ------------'
 *
 * The watcher waits for the end of the owner (its pidfd, so children of the owner that
 * inherited descriptors do not count) or a byte on the socket pair (a stop). Then it
 * kills the server, removes the directory and ends. If the watcher itself is killed the
 * kernel kills the server, and the directory stays until the next sandbox of this user:
 * it carries the owner's pid. */
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

#include "local/ask.h"
#include "local/detach.h"
#include "local/failure.h"
#include "local/place.h"
#include "local/server_program.h"
#include "local/server_run.h"
#include "local/server_start.h"
#include "local/tree.h"

enum { START_MS = 4500, PING_MS = 1000, TURN_MS = 2, OWNER_TURN_MS = 200 };

static const char prefix[] = "dibs-sandbox-";

struct dibs_sandbox {
  pid_t owner;
  int control;
  char directory[PLACE_SOCKET_MAX];
};

/* ---- the watcher: async-signal-safe calls only ---- */

typedef struct watcher {
  const server_run *run;
  const char *directory;
  pid_t owner;
  int owner_watch;     /* -1 on kernels without pidfd: then asked again and again */
  int control;
} watcher;

static bool is_owner_gone(const watcher *w, const struct pollfd *watch)
{
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

/* Returns when the sandbox is to end. A server that ended by itself is told to the owner
 * only: its log is still wanted. */
static void wait_for_a_reason(const watcher *w, int server_watch, pid_t server)
{
  struct pollfd all[3] = { { .fd = w->owner_watch, .events = POLLIN },
                           { .fd = w->control, .events = POLLIN },
                           { .fd = server_watch, .events = POLLIN } };
  int turn = w->owner_watch >= 0 && server_watch >= 0 ? -1 : OWNER_TURN_MS;
  char byte;

  for (;;) {
    if (poll(all, 3, turn) < 0 && errno != EINTR)
      return;
    if (is_owner_gone(w, &all[0]))
      return;
    if (has_ended(server)) {
      (void)shutdown(w->control, SHUT_WR);
      all[2].fd = -1;
    }
    if (all[1].revents != 0) {
      if (read(w->control, &byte, 1) == 1)
        return;
      all[1].fd = -1;   /* the owner closed all it had, but lives */
    }
  }
}

static void watch(void *data)
{
  const watcher *w = data;
  pid_t server = server_run_start(w->run, true, w->control);

  if (server > 0) {
    wait_for_a_reason(w, watch_process(server), server);
    (void)kill(server, SIGKILL);
    (void)waitpid(server, NULL, __WALL);
  }
  tree_remove(w->directory);
}

/* ---- the owner ---- */

/* "dibs-sandbox-<pid>-...", of a dead process of this user, whose server is dead too: in
 * another pid name space on the same /tmp the owner may live. */
static bool is_left_over(const char *name, const char *path)
{
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
  return ask_ping(p.socket, PING_MS, NULL) == ANSWER_NOBODY;
}

static void sweep(void)
{
  DIR *directory = opendir("/tmp");
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

static dibs_status start_watcher(const server_run *run, dibs_sandbox *s,
                                 dibs_error *error)
{
  watcher w = { .run = run, .directory = s->directory, .owner = s->owner };
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

/* Until it answers; the watcher's end of the pair ends when the server does. */
static dibs_status wait_until_it_serves(const dibs_sandbox *s, const place *p,
                                        dibs_error *error)
{
  int64_t until = clock_ms() + START_MS;
  struct pollfd wait = { .fd = s->control, .events = POLLIN };
  char tail[256];
  int cause;

  while (ask_ping(p->socket, PING_MS, NULL) != ANSWER_PONG) {
    if (poll(&wait, 1, TURN_MS) > 0) {
      if (read(s->control, &cause, sizeof(cause)) == (ssize_t)sizeof(cause))
        return failure(error, DIBS_ERR_NO_SERVER,
                       "sandbox: the server program cannot be executed: %s",
                       strerror(cause));
      log_tail(p->log, tail, sizeof(tail));
      return failure(error, DIBS_ERR_UNREACHABLE,
                     "sandbox: the server ended at once; the end of its log: %s", tail);
    }
    if (clock_ms() >= until)
      return failure(error, DIBS_ERR_UNREACHABLE, "sandbox: no answer in time");
  }
  return DIBS_OK;
}

/* The directory is made, the rest is not. */
static dibs_status fill_sandbox(dibs_sandbox *s, const server_program *program, place *p,
                                dibs_error *error)
{
  server_run run;
  dibs_status status;

  place_in(s->directory, p);
  server_run_prepare(&run, program, p, false);
  status = start_watcher(&run, s, error);
  if (status == DIBS_OK)
    status = wait_until_it_serves(s, p, error);
  return status;
}

dibs_status dibs_sandbox_start(dibs_sandbox **ret_sandbox, char *ret_url, size_t url_size,
                               dibs_error *error)
{
  server_program program;
  dibs_sandbox *s;
  dibs_status status;
  place p;

  if (ret_sandbox == NULL || ret_url == NULL || url_size < PLACE_SOCKET_MAX + 16)
    return failure(error, DIBS_ERR_ARGUMENT, "sandbox: no room for its URL");
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
  status = fill_sandbox(s, &program, &p, error);
  if (status != DIBS_OK) {
    (void)dibs_sandbox_stop(s);
    return status;
  }
  memcpy(ret_url, p.url, strlen(p.url) + 1);
  *ret_sandbox = s;
  return DIBS_OK;
}

dibs_sandbox *dibs_sandbox_stop(dibs_sandbox *sandbox)
{
  char word = 'q';
  bool is_owner;

  if (sandbox == NULL)
    return NULL;
  is_owner = sandbox->owner == getpid();
  if (is_owner && sandbox->control >= 0) {
    /* Its end is the watcher's, and with that the server's and the directory's. */
    (void)send(sandbox->control, &word, 1, MSG_NOSIGNAL);
    (void)shutdown(sandbox->control, SHUT_WR);
    while (read(sandbox->control, &word, 1) > 0 || errno == EINTR)
      errno = 0;
  }
  if (is_owner)
    tree_remove(sandbox->directory);   /* of a watcher that was killed */
  if (sandbox->control >= 0)
    (void)close(sandbox->control);
  free(sandbox);
  return NULL;
}
