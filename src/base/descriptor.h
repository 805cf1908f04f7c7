/* SPDX-License-Identifier: MIT */
/* base/descriptor.h - descriptors above those of stdin, stdout and stderr. A program that closed
 * these can put others in their place at any time, as a daemon does with /dev/null; a socket of
 * ours there would be gone. */
#ifndef BASE_DESCRIPTOR_H
#define BASE_DESCRIPTOR_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

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
