/* SPDX-License-Identifier: MIT */
/* cli/lock_copies.c - see lock_copies.h. The library does not say which descriptors are its lock
 * files; their paths do: local/lock_file.c. */
#include "cli/lock_copies.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/descriptors.h"

#define FOLDER "/locks/"
#define DIGITS 64                      /* the name of a lock file */

static bool is_lock_file(int fd)
{
  char link[32], path[512];
  const char *name;
  struct stat facts;
  ssize_t size;

  /* To read a link of /proc costs twenty times as much. */
  if (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode))
    return false;
  snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  size = readlink(link, path, sizeof(path) - 1);
  if (size < 0)
    return false;
  path[size] = '\0';
  name = strstr(path, FOLDER);
  return name != NULL && strlen(name + strlen(FOLDER)) == DIGITS &&
         strspn(name + strlen(FOLDER), "0123456789abcdef") == DIGITS;
}

/* Before there are copies, which would be found, too. */
static int find(int fds[LOCK_COPIES_MAX])
{
  DIR *all = opendir("/proc/self/fd");
  const struct dirent *entry;
  int count = 0;

  while (all != NULL && count < LOCK_COPIES_MAX && (entry = readdir(all)) != NULL) {
    int fd = (int)strtoll(entry->d_name, NULL, 10);       /* "." is 0 */

    if (fd > STDERR_FILENO && is_lock_file(fd))
      fds[count++] = fd;
  }
  if (all != NULL)
    closedir(all);
  return count;
}

static int in_order(const void *a, const void *b)
{
  return *(const int *)a - *(const int *)b;
}

void lock_copies_make(lock_copies *ret, int first)
{
  int found[LOCK_COPIES_MAX], count = find(found);

  ret->count = 0;
  for (int i = 0; i < count; i++) {
    int copy = fcntl(found[i], F_DUPFD_CLOEXEC, first);

    if (copy >= 0)
      ret->fds[ret->count++] = copy;
  }
  qsort(ret->fds, (size_t)ret->count, sizeof(ret->fds[0]), in_order);
}

void lock_copies_close_others(const lock_copies *c, int first)
{
  for (int i = 0; i < c->count; i++) {
    if (c->fds[i] > first)
      close_between((unsigned)first, (unsigned)c->fds[i] - 1);
    first = c->fds[i] + 1;
  }
  close_from((unsigned)first);
}

void lock_copies_close(const lock_copies *c)
{
  for (int i = 0; i < c->count; i++)
    close(c->fds[i]);
}
