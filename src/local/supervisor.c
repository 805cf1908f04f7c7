/* SPDX-License-Identifier: MIT */
/* local/supervisor.c - stops the private server when it is idle.
 *
 * It runs in a child of a program that may have threads: async-signal-safe calls only, no
 * memory but its stack. At each tick it tries to lock users.lock exclusively, and unlocks
 * it at once. Users that came and left between two ticks change the mtime of users.lock.
 * After the idle time without users it locks start.lock, then users.lock, and stops the
 * server: no user can join meanwhile. It does not stop a server with keys or connections:
 * a lease outlives the program that took it, and each key may be one. Keys that only
 * remember (a free lock, its last fence) expire within an hour. It does not stop a server
 * without replies either: that one may have keys.
 *
 * It also stops a server whose socket was removed or replaced: new users cannot find it,
 * and the next starter starts another one; two servers must not grant the same name. */
#include "local/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "local/ask.h"
#include "local/detach.h"
#include "local/others.h"
#include "local/own_files.h"

enum { TICK_MAX_MS = 1000, TICK_MIN_MS = 10, STOP_MS = 2000, KEEP_MS = 3600 * 1000,
       APPEAR_MS = 10000 };

typedef struct supervisor {
  const place *place;
  const server_run *run;
  pid_t server;
  bool is_parent;
  int64_t idle_ms;
  int report;
  int server_watch;       /* readable when the server has ended, or -1 */
  int supervisor_lock, start_lock, users_lock;
  ino_t socket_inode;     /* 0: unknown */
  struct timespec last_join;
  int64_t idle_since;     /* 0: in use */
  int64_t kept_at;        /* when the files were last touched */
  int64_t since;
} supervisor;

static int open_lock(const char *path)
{
  return own_file_open(path, O_RDWR);
}

static bool try_lock(int fd)
{
  return flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static void say(const supervisor *s, int word)
{
  (void)!write(s->report, &word, sizeof(word));
}

static bool server_is_gone(const supervisor *s)
{
  if (s->is_parent) {
    pid_t ended = waitpid(s->server, NULL, WNOHANG | __WALL);
    return ended == s->server || (ended < 0 && errno == ECHILD);
  }
  return kill(s->server, 0) != 0 && errno == ESRCH;
}

/* Sleeps at most `ms`; true: the server has ended. */
static bool wait_for_end(const supervisor *s, int ms)
{
  struct pollfd wait = { .fd = s->server_watch, .events = POLLIN };

  (void)poll(&wait, 1, ms);
  return server_is_gone(s) || (wait.revents & POLLIN) != 0;
}

static void stop_server(const supervisor *s)
{
  (void)ask_to_shut_down(s->place->socket, STOP_MS, NULL);
  if (wait_for_end(s, STOP_MS))
    return;
  (void)kill(s->server, SIGKILL);
  (void)wait_for_end(s, STOP_MS);
}

/* Whether a user has joined since the last tick. */
static bool somebody_joined(supervisor *s)
{
  struct timespec before = s->last_join;
  struct stat found;

  if (fstat(s->users_lock, &found) != 0)
    return true;
  s->last_join = found.st_mtim;
  return found.st_mtim.tv_sec != before.tv_sec || found.st_mtim.tv_nsec != before.tv_nsec;
}

/* Whether there is no user, and was none since the last tick: then it has users.lock. */
static bool is_alone(supervisor *s)
{
  if (!try_lock(s->users_lock))
    return false;
  if (!somebody_joined(s))
    return true;
  (void)flock(s->users_lock, LOCK_UN);
  return false;
}

static bool is_empty(const supervisor *s)
{
  contents c;

  return ask_contents(s->place->socket, STOP_MS, &c) == ANSWER_PONG && c.keys == 0
         && c.connections == 0;
}

/* Stops the server if it has no users and no contents, and exits: the locks end with this
 * process, after the socket is removed. Otherwise the idle time starts again. */
static void stop_if_still_idle(supervisor *s)
{
  if (!try_lock(s->start_lock))
    return;
  if (!is_alone(s) || !is_empty(s)) {
    s->idle_since = 0;
    (void)flock(s->users_lock, LOCK_UN);
    (void)flock(s->start_lock, LOCK_UN);
    return;
  }
  stop_server(s);
  (void)unlink(s->place->socket);
  _exit(0);
}

static bool socket_was_taken_away(supervisor *s)
{
  struct stat found;

  if (stat(s->place->socket, &found) != 0)
    return errno == ENOENT && (s->socket_inode != 0 || clock_ms() - s->since > APPEAR_MS);
  if (s->socket_inode == 0)
    s->socket_inode = found.st_ino;
  return s->socket_inode != found.st_ino;
}

/* Many systems remove old files from /tmp. The mtime of users.lock stays: it has a meaning. */
static void keep_files(supervisor *s, int64_t now)
{
  const struct timespec times[2] = { { .tv_nsec = UTIME_NOW },
                                     { .tv_nsec = UTIME_OMIT } };

  if (s->kept_at != 0 && now - s->kept_at < KEEP_MS)
    return;
  s->kept_at = now;
  (void)futimens(s->users_lock, times);
  (void)futimens(s->start_lock, times);
  (void)futimens(s->supervisor_lock, times);
  (void)utimensat(AT_FDCWD, s->place->socket, times, 0);
  (void)utimensat(AT_FDCWD, s->place->log, times, 0);
}

static void watch_over(supervisor *s)
{
  int64_t tick = s->idle_ms / 4;

  if (tick > TICK_MAX_MS)
    tick = TICK_MAX_MS;
  if (tick < TICK_MIN_MS)
    tick = TICK_MIN_MS;
  while (!wait_for_end(s, (int)tick)) {
    int64_t now = clock_ms();

    keep_files(s, now);
    if (socket_was_taken_away(s)) {
      (void)kill(s->server, SIGKILL);
      (void)wait_for_end(s, STOP_MS);
      return;
    }
    if (!is_alone(s)) {
      s->idle_since = 0;
      continue;
    }
    (void)flock(s->users_lock, LOCK_UN);
    if (s->idle_since == 0)
      s->idle_since = now;
    else if (now - s->idle_since >= s->idle_ms)
      stop_if_still_idle(s);
  }
}

static bool has_its_lock(supervisor *s)
{
  struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

  s->supervisor_lock = open_lock(s->place->supervisor_lock);
  s->start_lock = open_lock(s->place->start_lock);
  s->users_lock = open_lock(s->place->users_lock);
  return s->supervisor_lock >= 0 && s->start_lock >= 0 && s->users_lock >= 0
         && fcntl(s->supervisor_lock, F_SETLK, &whole) == 0;
}

/* Only for the default place: of chosen places there may be several. */
static bool is_another_there(const supervisor *s)
{
  others all;

  if (s->place->is_chosen)
    return false;
  return !others_look(&all) || all.server != 0 || all.supervisor != 0;
}

static void supervise(void *data)
{
  supervisor *s = data;

  if (!has_its_lock(s)) {
    say(s, SUPERVISOR_NOT_NEEDED);
    return;
  }
  if (s->is_parent && is_another_there(s)) {
    say(s, SUPERVISOR_NOT_ALONE);
    return;
  }
  if (s->is_parent) {
    (void)truncate(s->place->log, 0);
    s->server = server_run_start(s->run, false, s->report);
  }
  if (s->server <= 0)
    return;
  say(s, SUPERVISOR_STARTED);
  s->since = clock_ms();
  s->server_watch = watch_process(s->server);
  watch_over(s);
}

bool supervisor_start(const place *p, const server_run *run, pid_t adopted,
                      int64_t idle_ms, int *ret_report)
{
  supervisor s = { .place = p, .run = run, .server = adopted, .is_parent = run != NULL,
                   .idle_ms = idle_ms };
  int ends[2];

  if (!detach_pipe(ends))
    return false;
  s.report = ends[1];
  if (!detach(supervise, &s, p->is_chosen ? SUPERVISOR_NAME_CHOSEN : SUPERVISOR_NAME,
              &ends[1], 1)) {
    int cause = errno;
    (void)close(ends[0]);
    (void)close(ends[1]);
    errno = cause;
    return false;
  }
  (void)close(ends[1]);
  *ret_report = ends[0];
  return true;
}

bool supervisor_is_there(const place *p)
{
  struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
  int fd = above_stdio(open(p->supervisor_lock, O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  bool is_there;

  if (fd < 0)
    return false;
  is_there = fcntl(fd, F_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
  (void)close(fd);
  return is_there;
}
