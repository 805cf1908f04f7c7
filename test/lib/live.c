/* SPDX-License-Identifier: MIT */
/* test/lib/live.c - clients, holds, background locks and losses for live tests. */
#include "tests.h"
#include "live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static _Atomic int faults;

/* ---- time ---- */

static int64_t clock_us(clockid_t clock)
{
  struct timespec now;

  (void)clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t live_now_us(void)
{
  return clock_us(CLOCK_BOOTTIME);
}

int64_t live_now_ms(void)
{
  return live_now_us() / 1000;
}

int64_t live_process(dibs_client *client)
{
  int64_t wait_ms = -1;

  live_expect(client, dibs_process(client, &wait_ms), DIBS_OK);
  return wait_ms;
}

int64_t live_wall_us(void)
{
  return clock_us(CLOCK_REALTIME);
}

long live_times(double count)
{
  const char *scale = getenv("DIBS_TEST_SCALE");
  double times = scale == NULL ? count : count * strtod(scale, NULL);

  return times < 1 ? 1 : (long)times;
}

static int by_value(const void *a, const void *b)
{
  const int64_t *x = a, *y = b;

  return (*x > *y) - (*x < *y);
}

int64_t live_median(int64_t *values, size_t count)
{
  qsort(values, count, sizeof(*values), by_value);
  return values[count / 2];
}

int64_t live_max(const int64_t *values, size_t count)
{
  int64_t most = values[0];

  for (size_t i = 1; i < count; i++)
    most = values[i] > most ? values[i] : most;
  return most;
}

bool live_until(int limit_ms, bool (*is_so)(void *data), void *data)
{
  const struct timespec tick = { .tv_sec = 0, .tv_nsec = 1000000 };
  int64_t end = live_now_ms() + limit_ms;

  while (!is_so(data)) {
    if (live_now_ms() > end)
      return is_so(data);
    (void)nanosleep(&tick, NULL);
  }
  return true;
}

/* ---- faults ---- */

void live_fault(const char *format, ...)
{
  char words[512];
  va_list values;

  va_start(values, format);
  (void)vsnprintf(words, sizeof(words), format, values);
  va_end(values);
  if (atomic_fetch_add(&faults, 1) < 20)
    (void)fprintf(stderr, "# fault: %s\n", words);
}

int live_faults(void)
{
  return atomic_load(&faults);
}

/* ---- clients and holds ---- */

dibs_options live_options(void)
{
  dibs_options o = DIBS_OPTIONS_INIT;

  o.flags = DIBS_CLIENT_NO_LOCAL;
  o.connect_timeout_ms = 1000;
  o.command_timeout_ms = live_place() == LIVE_ONE ? 500 : 2000;   /* many processes */
  return o;
}

dibs_client *live_open_with(const char *url, const dibs_options *options)
{
  dibs_client *client = NULL;
  dibs_error error = DIBS_ERROR_INIT;

  if (dibs_open(url, options, &client, &error) != DIBS_OK)
    fail_msg("open %s: %s %s", url, dibs_status_name(error.status), error.text);
  return client;
}

dibs_client *live_open(const char *url)
{
  dibs_options o = live_options();

  return live_open_with(url, &o);
}

dibs_lock_options live_lock_options(int ttl_ms, int wait_ms)
{
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;

  o.ttl_ms = ttl_ms;
  o.wait_ms = wait_ms == 0 ? DIBS_FOREVER : wait_ms;
  return o;
}

void live_expect(dibs_client *client, dibs_status got, dibs_status wanted)
{
  dibs_error error = DIBS_ERROR_INIT;

  if (got == wanted)
    return;
  live_needs_answer(got);
  (void)dibs_client_error(client, 0, &error);
  fail_msg("%s instead of %s; last error: %s %s", dibs_status_name(got),
           dibs_status_name(wanted), dibs_status_name(error.status), error.text);
}

void live_expect_ok(dibs_status got)
{
  live_needs_answer(got);
  if (got != DIBS_OK)
    fail_msg("%s instead of DIBS_OK", dibs_status_name(got));
}

void live_refused_at(dibs_status got, dibs_status wanted, const char *what, const char *where)
{
  promise_kept(got != DIBS_OK, "%s: %s: DIBS_OK instead of %s", where, what,
               dibs_status_name(wanted));
  if (got != wanted)
    fail_msg("%s: %s: %s instead of %s", where, what, dibs_status_name(got),
             dibs_status_name(wanted));
}

/* What a slow machine let run out is no promise any more. */
void live_refused_beside_at(dibs_hold *hold, dibs_status got, dibs_status wanted,
                            const char *what, const char *where)
{
  if (got == DIBS_OK && dibs_hold_valid_ms(hold) == 0)
    fail_msg("%s: %s: granted, and the hold beside it ran out", where, what);
  live_refused_at(got, wanted, what, where);
}

void live_expect_refused_at(dibs_client *client, dibs_status got, dibs_status wanted,
                            const char *what, const char *where)
{
  promise_kept(got != DIBS_OK, "%s: %s: DIBS_OK instead of %s", where, what,
               dibs_status_name(wanted));
  live_expect(client, got, wanted);
}

void live_expect_words(dibs_client *client, const char *word)
{
  dibs_error error = DIBS_ERROR_INIT;

  (void)dibs_client_error(client, 0, &error);
  if (strstr(error.text, word) == NULL)
    fail_msg("no \"%s\" in \"%s\"", word, error.text);
}

dibs_hold *live_lock_with(dibs_client *client, const char *name,
                          const dibs_lock_options *options)
{
  dibs_hold *hold = NULL;

  live_expect(client, dibs_lock(client, name, options, &hold), DIBS_OK);
  assert_non_null(hold);
  return hold;
}

dibs_hold *live_lock(dibs_client *client, const char *name, int ttl_ms)
{
  dibs_lock_options o = live_lock_options(ttl_ms, LIVE_LONG_MS);

  return live_lock_with(client, name, &o);
}

dibs_status live_try(dibs_client *client, const char *name)
{
  dibs_lock_options o = live_lock_options(1000, 0);
  dibs_hold *hold = NULL;
  dibs_status status;

  o.flags = DIBS_LOCK_NO_OWNER;
  status = dibs_try_lock(client, name, &o, &hold);
  if (status == DIBS_OK)
    (void)dibs_release(hold);
  return status;
}

struct wanted {
  dibs_client *client;
  const char *name;
};

static bool can_be_had(void *data)
{
  const struct wanted *w = data;

  return live_try(w->client, w->name) == DIBS_OK;
}

void live_expect_free(dibs_client *client, const char *name, int limit_ms)
{
  struct wanted w = { client, name };

  if (!live_until(limit_ms, can_be_had, &w))
    fail_msg("\"%s\" is not free within %d ms: %s", name, limit_ms,
             dibs_status_name(live_try(client, name)));
}

dibs_client_info live_stats(dibs_client *client)
{
  dibs_client_info stats = DIBS_CLIENT_INFO_INIT;

  assert_int_equal(dibs_client_get_info(client, &stats), DIBS_OK);
  return stats;
}

dibs_hold_info live_info(const dibs_hold *hold)
{
  dibs_hold_info info = DIBS_HOLD_INFO_INIT;

  (void)dibs_hold_get_info(hold, &info);
  return info;
}

/* ---- a lock asked for in the background ---- */

void live_ask_init(struct live_ask *a)
{
  pthread_condattr_t monotonic;

  memset(a, 0, sizeof(*a));
  (void)pthread_mutex_init(&a->mutex, NULL);
  (void)pthread_condattr_init(&monotonic);
  (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  (void)pthread_cond_init(&a->changed, &monotonic);
  (void)pthread_condattr_destroy(&monotonic);
}

static void ask_ended(const dibs_error *error, dibs_hold *hold, void *data)
{
  struct live_ask *a = data;

  (void)pthread_mutex_lock(&a->mutex);
  a->status = error->status;
  a->hold = hold;
  a->ended_at_ms = live_now_ms();
  a->callbacks++;
  (void)pthread_cond_broadcast(&a->changed);
  (void)pthread_mutex_unlock(&a->mutex);
}

void live_ask_begin(struct live_ask *a, dibs_client *client, const char *name,
                    const dibs_lock_options *options)
{
  live_ask_init(a);
  live_expect(client, dibs_lock_async(client, name, options, ask_ended, a, &a->request),
              DIBS_OK);
}

void live_ask_begin_as(struct live_ask *a, dibs_client *client, char mode, const char *name,
                       const dibs_lock_options *options)
{
  dibs_status status;

  live_ask_init(a);
  if (mode == 'r')
    status = dibs_acquire_async(client, DIBS_READ(name), options, ask_ended, a, &a->request);
  else if (mode == 'w')
    status = dibs_acquire_async(client, DIBS_WRITE(name), options, ask_ended, a, &a->request);
  else
    status = dibs_acquire_async(client, DIBS_PERMITS(name, (uint32_t)(mode - '0')), options,
                                ask_ended, a, &a->request);
  live_expect(client, status, DIBS_OK);
}

void live_ask_begin_many(struct live_ask *a, dibs_client *client, const char *const *names,
                         size_t count, const dibs_lock_options *options)
{
  live_ask_init(a);
  live_expect(client,
              acquire_names_async(client, names, count, options, ask_ended, a,
                                  &a->request), DIBS_OK);
}

void live_ask_begin_target(struct live_ask *a, dibs_client *client, const dibs_target *target,
                           const dibs_lock_options *options)
{
  live_ask_init(a);
  live_expect(client,
              dibs_acquire_async(client, target, options, ask_ended, a, &a->request), DIBS_OK);
}

bool live_ask_wait(struct live_ask *a, int limit_ms)
{
  struct timespec until;
  bool is_over;
  int error = 0;

  (void)clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += limit_ms / 1000 + 1;          /* rounded up: a limit, not a measure */
  (void)pthread_mutex_lock(&a->mutex);
  while (a->callbacks == 0 && error == 0)
    error = pthread_cond_timedwait(&a->changed, &a->mutex, &until);
  is_over = a->callbacks > 0;
  (void)pthread_mutex_unlock(&a->mutex);
  return is_over;
}

bool live_ask_is_over(struct live_ask *a)
{
  bool is_over;

  (void)pthread_mutex_lock(&a->mutex);
  is_over = a->callbacks > 0;
  (void)pthread_mutex_unlock(&a->mutex);
  return is_over;
}

void live_still_waits_at(struct live_ask *a, int limit_ms, const char *where)
{
  if (limit_ms == 0 ? !live_ask_is_over(a) : !live_ask_wait(a, limit_ms))
    return;
  promise_kept(a->status != DIBS_OK, "%s: granted while others have it", where);
  fail_msg("%s: it ended with %s", where, dibs_status_name(a->status));
}

dibs_hold *live_ask_granted(struct live_ask *a, int limit_ms)
{
  if (!live_ask_wait(a, limit_ms))
    fail_msg("not granted within %d ms", limit_ms);
  live_needs_answer(a->status);
  if (a->status != DIBS_OK)
    fail_msg("not granted: %s", dibs_status_name(a->status));
  assert_int_equal(a->callbacks, 1);
  return a->hold;
}

/* ---- waits by callback ---- */

void live_note_ending(const dibs_error *error, void *data)
{
  struct live_ending *e = data;

  atomic_store(&e->status, error->status);
  atomic_fetch_add(&e->callbacks, 1);
}

bool live_has_ended(void *data)
{
  return atomic_load(&((struct live_ending *)data)->callbacks) > 0;
}

void live_expect_ending(struct live_ending *e, dibs_status status)
{
  if (!live_until(LIVE_LONG_MS, live_has_ended, e))
    fail_msg("no callback");
  assert_int_equal(atomic_load(&e->callbacks), 1);
  assert_int_equal(atomic_load(&e->status), status);
}

/* ---- losses and events ---- */

void live_on_lost(dibs_hold *hold, const dibs_loss *loss, void *data)
{
  struct live_loss *seen = data;
  uint64_t fence = dibs_hold_fence(hold);

  promise_kept(fence == 0 || atomic_exchange(&seen->fence, fence) != fence,
               "told twice of one loss");
  atomic_store(&seen->at_us, live_wall_us());
  promise_kept(dibs_hold_state(hold) == DIBS_HOLD_GONE,
               "told lost while the state says otherwise");
  atomic_store(&seen->why, (int)loss->why);
  (void)atomic_fetch_add(&seen->count, 1);
}

void live_report_loss(dibs_lock_options *o, struct live_loss *loss)
{
  o->on_lost = live_on_lost;
  o->on_lost_data = loss;
}

static bool is_lost(void *data)
{
  struct live_loss *loss = data;

  return atomic_load(&loss->count) > 0;
}

bool live_loss_wait(struct live_loss *loss, int limit_ms)
{
  return live_until(limit_ms, is_lost, loss);
}

void live_on_event(const dibs_event *event, void *data)
{
  struct live_events *events = data;

  if (event->kind == DIBS_EVENT_WARNING) {
    (void)pthread_mutex_lock(&events->mutex);
    (void)snprintf(events->warning, sizeof(events->warning), "%s", event->text);
    (void)pthread_mutex_unlock(&events->mutex);
  }
  if ((int)event->kind < 8)
    (void)atomic_fetch_add(&events->counts[event->kind], 1);
}
