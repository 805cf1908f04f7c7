/* SPDX-License-Identifier: MIT */
/* cli/take.c - takes a target, unless a signal interrupts. */
#include "cli/take.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cli/aside.h"
#include "cli/clock.h"
#include "cli/durations.h"
#include "cli/message.h"
#include "cli/show.h"
#include "cli/take_before.h"

/* A shorter wait is not shown. */
#define SHOW_AFTER_MS 300

/* The limit of the request for the holder, for a message. */
#define INSPECT_MS 400

/* How an ask ends; filled by the library. It can come after the wait for
 * a silent server was abandoned, so it belongs to both sides and the last one frees it. */
typedef struct ending {
  pthread_mutex_t lock;
  int event_fd;
  bool has_come;
  bool is_abandoned;
  dibs_error error;       /* as the library reported it */
  dibs_hold *hold;
} ending;

static ending *ending_free(ending *e)
{
  if (e->event_fd >= 0)
    close(e->event_fd);
  pthread_mutex_destroy(&e->lock);
  free(e);
  return NULL;
}

static ending *ending_new(void)
{
  ending *e = calloc(1, sizeof(*e));

  if (e == NULL)
    return NULL;
  pthread_mutex_init(&e->lock, NULL);
  e->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return e->event_fd < 0 ? ending_free(e) : e;
}

/* Thread of the library, or in dibs_process() or dibs_close(). */
static void lock_ended(const dibs_error *error, dibs_hold *hold, void *data)
{
  ending *e = data;
  bool is_abandoned;

  pthread_mutex_lock(&e->lock);
  e->error = *error;
  e->hold = hold;
  e->has_come = true;
  is_abandoned = e->is_abandoned;
  if (!is_abandoned)
    eventfd_write(e->event_fd, 1);
  pthread_mutex_unlock(&e->lock);

  if (is_abandoned) {
    if (hold != NULL)
      dibs_release_async(hold, NULL, NULL);
    ending_free(e);
  }
}

/* The outcome; or, where there is none yet, DIBS_CANCELLED: then the ending is abandoned. */
static void ending_collect(ending *e, dibs_error *ret_error, dibs_hold **ret_hold)
{
  bool has_come;

  pthread_mutex_lock(&e->lock);
  has_come = e->has_come;
  e->is_abandoned = !has_come;
  pthread_mutex_unlock(&e->lock);

  *ret_error = (dibs_error) { .size = sizeof(*ret_error), .status = DIBS_CANCELLED };
  *ret_hold = NULL;
  if (has_come) {
    *ret_error = e->error;
    *ret_hold = e->hold;
    ending_free(e);
  }
}

/* ---- waiting ---- */

typedef struct waiting {
  ending *end;
  dibs_request *request;
  signal_watch *signals;
  int64_t started_ms;
  int64_t show_at;        /* 0: not, or already */
  int64_t patience_until; /* 0: not interrupted */
} waiting;

static int poll_timeout(const waiting *w)
{
  int64_t until = w->patience_until != 0 ? w->patience_until : w->show_at;
  int64_t left = until - clock_ms();

  if (until == 0)
    return -1;
  return left < 0 ? 0 : (int)left;
}

/* Polls until the ask is over, or it was interrupted and the answer to that took too
 * long. Starts the view when the waiting gets long. */
static void wait_for_ending(waiting *w, session *s, const target *t, bool is_live,
                            enum progress mode, take_result *result)
{
  for (;;) {
    struct pollfd fds[] = { { .fd = w->end->event_fd, .events = POLLIN },
                            { .fd = w->signals->fd, .events = POLLIN },
                            { .fd = dibs_fd(s->client), .events = POLLIN } };
    int ready = poll(fds, 3, poll_timeout(w));

    if (ready > 0 && (fds[0].revents & POLLIN) != 0)
      return;
    if (ready == 0 && w->patience_until != 0)
      return;
    if (ready == 0 && w->show_at != 0) {
      w->show_at = 0;
      result->view = wait_view_start(s->client, t, is_live, mode, w->started_ms);
    }
    if (ready <= 0)
      continue;

    if ((fds[2].revents & POLLIN) != 0)
      (void)dibs_process(s->client, NULL);
    aside_read_signals(w->signals, &result->signal);
    if (result->signal != 0 && w->patience_until == 0) {
      dibs_request_cancel(w->request);
      w->patience_until = clock_ms() + ASIDE_PATIENCE_MS;
    }
  }
}

/* ---- outcome ---- */

/* The name that is waited for: of several, the first that is held, in quarantine or paused. */
static dibs_inspection *inspect_busy(session *s, const target *t)
{
  dibs_inspection *inspection = NULL;

  for (size_t i = 0; i < t->count; i++) {
    if (dibs_inspect(s->client, dibs_text(t->names[i]), &inspection) != DIBS_OK)
      return NULL;
    if (show_is_held(inspection) || inspection->quarantine_ms > 0 || show_is_paused(inspection))
      return inspection;
    inspection = dibs_inspection_free(inspection);
  }
  return NULL;
}

/* Where several may hold it at once, a try is refused also by a request that waits. */
static const char *who_is_first(const dibs_inspection *i, dibs_status status)
{
  return status == DIBS_BUSY && i->kind != DIBS_KIND_MUTEX && i->waiter_count > 0
           ? "; others wait, and come first" : "";
}

static void report_busy(session *s, const take_order *o, const dibs_error *error)
{
  const dibs_status status = error->status;
  const target *t = o->target;
  const message_facts facts = { .code = o->options->conflict_code,
                                .status = dibs_status_name(status), .name = t->shown };
  dibs_inspection *inspection;
  char shown[600], holder[900];

  if (s->line->is_quiet || o->options->busy_is_fine)
    return;
  (void)dibs_client_set_call_timeout(s->client, INSPECT_MS);
  inspection = inspect_busy(s, t);
  (void)dibs_client_set_call_timeout(s->client, 0);
  printable(inspection == NULL ? t->shown : inspection->name, shown, sizeof(shown));
  if (inspection != NULL) {
    show_holder(inspection, holder, sizeof(holder));
    say_fault(&facts, "%s%s: %s%s", shown,
              !show_is_held(inspection) ? "" : status == DIBS_BUSY ? " is busy" : " is still busy",
              holder, who_is_first(inspection, status));
  } else if (status == DIBS_BUSY) {
    say_fault(&facts, "%s is busy: %s", shown, error->text);
  } else {
    say_fault(&facts, "%s was busy until the wait ended", shown);
  }
  dibs_inspection_free(inspection);
}

/* No server could decide: says after how long that was given up. */
static int report_undecided(const target *t, const dibs_error *error, int64_t waited_ms)
{
  char what[700], span[DURATION_SIZE];

  duration_as_span(waited_ms, span);
  snprintf(what, sizeof(what), "gave up on %s after %s", t->shown, span);
  return session_report(error, what, t->shown);
}

static bool is_undecided(dibs_status status)
{
  return status == DIBS_ERR_UNREACHABLE || status == DIBS_ERR_READ_ONLY ||
         status == DIBS_ERR_REFUSED || status == DIBS_UNKNOWN;
}

static int code_of_failure(session *s, const take_order *o, const dibs_error *error,
                           int64_t started_ms)
{
  const target *t = o->target;
  dibs_status status = error->status;
  int code;

  if (status == DIBS_BUSY || status == DIBS_TIMED_OUT) {
    report_busy(s, o, error);
    return o->options->busy_is_fine ? CODE_OK : o->options->conflict_code;
  }
  if (is_undecided(status) && clock_ms() - started_ms >= 1000)
    return report_undecided(t, error, clock_ms() - started_ms);
  code = target_fault(t, s->client, status);
  return code != -1 ? code : session_report(error, t->shown, t->shown);
}

enum progress take_progress(const command_line *line, const take_order *o, bool *ret_is_live)
{
  *ret_is_live = false;
  if (line->wants_json && o->options->progress == PROGRESS_AUTO)
    return PROGRESS_JSON;
  if (o->options->progress != PROGRESS_AUTO)
    return o->options->progress;
  if (line->is_quiet || o->is_quiet_on_success)
    return PROGRESS_NONE;
  *ret_is_live = terminal_erases(STDERR_FILENO);
  return PROGRESS_PLAIN;
}

static dibs_lock_options options_of(const session *s, const take_order *o)
{
  const taking_options *given = o->options;
  const target *t = o->target;
  dibs_lock_options options = DIBS_LOCK_OPTIONS_INIT;

  options.flags = o->flags | DIBS_LOCK_NO_OWNER;
  if (t->kind == TARGET_LOCK)
    options.flags |= given->kind_flag;           /* all else is fair by nature */
  if (t->kind == TARGET_PERMITS && t->is_plain)
    options.flags |= DIBS_PERMITS_PLAIN;
  if (t->wants_fsync)
    options.flags |= DIBS_LOCK_FSYNC;
  options.min_replicas = t->replicas;
  options.wait_ms = wait_limit(&given->wait);
  options.ttl_ms = given->ttl_ms;
  options.max_hold_ms = given->max_hold_ms;
  options.note = given->note == NULL ? NULL : s->note;
  return options;
}

/* ---- taking ---- */

/* What the requests before it have left of the wait. */
static int32_t left_of(int64_t until_ms)
{
  int64_t left = until_ms - clock_ms();

  return left > 0 ? (int32_t)left : 1;
}

static void ask_and_wait(session *s, const take_order *o, int64_t until_ms,
                         signal_watch *signals, take_result *result)
{
  const target *t = o->target;
  waiting w = { .end = ending_new(), .signals = signals, .started_ms = clock_ms() };
  dibs_lock_options options = options_of(s, o);
  dibs_error error = DIBS_ERROR_INIT;
  enum progress mode;
  dibs_status status;
  bool is_live;

  if (w.end == NULL) {
    result->code = say_system("wait for a lock");
    return;
  }
  if (until_ms != 0)
    options.wait_ms = left_of(until_ms);
  status = target_ask(t, s->client, &options, lock_ended, w.end, &w.request);
  if (status != DIBS_OK) {
    ending_free(w.end);
    error = session_error(s->client, status);
    result->code = code_of_failure(s, o, &error, w.started_ms);
    return;
  }
  mode = take_progress(s->line, o, &is_live);
  if (mode != PROGRESS_NONE && !o->options->wait.is_none)
    w.show_at = w.started_ms + SHOW_AFTER_MS;

  wait_for_ending(&w, s, t, is_live, mode, result);
  result->has_shown = wait_view_silence(result->view);

  ending_collect(w.end, &error, &result->hold);
  if (result->signal != 0) {
    /* Granted and interrupted at once: the interruption wins. */
    if (result->hold != NULL)
      dibs_release_async(result->hold, NULL, NULL);
    result->hold = NULL;
  } else if (error.status != DIBS_OK) {
    result->code = code_of_failure(s, o, &error, w.started_ms);
  }
}

void take_lock(session *s, const take_order *o, signal_watch *signals, take_result *ret_result)
{
  int64_t started_ms = clock_ms();
  int32_t wait_ms = o->options->wait.ms;
  int64_t until_ms = wait_ms != 0 ? started_ms + wait_ms : 0;

  memset(ret_result, 0, sizeof(*ret_result));
  ret_result->is_stuck = !take_before(s, o->target, until_ms, signals, &ret_result->signal,
                                      &ret_result->code);
  if (ret_result->signal != 0 || ret_result->code != 0)
    return;
  ask_and_wait(s, o, until_ms, signals, ret_result);
  ret_result->waited_ms = clock_ms() - started_ms;
}

bool take_again(take_result *taken)
{
  if (taken->is_stuck || !wait_view_end(taken->view))
    return false;
  taken->view = NULL;
  return true;
}

bool take_end(session *s, take_result *taken)
{
  if (!take_again(taken))
    return false;
  session_close(s);
  return true;
}
