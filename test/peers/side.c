/* SPDX-License-Identifier: MIT */
/* test/peers/side.c - starting peers, writing lines to them, and sorting what they answer. */
#include "tests.h"
#include "side.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "now.h"
#include "promise.h"

enum { PENDING_MAX = 128, LINE_MAX_BYTES = 1024 };

struct line { char text[LINE_MAX_BYTES]; };

struct side {
  pid_t pid;
  int in, out;                     /* the peer's stdin and stdout */
  char library[80], kinds[200];
  char bytes[LINE_MAX_BYTES];      /* of a line that is not whole yet */
  size_t byte_count;
  struct line pending[PENDING_MAX], taken;
  int pending_count;
  int64_t answered_ns;
};

/* ---- lines ---- */

/* Reads what is there; false: the peer has ended. */
static bool side_read(struct side *s)
{
  char *end;
  ssize_t n = read(s->out, s->bytes + s->byte_count, sizeof(s->bytes) - 1 - s->byte_count);

  if (n <= 0)
    return false;
  s->byte_count += (size_t)n;
  s->bytes[s->byte_count] = 0;
  while ((end = strchr(s->bytes, '\n')) != NULL) {
    *end = 0;
    if (s->pending_count == PENDING_MAX)
      fail_msg("more than %d answers that nobody asked for, such as: %s", PENDING_MAX, s->bytes);
    memcpy(s->pending[s->pending_count++].text, s->bytes, (size_t)(end - s->bytes) + 1);
    s->byte_count -= (size_t)(end - s->bytes) + 1;
    memmove(s->bytes, end + 1, s->byte_count + 1);
  }
  if (s->byte_count == sizeof(s->bytes) - 1)
    fail_msg("%s says a line that is too long: %s", s->library, s->bytes);
  return true;
}

/* Takes the first line that begins with `word` and a blank. */
static bool take(struct side *s, const char *word)
{
  size_t length = strlen(word);

  for (int i = 0; i < s->pending_count; i++) {
    if (strncmp(s->pending[i].text, word, length) != 0 || s->pending[i].text[length] != ' ')
      continue;
    s->taken = s->pending[i];
    s->pending_count--;
    memmove(&s->pending[i], &s->pending[i + 1],
            (size_t)(s->pending_count - i) * sizeof(s->pending[0]));
    return true;
  }
  return false;
}

static const char *await_line(struct side *s, const char *word, int limit_ms)
{
  int64_t end_ms = test_now_ms() + limit_ms;

  while (!take(s, word)) {
    struct pollfd readable = { .fd = s->out, .events = POLLIN };
    int64_t left = end_ms - test_now_ms();

    if (poll(&readable, 1, left > 0 ? (int)left : 0) > 0) {
      if (!side_read(s))
        return NULL;
    } else if (left <= 0) {
      return NULL;
    }
  }
  return s->taken.text + strlen(word) + 1;
}

/* ---- begin and end ---- */

static void become(const char *program, const char *address, const char *const *options,
                   const int *in, const int *out)
{
  const char *words[SIDE_OPTIONS_MAX + 3] = { program, address };
  int count = 2;

  for (int i = 0; options != NULL && options[i] != NULL && i < SIDE_OPTIONS_MAX; i++)
    words[count++] = options[i];
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  (void)dup2(in[0], STDIN_FILENO);
  (void)dup2(out[1], STDOUT_FILENO);
  (void)execv(program, (char *const *)(uintptr_t)words);
  _exit(127);
}

static bool greet(struct side *s)
{
  const char *line = await_line(s, "ready", SIDE_START_MS);

  return line != NULL &&
         sscanf(line, "%79[^ ] %*s %199s", s->library, s->kinds) == 2 &&
         snprintf(s->library, sizeof(s->library), "%.*s",
                  (int)(strrchr(line, ' ') - line), line) > 0;
}

struct side *side_open(const char *program, const char *address, const char *const *options,
                       const char **ret_why)
{
  static char why[200];
  struct side *s = calloc(1, sizeof(*s));
  int in[2], out[2];

  assert_non_null(s);
  assert_int_equal(pipe2(in, O_CLOEXEC), 0);
  assert_int_equal(pipe2(out, O_CLOEXEC), 0);
  (void)signal(SIGPIPE, SIG_IGN);
  s->pid = fork();
  assert_true(s->pid >= 0);
  if (s->pid == 0)
    become(program, address, options, in, out);
  (void)close(in[0]);
  (void)close(out[1]);
  s->in = in[1];
  s->out = out[0];
  if (greet(s))
    return s;
  (void)snprintf(why, sizeof(why), "%s",
                 s->pending_count > 0 ? s->pending[s->pending_count - 1].text : "it ended");
  *ret_why = why;
  return side_kill(s);
}

static struct side *gone(struct side *s)
{
  int how;

  (void)promise_waitpid(s->pid, &how, 0);
  (void)close(s->out);
  free(s);
  return NULL;
}

struct side *side_close(struct side *s)
{
  int64_t end_ms = test_now_ms() + SIDE_SOON_MS;
  struct pollfd ended;

  if (s == NULL)
    return NULL;
  (void)close(s->in);
  ended = (struct pollfd){ .fd = s->out, .events = POLLIN };
  while (test_now_ms() < end_ms && poll(&ended, 1, 100) >= 0)
    if ((ended.revents & (POLLIN | POLLHUP)) != 0 && !side_read(s))
      return gone(s);
  (void)kill(s->pid, SIGKILL);
  return gone(s);
}

struct side *side_kill(struct side *s)
{
  if (s == NULL)
    return NULL;
  (void)kill(s->pid, SIGKILL);
  (void)close(s->in);
  return gone(s);
}

const char *side_library(const struct side *s)
{
  return s->library;
}

pid_t side_pid(const struct side *s)
{
  return s->pid;
}

const char *side_kinds(const struct side *s)
{
  return s->kinds;
}

bool side_has(const struct side *s, const char *kind)
{
  size_t length = strlen(kind);

  for (const char *at = s->kinds; (at = strstr(at, kind)) != NULL; at += length)
    if ((at == s->kinds || at[-1] == ',') && (at[length] == ',' || at[length] == 0))
      return true;
  return false;
}

/* ---- talking ---- */

static void tell(struct side *s, int worker, const char *format, va_list values)
{
  char line[LINE_MAX_BYTES];
  int n = snprintf(line, sizeof(line), "%d ", worker);

  n += vsnprintf(line + n, sizeof(line) - (size_t)n, format, values);
  assert_in_range(n, 1, sizeof(line) - 2);
  line[n++] = '\n';
  if (write(s->in, line, (size_t)n) != n)
    fail_msg("%s has ended; it cannot be told: %s", s->library, line);
}

void side_tell(struct side *s, int worker, const char *format, ...)
{
  va_list values;

  va_start(values, format);
  tell(s, worker, format, values);
  va_end(values);
}

const char *side_answer(struct side *s, int worker, int limit_ms)
{
  char word[16], *rest;
  const char *line;

  (void)snprintf(word, sizeof(word), "%d", worker);
  line = await_line(s, word, limit_ms);
  if (line == NULL)
    return NULL;
  s->answered_ns = strtoll(line, &rest, 10);
  return *rest == ' ' ? rest + 1 : rest;
}

int64_t side_answered_ns(const struct side *s)
{
  return s->answered_ns;
}

void side_expect(struct side *s, int worker, int limit_ms, const char *wanted)
{
  const char *got = side_answer(s, worker, limit_ms);
  size_t length = strlen(wanted);

  if (got == NULL)
    fail_msg("%s, worker %d: no answer within %d ms, wanted '%s'", s->library, worker, limit_ms,
             wanted);
  if (strncmp(got, wanted, length) != 0 ||
      (got[length] != 0 && (got[length] != ' ' || strchr(wanted, ' ') != NULL)))
    fail_msg("%s, worker %d: '%s' instead of '%s'", s->library, worker, got, wanted);
}

void side_expect_waiting(struct side *s, int worker, int ms)
{
  const char *got = side_answer(s, worker, ms);

  if (got != NULL)
    fail_msg("%s, worker %d: '%s', though it should wait", s->library, worker, got);
}

void side_does(struct side *s, int worker, const char *wanted, const char *format, ...)
{
  va_list values;

  va_start(values, format);
  tell(s, worker, format, values);
  va_end(values);
  side_expect(s, worker, SIDE_SOON_MS, wanted);
}
