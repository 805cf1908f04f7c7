/* SPDX-License-Identifier: MIT */
/* test/live/local_parts.h - what the tests of the private server share. */
#ifndef LOCAL_PARTS_H
#define LOCAL_PARTS_H

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "local/ask.h"
#include "local/local.h"
#include "local/place.h"
#include "process_state.h"
#include "promise.h"
#include "server_parts.h"

/* More than any patience of the private server itself: its supervisor gives a server 10 s
 * to make its socket. */
enum { SOON_MS = 20000 };

static char runtime[64];

/* A DIBS_LOCAL_DIR of the test's own: no real private server is ever touched. */
static int setup(void **state)
{
  char directory[80];

  (void)state;
  test_directory_make(runtime, sizeof(runtime));
  (void)snprintf(directory, sizeof(directory), "%s/dibs", runtime);
  (void)setenv("DIBS_LOCAL_DIR", directory, 1);
  (void)unsetenv("DIBS_NO_LOCAL");
  (void)unsetenv("DIBS_LOCAL_AOF");
  (void)unsetenv("KUBERNETES_SERVICE_HOST");
  return 0;
}

static inline int teardown(void **state)
{
  (void)state;
  (void)dibs_local_stop(false, NULL);
  test_directory_remove(runtime);
  return 0;
}

static inline place where(void)
{
  place p;

  assert_int_equal(place_find(&p, NULL), DIBS_OK);
  return p;
}

/* fork() whose child does not outlive a test program that failed. */
static inline pid_t fork_child(void)
{
  pid_t parent = getpid(), child = fork();

  if (child == 0
      && (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent))
    _exit(1);
  return child;
}

/* How many processes have the directory of the test on their command line: servers. */
static inline int servers_count(const char *directory)
{
  DIR *all = opendir("/proc");
  struct dirent *entry;
  int count = 0;

  while ((entry = readdir(all)) != NULL) {
    char path[300], bytes[2048];
    ssize_t size = -1;
    int fd;

    if (!isdigit((unsigned char)entry->d_name[0]))
      continue;
    (void)snprintf(path, sizeof(path), "/proc/%s/cmdline", entry->d_name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
      size = read(fd, bytes, sizeof(bytes));
      (void)close(fd);
    }
    if (size > 0 && memmem(bytes, (size_t)size, directory, strlen(directory)) != NULL)
      count++;
  }
  (void)closedir(all);
  return count;
}

/* What a process that should be gone does instead. */
static inline void process_tell(pid_t pid)
{
  char path[64], line[512], waits[64] = "";
  FILE *file;

  if (!process_line(pid, line))
    return;
  (void)snprintf(path, sizeof(path), "/proc/%ld/wchan", (long)pid);
  file = fopen(path, "re");
  if (file != NULL) {
    (void)!fgets(waits, sizeof(waits), file);
    (void)fclose(file);
  }
  print_error("still there, in %s: %s", waits, line);
}

/* Each waits for its event, at most SOON_MS, and tells what its last look saw: a second
 * look could see something else. */
static inline bool soon_gone(pid_t pid)
{
  int64_t until = clock_ms() + SOON_MS;
  bool gone = is_gone(pid);

  while (!gone && clock_ms() < until) {
    nap_ms(2);
    gone = is_gone(pid);
  }
  if (!gone)
    process_tell(pid);
  return gone;
}

static inline bool soon_absent(const char *path)
{
  int64_t until = clock_ms() + SOON_MS;
  bool is_absent = access(path, F_OK) != 0;

  while (!is_absent && clock_ms() < until) {
    nap_ms(2);
    is_absent = access(path, F_OK) != 0;
  }
  return is_absent;
}

/* The process that has supervisor.lock, 0 for none. */
static inline pid_t supervisor_pid(void)
{
  struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
  pid_t pid = 0;
  place p = where();
  int fd;

  fd = open(p.supervisor_lock, O_RDWR | O_CLOEXEC);
  if (fd < 0)
    return 0;
  if (fcntl(fd, F_GETLK, &whole) == 0 && whole.l_type != F_UNLCK)
    pid = whole.l_pid;
  (void)close(fd);
  return pid;
}

static inline pid_t server_pid(void)
{
  dibs_local_info info = { .size = sizeof(info) };

  return dibs_local_status(&info, NULL) == DIBS_OK ? (pid_t)info.server_pid : 0;
}

static inline void kill_and_wait(pid_t pid)
{
  if (pid > 0 && kill(pid, SIGKILL) == 0)
    (void)soon_gone(pid);
}

#endif
