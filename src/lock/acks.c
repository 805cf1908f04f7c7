/* SPDX-License-Identifier: MIT */
/* lock/acks.c - a grant that counts only once replicas know of it (protocol.md 17).
 *
 *   granted -> ACKING: renew, [ROLE, to know how many a majority is,] WAIT -> HELD, or given back
 *
 * On a link of its own: WAIT stops its connection for everybody. */
#include "lock/table.h"

#define NOT_ENOUGH "too few replicas have acknowledged the lock in time; it was given back"

#define RETRY_MIN SPAN_MS(20)
#define RETRY_MAX SPAN_MS(50)

/* 0: a majority of a number that is not known. */
uint32_t acks_number(const name *n, const claim *c)
{
  return c->min_replicas > 0 ? (uint32_t)c->min_replicas : n->majority;
}

static bool are_enough(const name *n, const claim *c)
{
  uint32_t wanted = acks_number(n, c);

  if (c->min_replicas == 0)
    return true;
  if (c->wants_fsync && !n->has_fsync && !n->no_fsync)
    return false;
  return wanted > 0 && n->acknowledged >= wanted;
}

bool acks_are_wanted(const name *n, const claim *c)
{
  return n->acks_done_for != c->id && !are_enough(n, c);
}

static void step(name *n, ack_step to)
{
  route *r = n->route;

  n->ack_step = to;
  n->ack_is_sent = false;
  n->next_ack = NULL;
  if (r->last_ack != NULL)
    r->last_ack->next_ack = n;
  else
    r->first_ack = n;
  r->last_ack = n;
}

void acks_leave(name *n)
{
  route *r = n->route;
  name *before = NULL;

  timers_clear(&n->table->timers, &n->renew);
  for (name *a = r->first_ack; a != NULL; before = a, a = a->next_ack) {
    if (a != n)
      continue;
    if (before != NULL)
      before->next_ack = n->next_ack;
    else
      r->first_ack = n->next_ack;
    if (r->last_ack == n)
      r->last_ack = before;
    return;
  }
}

static void set_patience(name *n, instant now)
{
  const claim *c = n->waiting;
  instant at = instant_add(now, (span){ c->replicas_wait.ns +
                                        n->table->settings.command_timeout.ns });

  timers_set(&n->table->timers, &n->poll, instant_min(n->valid_until, at));
}

void acks_begin(name *n, const lease_id *lease, instant valid_until, instant now)
{
  const claim *c = n->waiting;

  n->state = NAME_ACKING;
  n->lease = *lease;
  n->valid_until = valid_until;
  n->ttl = c->ttl;
  n->limit = INSTANT_NEVER;              /* those were of the holder before */
  n->is_fixed = false;
  n->acked_for = c->id;
  n->acked_at = now;
  n->route->wants_acks = true;
  n->acks_until = instant_add(now, c->replicas_wait);
  set_patience(n, now);
  step(n, ACKS_RENEW);
}

/* ---- asking ---- */

/* Answered long before its link would be taken for dead: longer waits are several. */
static span wait_span(const name *n, instant now)
{
  span left = instant_since(n->acks_until, now);
  span most = { n->table->settings.command_timeout.ns / 2 };

  return span_max(span_min(left, most), SPAN_MS(1));     /* WAIT 0 would be for ever */
}

static bool wait_command(const name *n, buffer *out, instant now)
{
  const claim *c = n->waiting;
  char count[12], ms[24];
  text number = text_over(count, sizeof(count)), time = text_over(ms, sizeof(ms));
  bool has_fsync = c->wants_fsync && !n->no_fsync;
  resp_argument words[4] = { has_fsync ? RESP_TEXT("WAITAOF") : RESP_TEXT("WAIT") };
  size_t size = 1;

  text_add_uint(&number, n->replicas_wanted);
  text_add_int(&time, wire_ms(wait_span(n, now)));
  if (has_fsync)
    words[size++] = RESP_TEXT("1");
  words[size++] = (resp_argument){ count, number.used };
  words[size++] = (resp_argument){ ms, time.used };
  return resp_command(out, words, size);
}

static bool step_command(name *n, buffer *out, instant now)
{
  resp_argument role[1] = { RESP_TEXT("ROLE") };

  switch (n->ack_step) {
  case ACKS_RENEW:
    return wire_renew(n->route, out, &n, 1, now);
  case ACKS_ROLE:
    return resp_command(out, role, 1);
  case ACKS_WAIT:
    return wait_command(n, out, now);
  case ACKS_NONE:
    break;
  }
  return false;
}

bool lock_next_ack_command(lock_table *t, size_t number, buffer *out, uint64_t *ret_tag,
                           instant now)
{
  name *n = t->routes[number]->first_ack;

  while (n != NULL && n->ack_is_sent)
    n = n->next_ack;
  if (n == NULL)
    return false;
  *ret_tag = call_for_acks(n);
  if (*ret_tag == 0)
    return false;
  if (!step_command(n, out, now)) {
    call_free(n->table, slots_get(&n->table->call_slots, *ret_tag));
    return false;
  }
  n->ack_is_sent = true;
  return true;
}

void lock_acks_down(lock_table *t, size_t number, instant now)
{
  route *r = t->routes[number];

  (void)now;
  calls_cut_acks(r);
  for (name *n = r->first_ack; n != NULL; n = n->next_ack) {
    n->ack_step = ACKS_RENEW;            /* WAIT counts what was written on its own link */
    n->ack_is_sent = false;
  }
}

/* ---- what comes of it ---- */

/* Who stands first by now may not be he for whom it was asked. */
static void settle(name *n, uint32_t acknowledged, bool has_fsync, instant now)
{
  claim *c = n->waiting;
  lease_id lease = n->lease;
  bool is_other = c->id != n->acked_for;

  acks_leave(n);
  n->ack_step = ACKS_NONE;
  timers_clear(&n->table->timers, &n->poll);
  n->acknowledged = acknowledged;
  n->has_fsync = has_fsync;
  if (n->replicas_wanted == 0)
    n->replicas_wanted = 1;              /* asked for, and not even their number was told */
  if (is_other && acks_are_wanted(n, c) && instant_before(now, n->valid_until)) {
    acks_begin(n, &lease, n->valid_until, now);
    return;
  }
  if (!are_enough(n, c) && !c->reports_replicas) {
    claim_fail(c, DIBS_ERR_NOT_REPLICATED, NOT_ENOUGH);
    leave_release(n, now);
    return;
  }
  n->acks_done_for = c->id;
  hold_granted(n, &lease, n->valid_until, n->ttl, n->waiters_elsewhere, false, n->acked_at,
               now);
}

void acks_give_up(name *n, instant now)
{
  settle(n, 0, false, now);
}

static void renewed(name *n, const resp_reply *reply, instant sent_at, instant now)
{
  const claim *c = n->waiting;
  int32_t ppm = n->table->settings.clock_rate_error_ppm;
  renew_answer a;

  if (!native_renew_answer(reply, 0, &a) || !a.is_ours) {
    hold_not_ours(n, now);
    return;
  }
  n->waiters_elsewhere = a.waiters;
  n->valid_until = instant_max(n->valid_until,
                               lease_end(sent_at, span_ms(a.remaining_ms), ppm));
  n->acked_at = sent_at;
  n->acked_for = c->id;
  if (c->min_replicas == 0) {            /* who wanted them has gone */
    settle(n, 0, false, now);
    return;
  }
  acks_leave(n);
  set_patience(n, now);
  n->replicas_wanted = acks_number(n, c);
  step(n, n->replicas_wanted > 0 ? ACKS_WAIT : ACKS_ROLE);
}

/* ["master", offset, [replica, ...]]: with the primary, more than half. */
static void role_told(name *n, const resp_reply *reply, instant now)
{
  const resp_node *replicas = resp_child(reply, resp_root(reply), 2);

  if (replicas == NULL || replicas->kind != RESP_ARRAY || replicas->integer < 1) {
    settle(n, 0, false, now);
    return;
  }
  n->replicas_wanted = n->majority = (uint32_t)(replicas->integer + 1) / 2;
  acks_leave(n);
  step(n, ACKS_WAIT);
}

static void counted(name *n, uint32_t acknowledged, bool has_fsync, instant now)
{
  bool is_his = n->waiting->id == n->acked_for;

  if (is_his && acknowledged < n->replicas_wanted && instant_before(now, n->acks_until)) {
    acks_leave(n);
    step(n, ACKS_WAIT);
    return;
  }
  settle(n, acknowledged, has_fsync, now);
}

static void waited(name *n, const resp_reply *reply, instant now)
{
  const resp_node *root = resp_root(reply);
  const resp_node *local = resp_child(reply, root, 0), *others = resp_child(reply, root, 1);

  if (root->kind == RESP_INTEGER && root->integer >= 0)
    counted(n, (uint32_t)root->integer, false, now);
  else if (local != NULL && others != NULL && others->kind == RESP_INTEGER)
    counted(n, local->integer >= 1 && others->integer >= 0 ? (uint32_t)others->integer : 0,
            local->integer >= 1, now);
  else
    settle(n, 0, false, now);
}

/* The same once more, after a while. */
static void again_later(name *n, instant now)
{
  lock_table *t = n->table;

  timers_set(&t->timers, &n->renew,
             instant_add(now, random_span(&t->random, RETRY_MIN, RETRY_MAX)));
}

void acks_retry(name *n)
{
  n->ack_is_sent = false;
}

static lock_verdict refused(name *n, const resp_node *error, instant now)
{
  lock_table *t = n->table;
  resp_fault fault = resp_fault_of(error->bytes, error->size);
  bool is_elsewhere = fault == RESP_FAULT_MOVED || fault == RESP_FAULT_ASK ||
                      fault == RESP_FAULT_NO_SLOT;

  if (fault == RESP_FAULT_LATER || (is_elsewhere && t->settings.slots != NULL)) {
    again_later(n, now);
    t->redirect = (redirect){ .port = 0 };
    if (fault == RESP_FAULT_MOVED && redirect_read(error->bytes, error->size, &t->redirect))
      return LOCK_MOVED;                 /* name_move() begins anew where it is */
    return fault == RESP_FAULT_NO_SLOT ? LOCK_MOVED : LOCK_FINE;
  }
  if (n->ack_step == ACKS_RENEW && fault == RESP_FAULT_NO_SCRIPT) {
    n->route->renew_with_text = true;
    n->ack_is_sent = false;
  } else if (n->ack_step == ACKS_WAIT && n->waiting->wants_fsync && !n->no_fsync) {
    n->no_fsync = true;                  /* older than 7.2, or no append-only file here */
    n->ack_is_sent = false;
  } else {
    settle(n, 0, false, now);
  }
  return LOCK_FINE;
}

lock_verdict acks_answered(call *c, name *n, const resp_reply *reply, instant sent_at,
                           instant now)
{
  const resp_node *root = resp_root(reply);

  if (n == NULL || n->state != NAME_ACKING || !lease_id_equal(&n->lease, &c->lease) ||
      n->ack_step != c->ack_step || !n->ack_is_sent)
    return LOCK_FINE;
  if (root->kind == RESP_ERROR)
    return refused(n, root, now);
  if (n->ack_step == ACKS_RENEW)
    renewed(n, reply, sent_at, now);
  else if (n->ack_step == ACKS_ROLE)
    role_told(n, reply, now);
  else
    waited(n, reply, now);
  return LOCK_FINE;
}
