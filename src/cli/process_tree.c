/* SPDX-License-Identifier: MIT */
/* cli/process_tree.c - kills all descendants of a process. */
#include "cli/process_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEPTH_MAX 4096

/* As the kernel writes it; struct dirent of the library is for readdir(), which allocates. */
typedef struct entry {
  uint64_t inode;
  int64_t offset;
  unsigned short size;
  unsigned char type;
  char name[];
} entry;

/* -1: not a number. */
static pid_t number_of(const char *text)
{
  long value = 0;

  for (; *text >= '0' && *text <= '9' && value < 1L << 30; text++)
    value = value * 10 + (*text - '0');
  return *text == '\0' && value > 0 ? (pid_t)value : -1;
}

static void stat_path(pid_t pid, char path[32])
{
  char digits[12];
  size_t count = 0;
  char *to = stpcpy(path, "/proc/");

  do
    digits[count++] = (char)('0' + pid % 10);
  while ((pid /= 10) > 0);
  while (count > 0)
    *to++ = digits[--count];
  memcpy(to, "/stat", sizeof("/stat"));
}

/* "PID (COMMAND) STATE PARENT ...", and a command may contain anything. -1: it is gone. */
static pid_t parent_of(pid_t pid, char *ret_state)
{
  char path[32], text[512], *at;
  long parent = 0;
  ssize_t size;
  int fd;

  stat_path(pid, path);
  fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return -1;
  size = read(fd, text, sizeof(text) - 1);
  close(fd);
  text[size < 0 ? 0 : size] = '\0';
  at = strrchr(text, ')');
  if (at == NULL || strlen(at) < 5)
    return -1;
  *ret_state = at[2];
  for (at += 4; *at >= '0' && *at <= '9'; at++)
    parent = parent * 10 + (*at - '0');
  return (pid_t)parent;
}

static bool is_below(pid_t pid, pid_t top)
{
  char state = '\0';

  for (int depth = 0; pid > 1 && depth < DEPTH_MAX; depth++) {
    pid = parent_of(pid, &state);
    if (pid == top)
      return true;
  }
  return false;
}

static bool has_ended(pid_t pid)
{
  char state = 'X';

  return parent_of(pid, &state) < 0 || state == 'Z' || state == 'X';
}

/* The descriptor keeps the pid from meaning another process between the look and the kill. */
static bool kill_one(pid_t pid, pid_t top)
{
  int fd = (int)syscall(SYS_pidfd_open, pid, 0);
  bool is_killed;

  if (fd < 0)
    return errno == ENOSYS && kill(pid, SIGKILL) == 0;
  is_killed = is_below(pid, top) && !has_ended(pid) &&
              syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == 0;
  close(fd);
  return is_killed;
}

int process_tree_kill(pid_t top)
{
  _Alignas(entry) char bytes[4096];
  int directory = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC), killed = 0;
  long size;

  if (directory < 0)
    return 0;
  while ((size = syscall(SYS_getdents64, directory, bytes, sizeof(bytes))) > 0) {
    for (long at = 0; at < size;) {
      const entry *e = (const entry *)(const void *)(bytes + at);
      pid_t pid = number_of(e->name);

      if (pid > 1 && pid != top && is_below(pid, top) && !has_ended(pid) && kill_one(pid, top))
        killed++;
      at += e->size;
    }
  }
  close(directory);
  return killed;
}
