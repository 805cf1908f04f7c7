/* SPDX-License-Identifier: MIT */
/* local/lock_file.c - locks of this machine, for clients without a reachable server, and what
 * excludes them: a shared lock of the same file beside each lease of such a client.
 *
 * One file for each name, never removed by dibs: after a removal two processes could lock
 * different files. A lock counts only while its file has its name. The file begins with the
 * number of the last grant, sixteen digits. */
#include "local/local.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "local/failure.h"
#include "local/own_files.h"
#include "local/place.h"

enum { DIGITS = 16 };

static dibs_status refuse(dibs_error *error, const char *path)
{
  return failure(error, DIBS_ERR_SYSTEM,
                 "degrade=local needs a lock file: %s: %s. Or leave degrade=local out",
                 path, strerror(errno));
}

dibs_status local_lock_open(const char *digest, local_lock *ret_lock, dibs_error *error)
{
  place p;
  char path[PLACE_SOCKET_MAX + 80];
  struct stat found;
  dibs_status status;
  int fd;

  status = place_base(&p, error);
  if (status == DIBS_OK) {
    p.is_of_lock_files = true;
    status = place_make(&p, error);
  }
  if (status != DIBS_OK)
    return status;
  (void)snprintf(path, sizeof(path), "%s/locks", p.directory);
  if (!own_directory_make(path))
    return refuse(error, path);
  (void)snprintf(path, sizeof(path), "%s/locks/%.64s", p.directory, digest);
  fd = descriptor_keep(own_file_open(path, O_RDWR | O_NONBLOCK));
  if (fd < 0)
    return refuse(error, path);
  if (fstat(fd, &found) != 0) {
    status = refuse(error, path);
    descriptor_close(fd);
    return status;
  }
  /* systemd-tmpfiles removes old files of /tmp, locked ones too, but none with the sticky bit;
   * other programs remove what was not used for days. */
  (void)fchmod(fd, S_ISVTX | S_IRUSR | S_IWUSR);
  (void)futimens(fd, NULL);
  *ret_lock = (local_lock){ fd, found.st_dev, found.st_ino };
  return DIBS_OK;
}

static bool is_there(const local_lock *l, struct stat *ret_found)
{
  return l->fd >= 0 && fstat(l->fd, ret_found) == 0 && ret_found->st_dev == l->device &&
         ret_found->st_ino == l->inode;
}

bool local_lock_is_named(const local_lock *l)
{
  struct stat found;

  return is_there(l, &found) && found.st_nlink > 0;
}

/* The next fence; an empty or invalid file starts from the beginning. */
static bool count_up(int fd, uint64_t *ret_fence)
{
  char digits[DIGITS + 1] = "";
  uint64_t last = 0;
  ssize_t size = pread(fd, digits, DIGITS, 0);

  for (ssize_t i = 0; i < size && digits[i] >= '0' && digits[i] <= '9'; i++)
    last = 10 * last + (uint64_t)(digits[i] - '0');
  if (size < 0 || last + 1 >= LOCAL_FENCES)
    return false;
  (void)snprintf(digits, sizeof(digits), "%016llu", (unsigned long long)last + 1);
  if (pwrite(fd, digits, DIGITS, 0) != DIGITS)
    return false;
  *ret_fence = last + 1;
  return true;
}

static dibs_status lock_now(const local_lock *l, int how)
{
  struct stat found;
  int done;

  if (!is_there(l, &found))
    return DIBS_LOST;
  do
    done = flock(l->fd, how | LOCK_NB);
  while (done != 0 && errno == EINTR);
  if (done == 0 && local_lock_is_named(l))
    return DIBS_OK;
  if (done == 0)
    return DIBS_LOST;
  return errno == EWOULDBLOCK ? DIBS_BUSY : DIBS_ERR_SYSTEM;
}

dibs_status local_lock_share(const local_lock *l)
{
  return lock_now(l, LOCK_SH);
}

dibs_status local_lock_try(const local_lock *l, uint64_t *ret_fence)
{
  dibs_status status = lock_now(l, LOCK_EX);

  if (status != DIBS_OK)
    return status;
  if (count_up(l->fd, ret_fence))
    return DIBS_OK;
  (void)flock(l->fd, LOCK_UN);
  return DIBS_ERR_SYSTEM;
}

bool local_lock_copy(const local_lock *l, local_lock *ret_copy)
{
  struct stat found;
  int fd = -1;

  if (is_there(l, &found))
    fd = descriptor_keep(fcntl(l->fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (fd >= 0)
    *ret_copy = (local_lock){ fd, l->device, l->inode };
  return fd >= 0;
}

void local_lock_close(local_lock *l)
{
  struct stat found;

  if (is_there(l, &found))
    descriptor_close(l->fd);
  else if (l->fd >= 0)
    descriptor_number_give(l->fd);
  l->fd = -1;
}

void local_lock_end(local_lock *l)
{
  struct stat found;

  if (is_there(l, &found))
    (void)flock(l->fd, LOCK_UN);
  local_lock_close(l);
}
