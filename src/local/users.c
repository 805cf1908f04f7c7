/* SPDX-License-Identifier: MIT */
/* local/users.c - counts the processes that use the private server. */
#include "local/users.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/descriptor.h"

enum { USERS_MAX = 1024 };

/* "3: FLOCK  ADVISORY  READ 4711 fe:01:1234 0 EOF"; a waiter has "->" after the number.
 * The device is not compared: on overlay file systems it differs from that of stat. */
static bool is_user(const char *line, unsigned long long inode, long *ret_pid)
{
  unsigned long long found;

  return strstr(line, "->") == NULL
         && sscanf(line, "%*s FLOCK ADVISORY READ %ld %*x:%*x:%llu", ret_pid, &found) == 2
         && found == inode;
}

static bool is_among(long pid, const pid_t *all, int64_t count)
{
  for (int64_t i = 0; i < count; i++)
    if (all[i] == pid)
      return true;
  return false;
}

int64_t users_count(const char *path)
{
  pid_t all[USERS_MAX];
  long pid;
  int64_t count = 0;
  struct stat found;
  char line[256];
  FILE *locks;

  if (stat(path, &found) != 0)
    return 0;
  locks = file_read("/proc/locks");
  if (locks == NULL)
    return -1;
  /* A process has one lock for each of its clients. */
  while (count < USERS_MAX && fgets(line, sizeof(line), locks) != NULL)
    if (is_user(line, found.st_ino, &pid) && !is_among(pid, all, count))
      all[count++] = (pid_t)pid;
  (void)fclose(locks);
  return count;
}
