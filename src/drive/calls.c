/* SPDX-License-Identifier: MIT */
/* drive/calls.c - blocked calls: how they begin, which of them reads the sockets, how they end.
 *
 * drive_call() needs the mutex neither to begin nor to end while another thread has it: the
 * call is put on a stack, and the owner of the mutex runs what is there before it gives the
 * mutex back, so that many calls send together. It also takes a finished call out of the list,
 * before it wakes it. With a mutex for each step, the threads of a batch that wake up together
 * would sleep again, each for the mutex. */
#include "drive/internal.h"

#define IO_LEADS_FROM 7        /* blocked calls; measured, see bench/ */
#define IO_LEADS_UNTIL 3
/* An owner that gives the mutex back by itself (fork_whole.c) runs no calls. */
#define RUNS_ITSELF_AFTER SPAN_MS(20)

/* ---- the list ---- */

static void join(drive *d, drive_waiter *w)
{
  w->is_joined = true;
  w->next = NULL;
  w->previous = d->last_waiter;
  if (d->last_waiter != NULL)
    d->last_waiter->next = w;
  else
    d->first_waiter = w;
  d->last_waiter = w;
  d->waiter_count++;
}

/* Calls that dibs-io has just finished come back soon. */
static bool io_should_lead(const drive *d)
{
  if (!d->has_thread)
    return false;
  return d->io_leads ? d->waiter_count + d->finished >= IO_LEADS_UNTIL
                     : d->waiter_count >= IO_LEADS_FROM;
}

static bool may_lead(drive *d)
{
  if (d->leader != NULL)
    return false;
  d->io_leads = io_should_lead(d);
  if (d->io_leads)
    loop_show(d, false);
  return !d->io_leads;
}

/* The calls in the list need a reader of the sockets. */
static void reader_find(drive *d)
{
  if (d->leader != NULL)
    return;
  d->io_leads = io_should_lead(d);
  if (d->io_leads)
    loop_show(d, false);
  else if (d->first_waiter == NULL)
    loop_show_later(d);
  else if (d->links_are_taken || !d->has_thread)
    waiter_poke(d, d->first_waiter);
}

/* `w` may have been the leader, or was asked to become it. */
static void leave(drive *d, drive_waiter *w)
{
  w->is_joined = false;
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
  reader_find(d);
}

void drive_waiter_done(drive *d, drive_waiter *w)
{
  w->is_done = true;
  if (d->leader == w) {
    if (d->leader_sleeps)
      (void)loop_ring(d->leader_fd);
    return;
  }
  /* One that is being woken for something else takes the mutex, and leaves by itself. */
  if (w->returns_alone && !w->is_being_woken && w->is_joined)
    leave(d, w);
  waiter_poke(d, w);
}

/* ---- waiting ---- */

static void lead_if_none(drive *d, drive_waiter *w)
{
  if (!may_lead(d))
    return;
  d->leader = w;
  loop_show(d, true);
}

/* Mutex held; not on return if it returned alone: then true. */
static bool wait_joined(drive *d, drive_waiter *w, instant until)
{
  while (!w->is_done && instant_before(drive_now(), until)) {
    lead_if_none(d, w);
    if (d->leader == w)
      loop_lead(d, until);
    else if (waiter_sleep(d, w, until))
      return true;
  }
  if (w->is_joined)
    leave(d, w);
  waiter_part(d, w);
  return false;
}

bool drive_wait(drive *d, drive_waiter *w, instant until)
{
  drive_effects(d);
  if (w->is_done) {
    waiter_part(d, w);
    drive_send(d);
    return true;
  }
  join(d, w);
  lead_if_none(d, w);                    /* before sending: the reply is fast */
  drive_send(d);
  (void)wait_joined(d, w, until);
  return w->is_done;
}

/* ---- calls that another thread may begin ---- */

static void submit(drive *d, drive_op *op)
{
  drive_op *before = atomic_load(&d->submitted);

  do
    op->next = before;
  while (!atomic_compare_exchange_weak(&d->submitted, &before, op));
}

/* The oldest first. */
static drive_op *take_all(drive *d)
{
  drive_op *op = atomic_exchange(&d->submitted, NULL), *first = NULL, *next;

  for (; op != NULL; op = next) {
    next = op->next;
    op->next = first;
    first = op;
  }
  return first;
}

bool calls_are_submitted(const drive *d)
{
  return atomic_load(&d->submitted) != NULL;
}

/* `own`: of this thread, which can lead; or NULL. No call of the list returns before the
 * mutex is released. */
void calls_run(drive *d, drive_waiter *own)
{
  drive_op *first = take_all(d);

  for (drive_op *op = first; op != NULL; op = op->next) {
    op->run(op);
    op->has_run = true;
  }
  drive_effects(d);
  for (drive_op *op = first; op != NULL; op = op->next)
    if (!op->waiter.is_done)
      join(d, &op->waiter);
  if (own != NULL && own->is_joined && !own->is_done)
    lead_if_none(d, own);
  if (first != NULL)
    reader_find(d);
  drive_send(d);
}

bool drive_call(drive *d, drive_op *op, instant until)
{
  drive_waiter *w = &op->waiter;
  instant soon = instant_min(until, instant_add(drive_now(), RUNS_ITSELF_AFTER));

  drive_waiter_init(w);
  w->returns_alone = true;
  op->has_run = false;
  submit(d, op);
  atomic_thread_fence(memory_order_seq_cst);     /* see drive_unlock() */
  if (!drive_try_lock(d) && waiter_sleep_outside(d, w, soon))
    return true;
  if (!op->has_run)
    calls_run(d, w);
  if (wait_joined(d, w, until))
    return true;
  if (w->is_done)
    drive_unlock(d);
  return w->is_done;
}
