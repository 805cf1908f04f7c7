/* SPDX-License-Identifier: MIT */
/* test/fault/child.c - the scenario's side of a child. */
#include "child_parts.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { DEATH_MS = 10000 };

static _Noreturn void give_up(const char *what)
{
  (void)fprintf(stderr, "child: %s: %s\n", what, strerror(errno));
  _exit(70);
}

static _Noreturn void be_child(struct child *c, pid_t parent, pid_t server,
                               void (*work)(struct child *self, void *data), void *data)
{
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
    give_up("its parent is gone");
  /* Sockets of a proxy that the child keeps open are never closed for their peers. */
  if (dup2(c->reports, 200) != 200 || dup2(c->orders, 201) != 201)
    give_up("dup2");
  c->reports = CHILD_REPORTS_FD;
  c->orders = CHILD_ORDERS_FD;
  if (dup2(200, c->reports) < 0 || dup2(201, c->orders) < 0 || close_range(5, ~0U, 0) != 0)
    give_up("close_range");
  child_clock_start(server);
  work(c, data);
  child_tell(c, "the end");
  _exit(0);
}

struct child *child_start(struct world *w, void (*work)(struct child *self, void *data),
                          void *data)
{
  struct child *c = calloc(1, sizeof(*c));
  int up[2], down[2];
  pid_t self = getpid(), server = test_server_pid(world_server(w));

  if (c == NULL || pipe2(up, O_CLOEXEC) != 0 || pipe2(down, O_CLOEXEC) != 0)
    give_up("pipe");
  (void)fflush(NULL);
  c->world = w;
  c->pid = fork();
  if (c->pid < 0)
    give_up("fork");
  c->reports = c->pid == 0 ? up[1] : up[0];
  c->orders = c->pid == 0 ? down[0] : down[1];
  if (c->pid == 0)
    be_child(c, self, server, work, data);
  (void)close(up[1]);
  (void)close(down[0]);
  return c;
}

pid_t child_pid(const struct child *c)
{
  return c->pid;
}

/* "F words" a failure, "S words" a saying, "M times marker", "T word". */
static void take_line(struct child *c, const char *line)
{
  long long times;
  int at = 0;

  if (line[0] == 'F')
    world_fail(c->world, "%s", line + 2);
  else if (line[0] == 'S')
    world_say(c->world, "%s", line + 2);
  else if (line[0] == 'M' && sscanf(line + 2, "%lld %n", &times, &at) == 1)
    world_mark_times(c->world, line + 2 + at, times);
  else if (line[0] == 'T')
    (void)snprintf(c->heard, sizeof(c->heard), "%s", line + 2);
}

/* Takes whole lines until a word was told; false when the pipe has ended. */
static bool read_some(struct child *c)
{
  ssize_t size = read(c->reports, c->text + c->size, sizeof(c->text) - 1 - c->size);

  if (size <= 0)
    return size < 0 && errno == EINTR;
  c->size += (size_t)size;
  return true;
}

static bool take_lines(struct child *c)
{
  char *end;

  c->heard[0] = '\0';
  while ((end = memchr(c->text, '\n', c->size)) != NULL) {
    *end = '\0';
    take_line(c, c->text);
    c->size -= (size_t)(end + 1 - c->text);
    memmove(c->text, end + 1, c->size);
    if (c->heard[0] != '\0')
      return true;
  }
  return false;
}

/* The next word that it tells within the limit; NULL: none. */
static const char *next_word(struct child *c, int64_t until_ms)
{
  while (!take_lines(c)) {
    struct pollfd ready = { .fd = c->reports, .events = POLLIN };
    int64_t left = until_ms - child_now_ms();

    if (left < 0 || poll(&ready, 1, (int)left) <= 0 || !read_some(c))
      return NULL;
  }
  return c->heard;
}

bool child_hear_either(struct child *c, const char *word, const char *other, int limit_ms)
{
  const char *heard = next_word(c, child_now_ms() + limit_ms);

  if (heard != NULL && strcmp(heard, word) == 0)
    return true;
  if (heard == NULL || other == NULL || strcmp(heard, other) != 0)
    world_fail(c->world, "the child does not tell \"%s\" within %d ms, but \"%s\"", word,
               limit_ms, heard == NULL ? "" : heard);
  return false;
}

bool child_hear(struct child *c, const char *word, int limit_ms)
{
  return child_hear_either(c, word, NULL, limit_ms);
}

void child_order(struct child *c, const char *word)
{
  char line[64];
  int size = snprintf(line, sizeof(line), "%s\n", word);

  (void)signal(SIGPIPE, SIG_IGN);
  (void)!write(c->orders, line, (size_t)size);
}

static struct child *bury(struct child *c)
{
  (void)close(c->reports);
  (void)close(c->orders);
  free(c);
  return NULL;
}

/* Its status, once it is dead; what does not die of SIGKILL is told, and left behind. */
static int wait_for_death(struct child *c)
{
  int64_t until = child_now_ms() + DEATH_MS;
  int status = 0;

  while (child_now_ms() < until) {
    pid_t pid = waitpid(c->pid, &status, WNOHANG);

    if (pid == c->pid || (pid < 0 && errno != EINTR))
      return status;
    child_sleep_ms(1);
  }
  world_fail(c->world, "child %ld does not die within %d ms", (long)c->pid, DEATH_MS);
  return 0;
}

struct child *child_end(struct child *c, int limit_ms)
{
  int64_t until = child_now_ms() + limit_ms;
  const char *heard;
  bool is_done = false;
  int status = 0;

  if (c == NULL)
    return NULL;
  while (!is_done && (heard = next_word(c, until)) != NULL)
    is_done = strcmp(heard, "the end") == 0;
  if (!is_done && child_now_ms() >= until)
    world_fail(c->world, "a child does not end within %d ms", limit_ms);
  if (!is_done)
    (void)kill(c->pid, SIGKILL);
  status = wait_for_death(c);
  if (WIFEXITED(status))
    world_note_exit(c->world, "a child", WEXITSTATUS(status));
  if (is_done && status != 0)
    world_fail(c->world, "a child ended with status %#x", (unsigned)status);
  else if (!is_done && child_now_ms() < until)
    world_fail(c->world, "a child did not come to its end: status %#x", (unsigned)status);
  return bury(c);
}

struct child *child_kill(struct child *c)
{
  if (c == NULL)
    return NULL;
  (void)kill(c->pid, SIGKILL);
  (void)wait_for_death(c);
  while (next_word(c, child_now_ms()) != NULL)
    ;
  return bury(c);
}

void child_bystanders(struct world *w)
{
  struct plan plan = PLAN_INIT;

  plan.locks = 1U << world_lock(w, 'm', "elsewhere", 0);
  plan.ttl_ms = 600;
  plan.hold_us_max = 300000;             /* some are renewed */
  plan.think_us = 5000;
  (void)world_hire(w, &plan, 2);
}
