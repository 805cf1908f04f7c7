/* SPDX-License-Identifier: MIT */
/* cli/take.c - gets a lock, as long as nobody interrupts. */
#include "cli/take.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/held.h"
#include "cli/message.h"
#include "cli/show.h"

/* How long the answer to a cancel is waited for. */
#define CANCEL_PATIENCE_MS 350

/* Whoever gets the lock within this time wants to hear nothing about waiting. */
#define SHOW_AFTER_MS 300

/* How an ask ends; filled by the library's thread. It can come after we have given up on
 * a silent server, so it belongs to both sides and the last one frees it. */
typedef struct ending {
  pthread_mutex_t lock;
  int event_fd;
  bool has_come;
  bool is_abandoned;
  dibs_status status;
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

/* Thread of the library. */
static void lock_ended(dibs_status status, dibs_hold *hold, void *data)
{
  ending *e = data;
  bool is_abandoned;

  pthread_mutex_lock(&e->lock);
  e->status = status;
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

/* What came; or, when nothing did, DIBS_CANCELLED, and the ending is left behind. */
static void ending_collect(ending *e, dibs_status *ret_status, dibs_hold **ret_hold)
{
  bool has_come;

  pthread_mutex_lock(&e->lock);
  has_come = e->has_come;
  e->is_abandoned = !has_come;
  pthread_mutex_unlock(&e->lock);

  *ret_status = DIBS_CANCELLED;
  *ret_hold = NULL;
  if (has_come) {
    *ret_status = e->status;
    *ret_hold = e->hold;
    ending_free(e);
  }
}

/* ---- waiting ---- */

static bool is_interruption(int number)
{
  return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT ||
         number == SIGUSR1 || number == SIGUSR2;
}

/* Reads signals; the first that interrupts is kept in `ret_signal`. */
static void read_signals(signal_watch *signals, int *ret_signal)
{
  struct signalfd_siginfo info;

  while (signals_next(signals, &info)) {
    int number = (int)info.ssi_signo;

    if (number == SIGTSTP) {
      live_clear();
      signals_stop_self();
    } else if (is_interruption(number) && *ret_signal == 0) {
      *ret_signal = number;
    }
  }
}

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
static void wait_for_ending(waiting *w, session *s, const char *name, bool is_live,
                            enum progress mode, take_result *result)
{
  for (;;) {
    struct pollfd fds[] = { { .fd = w->end->event_fd, .events = POLLIN },
                            { .fd = w->signals->fd, .events = POLLIN } };
    int ready = poll(fds, 2, poll_timeout(w));

    if (ready > 0 && (fds[0].revents & POLLIN) != 0)
      return;
    if (ready == 0 && w->patience_until != 0)
      return;
    if (ready == 0 && w->show_at != 0) {
      w->show_at = 0;
      result->view = wait_view_start(s->client, name, is_live, mode, w->started_ms);
    }
    if (ready <= 0)
      continue;

    read_signals(w->signals, &result->signal);
    if (result->signal != 0 && w->patience_until == 0) {
      dibs_request_cancel(w->request);
      w->patience_until = clock_ms() + CANCEL_PATIENCE_MS;
    }
  }
}

/* ---- outcome ---- */

static void tell_busy(session *s, const arguments *a, const char *name,
                      dibs_status status)
{
  dibs_inspection *inspection = NULL;
  char shown[600], holder[500];

  if (a->is_quiet || a->busy_is_fine || a->is_quiet_on_success)
    return;
  printable(name, shown, sizeof(shown));
  if (dibs_inspect(s->client, name, &inspection) == DIBS_OK && show_is_held(inspection)) {
    show_holder(inspection, holder, sizeof(holder));
    say("%s %s: %s", shown, status == DIBS_BUSY ? "is busy" : "is still busy", holder);
  } else {
    say("%s %s", shown, status == DIBS_BUSY ? "is busy" : "was busy all the time");
  }
  dibs_inspection_free(inspection);
}

static int code_of_failure(session *s, const arguments *a, const char *name,
                           dibs_status status)
{
  if (status != DIBS_BUSY && status != DIBS_TIMED_OUT)
    return session_fault(s, status, name);
  tell_busy(s, a, name, status);
  return a->busy_is_fine ? CODE_OK : a->conflict_code;
}

enum progress take_progress(const arguments *a, bool *ret_is_live)
{
  *ret_is_live = false;
  if (a->wants_json && a->progress == PROGRESS_AUTO)
    return PROGRESS_JSON;
  if (a->progress != PROGRESS_AUTO)
    return a->progress;
  if (a->is_quiet || a->is_quiet_on_success)
    return PROGRESS_NONE;
  *ret_is_live = isatty(STDERR_FILENO) == 1;
  return PROGRESS_PLAIN;
}

static dibs_status start_ask(session *s, const arguments *a, const char *name,
                             uint32_t flags, ending *e, dibs_request **ret_request)
{
  dibs_lock_options options = DIBS_LOCK_OPTIONS_INIT;

  options.flags = flags | DIBS_LOCK_NO_OWNER;
  options.wait_ms = a->wait_ms;
  options.ttl_ms = a->ttl_ms;
  options.max_hold_ms = a->max_hold_ms;
  options.note = a->reason;
  if (a->is_nonblocking)
    return dibs_try_lock_async(s->client, name, &options, lock_ended, e, ret_request);
  return dibs_lock_async(s->client, name, &options, lock_ended, e, ret_request);
}

void take_lock(session *s, const arguments *a, const char *name, uint32_t flags,
               signal_watch *signals, take_result *ret_result)
{
  waiting w = { .end = ending_new(), .signals = signals, .started_ms = clock_ms() };
  enum progress mode;
  dibs_status status;
  bool is_live;

  memset(ret_result, 0, sizeof(*ret_result));
  if (w.end == NULL) {
    ret_result->code = session_fault(s, DIBS_ERR_SYSTEM, name);
    return;
  }
  status = start_ask(s, a, name, flags, w.end, &w.request);
  if (status != DIBS_OK) {
    ending_free(w.end);
    ret_result->code = code_of_failure(s, a, name, status);
    return;
  }
  mode = take_progress(a, &is_live);
  if (mode != PROGRESS_NONE && !a->is_nonblocking)
    w.show_at = w.started_ms + SHOW_AFTER_MS;

  wait_for_ending(&w, s, name, is_live, mode, ret_result);
  ret_result->waited_ms = clock_ms() - w.started_ms;
  ret_result->has_shown = wait_view_silence(ret_result->view);

  ending_collect(w.end, &status, &ret_result->hold);
  if (ret_result->signal != 0) {
    /* Granted and interrupted at once: the interruption wins. */
    if (ret_result->hold != NULL)
      dibs_release_async(ret_result->hold, NULL, NULL);
    ret_result->hold = NULL;
  } else if (status != DIBS_OK) {
    ret_result->code = code_of_failure(s, a, name, status);
  }
}

bool take_end(session *s, take_result *taken)
{
  if (!wait_view_end(taken->view))
    return false;
  taken->view = NULL;
  session_close(s);
  return true;
}

/* ---- a wrapper inside a wrapper ---- */

int take_check_nested(session *s, const char *name)
{
  dibs_inspection *inspection = NULL;
  char shown[600];
  bool is_own;

  if (!held_has_name(getenv("DIBS_HELD"), name))
    return 0;
  /* By the fence, not by the URL: two URLs can lead to one server, and one name can stand
   * on two. */
  if (dibs_inspect(s->client, name, &inspection) != DIBS_OK)
    return 0;
  is_own =
      inspection->is_held && held_has_fence(getenv("DIBS_HELD"), name, inspection->fence);
  dibs_inspection_free(inspection);
  if (!is_own)
    return 0;
  say("%s is held by the dibs run around this command; it would wait for itself",
      printable(name, shown, sizeof(shown)));
  return CODE_CONFIG;
}
