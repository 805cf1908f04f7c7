/* SPDX-License-Identifier: MIT */
/* cli/top_replay.c - dibs top --replay: the readings of a file, each read when it is shown. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
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

/* ---- times ---- */

/* A number of `least` to 4 digits, up to `last`; moves *at past it. */
static bool take_number(const char **at, size_t least, int last, int *ret_number)
{
  size_t digits = strspn(*at, "0123456789");

  if (digits < least || digits > 4)
    return false;
  *ret_number = 0;
  for (size_t i = 0; i < digits; i++)
    *ret_number = 10 * *ret_number + *(*at)++ - '0';
  return *ret_number <= last;
}

/* The same after `mark`, with two digits. */
static bool take_next(const char **at, char mark, int last, int *ret_number)
{
  if (**at != mark || strspn(*at + 1, "0123456789") != 2)
    return false;
  (*at)++;
  return take_number(at, 2, last, ret_number);
}

/* YYYY-MM-DD, a day that there is. */
static bool take_day(const char **at, char ret_day[TOP_TIME_SIZE])
{
  struct tm day = { 0 }, real;
  int year, month;

  if (!take_number(at, 4, 9999, &year) || !take_next(at, '-', 12, &month) ||
      !take_next(at, '-', 31, &day.tm_mday))
    return false;
  day.tm_year = year - 1900;
  day.tm_mon = month - 1;
  real = day;
  (void)timegm(&real);                             /* makes 2 March of 30 February */
  return real.tm_mon == day.tm_mon && real.tm_mday == day.tm_mday &&
         strftime(ret_day, TOP_TIME_SIZE, "%Y-%m-%d", &day) > 0;
}

/* H:MM, HH:MM, and both with :SS. */
static bool take_clock(const char **at, char ret_clock[TOP_TIME_SIZE])
{
  int hour, minute, second;

  if (strspn(*at, "0123456789") > 2 || !take_number(at, 1, 23, &hour) ||
      !take_next(at, ':', 59, &minute))
    return false;
  snprintf(ret_clock, TOP_TIME_SIZE, "%02d:%02d", hour, minute);
  if (**at != ':')
    return true;
  if (!take_next(at, ':', 59, &second))
    return false;
  snprintf(ret_clock, TOP_TIME_SIZE, "%02d:%02d:%02d", hour, minute, second);
  return true;
}

bool top_time_read(const char *text, char ret_when[TOP_TIME_SIZE])
{
  char day[TOP_TIME_SIZE] = "", clock[TOP_TIME_SIZE] = "";
  bool has_day = strchr(text, '-') != NULL, has_clock = true;

  if (has_day) {
    if (!take_day(&text, day))
      return false;
    has_clock = *text != '\0';
    if (has_clock && *text != ' ' && *text != 'T')
      return false;
    text += has_clock;
  }
  if ((has_clock && !take_clock(&text, clock)) || *text != '\0')
    return false;
  snprintf(ret_when, TOP_TIME_SIZE, "%.10s%s%.8s", day, has_day && has_clock ? " " : "", clock);
  return true;
}

bool top_replay_find(const top_replay *t, const char *when, size_t near, size_t *ret_number)
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
  *ret_number = low < t->count ? low : t->count - 1;
  return low < t->count;
}
