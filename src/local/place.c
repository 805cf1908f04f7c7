/* SPDX-License-Identifier: MIT */
/* local/place.c - finds and creates the directory of the private server. */
#include "local/place.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "local/ask.h"
#include "local/failure.h"
#include "local/others.h"
#include "local/own_files.h"

enum { DIRECTORY_MAX = 89 };

static const char socket_name[] = "server.sock";

/* A path may have characters that mean something else in a URL. */
static void url_write(const char *path, char ret_url[PLACE_URL_MAX])
{
  static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/.-_";
  size_t used = (size_t)snprintf(ret_url, PLACE_URL_MAX, "unix://");

  for (; *path != '\0' && used + 4 <= PLACE_URL_MAX; path++)
    used += (size_t)snprintf(ret_url + used, PLACE_URL_MAX - used,
                             strchr(plain, *path) != NULL ? "%c" : "%%%02X",
                             (unsigned char)*path);
}

void place_in(const char *directory, place *ret_place)
{
  place *p = ret_place;

  assert(strlen(directory) + 1 + sizeof(socket_name) <= PLACE_SOCKET_MAX);
  memset(p, 0, sizeof(*p));
  (void)snprintf(p->directory, sizeof(p->directory), "%.90s", directory);
  (void)snprintf(p->socket, sizeof(p->socket), "%.90s/%s", directory, socket_name);
  (void)snprintf(p->start_lock, sizeof(p->start_lock), "%.90s/start.lock", directory);
  (void)snprintf(p->users_lock, sizeof(p->users_lock), "%.90s/users.lock", directory);
  (void)snprintf(p->supervisor_lock, sizeof(p->supervisor_lock), "%.90s/supervisor.lock",
                 directory);
  (void)snprintf(p->log, sizeof(p->log), "%.90s/server.log", directory);
  url_write(p->socket, p->url);
}

static const char *purpose(const place *p)
{
  return p->is_of_lock_files ? "degrade=local needs lock files" : "private server";
}

static dibs_status refuse(const place *p, dibs_error *error, const char *why)
{
  return failure(error, DIBS_ERR_CONFIG,
                 "%s: the directory %s %s. Set %sDIBS_LOCAL_DIR to a directory of your own%s",
                 purpose(p), p->directory, why,
                 p->is_of_lock_files ? "" : "DIBS_URL to a server, or ",
                 p->is_of_lock_files ? ", or leave degrade=local out" : "");
}

static dibs_status refuse_for_errno(const place *p, dibs_error *error, const char *what)
{
  char why[128];

  if (failure_status(errno) != DIBS_ERR_CONFIG)
    return failure(error, failure_status(errno), "%s: the directory %s %s: %s", purpose(p),
                   p->directory, what, strerror(errno));
  (void)snprintf(why, sizeof(why), "%s: %s", what, strerror(errno));
  return refuse(p, error, why);
}

/* ---- location ---- */

static void default_directory(char *ret_path, size_t size)
{
  (void)snprintf(ret_path, size, "/tmp/dibs-%lu", (unsigned long)geteuid());
}

dibs_status place_base(place *ret_place, dibs_error *error)
{
  const char *chosen = secure_getenv("DIBS_LOCAL_DIR");
  char directory[DIRECTORY_MAX + 1];
  size_t size = chosen == NULL ? 0 : strlen(chosen);

  default_directory(directory, sizeof(directory));
  while (size > 1 && chosen[size - 1] == '/')
    size--;
  if (size == 0 || (size == strlen(directory) && memcmp(chosen, directory, size) == 0)) {
    place_in(directory, ret_place);
    return DIBS_OK;
  }
  if (chosen[0] != '/' || size > DIRECTORY_MAX)
    return failure(error, DIBS_ERR_CONFIG,
                   "DIBS_LOCAL_DIR=%.100s: expected an absolute path of at most %d bytes",
                   chosen, DIRECTORY_MAX);
  (void)snprintf(directory, sizeof(directory), "%.*s", (int)size, chosen);
  place_in(directory, ret_place);
  ret_place->is_chosen = true;
  return DIBS_OK;
}

static dibs_status refuse_other(pid_t server, const char *why, dibs_error *error)
{
  return failure(error, DIBS_ERR_CONFIG,
                 "private server: the one of this user (process %ld) has another /tmp and "
                 "cannot be reached from here: %s. Set DIBS_URL to a server for both, or "
                 "DIBS_LOCAL_DIR to a directory that both see",
                 (long)server, why);
}

/* The place of a server on another /tmp, or `base` if that server has just ended. */
static dibs_status place_of(pid_t server, const place *base, place *ret_place,
                            dibs_error *error)
{
  char directory[PLACE_SOCKET_MAX];
  struct stat found;
  place other;
  answer a;

  *ret_place = *base;
  (void)snprintf(directory, sizeof(directory), "/proc/%ld/root%.60s", (long)server,
                 base->directory);
  place_in(directory, &other);
  other.seen_through = server;
  if (lstat(directory, &found) != 0)
    return errno == ENOENT || errno == ESRCH ? DIBS_OK
                                             : refuse_other(server, strerror(errno), error);
  a = ask_whether_it_listens(other.socket);
  if (a == ANSWER_OTHER)
    return refuse_other(server, strerror(errno), error);
  if (a != ANSWER_NONE)
    *ret_place = other;
  return DIBS_OK;
}

static dibs_status refuse_unseen(int cause, dibs_error *error)
{
  if (cause == EMFILE || cause == ENFILE)
    return failure(error, DIBS_ERR_SYSTEM,
                   "private server: no descriptor left to look for one: %s%s", strerror(cause),
                   failure_advice(cause));
  return failure(error, failure_status(cause),
                 "private server: /proc cannot be read (%s), so one of this user that runs "
                 "elsewhere would not be seen. Set DIBS_URL to a server, or "
                 "DIBS_LOCAL_DIR to a directory of your own",
                 strerror(cause));
}

dibs_status place_find(place *ret_place, dibs_error *error)
{
  dibs_status status = place_base(ret_place, error);
  others all;
  place base;

  if (status != DIBS_OK || ret_place->is_chosen
      || ask_whether_it_listens(ret_place->socket) != ANSWER_NONE)
    return status;
  if (!others_look(&all))
    return refuse_unseen(errno, error);
  if (all.server == 0)
    return DIBS_OK;
  base = *ret_place;
  return place_of(all.server, &base, ret_place, error);
}

/* ---- owner ---- */

/* Another user who may rename entries of the parent could replace our directory after the
 * check. */
static bool is_safe_parent(const char *directory)
{
  char parent[PLACE_SOCKET_MAX];
  struct stat found;

  (void)snprintf(parent, sizeof(parent), "%.*s/",
                 (int)(strrchr(directory, '/') - directory), directory);
  if (stat(parent, &found) != 0)
    return true;          /* then nothing can be created there, which is reported elsewhere */
  if (found.st_uid != 0 && found.st_uid != geteuid())
    return false;
  return (found.st_mode & 022) == 0 || (found.st_mode & S_ISVTX) != 0;
}

static bool make_directory(const place *p)
{
  return p->seen_through != 0 || own_directory_make(p->directory);
}

dibs_status place_make(const place *p, dibs_error *error)
{
  struct stat found;
  int fd;

  if (!make_directory(p))
    return refuse_for_errno(p, error, "cannot be made");
  if (!is_safe_parent(p->directory))
    return refuse(p, error, "can be replaced by others: its parent is theirs, or they may "
                            "write there and the sticky bit is not set");
  if (lstat(p->directory, &found) == 0 && S_ISLNK(found.st_mode))
    return refuse(p, error, "is a symbolic link");
  fd = above_stdio(open(p->directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd < 0 && errno != EACCES)
    return refuse_for_errno(p, error, "cannot be used");
  /* A directory of another user that cannot be opened is reported as such. */
  if ((fd >= 0 ? fstat(fd, &found) : lstat(p->directory, &found)) != 0) {
    (void)(fd >= 0 && close(fd));
    return refuse_for_errno(p, error, "cannot be used");
  }
  if (fd >= 0)
    (void)close(fd);
  if (found.st_uid != geteuid())
    return refuse(p, error, "belongs to another user");
  if ((found.st_mode & 077) != 0)
    return refuse(p, error, "is open to others (its mode must be 0700)");
  return fd < 0 ? refuse(p, error, "cannot be read") : DIBS_OK;
}
