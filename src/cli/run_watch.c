/* SPDX-License-Identifier: MIT */
/* cli/run_watch.c - watches the job (the command, or a hook of dibs elect) and the lease at the
 * same time.
 *
 * One poll() over signals, the hold's descriptor and a timer on CLOCK_BOOTTIME: after a
 * suspend of the machine the timer fires at once, where a timeout of poll() would let the
 * command run on. Each turn asks the library how long the hold may still be believed and
 * does what run_schedule.h says; so a renewal needs no message to count.
 *
 * Signals first, messages after: a stderr that takes nothing must not delay a kill. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/durations.h"
#include "cli/elect.h"
#include "cli/message.h"
#include "cli/run.h"

/* ---- the lease ---- */

bool run_is_max_hold(const run *r)
{
  return r->taking->max_hold_ms > 0 &&
         clock_ms() + dibs_hold_valid_ms(r->hold) >= r->granted_ms + r->taking->max_hold_ms - 1000;
}

const char *run_why(const run *r, char ret_text[600])
{
  char why[512], shown[560];

  ret_text[0] = '\0';
  if (dibs_hold_why(r->hold, why, sizeof(why)) == DIBS_OK && why[0] != '\0')
    (void)snprintf(ret_text, 600, " (%s)", printable(why, shown, sizeof(shown)));
  return ret_text;
}

int run_loss_code(const run *r)
{
  return r->elect != NULL && r->elect->goes_on && r->end_signal == 0 ? 0 : CODE_LOST;
}

static void say_over(const run *r, int64_t valid_ms, const char *what, const char *happened)
{
  const message_facts facts = { .code = run_loss_code(r), .name = r->name,
                                .status = valid_ms <= 0 ? "DIBS_LOST" : NULL };
  char name[600], why[600];

  printable(r->name, name, sizeof(name));
  say_fault(&facts, valid_ms <= 0 ? "lost %s: %s %s%s"
                                  : "the lease of %s is about to end: %s %s%s",
            name, what, happened, run_why(r, why));
  notify_send(&r->notify, "STATUS=%s %s, %s %s", valid_ms <= 0 ? "lost" : "losing", name, what,
              happened);
}

bool run_may_start(const run *r)
{
  return kill_schedule_at(&r->schedule, dibs_hold_valid_ms(r->hold)).kill_in_ms > 0;
}

int run_not_started(run *r, const char *what)
{
  r->was_stopped_by_us = true;
  say_over(r, dibs_hold_valid_ms(r->hold), what, "was not started");
  return CODE_LOST;
}

static void stop_by_kill(run *r, int64_t valid_ms)
{
  bool is_permitted = child_signal(&r->child, SIGKILL);

  r->has_killed = true;
  r->was_stopped_by_us = true;
  say_over(r, valid_ms, r->job.what, is_permitted ? "was killed" : "runs as another user, could "
           "not be killed, and continues without the lock");
}

/* What the guardian does is this process' own plan, half a margin later: it acts only when this
 * process is stopped, and still before the lease ends. */
guardian_order run_order(const run *r)
{
  int64_t valid_ms = dibs_hold_valid_ms(r->hold);
  int64_t later = clock_ms() + r->schedule.margin_ms / 2;
  kill_times times = kill_schedule_at(&r->schedule, valid_ms);
  guardian_order order;

  memset(&order, 0, sizeof(order));
  order.verb = GUARDIAN_WATCH;
  order.signal_at_ms = order.kill_at_ms = GUARDIAN_NEVER;
  order.is_ending = r->has_signalled;
  if (r->job.lost_signal == LOST_SIGNAL_IGNORE || valid_ms >= GUARDIAN_NEVER - later)
    return order;
  order.kill_at_ms = later + times.kill_in_ms;
  if (!r->has_signalled)
    order.signal_at_ms = later + times.signal_in_ms;
  return order;
}

static void order_guardian(const run *r)
{
  const guardian_order order = run_order(r);

  child_guard(&r->child, &order);
}

static void stop_by_signal(run *r, const kill_times *times)
{
  char name[600], why[600], left[DURATION_SIZE], limit[DURATION_SIZE];
  bool is_permitted;

  r->has_signalled = true;
  r->was_stopped_by_us = true;
  r->signalled_ms = clock_ms();
  /* First of all: a command that ends by this signal has not come to its own end, and the guardian
   * must end what it has started even if this process gets no further. */
  order_guardian(r);
  is_permitted = child_signal(&r->child, r->job.lost_signal);
  (void)child_signal(&r->child, SIGCONT);      /* also after USR1: stopped, it could not clean up */

  duration_as_span(times->kill_in_ms, left);
  printable(r->name, name, sizeof(name));
  if (run_is_max_hold(r))
    duration_as_span(r->taking->max_hold_ms, limit);
  else
    (void)run_why(r, why);
  say_fault(&(message_facts) { .code = run_loss_code(r), .name = r->name },
            "%s: %s%s; %s %s %s%s%s", name,
            run_is_max_hold(r) ? "--max-hold reached: " : "the lease could not be renewed",
            run_is_max_hold(r) ? limit : why, r->job.what,
            is_permitted ? "was sent" : "runs as another user, and could not be sent",
            signal_name(r->job.lost_signal), is_permitted ? " and will be killed in " : "",
            is_permitted ? left : "");
  notify_send(&r->notify, "STATUS=losing %s, stopping %s", name, r->job.what);
}

static void report_loss_once(run *r, int64_t valid_ms)
{
  char name[600], why[600];

  if (valid_ms > 0 || r->has_reported_loss)
    return;
  r->has_reported_loss = true;
  say_fault(&(message_facts) { .status = "DIBS_LOST", .name = r->name },
            "lost %s%s; %s continues without the lock%s",
            printable(r->name, name, sizeof(name)), run_why(r, why), r->job.what,
            r->options->lost_signal == LOST_SIGNAL_IGNORE ? " (--on-lost ignore)" : "");
  notify_send(&r->notify, "STATUS=lost %s, %s continues without the lock", name, r->job.what);
}

/* Does what is due and returns the milliseconds until something will be; -1: nothing. */
static int64_t act_on_lease(run *r)
{
  int64_t valid_ms = dibs_hold_valid_ms(r->hold);
  kill_times times = kill_schedule_at(&r->schedule, valid_ms);

  if (r->job.lost_signal == LOST_SIGNAL_IGNORE) {
    report_loss_once(r, valid_ms);
    return valid_ms > 0 ? valid_ms : -1;
  }
  if (times.kill_in_ms == 0) {
    if (!r->has_killed)
      stop_by_kill(r, valid_ms);
    return -1;
  }
  if (times.signal_in_ms > 0) {
    if (r->has_signalled)
      say("renewed again: %s will not be killed; as %s may have cut it short, this counts as a "
          "loss of the lock", r->job.what, signal_name(r->job.lost_signal));
    r->has_signalled = false;
    return times.signal_in_ms;
  }
  if (!r->has_signalled)
    stop_by_signal(r, &times);
  return times.kill_in_ms;
}

static void arm_timer(const run *r, int64_t in_ms)
{
  struct itimerspec when;

  if (r->notify.watchdog_ms > 0 && (in_ms < 0 || in_ms > r->notify.watchdog_ms))
    in_ms = r->notify.watchdog_ms;
  memset(&when, 0, sizeof(when));
  if (in_ms >= 0) {
    when.it_value.tv_sec = (time_t)(in_ms / 1000);
    /* One nanosecond more: all zero would mean never. */
    when.it_value.tv_nsec = (long)(in_ms % 1000 * 1000000 + 1);
  }
  timerfd_settime(r->timer_fd, 0, &when, NULL);
}

/* ---- signals ---- */

/* Whether the terminal has sent it to the command too, which shares our group. */
static bool came_to_both(const run *r, const struct signalfd_siginfo *info)
{
  return r->options->is_foreground && signals_came_to_group(info);
}

static void report_stopped(const run *r)
{
  char name[600], left[DURATION_SIZE];

  duration_as_span(dibs_hold_valid_ms(r->hold), left);
  say("stopped; the lease of %s ends in %s unless continued",
      printable(r->name, name, sizeof(name)), left);
}

/* The guardian has stopped the command: this process was stopped, or the guardian was killed. */
static void note_end_by_guardian(run *r)
{
  char name[600];

  printable(r->name, name, sizeof(name));
  if (r->child.is_unguarded)
    say("the guardian of %s under %s was killed, and %s with it", r->job.what, name,
        r->job.what);
  if (!r->child.is_by_guardian || r->was_stopped_by_us)
    return;
  r->was_stopped_by_us = true;
  say_fault(&(message_facts) { .code = run_loss_code(r), .name = r->name },
            "the lease of %s was about to end while dibs was stopped: %s was ended", name,
            r->job.what);
}

/* Returns true when the command has ended. */
static bool look_at_child(run *r)
{
  int stop_signal = 0;

  switch (child_look(&r->child, &stop_signal)) {
  case CHILD_STOPPED:
    if (stop_signal == SIGTSTP && r->child.terminal >= 0)
      report_stopped(r);
    if (child_share_stop(&r->child, stop_signal))
      r->wants_continue = true;
    return false;
  case CHILD_ENDED:
    note_end_by_guardian(r);
    r->has_overslept = r->child.ended_before_ms != 0 && clock_ms() >= r->child.ended_before_ms;
    return true;
  case CHILD_RUNS:
  default:
    return false;
  }
}

static bool read_signals(run *r)
{
  struct signalfd_siginfo info;

  while (signals_next(&r->signals, &info)) {
    int number = (int)info.ssi_signo;

    if (signals_is_end(number))
      r->end_signal = number;
    if (number == SIGCONT)
      r->wants_continue = true;
    else if (number != SIGCHLD && !came_to_both(r, &info))
      (void)child_signal(&r->child, number);
    if (number == SIGTSTP && r->options->is_foreground)
      signals_stop_self();
  }
  return look_at_child(r);
}

/* ---- the loop ---- */

/* Waits for any of it; the lease's own descriptor is left out once it has spoken. */
static void wait_for_news(const run *r)
{
  struct pollfd fds[] = {
    { .fd = r->signals.fd, .events = POLLIN },
    { .fd = r->timer_fd, .events = POLLIN },
    { .fd = dibs_hold_state(r->hold) == DIBS_HOLD_GONE ? -1 : dibs_hold_fd(r->hold),
      .events = POLLIN },
    { .fd = r->child.pid > 0 ? r->child.fd : -1, .events = POLLIN },
    { .fd = dibs_fd(r->session.client), .events = POLLIN },
  };
  uint64_t expirations;

  (void)dibs_process(r->session.client, NULL);         /* warnings, as any message after all else */
  poll(fds, sizeof(fds) / sizeof(fds[0]), -1);
  if ((fds[1].revents & POLLIN) != 0 &&
      read(r->timer_fd, &expirations, sizeof(expirations)) < 0)
    return;
  if (r->notify.watchdog_ms > 0 && dibs_hold_state(r->hold) != DIBS_HOLD_GONE)
    notify_send(&r->notify, "WATCHDOG=1");
}

/* For `in_ms` at most, -1: without a limit; and for no longer than until the guardian needs the
 * next order: the interval of renewals. */
static void wait_in_time(const run *r, int64_t in_ms)
{
  int64_t renewal_ms = r->taking->ttl_ms / 3;

  arm_timer(r, in_ms > renewal_ms ? renewal_ms : in_ms);
  wait_for_news(r);
}

int run_watch(run *r)
{
  if (r->child.pid == 0) {
    note_end_by_guardian(r);
    return r->child.status;
  }
  wait_in_time(r, act_on_lease(r));    /* the guardian was started with its first order */
  while (!read_signals(r)) {
    int64_t in_ms = act_on_lease(r);

    if (r->wants_continue && !r->has_killed) {
      r->wants_continue = false;
      child_continue(&r->child);
    }
    order_guardian(r);
    wait_in_time(r, in_ms);
  }
  if (r->was_stopped_by_us || r->elect != NULL)
    return child_reap(&r->child, r->was_stopped_by_us);
  return child_leave(&r->child);       /* the guardians end while the lock is released */
}

/* Milliseconds until there is nothing more to wait for; 0 when that is now. */
static int64_t hold_on_left(run *r, int64_t until_ms, bool steps_down)
{
  int64_t left = until_ms - clock_ms(), lease;

  if (!steps_down)
    return left;
  lease = kill_schedule_at(&r->schedule, dibs_hold_valid_ms(r->hold)).signal_in_ms;
  if (lease <= 0)
    r->was_stopped_by_us = true;
  return lease < left ? lease : left;
}

int run_hold_on(run *r, int64_t until_ms, bool steps_down)
{
  while (dibs_hold_state(r->hold) != DIBS_HOLD_GONE) {
    int64_t left = hold_on_left(r, until_ms, steps_down);
    struct signalfd_siginfo info;

    if (left <= 0)
      return 0;
    arm_timer(r, left);
    wait_for_news(r);
    while (signals_next(&r->signals, &info)) {
      int number = (int)info.ssi_signo;

      if (signals_is_fatal(number)) {
        r->end_signal = number;
        return number;
      }
      if (number == SIGTSTP)
        signals_stop_self();
    }
  }
  return 0;
}
