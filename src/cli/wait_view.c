/* SPDX-License-Identifier: MIT */
/* cli/wait_view.c - shows why a wait lasts, and how long it may take. */
#include "cli/wait_view.h"

#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <dibs/lock.h>

#include "base/plural.h"
#include "cli/clock.h"
#include "cli/durations.h"
#include "cli/message.h"
#include "cli/session.h"
#include "cli/show.h"

#define SHOW_EVERY_MS 1000

/* The limit for a reply that is outstanding at the end. */
#define END_PATIENCE_MS 150

struct wait_view {
  dibs_client *client;
  const target *target;
  enum progress mode;
  bool is_live;
  int64_t started_ms;
  pthread_t thread;

  pthread_mutex_t lock; /* over what follows */
  pthread_cond_t changed;
  bool is_silent, has_ended;
  bool has_shown;

  char shown_lease[96]; /* of the thread: what the last line was about */
  size_t shown_place, shown_holders;
  bool shown_fault, shown_hindrance;
};

/* ---- what is shown ---- */

static void place_text(const dibs_inspection *i, char *text, size_t size)
{
  size_t place = show_own_place(i);
  char ordinal[32];

  if (place == 0 && i->waiter_count == 0) {
    snprintf(text, size, "no waiters");
    return;
  }
  if (place == 0) {
    snprintf(text, size, "%zu waiting", i->waiter_count);
    return;
  }
  show_ordinal(place, ordinal, sizeof(ordinal));
  snprintf(text, size, "you are %s of %zu", ordinal, i->waiter_count);
}

/* Two lines that fit 80 columns with names of usual length. */
static void show_live(const wait_view *v, const char *who, const char *how)
{
  char name[600], waited[DURATION_SIZE], first[1000], second[300];
  const char *lines[] = { first, second };

  printable(v->target->shown, name, sizeof(name));
  duration_as_clock(clock_ms() - v->started_ms, waited);
  snprintf(first, sizeof(first), "dibs: waiting for %s  %s  %s", name, waited, who);
  snprintf(second, sizeof(second), "    %s", how);
  live_show(lines, 2);
}

/* Of several names the one that keeps us waiting is named. */
static void holder_text(const wait_view *v, const dibs_inspection *i, const char *holder,
                         char *text, size_t size)
{
  char name[600];

  if (v->target->kind == TARGET_MANY && show_is_held(i))
    snprintf(text, size, "%s is %s", printable(i->name, name, sizeof(name)), holder);
  else
    snprintf(text, size, "%s", holder);
}

/* With --replicas the grant is there before its acknowledgements. false: it is not that. */
static bool replicas_text(const wait_view *v, const dibs_inspection *i, char *text, size_t size)
{
  int count = v->target->replicas;

  if (count == 0 || !show_is_held(i) || i->shown_holders == 0 ||
      !show_is_own(i->holders[0]->party))
    return false;
  if (count == DIBS_REPLICAS_MAJORITY)
    snprintf(text, size, "granted, not yet acknowledged by a majority of the replicas");
  else
    snprintf(text, size, "granted, not yet acknowledged by %d replica%s", count,
             plural_s((size_t)count));
  return true;
}

static void show_lock_live(const wait_view *v, const dibs_inspection *i)
{
  char by[800], who[900], place[80], lease[140], how[240];

  if (replicas_text(v, i, who, sizeof(who))) {
    show_live(v, who, "Ctrl-C gives up");
    return;
  }
  show_by(i, by, sizeof(by));
  holder_text(v, i, by, who, sizeof(who));
  place_text(i, place, sizeof(place));
  show_lease(i, lease, sizeof(lease));
  snprintf(how, sizeof(how), "%s (Ctrl-C gives up), %s", place, lease);
  show_live(v, who, how);
}

static void show_lock_plain(const wait_view *v, const dibs_inspection *i)
{
  char name[600], holder[950], who[1000], place[80];

  if (replicas_text(v, i, who, sizeof(who))) {
    say("waiting for %s: %s", printable(v->target->shown, name, sizeof(name)), who);
    return;
  }
  show_holder(i, holder, sizeof(holder));
  holder_text(v, i, holder, who, sizeof(who));
  place_text(i, place, sizeof(place));
  say("waiting for %s: %s; %s", printable(v->target->shown, name, sizeof(name)), who,
      place);
}

static void show_event(wait_view *v, const dibs_inspection *i)
{
  json_t *event = json_object();

  json_object_set_new(event, "v", json_integer(1));
  json_object_set_new(event, "event", json_string("waiting"));
  json_set_name(event, v->target->shown, strlen(v->target->shown));
  json_object_set_new(event, "waited_ms", json_integer(clock_ms() - v->started_ms));
  json_object_set_new(event, "place", json_integer((json_int_t)show_own_place(i)));
  json_object_set_new(event, "lock", show_json(i, session_info(v->client).is_private != 0));
  json_say(event);
}

/* A live view shows time passing; the others only what is new. */
static bool is_news(wait_view *v, const dibs_inspection *i)
{
  bool is_hindered = i->quarantine_ms > 0 || i->obstacle[0] != '\0' || show_is_paused(i);
  size_t place = show_own_place(i);

  if (!v->shown_fault && v->shown_hindrance == is_hindered &&
      v->has_shown && v->shown_place == place &&
      v->shown_holders == i->holder_count && strcmp(v->shown_lease, i->lease) == 0)
    return v->is_live;
  snprintf(v->shown_lease, sizeof(v->shown_lease), "%s", i->lease);
  v->shown_place = place;
  v->shown_holders = i->holder_count;
  v->shown_fault = false;
  v->shown_hindrance = is_hindered;
  return true;
}

static void show_inspection(wait_view *v, const dibs_inspection *i)
{
  if (!is_news(v, i))
    return;
  v->has_shown = true;
  if (v->mode == PROGRESS_JSON)
    show_event(v, i);
  else if (v->is_live)
    show_lock_live(v, i);
  else
    show_lock_plain(v, i);
}

static void show_fault(wait_view *v, dibs_status status)
{
  char name[600];

  if (v->mode == PROGRESS_JSON || (v->shown_fault && !v->is_live))
    return;
  v->shown_fault = true;
  v->has_shown = true;
  if (v->is_live)
    show_live(v, dibs_status_text(status), "Ctrl-C gives up");
  else
    say("waiting for %s: %s", printable(v->target->shown, name, sizeof(name)),
        dibs_status_text(status));
}

/* ---- the thread ---- */

/* Sleeps for `ms`, or until `what` of this view; returns that. Lock v->lock. */
static bool sleep_until(wait_view *v, const bool *what, int64_t ms)
{
  struct timespec until;

  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += (time_t)(ms / 1000);
  until.tv_nsec += (long)(ms % 1000 * 1000000);
  if (until.tv_nsec >= 1000000000) {
    until.tv_sec++;
    until.tv_nsec -= 1000000000;
  }
  while (!*what) {
    if (pthread_cond_timedwait(&v->changed, &v->lock, &until) != 0)
      break;
  }
  return *what;
}

/* What keeps us waiting: of several names, the first that we queue for, else the first that
 * is held. */
static dibs_status inspect_target(const wait_view *v, dibs_inspection **ret_inspection)
{
  dibs_inspection *chosen = NULL;
  dibs_status status = DIBS_OK;

  for (size_t n = 0; n < v->target->count && status == DIBS_OK; n++) {
    dibs_inspection *next = NULL;

    status = dibs_inspect(v->client, dibs_text(v->target->names[n]), &next);
    if (status == DIBS_OK && chosen != NULL && show_own_place(next) == 0 &&
        (show_is_held(chosen) || !show_is_held(next))) {
      dibs_inspection_free(next);
    } else if (status == DIBS_OK) {
      dibs_inspection_free(chosen);
      chosen = next;
    }
    if (chosen != NULL && show_own_place(chosen) != 0)
      break;
  }
  *ret_inspection = chosen;
  if (chosen != NULL)
    return DIBS_OK;
  return status != DIBS_OK ? status : DIBS_ERR_ARGUMENT;
}

static void *watch(void *data)
{
  wait_view *v = data;
  bool goes_on = true;

  pthread_mutex_lock(&v->lock);
  while (goes_on) {
    dibs_inspection *inspection = NULL;
    dibs_status status;

    pthread_mutex_unlock(&v->lock);
    status = inspect_target(v, &inspection);
    pthread_mutex_lock(&v->lock);

    /* Shown under the mutex: once silenced, nothing may come after "acquired". */
    if (!v->is_silent) {
      if (status == DIBS_OK)
        show_inspection(v, inspection);
      else
        show_fault(v, status);
    }
    dibs_inspection_free(inspection);
    goes_on = !sleep_until(v, &v->is_silent, SHOW_EVERY_MS);
  }
  v->has_ended = true;
  pthread_cond_signal(&v->changed);
  pthread_mutex_unlock(&v->lock);
  return NULL;
}

wait_view *wait_view_start(dibs_client *client, const target *t, bool is_live,
                           enum progress mode, int64_t started_ms)
{
  wait_view *v = calloc(1, sizeof(*v));
  pthread_condattr_t monotonic;

  if (v == NULL)
    return NULL;
  v->client = client;
  v->target = t;
  v->is_live = is_live;
  v->mode = mode;
  v->started_ms = started_ms;
  pthread_mutex_init(&v->lock, NULL);
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&v->changed, &monotonic);
  pthread_condattr_destroy(&monotonic);
  if (pthread_create(&v->thread, NULL, watch, v) == 0)
    return v;

  pthread_cond_destroy(&v->changed);
  pthread_mutex_destroy(&v->lock);
  free(v);
  return NULL;
}

bool wait_view_silence(wait_view *v)
{
  bool has_shown;

  if (v == NULL)
    return false;
  pthread_mutex_lock(&v->lock);
  v->is_silent = true;
  has_shown = v->has_shown;
  pthread_cond_signal(&v->changed);
  pthread_mutex_unlock(&v->lock);
  live_clear();
  return has_shown;
}

bool wait_view_end(wait_view *v)
{
  bool has_ended;

  if (v == NULL)
    return true;
  wait_view_silence(v);
  pthread_mutex_lock(&v->lock);
  has_ended = sleep_until(v, &v->has_ended, END_PATIENCE_MS);
  pthread_mutex_unlock(&v->lock);
  if (!has_ended)
    return false;
  pthread_join(v->thread, NULL);
  pthread_cond_destroy(&v->changed);
  pthread_mutex_destroy(&v->lock);
  free(v);
  return true;
}
