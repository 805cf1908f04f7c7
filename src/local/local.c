/* SPDX-License-Identifier: MIT */
/* local/local.c - joining, starting, stopping and looking at the private server. */
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
#include "local/place.h"
#include "local/server_program.h"
#include "local/server_start.h"
#include "local/users.h"

enum { IDLE_MS = 60000, LIMIT_MS = 4500, STOP_MS = 2000, LOOK_MS = 500 };

static bool is_set(const char *name)
{
  const char *value = secure_getenv(name);

  return value != NULL && value[0] != '\0' && strcmp(value, "0") != 0;
}

/* Where a server for this machine only can but be a mistake. */
static dibs_status refuse_where_it_is_wrong(dibs_error *error)
{
  if (is_set("DIBS_NO_LOCAL"))
    return failure(error, DIBS_ERR_CONFIG,
                   "no URL is set, and DIBS_NO_LOCAL forbids the private server. "
                   "Set DIBS_URL to a server");
  if (is_set("KUBERNETES_SERVICE_HOST"))
    return failure(error, DIBS_ERR_CONFIG,
                   "no URL is set, and inside Kubernetes a private server would lock "
                   "nothing: each pod would have its own. Set DIBS_URL to a server");
  return DIBS_OK;
}

/* Users are in the lock file before they look for the server: from then on nobody stops
 * it for idleness. The mtime tells of users that came and went between two looks. */
static dibs_status join_users(const place *p, int64_t until, int *ret_fd,
                              dibs_error *error)
{
  dibs_status status = lock_file(p->users_lock, LOCK_SH, until, ret_fd, error);

  if (status == DIBS_OK)
    (void)futimens(*ret_fd, NULL);
  return status;
}

static dibs_status join(const place *p, int64_t idle_ms, bool with_aof, int *ret_fd,
                        dibs_error *error)
{
  int64_t until = clock_ms() + LIMIT_MS;
  dibs_status status;
  int fd;

  status = refuse_where_it_is_wrong(error);
  if (status == DIBS_OK)
    status = place_make(p, error);
  if (status == DIBS_OK)
    status = join_users(p, until, &fd, error);
  if (status != DIBS_OK)
    return status;
  status = server_ensure(p, idle_ms, with_aof || is_set("DIBS_LOCAL_AOF"), until, error);
  if (status != DIBS_OK) {
    (void)close(fd);
    return status;
  }
  *ret_fd = fd;
  return DIBS_OK;
}

dibs_status local_join(char *ret_url, size_t url_size, int *ret_use_fd,
                       dibs_error *error)
{
  place p;
  dibs_status status;

  place_find(&p);
  if (strlen(p.url) >= url_size)
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
  pid_t pid = 0;

  info->is_running = ask_ping(p->socket, LOOK_MS, &pid) == ANSWER_PONG || pid != 0;
  info->server_pid = pid;
  info->users = users_count(p->users_lock);
  (void)snprintf(info->directory, sizeof(info->directory), "%s", p->directory);
  (void)snprintf(info->url, sizeof(info->url), "%s", p->url);
  if (server_program_find(&program))
    (void)snprintf(info->program, sizeof(info->program), "%s", program.path);
}

/* Fills as much as the caller's record has; it may be older or newer than this library.
 * 0 in `size` counts as all of it. */
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

dibs_status dibs_local_start(int32_t idle_ms, bool with_aof, dibs_local_info *ret_info,
                             dibs_error *error)
{
  dibs_status status;
  place p;
  int fd;

  if (idle_ms < 0)
    return failure(error, DIBS_ERR_ARGUMENT, "private server: idle_ms is negative");
  place_find(&p);
  status = join(&p, idle_ms == 0 ? IDLE_MS : idle_ms, with_aof, &fd, error);
  if (status != DIBS_OK)
    return status;
  (void)close(fd);
  give_info(&p, ret_info);
  return DIBS_OK;
}

/* Under start.lock, so that nobody starts the next one meanwhile. A socket that is left
 * over is removed by the next starter. */
static dibs_status stop(const place *p, dibs_error *error)
{
  pid_t pid = 0;
  answer a = ask_to_shut_down(p->socket, STOP_MS, &pid);
  int watch = pid > 0 ? watch_process(pid) : -1;
  struct pollfd end = { .fd = watch, .events = POLLIN };
  int64_t until = clock_ms() + STOP_MS;

  if (a == ANSWER_OTHER)
    return failure(error, DIBS_ERR_CONFIG, "private server: %s cannot be used: %s",
                   p->socket, strerror(errno));
  if (a == ANSWER_NOT_YET && pid > 0)
    (void)kill(pid, SIGKILL);
  /* Its connection ends before its process does. */
  if (watch >= 0) {
    (void)poll(&end, 1, STOP_MS);
    (void)close(watch);
  }
  while (ask_ping(p->socket, LOOK_MS, NULL) != ANSWER_NOBODY) {
    if (clock_ms() >= until)
      return failure(error, DIBS_ERR_UNREACHABLE,
                     "private server: process %ld does not end", (long)pid);
    nap_ms(2);
  }
  return DIBS_OK;
}

dibs_status dibs_local_stop(dibs_error *error)
{
  dibs_status status;
  struct stat found;
  place p;
  int fd;

  place_find(&p);
  if (lstat(p.directory, &found) != 0 && errno == ENOENT)
    return DIBS_OK;
  status = place_make(&p, error);
  if (status == DIBS_OK)
    status = lock_file(p.start_lock, LOCK_EX, clock_ms() + LIMIT_MS, &fd, error);
  if (status != DIBS_OK)
    return status;
  status = stop(&p, error);
  (void)close(fd);
  return status;
}

dibs_status dibs_local_status(dibs_local_info *ret_info, dibs_error *error)
{
  struct stat found;
  dibs_status status = DIBS_OK;
  place p;

  place_find(&p);
  if (lstat(p.directory, &found) == 0)
    status = place_make(&p, error);
  if (status == DIBS_OK)
    give_info(&p, ret_info);
  return status;
}
