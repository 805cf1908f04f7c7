/* SPDX-License-Identifier: MIT */
/* base/descriptor.h - descriptors above those of stdin, stdout and stderr. A program that closed
 * these can put others in their place at any time, as a daemon does with /dev/null; a socket of
 * ours there would be gone.
 *
 * A program may also close all that it does not know, as by closefrom(), and open another client.
 * The one before still uses the numbers that it had: both would send and read by one socket, and
 * each believe the grants of the other. So a descriptor that a client keeps gets no number that the
 * library has, until it gives that back. */
#ifndef BASE_DESCRIPTOR_H
#define BASE_DESCRIPTOR_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/descriptor_numbers.h"

/* Moves `fd`, which is close-on-exec. A negative one stays, and errno with it; -1 if it cannot be
 * moved. */
static inline int above_stdio(int fd)
{
  int above, fault;

  if (fd < 0 || fd > STDERR_FILENO)
    return fd;
  above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  fault = errno;
  (void)close(fd);
  errno = fault;
  return above;
}

/* As above_stdio(), for one that lives as long as a client: descriptor_close() ends it. */
static inline int descriptor_keep(int fd)
{
  int at = above_stdio(fd), next, fault;

  while (at >= 0 && !descriptor_number_take(at)) {
    next = fcntl(at, F_DUPFD_CLOEXEC, at + 1);
    fault = errno == EINVAL ? EMFILE : errno;      /* EINVAL: at + 1 is the limit */
    (void)close(at);
    errno = fault;
    at = next;
  }
  return at;
}

/* The number is given back last: before that no descriptor_keep() takes it, as one of another
 * thread may if the program has closed it. */
static inline void descriptor_close(int fd)
{
  (void)close(fd);
  descriptor_number_give(fd);
}

/* As opendir() and fopen(), to read. */
static inline DIR *directory_read(const char *path)
{
  int fd = above_stdio(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR *directory = fd < 0 ? NULL : fdopendir(fd);

  if (directory == NULL && fd >= 0)
    (void)close(fd);
  return directory;
}

static inline FILE *file_read(const char *path)
{
  int fd = above_stdio(open(path, O_RDONLY | O_CLOEXEC));
  FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

  if (file == NULL && fd >= 0)
    (void)close(fd);
  return file;
}

#endif
