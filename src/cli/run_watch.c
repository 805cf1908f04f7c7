/* SPDX-License-Identifier: MIT */
/* cli/run_watch.c - watches command and lease at the same time.
 *
 * One poll() over signals, the hold's descriptor and a timer on CLOCK_BOOTTIME: after a
 * suspend of the machine the timer fires at once, where a timeout of poll() would let the
 * command run on. Each turn asks the library how long the hold may still be believed and
 * does what run_schedule.h says; so a renewal needs no message to count.
 *
 * Signals first, words after: a stderr that takes nothing must not delay a kill. */
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/durations.h"
#include "cli/message.h"
#include "cli/run.h"

/* ---- the lease ---- */

static void stop_by_signal(run *r, const kill_times *times)
{
  char name[600], left[DURATION_SIZE];

  r->has_signalled = true;
  r->was_stopped_by_us = true;
  child_signal(&r->child, r->a->lost_signal);
  /* A stopped command could not even clean up. */
  child_signal(&r->child, SIGCONT);

  duration_as_span(times->kill_in_ms, left);
  say("%s could not be renewed: the command was sent %s, and will be killed in %s",
      printable(r->name, name, sizeof(name)), sigabbrev_np(r->a->lost_signal), left);
  notify_tell(&r->notify, "STATUS=losing %s, command told to stop", name);
}

static void stop_by_kill(run *r, int64_t valid_ms)
{
  char name[600];

  r->has_killed = true;
  r->was_stopped_by_us = true;
  child_signal(&r->child, SIGKILL);

  printable(r->name, name, sizeof(name));
  if (valid_ms <= 0)
    say("lost %s: the command was killed", name);
  else
    say("the lease of %s is about to end: the command was killed", name);
}

static void tell_loss_once(run *r, int64_t valid_ms)
{
  char name[600];

  if (valid_ms > 0 || r->has_told_loss)
    return;
  r->has_told_loss = true;
  say("lost %s; the command goes on without it (--on-lost ignore)",
      printable(r->name, name, sizeof(name)));
}

/* Does what is due and returns the milliseconds until something will be; -1: nothing. */
static int64_t act_on_lease(run *r)
{
  int64_t valid_ms = dibs_hold_valid_ms(r->hold);
  kill_times times = kill_schedule_at(&r->schedule, valid_ms);

  if (r->a->lost_signal == LOST_SIGNAL_IGNORE) {
    tell_loss_once(r, valid_ms);
    return valid_ms > 0 ? valid_ms : -1;
  }
  if (times.kill_in_ms == 0) {
    if (!r->has_killed)
      stop_by_kill(r, valid_ms);
    return -1;
  }
  if (times.signal_in_ms > 0) {
    if (r->has_signalled)
      say_softly("renewed again: the command will not be killed");
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
    when.it_value.tv_sec = in_ms / 1000;
    /* One nanosecond more: all zero would mean never. */
    when.it_value.tv_nsec = in_ms % 1000 * 1000000 + 1;
  }
  timerfd_settime(r->timer_fd, 0, &when, NULL);
}

/* ---- signals ---- */

/* Whether the terminal has sent it to the command too, which shares our group. */
static bool came_to_both(const run *r, const struct signalfd_siginfo *info)
{
  return r->a->is_foreground && info->ssi_code == SI_KERNEL;
}

static void tell_stopped(const run *r)
{
  char name[600], left[DURATION_SIZE];

  duration_as_span(dibs_hold_valid_ms(r->hold), left);
  say("stopped; the lease of %s ends in %s unless continued",
      printable(r->name, name, sizeof(name)), left);
}

/* Returns true when the command has ended. */
static bool look_at_child(run *r)
{
  int stop_signal = 0;

  switch (child_look(&r->child, &stop_signal)) {
  case CHILD_STOPPED:
    if (stop_signal == SIGTSTP && r->child.terminal >= 0)
      tell_stopped(r);
    if (child_share_stop(&r->child, stop_signal))
      r->wants_continue = true;
    return false;
  case CHILD_ENDED:
    return true;
  case CHILD_RUNS:
  default:
    return false;
  }
}

static bool read_signals(run *r)
{
  struct signalfd_siginfo info;
  bool has_ended = false;

  while (signals_next(&r->signals, &info)) {
    int number = (int)info.ssi_signo;

    if (signals_is_end(number))
      r->told_to_end = number;
    if (number == SIGCHLD)
      has_ended = look_at_child(r) || has_ended;
    else if (number == SIGCONT)
      r->wants_continue = true;
    else if (number == SIGTSTP && r->a->is_foreground)
      signals_stop_self();
    else if (!came_to_both(r, &info))
      child_signal(&r->child, number);
  }
  return has_ended;
}

/* ---- the loop ---- */

/* Waits for any of it; the lease's own descriptor is left out once it has spoken. */
static void wait_for_news(const run *r)
{
  struct pollfd fds[] = {
    { .fd = r->signals.fd, .events = POLLIN },
    { .fd = r->timer_fd, .events = POLLIN },
    { .fd = dibs_hold_state(r->hold) == DIBS_GONE ? -1 : dibs_hold_fd(r->hold),
      .events = POLLIN },
  };
  uint64_t expirations;

  poll(fds, 3, -1);
  if ((fds[1].revents & POLLIN) != 0 &&
      read(r->timer_fd, &expirations, sizeof(expirations)) < 0)
    return;
  if (r->notify.watchdog_ms > 0 && dibs_hold_state(r->hold) != DIBS_GONE)
    notify_tell(&r->notify, "WATCHDOG=1");
}

/* Nobody of the group may outlive a lease that is ending. */
static void end_group(run *r)
{
  pid_t group = r->child.has_group ? r->child.pid : 0;

  if (group != 0 && r->was_stopped_by_us)
    kill(-group, SIGKILL);
  r->child_status = child_reap(&r->child);
  r->has_child_status = true;
  if (group != 0 && r->was_stopped_by_us)
    child_group_wait(group, 500);
}

void run_watch(run *r)
{
  do {
    int64_t in_ms = act_on_lease(r);

    if (r->wants_continue && !r->has_killed) {
      r->wants_continue = false;
      child_continue(&r->child);
    }
    arm_timer(r, in_ms);
    wait_for_news(r);
  } while (!read_signals(r));
  end_group(r);
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
  while (dibs_hold_state(r->hold) != DIBS_GONE) {
    int64_t left = hold_on_left(r, until_ms, steps_down);
    struct signalfd_siginfo info;

    if (left <= 0)
      return 0;
    arm_timer(r, left);
    wait_for_news(r);
    while (signals_next(&r->signals, &info)) {
      int number = (int)info.ssi_signo;

      if (signals_is_end(number)) {
        r->told_to_end = number;
        return number;
      }
      if (number == SIGTSTP)
        signals_stop_self();
    }
  }
  return 0;
}
