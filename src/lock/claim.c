/* SPDX-License-Identifier: MIT */
/* lock/claim.c - one request of the program, from the wish to the hold. */
#include "lock/table.h"

#include <string.h>

static claim *claim_of(const lock_table *t, uint64_t id)
{
  return slots_get(&t->slots, id);
}

/* Events need no memory: each claim carries its own, one bit a kind. */
void claim_tell(claim *c, lock_event_kind kind)
{
  lock_table *t = c->name->table;

  if (c->events == 0)
    DL_APPEND2(t->telling, c, previous_telling, next_telling);
  c->events |= 1u << kind;
  if (kind == LOCK_RENEWED)      /* a doubt not yet told is over */
    c->events &= ~(1u << LOCK_SUSPECT);
}

/* The last event of a claim: it leaves its list, and its id is stale from now on. */
void claim_end(claim *c, claim **list, lock_event_kind kind, dibs_status status)
{
  lock_table *t = c->name->table;

  DL_DELETE(*list, c);
  timers_clear(&t->timers, &c->timer);
  slots_remove(&t->slots, c->id);
  if (c->state == CLAIM_WAITING)
    t->counts.waiting--;
  else
    t->counts.holds--;
  c->state = CLAIM_OVER;
  c->status = status;
  claim_tell(c, kind);
}

void claim_fail(claim *c, dibs_status status, const char *words)
{
  c->words = words;
  claim_end(c, &c->name->waiting, LOCK_FAILED, status);
}

void claims_fail(name *n, dibs_status status, const char *words)
{
  while (n->waiting != NULL)
    claim_fail(n->waiting, status, words);
}

static claim *claim_new(name *n, const lock_wish *w, instant now)
{
  lock_table *t = n->table;
  claim *c;

  if (!table_reserve_timers(t, 1))
    return NULL;
  c = mem_zalloc(&t->memory, sizeof(*c) + w->owner_size);
  if (c == NULL)
    return NULL;
  c->note = mem_copy_text(&t->memory, w->note);
  c->id = slots_add(&t->slots, c);
  if (c->id == 0 || (w->note != NULL && c->note == NULL)) {
    if (c->id != 0)
      slots_remove(&t->slots, c->id);
    mem_free(&t->memory, c->note);
    mem_free(&t->memory, c);
    return NULL;
  }

  c->context = w->context;
  c->name = n;
  c->state = CLAIM_WAITING;
  c->is_try = w->is_try;
  c->is_fixed = w->is_fixed;
  c->no_reentry = w->no_reentry;
  c->is_part = w->is_part;
  c->blocks = w->blocks;
  c->reads = w->kind == LOCK_READ;
  c->linger = w->linger;
  c->ttl = w->ttl;
  c->max_hold = w->max_hold;
  c->min_replicas = w->min_replicas;
  c->replicas_wait = w->replicas_wait;
  c->wants_fsync = w->wants_fsync;
  c->reports_replicas = w->reports_replicas;
  c->floor = w->floor;
  c->asked_at = now;
  c->give_up_at = w->give_up_at;
  timer_init(&c->timer, TIMER_CLAIM, c);
  c->owner_size = w->owner_size;
  memcpy(c->owner, w->owner_size > 0 ? w->owner : "", w->owner_size);
  t->counts.waiting++;
  t->counts.bytes += sizeof(*c) + c->owner_size;
  return c;
}

bool claim_is_of(const claim *c, const void *owner, size_t owner_size)
{
  return c->owner_size > 0 && c->owner_size == owner_size &&
         memcmp(c->owner, owner, owner_size) == 0;
}

static void mutex_place(name *n, claim *c, instant now)
{
  bool was_empty = n->waiting == c;
  const claim *holder = n->holders;

  if (n->state == NAME_HELD && claim_is_of(holder, c->owner, c->owner_size)) {
    if (c->no_reentry)
      claim_fail(c, DIBS_WOULD_DEADLOCK, "this owner holds the name already");
    else if (!c->reports_replicas && acks_are_wanted(n, c))
      claim_fail(c, DIBS_ERR_NOT_REPLICATED,
                 "this owner holds it already, acknowledged by fewer replicas");
    else
      hold_reenter(n, c, now);
  } else if (n->state == NAME_LINGERING) {
    claim_arm(c, now);
    linger_take(n, now);
  } else if (set_holds(n->table, n->bytes, n->size, c->owner, c->owner_size)) {
    claim_fail(c, DIBS_WOULD_DEADLOCK, "this owner holds it as one of several");
    name_forget_if_unused(n);
  } else if (c->is_try && (n->state == NAME_HELD || !was_empty)) {
    claim_fail(c, DIBS_BUSY, "held or waited for by this client");
  } else {
    if (n->state == NAME_HELD)
      inbox_want(n);                    /* from now on others' `want` matters */
    claim_arm(c, now);
    name_settle(n, now);
  }
}

/* Queues `c`, or answers it at once from what this process knows. */
static void claim_place(name *n, claim *c, lock_flavour flavour, instant now)
{
  DL_APPEND(n->waiting, c);
  if (n->flavour != flavour) {
    claim_fail(c, DIBS_ERR_ARGUMENT, "this client uses the name as a lock of another kind: one "
                                     "name is plain, fair, spin or fenced");
    return;
  }
  switch (n->kind) {
  case NAME_MUTEX:
  case NAME_PLACE:
    mutex_place(n, c, now);
    break;
  case NAME_SEAT:
    share_place(n, c, now);
    break;
  case NAME_SET:
    set_place(n, c, now);
    break;
  }
}

/* The one in memory that this wish joins. */
static name *name_found(const lock_table *t, const lock_wish *w, instant now)
{
  switch (w->kind) {
  case LOCK_MUTEX:
    return mutex_found(t, w);
  case LOCK_READ:
  case LOCK_WRITE:
  case LOCK_PERMITS:
    return share_found(t, w, now);
  case LOCK_MANY:
    break;
  }
  return NULL;
}

static name *name_new(lock_table *t, const lock_wish *w, instant now)
{
  switch (w->kind) {
  case LOCK_MUTEX:
    return mutex_begin(t, w, now);
  case LOCK_READ:
  case LOCK_WRITE:
  case LOCK_PERMITS:
    return seat_new(t, w, now);
  case LOCK_MANY:
    return set_new(t, w);
  }
  return NULL;
}

dibs_status lock_claim(lock_table *t, const lock_wish *w, instant now, uint64_t *ret_id)
{
  name *n;
  claim *c;

  if (t->is_closing)
    return DIBS_ERR_CLOSED;
  n = name_found(t, w, now);
  if (n == NULL && !linger_make_room(t, now))
    return DIBS_ERR_LIMIT;
  if (n == NULL)
    n = name_new(t, w, now);
  if (n == NULL)
    return DIBS_ERR_NO_MEMORY;

  c = claim_new(n, w, now);
  if (c == NULL) {
    name_forget_if_unused(n);
    return DIBS_ERR_NO_MEMORY;
  }
  *ret_id = c->id;
  owners_claim(t, c);
  claim_place(n, c, w->kind == LOCK_MUTEX ? w->flavour : n->flavour, now);
  owners_waits(t, c, now);
  return DIBS_OK;
}

/* ---- how long a waiting claim goes on ---- */

static instant unserved_since(const name *n)
{
  return instant_max(n->route->down_since, n->unserved_since);
}

void claim_arm(claim *c, instant now)
{
  lock_table *t = c->name->table;
  const route *r = c->name->route;
  instant at = c->give_up_at;

  if (!route_is_usable(r) && (!t->settings.is_patient || c->is_try))
    at = instant_min(at, instant_add(instant_max(c->asked_at, unserved_since(c->name)),
                                     t->settings.connect_timeout));
  else if (c->is_try)
    at = instant_min(at, instant_add(now, t->settings.command_timeout));
  if (c->is_try)                       /* also where connections come and go */
    at = instant_min(at, instant_add(instant_add(c->asked_at, t->settings.connect_timeout),
                                     t->settings.command_timeout));

  if (instant_is_never(at))
    timers_clear(&t->timers, &c->timer);
  else
    timers_set(&t->timers, &c->timer, at);
}

static void waiting_is_over(claim *c)
{
  name *n = c->name;
  const route *r = n->route;

  if (n->state == NAME_ASKING && n->ask_was_sent && !n->ask_was_answered)
    claim_fail(c, DIBS_UNKNOWN, r->is_up ? "the server has not answered in time"
                                         : r->down_words);
  else if (!route_is_usable(r))
    claim_fail(c, r->down_why, r->down_words);
  else if (c->is_try)
    claim_fail(c, DIBS_ERR_UNREACHABLE, "the server has not answered in time");
  else
    claim_fail(c, DIBS_TIMED_OUT, "somebody else holds it");
}

void claim_timer(claim *c, instant now)
{
  name *n = c->name;

  if (c->state == CLAIM_RELEASING) {
    c->words = "the server has not confirmed in time";
    claim_end(c, &n->holders, LOCK_RELEASED, DIBS_UNKNOWN);
    return;
  }
  waiting_is_over(c);
  if (n->waiting == NULL)
    ask_end(n, now);
  else if (n->state == NAME_QUEUED && !instant_before(now, n->told_give_up))
    name_due(n);       /* who came later waits on: its place must not be passed over */
}

/* ---- from the program ---- */

static bool waiting_fail(lock_table *t, uint64_t id, dibs_status status, const char *words,
                         instant now)
{
  claim *c = claim_of(t, id);
  name *n;

  if (c == NULL || c->state != CLAIM_WAITING)
    return false;
  n = c->name;
  claim_fail(c, status, words);
  if (n->waiting == NULL)
    ask_end(n, now);
  return true;
}

bool lock_cancel(lock_table *t, uint64_t id, instant now)
{
  return waiting_fail(t, id, DIBS_CANCELLED, "cancelled", now);
}

bool lock_fail(lock_table *t, uint64_t id, dibs_status status, const char *words, instant now)
{
  text copy = text_over(t->fault_words, sizeof(t->fault_words));

  text_add(&copy, words);
  return waiting_fail(t, id, status, t->fault_words, now);
}

static void holder_release(claim *c, instant now)
{
  name *n = c->name;
  lock_table *t = n->table;

  if (n->holders->next != NULL) {     /* an inner or outer one stays */
    claim_end(c, &n->holders, LOCK_RELEASED, DIBS_OK);
    t->counts.released++;
    if (n->kind == NAME_SEAT)
      share_released(n);
    return;
  }
  if (n->kind == NAME_MUTEX && c->linger.ns < 0)
    habit_released(&t->habits, n->bytes, n->size, n->waiters_elsewhere > 0, now);
  if (linger_is_wanted(n, c, now)) {
    span linger = c->linger;

    claim_end(c, &n->holders, LOCK_RELEASED, DIBS_OK);
    t->counts.released++;
    linger_begin(n, linger, now);
    return;
  }
  if (hold_may_pass(n, now)) {
    claim_end(c, &n->holders, LOCK_RELEASED, DIBS_OK);
    t->counts.released++;
    hold_pass(n, now);
    return;
  }
  c->state = CLAIM_RELEASING;
  c->was_valid = instant_before(now, hold_end(n));
  timers_set(&t->timers, &c->timer, instant_add(now, t->settings.command_timeout));
  leave_release(n, now);
}

dibs_status lock_release(lock_table *t, uint64_t id, instant now)
{
  claim *c = claim_of(t, id);
  name *n;

  if (c == NULL)
    return DIBS_ERR_STALE;
  n = c->name;
  switch (c->state) {
  case CLAIM_HELD:
    holder_release(c, now);
    return DIBS_OK;
  case CLAIM_LOST:
    claim_end(c, &n->lost, LOCK_RELEASED, c->status);
    name_forget_if_unused(n);
    return DIBS_OK;
  case CLAIM_WAITING:
  case CLAIM_RELEASING:
  case CLAIM_OVER:
    break;
  }
  return DIBS_ERR_STALE;
}

dibs_status lock_raise(lock_table *t, uint64_t id, uint64_t token, instant now)
{
  claim *c = claim_of(t, id);

  (void)now;
  if (c == NULL || c->state != CLAIM_HELD)
    return DIBS_ERR_STALE;
  if (token <= c->name->lease.token || c->name->raise_to != 0)
    return DIBS_ERR_ARGUMENT;            /* of which lease the second would be, nobody knows */
  c->name->raise_to = token;
  c->name->raise_was_sent = false;
  name_due(c->name);
  return DIBS_OK;
}

dibs_status lock_detach(lock_table *t, uint64_t id, instant now)
{
  claim *c = claim_of(t, id);
  name *n;

  if (c == NULL || (c->state != CLAIM_HELD && c->state != CLAIM_LOST))
    return DIBS_ERR_STALE;
  n = c->name;
  if (c->state == CLAIM_LOST) {
    claim_end(c, &n->lost, LOCK_DETACHED, c->status);
    name_forget_if_unused(n);
    return DIBS_OK;
  }
  if (!lock_keep_alone(t, id))
    return DIBS_ERR_ARGUMENT;
  if (n->holders->next == NULL && !hold_remember_detached(n))
    return DIBS_ERR_NO_MEMORY;
  claim_end(c, &n->holders, LOCK_DETACHED, DIBS_OK);
  if (n->holders == NULL)
    hold_forget(n, now);
  return DIBS_OK;
}

bool lock_token(const lock_table *t, uint64_t id, text *out)
{
  const claim *c = claim_of(t, id);

  if (c == NULL || c->state != CLAIM_HELD)
    return false;
  return wire_token(c->name, out);
}

bool lock_next_event(lock_table *t, lock_event *ret)
{
  claim *c = t->telling;
  lock_event_kind kind = LOCK_GRANTED;

  if (c == NULL)
    return false;
  while ((c->events & (1u << kind)) == 0)
    kind++;
  c->events &= ~(1u << kind);

  *ret = (lock_event){ .kind = kind, .context = c->context, .id = c->id, .fence = c->fence,
                       .units = c->units, .depth = c->depth, .status = c->status,
                       .words = c->words != NULL ? c->words : "",
                       .acknowledged = c->acknowledged,
                       .replicas_wanted = c->replicas_wanted, .has_fsync = c->has_fsync };
  if (c->state == CLAIM_HELD) {
    ret->valid_until = hold_end(c->name);
    ret->token = c->name->lease.token;
  }
  if (c->state != CLAIM_OVER) {
    ret->name = c->name->bytes;
    ret->name_size = c->name->size;
  }

  if (c->events == 0) {
    DL_DELETE2(t->telling, c, previous_telling, next_telling);
    if (c->state == CLAIM_OVER) {
      t->counts.bytes -= sizeof(*c) + c->owner_size;
      mem_free(&t->memory, c->note);
      mem_free(&t->memory, c);
    }
  }
  return true;
}
