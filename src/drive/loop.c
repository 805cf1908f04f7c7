/* SPDX-License-Identifier: MIT */
/* drive/loop.c - reads sockets and the clock: in dibs-io, a leader, or drive_process().
 *
 * While there is a leader, an empty event mask in `main` hides `links` from dibs-io. When
 * its call ends, a leader passes its role to another blocked call, or shows `links` again:
 * at once if replies are pending, else a little later, because a program that has taken a
 * lock often takes another soon. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cancel_state.h"
#include "drive/internal.h"

#define EVENTS_MAX 16
#define TOGETHER_MAX 8         /* calls whose commands share a packet */
#define HIDDEN_FOR SPAN_MS(10)
#define SLEEP_MAX_MS 10000     /* an idle connection is pinged as often */
#define CLOSED_NAP_MS 10
/* For name resolution, OpenSSL and callbacks. musl gives 128 KiB, a low ulimit -s less. */
#define STACK_SIZE_MIN ((size_t)512 * 1024)

bool loop_ring(int fd)
{
  uint64_t one = 1;
  ssize_t n;

  do
    n = write(fd, &one, sizeof(one));
  while (n < 0 && errno == EINTR);
  return n > 0 || errno == EAGAIN;
}

void loop_quiet(int fd)
{
  uint64_t count;
  ssize_t n;

  do
    n = read(fd, &count, sizeof(count));
  while (n < 0 && errno == EINTR);
}

bool loop_thread(pthread_t *ret_thread, void *(*run)(void *), void *data, bool is_detached)
{
  sigset_t all, before;
  pthread_attr_t attributes;
  size_t stack = 0;
  bool is_started;

  if (pthread_attr_init(&attributes) != 0)
    return false;
  if (pthread_attr_getstacksize(&attributes, &stack) == 0 && stack < STACK_SIZE_MIN)
    (void)pthread_attr_setstacksize(&attributes, STACK_SIZE_MIN);
  (void)pthread_attr_setdetachstate(&attributes, is_detached ? PTHREAD_CREATE_DETACHED
                                                             : PTHREAD_CREATE_JOINABLE);
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  is_started = pthread_create(ret_thread, &attributes, run, data) == 0;
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  (void)pthread_attr_destroy(&attributes);
  return is_started;
}

/* ---- the reader of the sockets ---- */

/* Sets the timer only to earlier times: one early wake-up costs less than a system call
 * for each command. */
static void timer_by(drive *d, instant at)
{
  struct itimerspec when = { .it_value = { 0 } };

  if (!instant_before(at, d->timer_at) || drive_is_forked(d))
    return;
  d->timer_at = at;
  if (at.ns < 1)
    at.ns = 1;                           /* zero would disarm it */
  when.it_value.tv_sec = (time_t)(at.ns / 1000000000);
  when.it_value.tv_nsec = (long)(at.ns % 1000000000);
  (void)timerfd_settime(d->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

void loop_show(drive *d, bool are_taken)
{
  struct epoll_event event = { .events = are_taken ? 0 : EPOLLIN };

  d->show_at = INSTANT_NEVER;
  if (!d->has_thread || d->links_are_taken == are_taken || drive_is_forked(d))
    return;
  event.data.u64 = source_word(SOURCE_LINKS, 0);
  (void)epoll_ctl(d->main_fd, EPOLL_CTL_MOD, d->links_fd, &event);
  d->links_are_taken = are_taken;
}

void loop_show_later(drive *d)
{
  if (!d->links_are_taken)
    return;
  if (!engine_is_idle(d->engine)) {
    loop_show(d, false);
    return;
  }
  d->show_at = instant_add(drive_now(), HIDDEN_FOR);
  timer_by(d, d->show_at);
}

void loop_show_if_needed(drive *d)
{
  if (!instant_is_never(d->show_at) && !engine_is_idle(d->engine))
    loop_show(d, false);
}

/* ---- the clock ---- */

static instant deadline_of(const drive *d)
{
  instant first = instant_min(engine_deadline(d->engine), d->show_at);

  first = instant_min(first, d->alarm_at);
  return instant_min(first, transports_deadline(d));
}

/* A round of drive_process() without dibs-io sets the timer at its end, as this thread cannot use
 * it before; but a blocked call of another thread, which leads or soon will, needs it at once:
 * callbacks of the round may take long. */
void loop_timer_set(drive *d)
{
  if (d->has_thread || !callbacks_are_served_here(d) || d->first_waiter != NULL)
    timer_by(d, deadline_of(d));
}

static void clock_tick(drive *d)
{
  instant now = drive_now();

  d->timer_at = INSTANT_NEVER;
  if (!instant_before(now, d->show_at))
    loop_show(d, false);
  transports_tick(d, now);
  engine_tick(d->engine, now);
  if (!instant_before(now, d->alarm_at) && !d->must_stop) {
    d->alarm_at = INSTANT_NEVER;
    d->handler.alarm(d->handler.owner);
  }
}

static void timer_rang(drive *d)
{
  loop_quiet(d->timer_fd);
  clock_tick(d);
}

/* For waits that the timer did not end. */
static void clock_look(drive *d)
{
  if (!instant_before(drive_now(), d->timer_at))
    clock_tick(d);
}

/* No sleep depends on descriptors alone: the program may have closed all that it does not know,
 * as some do on their way to be a daemon. Then nothing can be sent or read, but calls end at their
 * limits, leases by the clock, and the client can be closed. */
static int sleep_ms(instant until)
{
  int ms = loop_ms_until(until);

  return ms < 0 || ms > SLEEP_MAX_MS ? SLEEP_MAX_MS : ms;
}

/* `count` of epoll_wait(). */
static void nap_if_closed(int count)
{
  if (count < 0 && errno != EINTR)
    (void)poll(NULL, 0, CLOSED_NAP_MS);
}

/* ---- sockets ---- */

static void links_event(drive *d, const struct epoll_event *event)
{
  uint64_t word = event->data.u64 >> 8, number = word >> LINK_BITS;
  transport *t = transports_get(d, link_of_word(word));       /* for sockets and files */

  switch ((source)(event->data.u64 & 0xff)) {
  case SOURCE_LEADER:
    /* In drive_process() beside a leader that sleeps, the wake-up is the leader's. */
    if (d->leader == NULL || !d->leader_sleeps)
      loop_quiet(d->leader_fd);
    break;
  case SOURCE_CANCELLER:
    watched_event(d, word);
    break;
  case SOURCE_SOCKET:
    if (t != NULL)
      transport_event(d, t, number, event->events);
    break;
  case SOURCE_RESOLVED:
    resolve_event(d, number);
    break;
  case SOURCE_FILES:
    if (t != NULL)
      files_event(d, t, number);
    break;
  case SOURCE_WAKE:
  case SOURCE_TIMER:
  case SOURCE_LINKS:
  case SOURCE_CALLBACKS:
    break;
  }
}

static void links_events(drive *d, const struct epoll_event *events, int count)
{
  for (int i = 0; i < count; i++) {
    links_event(d, &events[i]);
    drive_effects(d);
  }
}

static void links_read(drive *d)
{
  struct epoll_event events[EVENTS_MAX];

  links_events(d, events, epoll_wait(d->links_fd, events, EVENTS_MAX, 0));
}

/* ---- dibs-io ---- */

static void main_events(drive *d, const struct epoll_event *events, int count)
{
  for (int i = 0; i < count; i++) {
    switch ((source)(events[i].data.u64 & 0xff)) {
    case SOURCE_WAKE:
      loop_quiet(d->wake_fd);
      break;
    case SOURCE_TIMER:
      timer_rang(d);
      break;
    case SOURCE_LINKS:
      if (!d->links_are_taken)
        links_read(d);
      break;
    case SOURCE_CALLBACKS:
    case SOURCE_LEADER:
    case SOURCE_SOCKET:
    case SOURCE_RESOLVED:
    case SOURCE_FILES:
    case SOURCE_CANCELLER:
      break;
    }
    drive_effects(d);
  }
  drive_flush_all(d);
  atomic_store(&d->reader_is_awake, false);
}

/* The calls that are about to be woken send in several packets, so that the server works while
 * the later ones prepare theirs. A round without any does not mean that there are none. */
static void finished(drive *d)
{
  size_t count = 0;

  for (const drive_waiter *w = d->first_to_wake; w != NULL; w = w->next_to_wake)
    count++;
  d->finished = count > d->finished / 2 ? count : d->finished / 2;
  d->together = count / 2 < TOGETHER_MAX ? count / 2 : TOGETHER_MAX;
}

static void *io_thread(void *data)
{
  drive *d = data;
  struct epoll_event events[EVENTS_MAX];

  (void)pthread_setname_np(pthread_self(), "dibs-io");
  (void)cancel_off();                    /* a program's allocator runs here */
  for (int ms = SLEEP_MAX_MS;;) {
    int count = epoll_wait(d->main_fd, events, EVENTS_MAX, ms);

    nap_if_closed(count);
    atomic_store(&d->reader_is_awake, true);
    drive_lock(d);
    if (d->must_stop)
      break;
    if (count <= 0)
      clock_look(d);
    main_events(d, events, count);
    finished(d);
    ms = d->together > 0 ? 1 : sleep_ms(d->timer_at);
    drive_unlock(d);
  }
  drive_unlock(d);
  return NULL;
}

dibs_status loop_start(drive *d)
{
  if (d->has_thread)
    d->io_thread_runs = loop_thread(&d->io_thread, io_thread, d, false);
  return d->has_thread && !d->io_thread_runs ? DIBS_ERR_SYSTEM : DIBS_OK;
}

void loop_stop(drive *d)
{
  drive_lock(d);
  d->must_stop = true;
  waiter_poke(d, &d->jobs_waiter);
  drive_unlock(d);
  (void)loop_ring(d->wake_fd);
  if (d->io_thread_runs)
    (void)pthread_join(d->io_thread, NULL);
  d->io_thread_runs = false;
}

/* ---- the leader ---- */

int loop_ms_until(instant until)
{
  int64_t left;

  if (instant_is_never(until))
    return -1;
  left = instant_since(until, drive_now()).ns;
  if (left <= 0)
    return 0;
  return left / 1000000 >= INT_MAX ? INT_MAX : (int)(left / 1000000) + 1;
}

/* Events of `links`, if they come within SPIN_LENGTH; else 0. */
static int links_spin(drive *d, spin_history *h, struct epoll_event *events, instant until)
{
  instant now, before, end;
  bool was_off;
  int count;

  if (!spin_is_next(h) || !spinner_enters())
    return 0;
  now = drive_now();
  end = instant_min(until, instant_add(now, SPIN_LENGTH));
  do {
    before = now;
    count = epoll_wait(d->links_fd, events, EVENTS_MAX, 0);
    now = drive_now();
    was_off = instant_since(now, before).ns > SPIN_ROUND_MAX.ns;
  } while (count == 0 && !was_off && instant_before(now, end));
  spinner_leaves();
  spin_ended(h, was_off ? SPIN_PUT_OFF : count > 0 ? SPIN_PAID : SPIN_IN_VAIN);
  return count;
}

/* One wait and its events. Without dibs-io the leader watches the timer, too. */
void loop_lead(drive *d, instant until)
{
  struct epoll_event events[EVENTS_MAX];
  struct pollfd both[2] = { { .fd = d->links_fd, .events = POLLIN },
                            { .fd = d->timer_fd, .events = POLLIN } };
  spin_history *h = engine_awaits_server(d->engine) ? &d->reply_spins : &d->grant_spins;
  int count;

  d->leader_sleeps = true;
  drive_unlock(d);
  count = links_spin(d, h, events, until);
  if (count == 0 && !d->has_thread) {
    (void)poll(both, 2, sleep_ms(until));
    count = epoll_wait(d->links_fd, events, EVENTS_MAX, 0);
  } else if (count == 0) {
    count = epoll_wait(d->links_fd, events, EVENTS_MAX, sleep_ms(until));
  }
  nap_if_closed(count);
  drive_stay_if_forked(d);
  atomic_store(&d->reader_is_awake, true);
  drive_lock(d);
  d->leader_sleeps = false;
  if (count < 0)
    clock_look(d);
  else if (!d->has_thread && !instant_before(drive_now(), d->timer_at))
    timer_rang(d);                       /* spins that succeed do not poll it */
  links_events(d, events, count);
  drive_flush_all(d);
  atomic_store(&d->reader_is_awake, false);
}

/* ---- for the program's own loop ---- */

int drive_fd(const drive *d)
{
  if (!d->has_thread)
    return d->main_fd;
  return d->has_callback_thread ? -1 : d->callbacks_fd;
}

int drive_show_fd(drive *d)
{
  atomic_store(&d->fd_is_shown, true);
  return drive_fd(d);
}

static bool process_loop(drive *d)
{
  struct epoll_event events[EVENTS_MAX];
  int count = epoll_wait(d->main_fd, events, EVENTS_MAX, 0);

  if (count < 0)
    clock_look(d);
  main_events(d, events, count);
  if (!drive_callbacks_run(d))
    return false;
  drive_flush(d);                       /* commands of the callbacks */
  return true;
}

static int64_t left_ms(const drive *d)
{
  instant at = deadline_of(d);

  return instant_is_never(at) ? -1 : loop_ms_until(at);
}

int64_t drive_process(drive *d)
{
  int64_t left = -1;

  drive_lock(d);
  if (!callbacks_serve(d, d->has_thread ? drive_callbacks_run : process_loop))
    return -1;
  if (!d->has_thread)
    left = left_ms(d);
  if (d->jobs.first != NULL)
    left = 0;
  drive_unlock(d);
  return left;
}
