/* SPDX-License-Identifier: MIT */
/* cli/top_source.c - readings of the servers for dibs top. */
#include "cli/top_source.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/message.h"
#include "cli/session.h"
#include "cli/top_about.h"
#include "fleet/class.h"

_Static_assert(WATCH_CLASS_SIZE == FLEET_CLASS_SIZE, "a class name fits");

bool top_source_reading(const sampler *s, const dibs_fleet *before, top_reading *ret_reading)
{
  top_reading r = { .at_ms = sampler_now_ms(), .is_up = s->status == DIBS_OK,
                    .round_trip_us = s->round_trip_us, .class_of = fleet_class_name };
  dibs_client_info info = session_info(s->client);
  struct timespec now;
  struct tm local;

  if (!watch_copy(&s->table, &r.table))
    return false;
  clock_gettime(CLOCK_REALTIME, &now);
  if (localtime_r(&now.tv_sec, &local) != NULL)
    strftime(r.when, sizeof(r.when), "%H:%M:%S", &local);
  snprintf(r.url, sizeof(r.url), "%s", info.url);
  r.servers = info.servers;
  r.servers_down = info.servers_down;
  snprintf(r.server_down, sizeof(r.server_down), "%s", info.server_down);
  r.patterns = info.classes[0] == '\0' ? NULL : strdup(info.classes);
  if (!r.is_up)
    printable(s->error.text, r.error, sizeof(r.error));
  r.sums = watch_sum(&r.table, r.at_ms);
  r.has_fleet = s->fleet != NULL;
  if (s->fleet != NULL) {
    r.clients = s->fleet->clients;
    r.classes = watch_classes(before, s->fleet, &r.class_count);
  }
  *ret_reading = r;
  return true;
}

/* ---- rates ---- */

#define INSPECTIONS 300      /* of one reading */
#define WINDOW_MS 60000      /* of rates */
#define WINDOW_SIZE (WINDOW_MS / WATCH_RATES_MS + 1)

/* Readings of the totals from the last minute, ten seconds apart; the oldest is first. */
typedef struct window {
  struct { dibs_fleet *fleet; int64_t at_ms; } all[WINDOW_SIZE];
  size_t count;
} window;

/* Takes the sampler's reading over if it is one for later. */
static void window_add(window *w, sampler *s)
{
  int64_t now_ms = s->sampled_ms;

  if (s->fleet == NULL ||
      (w->count > 0 && now_ms - w->all[w->count - 1].at_ms < WATCH_RATES_MS))
    return;
  if (w->count == WINDOW_SIZE) {
    (void)dibs_fleet_free(w->all[0].fleet);
    memmove(w->all, w->all + 1, (WINDOW_SIZE - 1) * sizeof(w->all[0]));
    w->count--;
  }
  w->all[w->count].fleet = s->fleet;
  w->all[w->count++].at_ms = now_ms;
  s->fleet = NULL;
}

/* ---- the thread ---- */

struct top_source {
  pthread_t thread;
  sampler sampler;           /* of the thread, as what follows */
  window window;
  int64_t good_ms;
  int32_t every_ms;
  int wake_fd;

  pthread_mutex_t mutex;     /* over what follows */
  pthread_cond_t changed;
  bool is_over, has_new, is_asked, is_hurried;
  top_reading latest;
  char name[DIBS_NAME_MAX + 1];
  size_t name_size;          /* 0: about none */
  char *about;
};

static void publish(top_source *s)
{
  const uint64_t one = 1;
  top_reading r = { 0 };

  s->good_ms = s->sampler.status == DIBS_OK ? s->sampler.sampled_ms : s->good_ms;
  if (!top_source_reading(&s->sampler, s->window.count > 0 ? s->window.all[0].fleet : NULL, &r))
    return;
  r.good_ms = s->good_ms;
  window_add(&s->window, &s->sampler);
  pthread_mutex_lock(&s->mutex);
  top_reading_free(&s->latest);
  s->latest = r;
  s->has_new = true;
  pthread_mutex_unlock(&s->mutex);
  (void)!write(s->wake_fd, &one, sizeof(one));
}

/* With the mutex, which is free while the server is asked. */
static void look(top_source *s)
{
  char name[DIBS_NAME_MAX + 1], *about;
  size_t size = s->name_size;
  const uint64_t one = 1;

  s->is_asked = false;
  if (size == 0)
    return;
  memcpy(name, s->name, size + 1);
  pthread_mutex_unlock(&s->mutex);
  about = top_about(&s->sampler, name, size);
  pthread_mutex_lock(&s->mutex);
  if (size == s->name_size && memcmp(name, s->name, size) == 0) {
    free(s->about);
    s->about = about;
  } else {
    free(about);
  }
  (void)!write(s->wake_fd, &one, sizeof(one));
}

static void *read_on(void *data)
{
  top_source *s = data;
  int64_t next_ms = 0;

  pthread_mutex_lock(&s->mutex);
  while (!s->is_over) {
    int64_t left_ms = next_ms - sampler_now_ms();
    struct timespec end;

    if (left_ms <= 0 || s->is_hurried) {
      s->is_hurried = false;
      pthread_mutex_unlock(&s->mutex);
      (void)sampler_read(&s->sampler);
      publish(s);
      pthread_mutex_lock(&s->mutex);
      next_ms = sampler_now_ms() + s->every_ms;
      look(s);
    } else if (s->is_asked) {
      look(s);
    } else {
      clock_gettime(CLOCK_MONOTONIC, &end);
      end.tv_nsec += (long)(left_ms % 1000 * 1000000);
      end.tv_sec += (time_t)(left_ms / 1000) + end.tv_nsec / 1000000000;
      end.tv_nsec %= 1000000000;
      (void)pthread_cond_timedwait(&s->changed, &s->mutex, &end);
    }
  }
  pthread_mutex_unlock(&s->mutex);
  return NULL;
}

static top_source *source_free(top_source *s)
{
  for (size_t i = 0; i < s->window.count; i++)
    (void)dibs_fleet_free(s->window.all[i].fleet);
  sampler_free(&s->sampler);
  top_reading_free(&s->latest);
  free(s->about);
  pthread_cond_destroy(&s->changed);
  pthread_mutex_destroy(&s->mutex);
  free(s);
  return NULL;
}

top_source *top_source_start(dibs_client *client, const char *pattern, int32_t every_ms,
                             int wake_fd)
{
  top_source *s = calloc(1, sizeof(*s));
  pthread_condattr_t monotonic;

  if (s == NULL)
    return NULL;
  s->sampler.client = client;
  s->sampler.pattern = pattern;
  s->sampler.budget = INSPECTIONS;
  s->every_ms = every_ms;
  s->wake_fd = wake_fd;
  pthread_mutex_init(&s->mutex, NULL);
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&s->changed, &monotonic);
  pthread_condattr_destroy(&monotonic);
  return pthread_create(&s->thread, NULL, read_on, s) == 0 ? s : source_free(s);
}

top_source *top_source_stop(top_source *s)
{
  if (s == NULL)
    return NULL;
  pthread_mutex_lock(&s->mutex);
  s->is_over = true;
  pthread_cond_signal(&s->changed);
  pthread_mutex_unlock(&s->mutex);
  pthread_join(s->thread, NULL);
  return source_free(s);
}

bool top_source_take(top_source *s, top_reading *reading)
{
  bool has_new;

  pthread_mutex_lock(&s->mutex);
  has_new = s->has_new;
  if (has_new) {
    top_reading_free(reading);
    *reading = s->latest;
    s->latest = (top_reading) { 0 };
    s->has_new = false;
  }
  pthread_mutex_unlock(&s->mutex);
  return has_new;
}

void top_source_hurry(top_source *s)
{
  pthread_mutex_lock(&s->mutex);
  s->is_hurried = true;
  pthread_cond_signal(&s->changed);
  pthread_mutex_unlock(&s->mutex);
}

void top_source_look(top_source *s, const char *name, size_t size)
{
  pthread_mutex_lock(&s->mutex);
  s->name_size = name == NULL || size > DIBS_NAME_MAX ? 0 : size;
  if (s->name_size > 0)
    memcpy(s->name, name, size);
  s->name[s->name_size] = '\0';
  free(s->about);
  s->about = NULL;
  s->is_asked = true;
  pthread_cond_signal(&s->changed);
  pthread_mutex_unlock(&s->mutex);
}

char *top_source_about(top_source *s)
{
  char *about;

  pthread_mutex_lock(&s->mutex);
  about = s->about;
  s->about = NULL;
  pthread_mutex_unlock(&s->mutex);
  return about;
}
