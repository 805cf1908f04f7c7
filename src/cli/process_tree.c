/* SPDX-License-Identifier: MIT */
/* cli/process_tree.c - kills all descendants of a process, which is their subreaper.
 *
 * But the private server and its supervisor: a program below that was the first to need them has
 * started them, and others use them as well. The supervisor is known by its name, and as what
 * detach.c made: a member of a session whose leader has ended. Its parent says nothing: that is
 * init, or the guardian of a dibs run around the program that started it. */
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
#include <sys/wait.h>
#include <unistd.h>

#include "local/others.h"

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

/* "/proc/PID" and `file` of it, or "". */
static void path_of(pid_t pid, const char *file, char path[32])
{
  char digits[12];
  size_t count = 0;
  char *to = stpcpy(path, "/proc/");

  do
    digits[count++] = (char)('0' + pid % 10);
  while ((pid /= 10) > 0);
  while (count > 0)
    *to++ = digits[--count];
  memcpy(to, file, strlen(file) + 1);
}

typedef struct seen {
  pid_t parent, session;
  char state;
  bool is_named;          /* as a supervisor */
} seen;

static bool is_equal(const char *command, size_t size, const char *name)
{
  return size == strlen(name) && memcmp(command, name, size) == 0;
}

/* And moves past the blank after it. */
static pid_t read_number(const char **at)
{
  pid_t number = 0;

  for (; **at >= '0' && **at <= '9'; ++*at)
    number = number * 10 + (**at - '0');
  *at += **at == ' ';
  return number;
}

/* "PID (COMMAND) STATE PARENT GROUP SESSION ...", and a command may contain anything. false: it is
 * gone. */
static bool look_at(pid_t pid, seen *ret)
{
  char path[32], text[512];
  const char *at, *name;
  ssize_t size;
  int fd;

  path_of(pid, "/stat", path);
  fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return false;
  size = read(fd, text, sizeof(text) - 1);
  close(fd);
  text[size < 0 ? 0 : size] = '\0';
  name = strchr(text, '(');
  at = strrchr(text, ')');
  if (name == NULL || at == NULL || strlen(at) < 5)
    return false;
  size = at - ++name;
  ret->is_named = is_equal(name, (size_t)size, SUPERVISOR_NAME) ||
                  is_equal(name, (size_t)size, SUPERVISOR_NAME_CHOSEN);
  ret->state = at[2];
  at += 4;
  ret->parent = read_number(&at);
  (void)read_number(&at);
  ret->session = read_number(&at);
  return true;
}

static bool has_ended(pid_t pid)
{
  seen process;

  return !look_at(pid, &process) || process.state == 'Z' || process.state == 'X';
}

/* No other process gets the number of a session that has members. 0: of another namespace. */
static bool is_supervisor(const seen *process)
{
  return process->is_named && process->session > 0 && has_ended(process->session);
}

/* And neither a supervisor nor below one. */
static bool is_below(pid_t pid, pid_t top)
{
  seen process;

  for (int depth = 0; pid > 1 && depth < DEPTH_MAX; depth++) {
    if (!look_at(pid, &process) || is_supervisor(&process))
      return false;
    pid = process.parent;
    if (pid == top)
      return true;
  }
  return false;
}

/* The descriptor keeps the pid from meaning another process between the look and the kill. It is
 * of a directory, since the numbers of /proc may be those of another namespace. */
static int open_one(pid_t pid)
{
  char path[32];

  path_of(pid, "", path);
  return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static bool kill_at(int fd)
{
  return syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == 0;
}

/* Before Linux 5.1, or forbidden by a filter for system calls. */
static bool needs_number(pid_t top)
{
  return (errno == ENOSYS || errno == EPERM) && top == getpid();
}

static bool kill_one(pid_t pid, pid_t top)
{
  int fd = open_one(pid);
  bool is_killed;

  if (fd < 0)
    return false;
  is_killed = is_below(pid, top) && !has_ended(pid) && kill_at(fd);
  if (!is_killed && needs_number(top))
    is_killed = is_below(pid, top) && !has_ended(pid) && kill(pid, SIGKILL) == 0;
  close(fd);
  return is_killed;
}

/* Until it is reaped no other process has its number. */
static bool kill_child(pid_t pid, pid_t top)
{
  seen child;
  bool is_killed;
  int fd;

  if (!look_at(pid, &child) || is_supervisor(&child) || (fd = open_one(pid)) < 0)
    return false;
  is_killed = kill_at(fd) || (needs_number(top) && kill(pid, SIGKILL) == 0);
  close(fd);
  waitpid(pid, NULL, WNOHANG);
  return is_killed;
}

/* What /proc calls this process; -1. */
static pid_t own_number(void)
{
  char text[12];
  ssize_t size = readlink("/proc/self", text, sizeof(text) - 1);

  text[size < 0 ? 0 : size] = '\0';
  return number_of(text);
}

bool process_may_be_stopped(pid_t pid)
{
  seen process;

  if (own_number() != getpid())     /* its number there is another one */
    return true;
  return look_at(pid, &process) && (process.state == 'T' || process.state == 't');
}

int process_tree_kill(void)
{
  const pid_t top = own_number();
  _Alignas(entry) char bytes[4096];
  int directory = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC), killed = 0;
  long size;

  if (directory < 0 || top < 0) {
    if (directory >= 0)
      close(directory);
    return 0;
  }
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

int process_children_kill(pid_t kept)
{
  const pid_t top = own_number();
  char text[4096], *at = text, *end;
  int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC), killed = 0;
  ssize_t size;

  if (fd < 0)
    return 0;
  /* Else the numbers are those of another namespace, and `kept` cannot be distinguished. */
  size = top == getpid() ? read(fd, text, sizeof(text) - 1) : 0;
  close(fd);
  text[size < 0 ? 0 : size] = '\0';
  for (; (end = strchr(at, ' ')) != NULL; at = end + 1) {
    pid_t pid;

    *end = '\0';
    pid = number_of(at);
    if (pid > 0 && pid != kept && kill_child(pid, top))
      killed++;
  }
  return killed;
}
