/* SPDX-License-Identifier: MIT */
/* cli/top_replay.c - dibs top --replay: the readings of a file, each read when it is shown. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/message.h"
#include "cli/top_record.h"

#define LINE_MAX_SIZE ((size_t)64 * 1024 * 1024)

struct top_replay {
  const char *path;
  int fd;
  off_t *ends;               /* after the newline of each line */
  size_t count, capacity;
};

static bool add_line(top_replay *t, off_t end)
{
  if (t->count == t->capacity) {
    size_t capacity = t->capacity == 0 ? 1024 : 2 * t->capacity;
    off_t *ends = reallocarray(t->ends, capacity, sizeof(*ends));

    if (ends == NULL)
      return false;
    t->ends = ends;
    t->capacity = capacity;
  }
  t->ends[t->count++] = end;
  return true;
}

/* 0, or errno. */
static int find_lines(top_replay *t)
{
  static char bytes[65536];
  off_t at = 0;
  ssize_t size;

  while ((size = pread(t->fd, bytes, sizeof(bytes), at)) > 0) {
    for (ssize_t i = 0; i < size; i++) {
      if (bytes[i] == '\n' && !add_line(t, at + i + 1))
        return ENOMEM;
    }
    at += size;
  }
  return size < 0 ? errno : 0;
}

int top_replay_open(const char *path, top_replay **ret_replay)
{
  static top_replay t;
  struct stat is;
  const char *why = NULL;

  t = (top_replay) { .path = path, .fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) };
  if (t.fd < 0 || fstat(t.fd, &is) != 0)
    why = strerror(errno);
  else if (!S_ISREG(is.st_mode))
    why = "it is no file; unpack a recording before";
  else if ((errno = find_lines(&t)) != 0)
    why = strerror(errno);
  else if (t.count == 0)
    why = "it has no readings";
  if (why == NULL) {
    *ret_replay = &t;
    return 0;
  }
  top_replay_close(&t);
  return say_fault(&(message_facts) { .code = CODE_FILE }, "cannot replay %s: %s", path, why);
}

top_replay *top_replay_close(top_replay *t)
{
  if (t == NULL)
    return NULL;
  if (t->fd >= 0)
    close(t->fd);
  free(t->ends);
  *t = (top_replay) { .fd = -1 };
  return NULL;
}

size_t top_replay_count(const top_replay *t)
{
  return t->count;
}

bool top_replay_read(const top_replay *t, size_t number, top_reading *reading, char ret_why[200])
{
  off_t start = number == 0 ? 0 : t->ends[number - 1];
  size_t size = (size_t)(t->ends[number] - start);
  char *line = size > LINE_MAX_SIZE ? NULL : malloc(size), why[200] = "";
  top_reading read = { 0 };
  bool is_read;

  if (line == NULL || pread(t->fd, line, size, start) != (ssize_t)size)
    snprintf(why, sizeof(why), line == NULL ? "too long" : "cannot be read");
  is_read = why[0] == '\0' && top_json_read(line, size, &read, why);
  free(line);
  if (is_read) {
    top_reading_free(reading);
    *reading = read;
  } else {
    snprintf(ret_why, 200, "line %zu is damaged: %.150s", number + 1, why);
  }
  return is_read;
}

/* Whether the reading is before `when`; a damaged one counts as the next that is not. */
static bool is_before(const top_replay *t, size_t number, const char *when)
{
  top_reading r = { 0 };
  char why[200];
  bool before = false;

  for (; number < t->count && !top_replay_read(t, number, &r, why); number++)
    ;
  if (number < t->count)
    before = strncmp(r.when, when, strlen(when)) < 0;
  top_reading_free(&r);
  return before;
}

size_t top_replay_find(const top_replay *t, const char *when, size_t near)
{
  top_reading day = { 0 };
  char whole[80], why[200];
  size_t low = 0, high = t->count;

  snprintf(whole, sizeof(whole), "%s", when);
  if (strchr(when, '-') == NULL && top_replay_read(t, near, &day, why))
    snprintf(whole, sizeof(whole), "%.11s%.60s", day.when, when);
  top_reading_free(&day);
  while (low < high) {
    size_t middle = low + (high - low) / 2;

    if (is_before(t, middle, whole))
      low = middle + 1;
    else
      high = middle;
  }
  return low < t->count ? low : t->count - 1;
}
