/* SPDX-License-Identifier: MIT */
/* test/fault/child_self.c - the child's side: what it tells, and how it looks at itself. */
#include "child_parts.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TICK_MS = 2, SLACK_MS = 50, OVERLOAD_MS = 10000 };

static _Atomic int64_t stalled_ms;     /* in all */
static pid_t the_server;

int64_t child_now_ms(void)
{
  struct timespec now;

  (void)clock_gettime(CLOCK_BOOTTIME, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void child_sleep_ms(int ms)
{
  struct timespec left = { ms / 1000, (ms % 1000) * 1000000L };

  while (nanosleep(&left, &left) != 0 && errno == EINTR)
    ;
}

/* ---- telling ---- */

__attribute__((format(printf, 3, 0)))
static void tell(struct child *self, char kind, const char *format, va_list words)
{
  char line[600];
  int size = snprintf(line, sizeof(line), "%c ", kind);

  size += vsnprintf(line + size, sizeof(line) - 2 - (size_t)size, format, words);
  if (size > (int)sizeof(line) - 3)
    size = (int)sizeof(line) - 3;
  for (int i = 0; i < size; i++)
    if (line[i] == '\n')
      line[i] = ' ';
  line[size++] = '\n';
  (void)!write(self->reports, line, (size_t)size);
}

void child_tell(struct child *self, const char *word)
{
  char line[64];
  int size = snprintf(line, sizeof(line), "T %s\n", word);

  (void)!write(self->reports, line, (size_t)size);
}

void child_say(struct child *self, const char *format, ...)
{
  va_list words;

  va_start(words, format);
  tell(self, 'S', format, words);
  va_end(words);
}

bool child_check(struct child *self, bool fact, const char *format, ...)
{
  va_list words;

  if (fact)
    return true;
  va_start(words, format);
  tell(self, 'F', format, words);
  va_end(words);
  return false;
}

void child_mark(struct child *self, const char *marker, int64_t times)
{
  char line[96];
  int size = snprintf(line, sizeof(line), "M %lld %s\n", (long long)times, marker);

  (void)!write(self->reports, line, (size_t)size);
}

void child_obey(struct child *self, const char *word)
{
  char line[64] = "";
  size_t size = 0;
  ssize_t got;

  while (size < sizeof(line) - 1) {
    got = read(self->orders, line + size, 1);
    if (got == 0)
      _exit(71);                       /* the scenario has given up */
    if (got == 1 && line[size] == '\n')
      break;
    size += got == 1;
  }
  line[size] = '\0';
  if (!child_check(self, strcmp(line, word) == 0, "told \"%s\", not \"%s\"", line, word))
    _exit(71);
}

/* ---- how it gets on ---- */

/* The second number of `schedstat` is the time in the run queue, in ns. */
int64_t child_starved_ms(pid_t pid)
{
  char path[300], line[128];
  struct dirent *entry;
  long long ran, waited, sum = 0;
  DIR *tasks;

  (void)snprintf(path, sizeof(path), pid == 0 ? "/proc/self/task" : "/proc/%ld/task", (long)pid);
  tasks = opendir(path);
  while (tasks != NULL && (entry = readdir(tasks)) != NULL) {
    FILE *file;

    if (pid == 0)
      (void)snprintf(path, sizeof(path), "/proc/self/task/%s/schedstat", entry->d_name);
    else
      (void)snprintf(path, sizeof(path), "/proc/%ld/task/%s/schedstat", (long)pid,
                     entry->d_name);
    file = fopen(path, "re");
    if (file != NULL && fgets(line, sizeof(line), file) != NULL &&
        sscanf(line, "%lld %lld", &ran, &waited) == 2)
      sum += waited;
    if (file != NULL)
      (void)fclose(file);
  }
  if (tasks != NULL)
    (void)closedir(tasks);
  return sum / 1000000;
}

/* What a process without descriptors still knows: a thread that wants to run and does not. */
static void *watch(void *data)
{
  int64_t last = child_now_ms(), now;

  (void)data;
  for (;;) {
    child_sleep_ms(TICK_MS);
    now = child_now_ms();
    if (now - last > 4 * TICK_MS)
      (void)atomic_fetch_add(&stalled_ms, now - last - TICK_MS);
    last = now;
  }
  return NULL;
}

void child_clock_start(pid_t server)
{
  sigset_t all, before;
  pthread_t thread;

  the_server = server;
  atomic_store(&stalled_ms, 0);
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  if (pthread_create(&thread, NULL, watch, NULL) != 0)
    _exit(70);
  (void)pthread_detach(thread);
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* On a machine with three times more to do than it has processors a thread may be born and not
 * run once for seconds, which no number of the kernel tells: there only hanging is a fault. */
static bool machine_is_overloaded(void)
{
  double load;

  return getloadavg(&load, 1) == 1 && load > 3.0 * (double)sysconf(_SC_NPROCESSORS_ONLN);
}

int64_t child_machine_slack_ms(void)
{
  return machine_is_overloaded() ? OVERLOAD_MS : 0;
}

static int64_t stalled_in_all_ms(void)
{
  int64_t starved = child_starved_ms(0) + child_starved_ms(the_server);

  return starved + atomic_load(&stalled_ms);
}

struct child_time child_time(void)
{
  int64_t stalled = stalled_in_all_ms();

  return (struct child_time){ child_now_ms(), stalled };
}

bool child_check_time(struct child *self, const char *call, struct child_time begun,
                      int limit_ms)
{
  int64_t took = child_now_ms() - begun.at_ms, stalled;

  if (took <= limit_ms + SLACK_MS)
    return true;
  stalled = stalled_in_all_ms() - begun.stalled_ms;    /* < 0: a thread has ended */
  stalled = (stalled < 0 ? 0 : stalled) + child_machine_slack_ms();
  return child_check(self, took <= limit_ms + SLACK_MS + stalled,
                     "%s took %lld ms of at most %d (stalled for %lld)", call,
                     (long long)took, limit_ms, (long long)stalled);
}

static long entries_in(const char *path)
{
  DIR *directory = opendir(path);
  long count = 0;

  if (directory == NULL)
    return -1;
  while (readdir(directory) != NULL)
    count++;
  (void)closedir(directory);
  return count;
}

long child_fds(void)
{
  return entries_in("/proc/self/fd");
}

void child_listens(struct child *self, dibs_client *client)
{
  dibs_client_info seen = DIBS_CLIENT_INFO_INIT;

  for (int i = 0; i < 5000 && seen.connects < 2; i++) {
    child_sleep_ms(2);
    (void)dibs_client_get_info(client, &seen);
  }
  (void)child_check(self, seen.connects >= 2, "a hold of 10 s does not listen for its end");
}

long child_threads(void)
{
  return entries_in("/proc/self/task");
}

long child_threads_settled(void)
{
  enum { LOOKS_MAX = 1000, SAME = 25 };
  long seen = child_threads();

  for (int i = 0, same = 0; i < LOOKS_MAX && same < SAME; i++) {
    long now;

    child_sleep_ms(2);
    now = child_threads();
    same = now == seen ? same + 1 : 0;
    seen = now;
  }
  return seen;
}

/* ---- dibs ---- */

static _Noreturn void end_with(struct child *self, const char *what, dibs_client *client,
                               dibs_status status)
{
  dibs_error error = DIBS_ERROR_INIT;

  if (client != NULL)
    (void)dibs_client_error(client, 0, &error);
  (void)child_check(self, false, "%s: %s: %s", what, dibs_status_name(status), error.text);
  child_tell(self, "the end");
  _exit(0);
}

dibs_client *child_open(struct child *self, const char *url, const dibs_options *options)
{
  dibs_options o = DIBS_OPTIONS_INIT;
  dibs_client *client = NULL;
  dibs_status status;

  if (options != NULL)
    o = *options;
  o.flags |= DIBS_CLIENT_NO_LOCAL;
  o.connect_timeout_ms = o.connect_timeout_ms == 0 ? 1000 : o.connect_timeout_ms;
  o.command_timeout_ms = o.command_timeout_ms == 0 ? 500 : o.command_timeout_ms;
  status = dibs_open(url, &o, &client, NULL);
  if (status != DIBS_OK)
    end_with(self, "no client", NULL, status);
  return client;
}

dibs_lock_options child_lock_options(int ttl_ms, int wait_ms)
{
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;

  o.ttl_ms = ttl_ms;
  o.wait_ms = wait_ms == 0 ? DIBS_FOREVER : wait_ms;
  return o;
}

dibs_hold *child_lock(struct child *self, dibs_client *client, const char *name, int ttl_ms)
{
  dibs_lock_options o = child_lock_options(ttl_ms, 5000);
  dibs_hold *hold = NULL;
  dibs_status status = dibs_lock(client, name, &o, &hold);

  if (status != DIBS_OK)
    end_with(self, name, client, status);
  return hold;
}
