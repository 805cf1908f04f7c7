/* SPDX-License-Identifier: MIT */
/* test/fault/worker_hold.c - one acquisition of a worker: asked for, looked at, given back,
 * and every step written down before the next. */
#include "worker.h"



void held_tell(struct held *a, enum op op, enum phase phase, int32_t status,
               int64_t valid_ns, int64_t value, uint32_t deadline_ms)
{
  struct record r = {
    .op = (uint8_t)op, .phase = (uint8_t)phase, .status = status, .valid_ns = valid_ns,
    .value = value, .deadline_ms = deadline_ms, .sent_ns = a->sent_ns, .call = a->call,
    .fence = a->fence, .units = a->units, .thread = a->thread->number,
    .mode = (uint8_t)a->mode, .flags = a->flags,
    .ttl_ms = a->thread->worker->plan.ttl_ms,
    .server = (uint8_t)a->thread->worker->plan.server };

  for (int i = 0; i < a->lock_count; i++) {
    r.lock = a->locks[i];
    recorder_put(a->thread->worker->recorder, &r);
  }
}

struct held *held_new(struct thread *t, enum op op, enum hold_mode mode)
{
  struct held *a = &t->kept[t->next++ % HELD_KEPT];

  (void)pthread_mutex_lock(&a->mutex);
  a->thread = t;
  a->hold = NULL;
  a->call = atomic_fetch_add(&t->worker->calls, 1) + 1;
  a->fence = 0;
  a->lock_count = 0;
  a->op = op;
  a->mode = mode;
  a->units = 1;
  a->flags = 0;
  a->is_reported = a->is_over = a->is_lost = a->has_answer = false;
  (void)pthread_mutex_unlock(&a->mutex);
  return a;
}

/* ---- losses ---- */

static void leave_page(struct held *a)
{
  uint16_t who = (uint16_t)(a->thread->worker->number * WORKER_THREADS_MAX + a->thread->number);

  for (int i = 0; i < a->lock_count; i++)
    page_leave(a->thread->worker->page, a->locks[i], who);
}

static void tell_loss(struct held *a)
{
  held_tell(a, OP_LOST, PHASE_INFO, a->lost_status, 0, 0, 0);
  leave_page(a);
}

static void on_lost(dibs_hold *hold, const dibs_loss *loss, void *data)
{
  struct held *a = data;

  (void)pthread_mutex_lock(&a->mutex);
  /* After this many cycles it may be about an older hold than `a` is of now. */
  if (!a->is_over && !a->is_lost && (a->hold == NULL || a->hold == hold)) {
    a->is_lost = true;
    a->lost_status = loss->why;
    (void)atomic_fetch_add(&a->thread->worker->counters->lost, 1);
    if (a->is_reported)
      tell_loss(a);
  }
  (void)pthread_mutex_unlock(&a->mutex);
}

/* ---- asking ---- */

static dibs_lock_options options_of(struct held *a)
{
  const struct plan *p = &a->thread->worker->plan;
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;

  o.ttl_ms = p->ttl_ms;
  o.wait_ms = p->wait_ms <= 0 ? DIBS_FOREVER : p->wait_ms;
  o.min_replicas = a->mode == HOLD_EXCLUSIVE ? p->min_replicas : 0;
  o.cancel = a->thread->worker->quit;
  o.on_lost = on_lost;
  o.on_lost_data = a;
  if ((a->flags & FLAG_FIXED) != 0)
    o.flags |= DIBS_LOCK_FIXED;
  if ((a->flags & FLAG_LINGER) != 0)
    o.linger_ms = p->linger_ms;
  return o;
}

static void on_answer(const dibs_error *error, dibs_hold *hold, void *data)
{
  struct held *a = data;

  (void)pthread_mutex_lock(&a->mutex);
  a->answer = error->status;
  a->hold = hold;
  a->has_answer = true;
  (void)pthread_cond_signal(&a->changed);
  (void)pthread_mutex_unlock(&a->mutex);
}

static dibs_status wait_for_answer(struct held *a, dibs_status begun)
{
  dibs_status status;

  if (begun != DIBS_OK)
    return begun;
  (void)pthread_mutex_lock(&a->mutex);
  while (!a->has_answer)
    (void)pthread_cond_wait(&a->changed, &a->mutex);
  status = a->answer;
  a->has_answer = false;
  (void)pthread_mutex_unlock(&a->mutex);
  return status;
}

static dibs_status ask_async(struct held *a, const char *const *names,
                             const dibs_lock_options *o)
{
  dibs_client *c = a->thread->worker->client;
  bool tries = a->op == OP_TRY;
  size_t count = (size_t)a->lock_count;

  if (count > 1)
    return tries ? acquire_names_now_async(c, names, count, o, on_answer, a, NULL)
                 : acquire_names_async(c, names, count, o, on_answer, a, NULL);
  switch (a->mode) {
  case HOLD_READ:
    return tries ? acquire_now_async(c, DIBS_READ(names[0]), o, on_answer, a, NULL)
                 : dibs_acquire_async(c, DIBS_READ(names[0]), o, on_answer, a, NULL);
  case HOLD_WRITE:
    return tries ? acquire_now_async(c, DIBS_WRITE(names[0]), o, on_answer, a, NULL)
                 : dibs_acquire_async(c, DIBS_WRITE(names[0]), o, on_answer, a, NULL);
  case HOLD_PERMITS:
    return tries ? acquire_now_async(c, DIBS_PERMITS(names[0], a->units), o, on_answer, a,
                                     NULL)
                 : dibs_acquire_async(c, DIBS_PERMITS(names[0], a->units), o, on_answer, a,
                                      NULL);
  default:
    return tries ? acquire_now_async(c, DIBS_LOCK(names[0]), o, on_answer, a, NULL)
                 : dibs_lock_async(c, names[0], o, on_answer, a, NULL);
  }
}

static dibs_status ask_blocking(struct held *a, const char *const *names,
                                const dibs_lock_options *o, dibs_hold **ret_hold)
{
  dibs_client *c = a->thread->worker->client;
  bool tries = a->op == OP_TRY;
  size_t count = (size_t)a->lock_count;

  if (count > 1)
    return tries ? acquire_names_now(c, names, count, o, ret_hold)
                 : acquire_names(c, names, count, o, ret_hold);
  switch (a->mode) {
  case HOLD_READ:
    return tries ? acquire_now(c, DIBS_READ(names[0]), o, ret_hold)
                 : dibs_acquire(c, DIBS_READ(names[0]), o, ret_hold);
  case HOLD_WRITE:
    return tries ? acquire_now(c, DIBS_WRITE(names[0]), o, ret_hold)
                 : dibs_acquire(c, DIBS_WRITE(names[0]), o, ret_hold);
  case HOLD_PERMITS:
    return tries ? acquire_now(c, DIBS_PERMITS(names[0], a->units), o, ret_hold)
                 : dibs_acquire(c, DIBS_PERMITS(names[0], a->units), o, ret_hold);
  default:
    return tries ? dibs_try_lock(c, names[0], o, ret_hold)
                 : dibs_lock(c, names[0], o, ret_hold);
  }
}

static dibs_status ask(struct held *a, const dibs_lock_options *o)
{
  const struct history *run = a->thread->worker->run;
  const char *names[MEMBERS_MAX];
  dibs_hold *hold = NULL;
  dibs_status status;

  for (int i = 0; i < a->lock_count; i++)
    names[i] = run->locks[a->locks[i]].name;
  if ((a->flags & FLAG_ASYNC) != 0)
    return wait_for_answer(a, ask_async(a, names, o));
  status = ask_blocking(a, names, o, &hold);
  (void)pthread_mutex_lock(&a->mutex);
  a->hold = hold;
  (void)pthread_mutex_unlock(&a->mutex);
  return status;
}

/* What is certain of an answer: that it is held, that it is not and never will be, or
 * nothing. */
static enum phase phase_of(dibs_status status)
{
  switch (status) {
  case DIBS_OK:
    return PHASE_OK;
  case DIBS_BUSY:
  case DIBS_TIMED_OUT:
  case DIBS_CANCELLED:
  case DIBS_WOULD_DEADLOCK:
  case DIBS_ERR_ARGUMENT:
    return PHASE_FAIL;
  default:
    return PHASE_INFO;
  }
}

static void set_canceller(struct thread *t, dibs_canceller *canceller, int64_t at_ns)
{
  (void)pthread_mutex_lock(&t->mutex);
  t->canceller = canceller;
  t->cancel_at_ns = at_ns;
  (void)pthread_mutex_unlock(&t->mutex);
}

static uint32_t deadline_of(const struct held *a)
{
  const struct plan *p = &a->thread->worker->plan;

  if (a->op == OP_TRY)
    return (uint32_t)(p->connect_timeout_ms + p->command_timeout_ms);
  return p->wait_ms < 0 ? 0 : (uint32_t)p->wait_ms;
}

/* The outcome, with what the library promises of a grant. */
static void tell_outcome(struct held *a, dibs_status status)
{
  int64_t now = history_now_ns(), left = 0;

  (void)pthread_mutex_lock(&a->mutex);
  if (status == DIBS_OK) {
    left = dibs_hold_valid_ms(a->hold);
    a->fence = dibs_hold_fence(a->hold);
  }
  held_tell(a, a->op, phase_of(status), status, left == 0 ? 0 : now + left * 1000000, 0, 0);
  a->is_reported = status == DIBS_OK;
  if (a->is_lost && a->is_reported)
    tell_loss(a);
  (void)pthread_mutex_unlock(&a->mutex);
}

bool held_take(struct held *a, bool cancels)
{
  struct thread *t = a->thread;
  dibs_lock_options o = options_of(a);
  dibs_canceller *own = NULL;
  dibs_status status;

  if (cancels && dibs_canceller_new(&own) == DIBS_OK) {
    o.cancel = own;
    a->flags |= FLAG_CANCEL;
  }
  a->sent_ns = history_now_ns();
  held_tell(a, a->op, PHASE_INVOKE, 0, 0, 0, deadline_of(a));
  if (own != NULL)
    set_canceller(t, own, a->sent_ns + (int64_t)chance_below(t, 10000) * 1000);
  status = ask(a, &o);
  tell_outcome(a, status);
  if (own != NULL) {
    set_canceller(t, NULL, 0);
    own = dibs_canceller_free(own);
  }
  if (status == DIBS_OK)
    (void)atomic_fetch_add(&t->worker->counters->grants, 1);
  else
    (void)atomic_fetch_add(&t->worker->counters->asks_failed, 1);
  atomic_store(&t->worker->counters->moved_ns, history_now_ns());
  return status == DIBS_OK;
}

/* ---- holding ---- */

int64_t held_sample(struct held *a)
{
  int64_t now = history_now_ns();
  dibs_hold_condition condition = dibs_hold_state(a->hold);
  int64_t left = condition == DIBS_HOLD_GONE ? 0 : dibs_hold_valid_ms(a->hold);
  int64_t valid = left == 0 ? 0 : now + left * 1000000;

  /* Between "held" and the last millisecond there is nothing to say. */
  if (left != 0 || condition == DIBS_HOLD_GONE) {
    (void)pthread_mutex_lock(&a->mutex);
    held_tell(a, OP_SAMPLE, PHASE_INFO, 0, valid, condition, 0);
    (void)pthread_mutex_unlock(&a->mutex);
  }
  return valid;
}

static void on_released(const dibs_error *error, void *data)
{
  on_answer(error, NULL, data);
}

void held_release(struct held *a)
{
  dibs_hold *hold = a->hold;
  dibs_status status;
  enum phase phase;

  (void)pthread_mutex_lock(&a->mutex);
  a->is_over = true;
  held_tell(a, OP_RELEASE, PHASE_INVOKE, 0, 0, 0,
            (uint32_t)a->thread->worker->plan.command_timeout_ms);
  (void)pthread_mutex_unlock(&a->mutex);
  if ((a->flags & FLAG_ASYNC) != 0)
    status = wait_for_answer(a, dibs_release_async(hold, on_released, a));
  else
    status = dibs_release(hold);
  phase = status == DIBS_OK ? PHASE_OK : status == DIBS_UNKNOWN ? PHASE_INFO : PHASE_FAIL;
  held_tell(a, OP_RELEASE, phase, status, 0, 0, 0);
}

/* The write hold ends and a read hold begins, with the same fence. */
bool held_downgrade(struct held *a)
{
  int64_t now, left;
  dibs_status status;

  (void)pthread_mutex_lock(&a->mutex);
  if (a->is_lost) {
    (void)pthread_mutex_unlock(&a->mutex);
    return false;
  }
  held_tell(a, OP_RELEASE, PHASE_INVOKE, 0, 0, 0, 0);
  (void)pthread_mutex_unlock(&a->mutex);
  status = dibs_downgrade(a->hold);
  (void)pthread_mutex_lock(&a->mutex);
  if (status != DIBS_OK) {
    a->is_over = true;
    held_tell(a, OP_RELEASE, PHASE_FAIL, status, 0, 0, 0);
    (void)pthread_mutex_unlock(&a->mutex);
    return false;
  }
  held_tell(a, OP_RELEASE, PHASE_OK, status, 0, 0, 0);
  a->call = atomic_fetch_add(&a->thread->worker->calls, 1) + 1;
  a->op = OP_LOCK;
  a->mode = HOLD_READ;
  a->flags |= FLAG_NESTED;
  held_tell(a, OP_LOCK, PHASE_INVOKE, 0, 0, 0, 0);
  now = history_now_ns();
  left = dibs_hold_valid_ms(a->hold);
  held_tell(a, OP_LOCK, PHASE_OK, 0, left == 0 ? 0 : now + left * 1000000, 0, 0);
  (void)pthread_mutex_unlock(&a->mutex);
  return true;
}
