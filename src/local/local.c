/* SPDX-License-Identifier: MIT */
/* local/local.c - joins, starts, stops and inspects the private server. */
#include "local/local.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "local/ask.h"
#include "local/detach.h"
#include "local/failure.h"
#include "local/others.h"
#include "local/place.h"
#include "local/server_program.h"
#include "local/server_start.h"
#include "local/tree.h"
#include "local/users.h"

enum { IDLE_MS = 60000, LIMIT_MS = 4500, STOP_MS = 2000, LOOK_MS = 500 };

static bool is_set(const char *name)
{
  const char *value = secure_getenv(name);

  return value != NULL && value[0] != '\0' && strcmp(value, "0") != 0;
}

/* Refuses where a private server can only be a mistake. */
static dibs_status refuse_where_it_is_wrong(dibs_error *error)
{
  if (is_set("DIBS_NO_LOCAL"))
    return failure(error, DIBS_ERR_CONFIG,
                   "DIBS_NO_LOCAL forbids the private server, and no other is named. "
                   "Set DIBS_URL to a server");
  if (is_set("KUBERNETES_SERVICE_HOST"))
    return failure(error, DIBS_ERR_CONFIG,
                   "no other server is named, and inside Kubernetes a private one would lock "
                   "nothing: each pod would have its own. Set DIBS_URL to a server");
  return DIBS_OK;
}

/* Locks users.lock before the server is sought: from then on it is not stopped as idle.
 * The mtime shows users that came and left between two ticks of the supervisor. */
static dibs_status join_users(const place *p, int64_t until, int *ret_fd,
                              dibs_error *error)
{
  dibs_status status = lock_file(p->users_lock, LOCK_SH, until, ret_fd, error);

  if (status == DIBS_OK)
    (void)futimens(*ret_fd, NULL);
  return status;
}

typedef struct joining {
  int64_t until, idle_ms;
  bool with_aof;
} joining;

static dibs_status keep_data(const place *p, const joining *j, dibs_error *error)
{
  int64_t left = j->until - clock_ms();

  if (!j->with_aof || ask_to_keep(p->socket, left > 0 ? (int)left : 0) == ANSWER_PONG)
    return DIBS_OK;
  return failure(error, DIBS_ERR_UNREACHABLE,
                 "private server: it does not write its data to %s; see %s", p->directory,
                 p->log);
}

/* One attempt at a found place. DIBS_BUSY: the place has changed. */
static dibs_status join_at(const place *p, const joining *j, int *ret_fd, dibs_error *error)
{
  dibs_status status = place_make(p, error);
  int fd;

  if (status == DIBS_OK)
    status = join_users(p, j->until, &fd, error);
  if (status != DIBS_OK)
    return status;
  status = server_ensure(p, j->idle_ms, j->with_aof, j->until, error);
  if (status == DIBS_OK)
    status = keep_data(p, j, error);
  if (status == DIBS_OK)
    *ret_fd = fd;
  else
    (void)close(fd);
  return status;
}

static dibs_status report_not_alone(dibs_error *error)
{
  others all;

  (void)others_look(&all);
  return failure(error, DIBS_ERR_UNREACHABLE,
                 "private server: one of this user (process %ld) is elsewhere, and does "
                 "not answer. End that process, or set DIBS_URL to a server",
                 (long)(all.server != 0 ? all.server : all.supervisor));
}

/* Sleeps for a time that differs between starters, which are processes. */
static void nap_differently(unsigned turn)
{
  nap_ms(2 + (int)(((unsigned)getpid() * 7919U + turn * 104729U) % 31U));
}

static dibs_status join(place *ret_place, int64_t idle_ms, bool with_aof, int *ret_fd,
                        dibs_error *error)
{
  joining j = { .until = clock_ms() + LIMIT_MS, .idle_ms = idle_ms,
                .with_aof = with_aof || is_set("DIBS_LOCAL_AOF") };
  dibs_status status = refuse_where_it_is_wrong(error);

  for (unsigned turn = 0; status == DIBS_OK; turn++) {
    status = place_find(ret_place, error);
    if (status == DIBS_OK)
      status = join_at(ret_place, &j, ret_fd, error);
    if (status != DIBS_BUSY && (turn == 0 || status != DIBS_ERR_UNREACHABLE))
      return status;
    if (clock_ms() >= j.until)
      return report_not_alone(error);
    nap_differently(turn);
    status = DIBS_OK;
  }
  return status;
}

dibs_status local_join(char *ret_url, size_t url_size, int *ret_use_fd,
                       dibs_error *error)
{
  place p;
  dibs_status status;

  if (url_size < sizeof(p.url))
    return failure(error, DIBS_ERR_ARGUMENT, "private server: no room for its URL");
  status = join(&p, IDLE_MS, false, ret_use_fd, error);
  if (status == DIBS_OK)
    memcpy(ret_url, p.url, strlen(p.url) + 1);
  return status;
}

/* ---- public ---- */

static void look(const place *p, dibs_local_info *info)
{
  server_program program;
  contents inside = { .keys = 0 };
  pid_t pid = 0;

  info->is_running = ask_ping(p->socket, LOOK_MS, &pid) == ANSWER_PONG || pid != 0;
  info->server_pid = pid;
  info->users = users_count(p->users_lock);
  if (info->is_running && ask_contents(p->socket, LOOK_MS, &inside) != ANSWER_PONG)
    inside.keys = -1;
  info->keys = inside.keys;
  (void)snprintf(info->directory, sizeof(info->directory), "%s", p->directory);
  (void)snprintf(info->url, sizeof(info->url), "%s", p->url);
  if (server_program_find(&program))
    (void)snprintf(info->program, sizeof(info->program), "%s", program.path);
}

/* Fills the fields that the caller's record has; it may be older or newer than this
 * library. `size` 0 means all. */
static void give_info(const place *p, dibs_local_info *ret_info)
{
  dibs_local_info info = { 0 };
  size_t size;

  if (ret_info == NULL)
    return;
  size = ret_info->size == 0 || ret_info->size > sizeof(info) ? sizeof(info)
                                                              : ret_info->size;
  look(p, &info);
  info.size = size;
  memcpy(ret_info, &info, size);
}

dibs_status local_start(int32_t idle_ms, bool with_aof, dibs_local_info *ret_info,
                        dibs_error *error)
{
  dibs_status status;
  place p;
  int fd = -1;

  if (idle_ms < 0)
    return failure(error, DIBS_ERR_ARGUMENT, "private server: idle_ms is negative");
  status = join(&p, idle_ms == 0 ? IDLE_MS : idle_ms, with_aof, &fd, error);
  if (status != DIBS_OK)
    return status;
  (void)close(fd);
  give_info(&p, ret_info);
  return DIBS_OK;
}

/* Called under start.lock, so that no other server is started meanwhile. The next starter
 * removes a remaining socket. */
static dibs_status stop(const place *p, dibs_error *error)
{
  pid_t pid = 0;
  answer a = ask_to_shut_down(p->socket, STOP_MS, &pid);
  int watch = pid > 0 ? watch_process(pid) : -1;
  struct pollfd end = { .fd = watch, .events = POLLIN };
  int64_t until = clock_ms() + STOP_MS;

  if (a == ANSWER_OTHER)
    return failure(error, failure_status(errno), "private server: %s cannot be used: %s",
                   p->socket, strerror(errno));
  if (a == ANSWER_NOT_YET && pid > 0)
    (void)kill(pid, SIGKILL);
  /* The connection ends before the process does. */
  if (watch >= 0) {
    (void)poll(&end, 1, STOP_MS);
    (void)close(watch);
  }
  while (ask_ping(p->socket, LOOK_MS, NULL) != ANSWER_NONE) {
    if (clock_ms() >= until)
      return failure(error, DIBS_ERR_UNREACHABLE,
                     "private server: process %ld does not end", (long)pid);
    nap_ms(2);
  }
  return DIBS_OK;
}

static void forget(const place *p)
{
  static const char *const kept[] = { "appendonlydir", "appendonly.aof", "dump.rdb" };
  char path[PLACE_SOCKET_MAX + 32];

  for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
    (void)snprintf(path, sizeof(path), "%s/%s", p->directory, kept[i]);
    tree_remove(path);
    (void)unlink(path);
  }
}

/* Calls place_find(), and checks the directory if it exists. */
static dibs_status find_directory(place *ret_place, bool *ret_is_there, dibs_error *error)
{
  dibs_status status = place_find(ret_place, error);
  struct stat found;

  *ret_is_there = status == DIBS_OK
                  && (lstat(ret_place->directory, &found) == 0 || errno != ENOENT);
  return *ret_is_there ? place_make(ret_place, error) : status;
}

/* Kills a server whose socket was removed, and whose supervisor was killed before it saw
 * that. */
static void end_unreachable(const place *p)
{
  others all;

  if (!p->is_chosen && others_look(&all) && all.server != 0 && all.supervisor == 0)
    (void)kill(all.server, SIGKILL);
}

dibs_status local_stop(bool forgets, dibs_error *error)
{
  dibs_status status;
  bool is_there;
  place p;
  int fd;

  status = find_directory(&p, &is_there, error);
  if (status == DIBS_OK && !is_there)
    end_unreachable(&p);
  if (status != DIBS_OK || !is_there)
    return status;
  status = lock_file(p.start_lock, LOCK_EX, clock_ms() + LIMIT_MS, &fd, error);
  if (status != DIBS_OK)
    return status;
  status = stop(&p, error);
  if (status == DIBS_OK)
    end_unreachable(&p);
  if (status == DIBS_OK && forgets)
    forget(&p);
  (void)close(fd);
  return status;
}

dibs_status local_status(dibs_local_info *ret_info, dibs_error *error)
{
  bool is_there;
  place p;
  dibs_status status = find_directory(&p, &is_there, error);

  if (status == DIBS_OK)
    give_info(&p, ret_info);
  return status;
}
