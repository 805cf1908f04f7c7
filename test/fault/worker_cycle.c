/* SPDX-License-Identifier: MIT */
/* test/fault/worker_cycle.c - what a worker does with what it holds. */
#include "worker.h"

uint64_t chance_below(struct thread *t, uint64_t limit)
{
  t->chance ^= t->chance << 13;
  t->chance ^= t->chance >> 7;
  t->chance ^= t->chance << 17;
  return limit == 0 ? 0 : (t->chance * 0x2545f4914f6cdd1dU >> 11) % limit;
}

bool chance_percent(struct thread *t, int percent)
{
  return percent > 0 && chance_below(t, 100) < (uint64_t)percent;
}

static bool is_ending(const struct thread *t)
{
  return atomic_load(&t->worker->is_ending);
}

/* ---- what to take ---- */

static bool may_take(const struct worker *w, size_t lock, char kind)
{
  return (w->plan.locks >> lock & 1) != 0 && lock < w->run->lock_count &&
         (kind == 0 || w->run->locks[lock].kind == kind);
}

/* A lock of the plan; of this kind, if it is not 0. */
static int draw_lock(struct thread *t, char kind)
{
  int found[LOCKS_MAX], count = 0;

  for (size_t i = 0; i < LOCKS_MAX; i++)
    if (may_take(t->worker, i, kind))
      found[count++] = (int)i;
  return count == 0 ? -1 : found[chance_below(t, (uint64_t)count)];
}

static void add_member(struct held *a, int lock)
{
  for (int i = 0; i < a->lock_count; i++)
    if (a->locks[i] == lock)
      return;
  if (lock >= 0 && a->lock_count < MEMBERS_MAX)
    a->locks[a->lock_count++] = (uint16_t)lock;
}

static enum hold_mode mode_for(struct thread *t, char kind)
{
  if (kind == 'p')
    return HOLD_PERMITS;
  if (kind == 'r')
    return chance_percent(t, t->worker->plan.read_percent) ? HOLD_READ : HOLD_WRITE;
  return HOLD_EXCLUSIVE;
}

static struct held *draw(struct thread *t)
{
  const struct plan *p = &t->worker->plan;
  enum op op = chance_percent(t, p->try_percent) ? OP_TRY : OP_LOCK;
  int lock = draw_lock(t, 0);
  const struct run_lock *l = &t->worker->run->locks[lock];
  struct held *a = held_new(t, op, mode_for(t, l->kind));

  add_member(a, lock);
  if (a->mode == HOLD_PERMITS) {
    uint32_t most = (uint32_t)p->permits_max < l->limit ? (uint32_t)p->permits_max : l->limit;

    a->units = 1 + (uint32_t)chance_below(t, most);
  }
  if (a->mode == HOLD_EXCLUSIVE && chance_percent(t, p->many_percent)) {
    add_member(a, draw_lock(t, 'm'));
    add_member(a, draw_lock(t, 'm'));
    if (a->lock_count > 1)
      a->flags |= FLAG_MANY;
  }
  if (!p->has_no_thread && chance_percent(t, p->async_percent))
    a->flags |= FLAG_ASYNC;
  if (chance_percent(t, p->fixed_percent))
    a->flags |= FLAG_FIXED;
  if (p->linger_ms != 0 && a->mode == HOLD_EXCLUSIVE && a->lock_count == 1)
    a->flags |= FLAG_LINGER;
  return a;
}

/* ---- under the lock ---- */

static uint16_t who_of(const struct thread *t)
{
  return (uint16_t)(t->worker->number * WORKER_THREADS_MAX + t->number);
}

static void enter(struct held *a, int64_t believed_ns)
{
  struct worker *w = a->thread->worker;
  uint16_t who = who_of(a->thread);

  for (int i = 0; i < a->lock_count; i++) {
    int other = page_enter(w->page, a->locks[i], who, a->mode, a->units, a->fence,
                           believed_ns);

    if (other >= 0) {
      struct record r = { .op = OP_CLASH, .phase = PHASE_INFO, .call = a->call,
                          .lock = a->locks[i], .value = other, .fence = a->fence,
                          .thread = a->thread->number, .mode = (uint8_t)a->mode };

      recorder_put(w->recorder, &r);
    }
    (void)atomic_fetch_or(&w->counters->holds, 1U << a->locks[i]);
  }
}

static void believe(struct held *a, int64_t believed_ns)
{
  (void)pthread_mutex_lock(&a->mutex);
  for (int i = 0; i < a->lock_count; i++)
    page_believe(a->thread->worker->page, a->locks[i], who_of(a->thread),
                 a->is_lost ? 0 : believed_ns);
  (void)pthread_mutex_unlock(&a->mutex);
}

static void leave(struct held *a)
{
  for (int i = 0; i < a->lock_count; i++) {
    (void)atomic_fetch_and(&a->thread->worker->counters->holds, ~(1U << a->locks[i]));
    page_leave(a->thread->worker->page, a->locks[i], who_of(a->thread));
  }
}

/* What the lock is there for. The store is asked whatever the look said: a program whose
 * look was a moment too early does the same. */
static void write_to_store(struct held *a)
{
  struct worker *w = a->thread->worker;

  for (int i = 0; i < a->lock_count; i++) {
    int64_t place = page_write(w->page, a->locks[i], a->fence);
    struct record r = { .op = OP_WRITE, .phase = place >= 0 ? PHASE_OK : PHASE_FAIL,
                        .call = a->call, .lock = a->locks[i], .value = place,
                        .fence = a->fence, .thread = a->thread->number,
                        .mode = (uint8_t)a->mode, .flags = a->flags };

    recorder_put(w->recorder, &r);
  }
}

static int64_t draw_stay_us(struct thread *t)
{
  const struct plan *p = &t->worker->plan;

  if (p->hold_us_max > p->hold_us && chance_below(t, 20) == 0)
    return (int64_t)chance_below(t, (uint64_t)p->hold_us_max);
  return (int64_t)chance_below(t, 2 * (uint64_t)p->hold_us + 1);
}

static void nap(struct thread *t, int64_t us)
{
  if (t->worker->plan.has_no_thread)
    (void)dibs_process(t->worker->client, NULL);
  pause_us(us);
}

/* Stays, with a look every few ms; goes early when it is told that all is lost. */
static void stay(struct held *a)
{
  struct thread *t = a->thread;
  int64_t until = history_now_ns() + draw_stay_us(t) * 1000, now, step;

  while ((now = history_now_ns()) < until && !is_ending(t)) {
    step = (until - now) / 1000;
    nap(t, step > 3000 ? 3000 : step);
    if (step > 3000) {
      int64_t valid = held_sample(a);

      if (valid == 0)
        return;
      believe(a, valid);
    }
  }
}

static void work(struct held *a)
{
  struct thread *t = a->thread;
  int64_t valid = held_sample(a);

  if (valid != 0)
    enter(a, valid);
  if (chance_percent(t, t->worker->plan.late_percent))
    pause_us((int64_t)chance_below(t, 2000 * (uint64_t)t->worker->plan.ttl_ms));
  if (a->mode == HOLD_EXCLUSIVE || a->mode == HOLD_WRITE)
    write_to_store(a);
  /* Whoever was stopped meanwhile looks now, maybe before the library's own thread does. */
  valid = held_sample(a);
  if (valid != 0)
    stay(a);
  if (a->mode == HOLD_WRITE && chance_percent(t, t->worker->plan.downgrade_percent)) {
    leave(a);
    if (!held_downgrade(a))
      return;
    valid = held_sample(a);
    if (valid != 0)
      enter(a, valid);
    stay(a);
  }
  leave(a);
}

/* The same name once more by the same owner. */
static void nest(struct held *outer)
{
  struct held *inner = held_new(outer->thread, OP_LOCK, HOLD_EXCLUSIVE);

  add_member(inner, outer->locks[0]);
  inner->flags |= FLAG_NESTED;
  if (!held_take(inner, false))
    return;
  (void)held_sample(inner);
  held_release(inner);
}

void worker_cycle(struct thread *t)
{
  const struct plan *p = &t->worker->plan;
  struct held *a = draw(t);

  if (held_take(a, chance_percent(t, p->cancel_percent))) {
    bool nests = a->mode == HOLD_EXCLUSIVE && a->lock_count == 1 &&
                 (a->flags & (FLAG_ASYNC | FLAG_FIXED)) == 0 &&
                 chance_percent(t, p->nested_percent);

    if (nests)
      nest(a);
    work(a);
    if (a->is_over)
      (void)dibs_release(a->hold);    /* lost at the downgrade: the handle only */
    else
      held_release(a);
    (void)atomic_fetch_add(&t->worker->counters->cycles, 1);
  } else if (!is_ending(t)) {
    nap(t, 1000 + (int64_t)chance_below(t, 2000));   /* no storm of refused asks */
  }
  if (p->think_us > 0 && !is_ending(t))
    nap(t, (int64_t)chance_below(t, 2 * (uint64_t)p->think_us + 1));
}
