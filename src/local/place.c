/* SPDX-License-Identifier: MIT */
/* local/place.c - the directory of the private server. */
#include "local/place.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "local/failure.h"

static const char socket_name[] = "server.sock";

/* FNV-1a: only to tell directories apart, not to hide anything. */
static uint32_t hash_of(const char *words)
{
  uint32_t hash = 2166136261U;

  for (; *words != '\0'; words++)
    hash = (hash ^ (uint8_t)*words) * 16777619U;
  return hash;
}

/* XDG_RUNTIME_DIR, when it is one of this user's choice; NULL otherwise. After su or sudo
 * it is often still the one of the user before. */
static const char *chosen_runtime_directory(void)
{
  const char *directory = secure_getenv("XDG_RUNTIME_DIR");
  char of_session[64];
  struct stat found;

  if (directory == NULL || directory[0] != '/')
    return NULL;
  (void)snprintf(of_session, sizeof(of_session), "/run/user/%lu",
                 (unsigned long)geteuid());
  if (strcmp(directory, of_session) == 0)
    return NULL;
  if (stat(directory, &found) != 0 || !S_ISDIR(found.st_mode)
      || found.st_uid != geteuid())
    return NULL;
  return directory;
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
  (void)snprintf(p->url, sizeof(p->url), "unix://%.103s", p->socket);
}

void place_find(place *ret_place)
{
  const char *runtime = chosen_runtime_directory();
  unsigned long uid = (unsigned long)geteuid();
  char directory[PLACE_SOCKET_MAX];

  if (runtime == NULL)
    (void)snprintf(directory, sizeof(directory), "/tmp/dibs-%lu", uid);
  else if (strlen(runtime) + sizeof("/dibs/") + sizeof(socket_name) - 1
           <= PLACE_SOCKET_MAX)
    (void)snprintf(directory, sizeof(directory), "%s/dibs", runtime);
  else
    (void)snprintf(directory, sizeof(directory), "/tmp/dibs-%lu-%08lx", uid,
                   (unsigned long)hash_of(runtime));
  place_in(directory, ret_place);
}

static dibs_status refuse(const place *p, dibs_error *error, const char *why)
{
  return failure(error, DIBS_ERR_CONFIG,
                 "private server: the directory %s %s. Set DIBS_URL to a server, or "
                 "XDG_RUNTIME_DIR to a directory of your own",
                 p->directory, why);
}

static dibs_status refuse_for_errno(const place *p, dibs_error *error, const char *what)
{
  char why[128];

  (void)snprintf(why, sizeof(why), "%s: %s", what, strerror(errno));
  return refuse(p, error, why);
}

dibs_status place_make(const place *p, dibs_error *error)
{
  struct stat found;
  int fd;

  if (mkdir(p->directory, 0700) != 0 && errno != EEXIST)
    return refuse_for_errno(p, error, "cannot be made");
  if (lstat(p->directory, &found) == 0 && S_ISLNK(found.st_mode))
    return refuse(p, error, "is a symbolic link");
  fd = open(p->directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 && errno != EACCES)
    return refuse_for_errno(p, error, "cannot be used");
  /* One of somebody else that cannot even be opened shall be told as that. */
  if ((fd >= 0 ? fstat(fd, &found) : lstat(p->directory, &found)) != 0) {
    (void)(fd >= 0 && close(fd));
    return refuse_for_errno(p, error, "cannot be used");
  }
  if (fd >= 0)
    (void)close(fd);
  if (found.st_uid != geteuid())
    return refuse(p, error, "belongs to somebody else");
  if ((found.st_mode & 077) != 0)
    return refuse(p, error, "is open to others (its mode must be 0700)");
  return fd < 0 ? refuse(p, error, "cannot be read") : DIBS_OK;
}
