/* SPDX-License-Identifier: MIT */
/* local/sandbox.c - servers of one process, removed with that process. */
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
#include <unistd.h>

#include "base/descriptor.h"
#include "local/ask.h"
#include "local/failure.h"
#include "local/local.h"
#include "local/place.h"
#include "local/port.h"
#include "local/sandbox_plan.h"
#include "local/sandbox_watcher.h"
#include "local/server_program.h"
#include "local/server_start.h"
#include "local/tree.h"

/* PORT_TRIES: another program may take a port between our look at it and the server's start. */
enum { START_MS = 4500, FORM_MS = 40000, PING_MS = 1000, TURN_MS = 2, PORT_TRIES = 5 };

static const char prefix[] = "dibs-sandbox-";

typedef struct server_view {
  dibs_sandbox_server seen;
  place place;
  char url[PLACE_URL_MAX];
} server_view;

struct dibs_sandbox {
  pid_t owner;
  int control;
  int root;             /* of `directory`: its removal may find no free descriptor */
  bool lacks_port;      /* a server ended because another program has its port */
  char directory[PLACE_SOCKET_MAX];
  size_t count;
  server_view servers[SANDBOX_SERVERS_MAX];
};

/* ---- those that were left over ---- */

/* Whether a server of the sandbox listens: in its directory, or in those of a deployment. */
static bool has_server(const char *path)
{
  char below[PLACE_SOCKET_MAX];
  place p;

  place_in(path, &p);
  for (int i = 0; ask_whether_it_listens(p.socket) == ANSWER_NONE; i++) {
    if (i == SANDBOX_SERVERS_MAX)
      return false;
    (void)snprintf(below, sizeof(below), "%.80s/%d", path, i);
    place_in(below, &p);
  }
  return true;
}

/* "dibs-sandbox-<pid>-..." of a dead process of this user, without a server: the sandbox may
 * be kept, or its owner live in another pid name space with the same /tmp. */
static bool is_left_over(const char *name, const char *path)
{
  struct stat found;
  char *end;
  long pid;

  if (strncmp(name, prefix, sizeof(prefix) - 1) != 0 || strlen(path) > 80)
    return false;
  pid = (long)strtoll(name + sizeof(prefix) - 1, &end, 10);
  if (pid <= 0 || *end != '-' || kill((pid_t)pid, 0) == 0 || errno != ESRCH)
    return false;
  if (lstat(path, &found) != 0 || !S_ISDIR(found.st_mode) || found.st_uid != geteuid())
    return false;
  return !has_server(path);
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

/* ---- the start ---- */

static dibs_status report_end(dibs_sandbox *s, const sandbox_plan *plan, dibs_error *error)
{
  char name[64], tail[256];
  int word, which;

  if (read(s->control, &word, sizeof(word)) != (ssize_t)sizeof(word))
    return failure(error, DIBS_ERR_SYSTEM, "sandbox: the process that watches it was killed");
  if (word > 0)
    return failure(error, DIBS_ERR_NO_SERVER, "sandbox: the server program %.200s cannot be "
                   "executed: %s", plan->runs[0].program.path, strerror(word));
  which = SANDBOX_SERVER_ENDED - word;
  s->lacks_port = plan->nodes[which].port > 0 && !port_is_free(plan->nodes[which].port);
  log_tail(plan->runs[which].place.log, tail, sizeof(tail));
  return failure(error, DIBS_ERR_UNREACHABLE, "sandbox: %s ended; the end of its log: %s",
                 sandbox_plan_name(plan, which, name, sizeof(name)), tail);
}

static void describe(dibs_sandbox *s, const sandbox_plan *plan, int which, pid_t pid)
{
  const form_node *node = &plan->nodes[which];
  server_view *view = &s->servers[which];

  view->place = plan->runs[which].place;
  if (node->port == 0)
    memcpy(view->url, view->place.url, sizeof(view->url));
  else
    (void)snprintf(view->url, sizeof(view->url), "redis://%s:%d", node->address, node->port);
  view->seen = (dibs_sandbox_server){ .size = sizeof(view->seen),
                                      .role = plan->roles[which],
                                      .url = view->url,
                                      .socket = view->place.socket,
                                      .directory = view->place.directory,
                                      .log = view->place.log,
                                      .pid = pid,
                                      .port = node->port };
  s->count++;
}

/* Waits until it replies; the watcher reports the end of a server. */
static dibs_status wait_until_it_serves(dibs_sandbox *s, const sandbox_plan *plan, int which,
                                        int64_t until, dibs_error *error)
{
  const place *p = &plan->runs[which].place;
  struct pollfd wait = { .fd = s->control, .events = POLLIN };
  char name[64], tail[256];
  pid_t pid = 0;

  while (ask_ping(p->socket, PING_MS, &pid) != ANSWER_PONG) {
    if (poll(&wait, 1, TURN_MS) > 0)
      return report_end(s, plan, error);
    if (clock_ms() < until)
      continue;
    log_tail(p->log, tail, sizeof(tail));
    return failure(error, DIBS_ERR_UNREACHABLE,
                   "sandbox: %s did not answer in time; the end of its log: %s",
                   sandbox_plan_name(plan, which, name, sizeof(name)), tail);
  }
  describe(s, plan, which, pid);
  return DIBS_OK;
}

static dibs_status form(dibs_sandbox *s, const sandbox_plan *plan, int64_t until,
                        dibs_error *error)
{
  struct pollfd wait = { .fd = s->control, .events = POLLIN };
  dibs_status status = sandbox_plan_form(plan, s->control, until, error);

  /* The end of a server is seen in its replies first. */
  return status != DIBS_OK && poll(&wait, 1, PING_MS) > 0 ? report_end(s, plan, error) : status;
}

/* Starts the servers in the new directory. */
static dibs_status fill_sandbox(dibs_sandbox *s, const dibs_sandbox_options *options,
                                int64_t until, char *ret_url, size_t url_size,
                                dibs_error *error)
{
  server_program program;
  sandbox_plan plan;
  dibs_status status = server_program_get(&program, error);

  if (status != DIBS_OK)
    return status;
  status = sandbox_plan_make(&plan, options, &program, s->directory, error);
  if (status == DIBS_OK && !sandbox_plan_url(&plan, ret_url, url_size))
    status = failure(error, DIBS_ERR_ARGUMENT, "sandbox: no room for its URL");
  if (status == DIBS_OK)
    status = sandbox_watcher_start(&plan, s->directory, s->owner, &s->control, error);
  for (int i = 0; i < plan.count && status == DIBS_OK; i++)
    status = wait_until_it_serves(s, &plan, i, until, error);
  if (status == DIBS_OK)
    status = form(s, &plan, until, error);
  sandbox_plan_free(&plan);
  return status;
}

/* NULL: *ret_status says why. */
static dibs_sandbox *make_sandbox(dibs_status *ret_status, dibs_error *error)
{
  dibs_sandbox *s = calloc(1, sizeof(*s));
  bool is_made;

  if (s == NULL) {
    *ret_status = failure(error, DIBS_ERR_NO_MEMORY, "sandbox: no memory");
    return NULL;
  }
  s->owner = getpid();
  s->control = s->root = -1;
  (void)snprintf(s->directory, sizeof(s->directory), "/tmp/%s%ld-XXXXXX", prefix,
                 (long)s->owner);
  is_made = mkdtemp(s->directory) != NULL;
  if (is_made)
    (void)chmod(s->directory, 0700);     /* a umask may take rights from the owner */
  if (is_made)
    s->root = above_stdio(open(s->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (s->root >= 0)
    return s;
  *ret_status = failure(error, DIBS_ERR_SYSTEM, "sandbox: %s cannot be made: %s%s",
                        s->directory, strerror(errno), failure_advice(errno));
  if (is_made)
    (void)rmdir(s->directory);
  free(s);
  return NULL;
}

dibs_status sandbox_start(const dibs_sandbox_options *options, dibs_sandbox **ret_sandbox,
                          char *ret_url, size_t url_size, dibs_error *error)
{
  bool is_one = options == NULL || options->kind == DIBS_SANDBOX_SERVER;
  int64_t until = clock_ms() + (is_one ? START_MS : FORM_MS);
  dibs_sandbox *s = NULL;
  dibs_status status = DIBS_OK;
  bool lacks_port = true;

  if (ret_sandbox == NULL || ret_url == NULL)
    return failure(error, DIBS_ERR_ARGUMENT, "sandbox: ret_sandbox or ret_url is NULL");
  sweep();
  for (int i = 0; i < PORT_TRIES && lacks_port; i++) {
    s = make_sandbox(&status, error);
    if (s == NULL)
      return status;
    status = fill_sandbox(s, options, until, ret_url, url_size, error);
    lacks_port = s->lacks_port;
    if (status != DIBS_OK)
      s = sandbox_stop(s);
  }
  if (status == DIBS_OK)
    *ret_sandbox = s;
  return status;
}

const dibs_sandbox_server *dibs_sandbox_server_at(const dibs_sandbox *sandbox, size_t index)
{
  return sandbox == NULL || index >= sandbox->count ? NULL : &sandbox->servers[index].seen;
}

const char *dibs_sandbox_directory(const dibs_sandbox *sandbox)
{
  return sandbox == NULL ? NULL : sandbox->directory;
}

/* ---- the end ---- */

int64_t sandbox_keep(dibs_sandbox *sandbox)
{
  int word = 0;

  if (sandbox == NULL || sandbox->owner != getpid() || sandbox->control < 0
      || send(sandbox->control, &sandbox_word_keep, 1, MSG_NOSIGNAL) != 1)
    return 0;
  /* Skip earlier messages about servers that ended. */
  while (word <= 0)
    if (read(sandbox->control, &word, sizeof(word)) != (ssize_t)sizeof(word))
      return 0;
  (void)close(sandbox->control);
  (void)close(sandbox->root);
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
    (void)send(sandbox->control, &sandbox_word_stop, 1, MSG_NOSIGNAL);
    (void)shutdown(sandbox->control, SHUT_WR);
    while (read(sandbox->control, words, sizeof(words)) > 0 || errno == EINTR)
      errno = 0;
  }
  if (is_owner)
    tree_remove_at(sandbox->root, sandbox->directory);   /* if the watcher was killed */
  else
    (void)close(sandbox->root);
  if (sandbox->control >= 0)
    (void)close(sandbox->control);
  free(sandbox);
  return NULL;
}
