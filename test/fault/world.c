/* SPDX-License-Identifier: MIT */
/* test/fault/world.c - the life of a world: its directory, time, chance, markers. */
#include "world_parts.h"
#include "run_file.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dibs/dibs.h>

#include "lib/server_parts.h"

static char next_directory[256];

void world_use_directory(const char *directory)
{
  (void)snprintf(next_directory, sizeof(next_directory), "%s", directory);
}

static void find_programs(struct world *w)
{
  ssize_t length = readlink("/proc/self/exe", w->programs, sizeof(w->programs) - 1);
  char *slash;

  if (length <= 0)
    test_bail_out("no /proc/self/exe");
  w->programs[length] = '\0';
  slash = strrchr(w->programs, '/');
  if (slash != NULL)
    *slash = '\0';
}

struct world *world_new(const struct scenario *scenario, const struct scale *scale)
{
  struct world *w = calloc(1, sizeof(*w));

  if (w == NULL)
    test_bail_out("no memory");
  w->scenario = scenario;
  w->scale = *scale;
  w->began_ns = history_now_ns();
  w->chance = (scale->seed + 1) * 0x9e3779b97f4a7c15U;
  w->server_fault = -1;
  if (next_directory[0] == '\0')
    test_directory_make(next_directory, sizeof(next_directory));
  (void)snprintf(w->directory, sizeof(w->directory), "%s", next_directory);
  next_directory[0] = '\0';
  find_programs(w);
  run_write(w->directory, "about %s %s seed %llu dibs %s", scenario->id, scenario->name,
            (unsigned long long)scale->seed, dibs_version());
  run_write_expectations(w->directory, &scenario->expects);
  run_write(w->directory, "dialect %d", scale->dialect);
  w->recorder = recorder_open(w->directory, RUNNER, 0);
  return w;
}

struct world *world_free(struct world *w)
{
  if (w == NULL)
    return NULL;
  world_end_crew(w);
  world_end_inspectors(w);
  w->stalls = stall_watch_stop(w->stalls);
  if (w->stop != NULL)
    w->stop(w->stop_data);
  w->proxy = test_proxy_stop(w->proxy);
  for (int i = 0; i < w->adopted_count; i++)
    w->adopted[i] = test_server_stop(w->adopted[i]);
  w->recorder = recorder_close(w->recorder);
  w->page = page_close(w->page);
  free(w->open_faults);
  free(w);
  return NULL;
}

void world_at_end(struct world *w, void (*stop)(void *data), void *data)
{
  w->stop = stop;
  w->stop_data = data;
}

const struct page *world_page(const struct world *w) { return w->page; }

void world_tell(struct world *w, struct record *r)
{
  recorder_put(w->recorder, r);
}

/* ---- time and chance ---- */

enum { MORE_TIME_MS = 60000 };           /* for what is still to happen */

int64_t world_left_ms(const struct world *w)
{
  int64_t gone_ms = (history_now_ns() - w->began_ns) / 1000000;

  return (int64_t)(w->scale.seconds * 660) - gone_ms;
}

static bool lacks_a_marker(const struct world *w)
{
  for (int i = 0; i < w->marker_count; i++)
    if (w->reached[i] < w->demanded[i])
      return true;
  return false;
}

bool world_goes_on(struct world *w)
{
  bool is_first = !w->has_turned;
  int64_t left_ms = world_left_ms(w);

  w->has_turned = true;
  world_reap(w);
  return !w->has_failed &&
         (is_first || left_ms > 0 ||
          (left_ms > -MORE_TIME_MS && lacks_a_marker(w)));
}

uint64_t world_chance(struct world *w, uint64_t limit)
{
  w->chance ^= w->chance << 13;
  w->chance ^= w->chance >> 7;
  w->chance ^= w->chance << 17;
  return limit == 0 ? 0 : (w->chance * 0x2545f4914f6cdd1dU >> 11) % limit;
}

int world_between(struct world *w, int least, int most)
{
  return least + (int)world_chance(w, (uint64_t)(most - least) + 1);
}

void world_pass_ms(struct world *w, int ms)
{
  int64_t until = history_now_ns() + ms * 1000000LL, left;

  while ((left = until - history_now_ns()) > 0) {
    pause_us(left > 20000000 ? 20000 : left / 1000 + 1);
    world_reap(w);
  }
}

bool world_until(struct world *w, int limit_ms, bool (*is_so)(struct world *w, void *data),
                 void *data)
{
  int64_t until = history_now_ns() + limit_ms * 1000000LL;

  for (;;) {
    world_reap(w);
    if (is_so(w, data))
      return true;
    if (history_now_ns() >= until)
      return false;
    pause_us(500);
  }
}

/* ---- markers and words ---- */

static int marker_of(struct world *w, const char *marker)
{
  int i;

  for (i = 0; i < w->marker_count; i++)
    if (strncmp(w->markers[i], marker, sizeof(w->markers[i]) - 1) == 0)
      return i;
  if (i == MARKERS_MAX)
    test_bail_out("too many markers");
  (void)snprintf(w->markers[i], sizeof(w->markers[i]), "%s", marker);
  w->marker_count++;
  run_write(w->directory, "marker %s", w->markers[i]);
  return i;
}

void world_demand(struct world *w, const char *marker, int64_t times)
{
  int which = marker_of(w, marker);

  w->demanded[which] = times;
  run_write(w->directory, "demand %d %lld", which, (long long)times);
}

void world_demand_overlap(struct world *w, int64_t grants)
{
  run_write(w->directory, "overlap %lld", (long long)grants);
}

void world_mark_times(struct world *w, const char *marker, int64_t times)
{
  int which = marker_of(w, marker);
  struct record r = { .op = OP_MARK, .phase = PHASE_OK, .lock = (uint16_t)which,
                      .value = times };

  w->reached[which] += times;
  world_tell(w, &r);
}

void world_mark(struct world *w, const char *marker)
{
  world_mark_times(w, marker, 1);
}

static void print(const char *before, const char *format, va_list values)
{
  (void)printf("# %s", before);
  (void)vprintf(format, values);
  (void)printf("\n");
  (void)fflush(stdout);
}

void world_fail(struct world *w, const char *format, ...)
{
  va_list values;

  w->has_failed = true;
  va_start(values, format);
  print("FAILED: ", format, values);
  va_end(values);
}

void world_break(struct world *w, const char *format, ...)
{
  va_list values;

  w->has_failed = w->has_broken = true;
  va_start(values, format);
  print("BROKEN PROMISE: ", format, values);
  va_end(values);
}

void world_note_exit(struct world *w, const char *what, int exit_code)
{
  if (exit_code == PROMISE_BROKEN_EXIT)
    world_break(w, "seen by %s", what);
}

bool world_has_broken(const struct world *w)
{
  return w->has_broken;
}

void world_say(struct world *w, const char *format, ...)
{
  va_list values;

  (void)w;
  va_start(values, format);
  print("", format, values);
  va_end(values);
}

void world_count(struct world *w, const char *what, int64_t times)
{
  int i;

  for (i = 0; i < w->count_count; i++)
    if (strcmp(w->counts[i].what, what) == 0)
      break;
  if (i == COUNTS_MAX)
    return;
  if (i == w->count_count) {
    (void)snprintf(w->counts[i].what, sizeof(w->counts[i].what), "%s", what);
    w->count_count++;
  }
  w->counts[i].times += times;
}
