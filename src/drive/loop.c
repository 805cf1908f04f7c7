/* SPDX-License-Identifier: MIT */
/* drive/loop.c - who reads sockets and watches the clock: dibs-io, a leader, or
 * drive_process().
 *
 * While somebody leads, `links` is hidden from dibs-io by an empty event mask in `main`.
 * A leader that ends passes the role to another blocked call, or shows `links` again: at
 * once when anything is to come, else a little later, because a program that takes one
 * lock often takes the next. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "drive/parts.h"

#define EVENTS_MAX 16
#define IO_LEADS_FROM 7        /* blocked calls; measured, see bench/ */
#define IO_LEADS_UNTIL 3
#define HIDDEN_FOR SPAN_MS(10)

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

bool loop_thread(pthread_t *ret_thread, const char *name, void *(*run)(void *), void *data,
                 bool is_detached)
{
  sigset_t all, before;
  pthread_attr_t attributes;
  bool is_started;

  if (pthread_attr_init(&attributes) != 0)
    return false;
  (void)pthread_attr_setdetachstate(&attributes, is_detached ? PTHREAD_CREATE_DETACHED
                                                             : PTHREAD_CREATE_JOINABLE);
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  is_started = pthread_create(ret_thread, &attributes, run, data) == 0;
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  (void)pthread_attr_destroy(&attributes);
  if (is_started && !is_detached)
    (void)pthread_setname_np(*ret_thread, name);
  return is_started;
}

/* ---- who sees the sockets ---- */

static void links_show(drive *d, bool are_taken)
{
  struct epoll_event event = { .events = are_taken ? 0 : EPOLLIN };

  d->show_at = INSTANT_NEVER;
  if (!d->has_thread || d->links_are_taken == are_taken)
    return;
  event.data.u64 = source_word(SOURCE_LINKS, 0);
  (void)epoll_ctl(d->main_fd, EPOLL_CTL_MOD, d->links_fd, &event);
  d->links_are_taken = are_taken;
}

static void links_show_later(drive *d)
{
  if (!d->links_are_taken)
    return;
  if (!engine_is_idle(d->engine)) {
    links_show(d, false);
    return;
  }
  d->show_at = instant_add(drive_now(), HIDDEN_FOR);
  loop_timer_set(d);
}

void loop_show_if_needed(drive *d)
{
  if (!instant_is_never(d->show_at) && !engine_is_idle(d->engine))
    links_show(d, false);
}

/* ---- the clock ---- */

static instant deadline_of(const drive *d)
{
  instant first = instant_min(engine_deadline(d->engine), d->show_at);

  first = instant_min(first, d->alarm_at);
  return instant_min(first, transports_deadline(d));
}

/* Only ever moved earlier: a timer that rings too soon costs less than setting it with
 * each command. */
void loop_timer_set(drive *d)
{
  instant at = deadline_of(d);
  struct itimerspec when = { .it_value = { 0 } };

  if (!instant_before(at, d->timer_at))
    return;
  d->timer_at = at;
  if (at.ns < 1)
    at.ns = 1;                           /* zero would disarm it */
  when.it_value.tv_sec = (time_t)(at.ns / 1000000000);
  when.it_value.tv_nsec = (long)(at.ns % 1000000000);
  (void)timerfd_settime(d->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static void timer_rang(drive *d)
{
  instant now = drive_now();

  loop_quiet(d->timer_fd);
  d->timer_at = INSTANT_NEVER;
  if (!instant_before(now, d->show_at))
    links_show(d, false);
  transports_tick(d, now);
  engine_tick(d->engine, now);
  if (!instant_before(now, d->alarm_at)) {
    d->alarm_at = INSTANT_NEVER;
    d->handler.alarm(d->handler.owner);
  }
}

/* ---- sockets ---- */

static void links_event(drive *d, const struct epoll_event *event)
{
  uint64_t number = event->data.u64 >> 8;
  transport *t = transports_get(d, (int)(number & 0xff));     /* of the next two */

  switch ((source)(event->data.u64 & 0xff)) {
  case SOURCE_LEADER:
    loop_quiet(d->leader_fd);
    break;
  case SOURCE_CANCELLER:
    watched_event(d, number);
    break;
  case SOURCE_SOCKET:
    if (t != NULL)
      transport_event(d, t, number >> 8, event->events);
    break;
  case SOURCE_RESOLVED:
    if (t != NULL)
      dial_resolved(d, t, number >> 8);
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
    case SOURCE_CANCELLER:
      break;
    }
    drive_effects(d);
  }
  drive_settle_all(d);
  atomic_store(&d->reader_is_awake, false);
}

static void *io_thread(void *data)
{
  drive *d = data;
  struct epoll_event events[EVENTS_MAX];

  for (;;) {
    int count = epoll_wait(d->main_fd, events, EVENTS_MAX, -1);

    atomic_store(&d->reader_is_awake, true);
    drive_lock(d);
    if (d->must_stop)
      break;
    main_events(d, events, count);
    drive_unlock(d);
  }
  drive_unlock(d);
  return NULL;
}

dibs_status loop_start(drive *d)
{
  if (d->has_thread)
    d->io_thread_runs = loop_thread(&d->io_thread, "dibs-io", io_thread, d, false);
  return d->has_thread && !d->io_thread_runs ? DIBS_ERR_SYSTEM : DIBS_OK;
}

void loop_stop(drive *d)
{
  drive_lock(d);
  d->must_stop = true;
  (void)pthread_cond_broadcast(&d->jobs_condition);
  drive_unlock(d);
  (void)loop_ring(d->wake_fd);
  if (d->io_thread_runs)
    (void)pthread_join(d->io_thread, NULL);
  d->io_thread_runs = false;
}

/* ---- blocked calls ---- */

void drive_waiter_done(drive *d, drive_waiter *w)
{
  w->is_done = true;
  if (d->leader != w)
    waiter_poke(d, w);
  else if (d->leader_sleeps)
    (void)loop_ring(d->leader_fd);
}

static int ms_until(instant until)
{
  int64_t left;

  if (instant_is_never(until))
    return -1;
  left = instant_since(until, drive_now()).ns;
  if (left <= 0)
    return 0;
  return left / 1000000 >= INT_MAX ? INT_MAX : (int)(left / 1000000) + 1;
}

/* One sleep and its fruits. Without a thread of ours the clock is the leader's business
 * too. */
static void lead(drive *d, instant until)
{
  struct epoll_event events[EVENTS_MAX];
  struct pollfd both[2] = { { .fd = d->links_fd, .events = POLLIN },
                            { .fd = d->timer_fd, .events = POLLIN } };
  int count;

  d->leader_sleeps = true;
  drive_unlock(d);
  if (d->has_thread)
    count = epoll_wait(d->links_fd, events, EVENTS_MAX, ms_until(until));
  else
    count = poll(both, 2, ms_until(until));
  atomic_store(&d->reader_is_awake, true);
  drive_lock(d);
  d->leader_sleeps = false;
  if (d->has_thread) {
    links_events(d, events, count);
  } else {
    if (both[1].revents != 0)
      timer_rang(d);
    links_read(d);
  }
  drive_settle_all(d);
  atomic_store(&d->reader_is_awake, false);
}

static void waiters_join(drive *d, drive_waiter *w)
{
  w->next = NULL;
  w->previous = d->last_waiter;
  if (d->last_waiter != NULL)
    d->last_waiter->next = w;
  else
    d->first_waiter = w;
  d->last_waiter = w;
  d->waiter_count++;
}

static bool io_should_lead(const drive *d)
{
  return d->has_thread &&
         d->waiter_count >= (d->io_leads ? IO_LEADS_UNTIL : IO_LEADS_FROM);
}

static bool may_lead(drive *d)
{
  if (d->leader != NULL)
    return false;
  d->io_leads = io_should_lead(d);
  if (d->io_leads)
    links_show(d, false);
  return !d->io_leads;
}

/* The last one out passes `links` on, whether it led or was only asked to. */
static void waiters_leave(drive *d, drive_waiter *w)
{
  if (w->previous != NULL)
    w->previous->next = w->next;
  else
    d->first_waiter = w->next;
  if (w->next != NULL)
    w->next->previous = w->previous;
  else
    d->last_waiter = w->previous;
  d->waiter_count--;

  if (d->leader == w)
    d->leader = NULL;
  if (d->leader != NULL)
    return;
  d->io_leads = io_should_lead(d);
  if (d->io_leads)
    links_show(d, false);
  else if (d->first_waiter == NULL)
    links_show_later(d);
  else if (d->links_are_taken || !d->has_thread)
    waiter_poke(d, d->first_waiter);
}

bool drive_wait(drive *d, drive_waiter *w, instant until)
{
  drive_effects(d);
  if (w->is_done) {
    waiter_part(d, w);
    drive_settle(d);
    return true;
  }
  waiters_join(d, w);
  if (may_lead(d)) {
    d->leader = w;
    links_show(d, true);                 /* before sending: the answer is fast */
  }
  drive_settle(d);
  while (!w->is_done && instant_before(drive_now(), until)) {
    if (may_lead(d)) {
      d->leader = w;
      links_show(d, true);
    }
    if (d->leader == w)
      lead(d, until);
    else
      waiter_sleep(d, w, until);
  }
  waiters_leave(d, w);
  waiter_part(d, w);
  return w->is_done;
}

/* ---- a loop of the program's own ---- */

int drive_fd(const drive *d)
{
  if (!d->has_thread)
    return d->main_fd;
  return d->has_callback_thread ? -1 : d->callbacks_fd;
}

static int64_t process_loop(drive *d)
{
  struct epoll_event events[EVENTS_MAX];
  instant at;

  main_events(d, events, epoll_wait(d->main_fd, events, EVENTS_MAX, 0));
  drive_callbacks_run(d);
  drive_settle(d);                       /* what the callbacks began */
  at = deadline_of(d);
  return instant_is_never(at) ? -1 : ms_until(at);
}

int64_t drive_process(drive *d)
{
  int64_t left = -1;

  drive_lock(d);
  if (!d->has_thread)
    left = process_loop(d);
  else
    drive_callbacks_run(d);
  if (d->jobs.first != NULL)
    left = 0;
  drive_unlock(d);
  return left;
}
