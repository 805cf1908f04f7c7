/* SPDX-License-Identifier: MIT */
/* lock/acks.c - grants that count only after replicas have acknowledged them (protocol.md
 * 17).
 *
 *   granted -> ACKING: renew, [ROLE, for the number of a majority,] WAIT -> HELD, or
 *   released
 *
 * On a separate link: WAIT blocks its connection. So there is one at a time, for all leases whose
 * renewal was answered, and it is short: others that come meanwhile have to be renewed. */
#include "lock/table.h"

#define RETRY_MIN SPAN_MS(20)
#define RETRY_MAX SPAN_MS(50)
#define TURN_MIN SPAN_MS(10)     /* of one WAIT; twice as long after each that was in vain */
#define TURN_MAX SPAN_MS(50)

bool acks_reserve(lease *l)
{
  lock_table *t = l->table;

  if (l->acks != NULL)
    return true;
  l->acks = mem_zalloc(&t->memory, sizeof(*l->acks));
  if (l->acks == NULL)
    return false;
  t->backend.counts.bytes += sizeof(*l->acks);
  return true;
}

/* 0: a majority of a number that is not known yet. */
uint32_t acks_number(const lease *l, const claim_terms *wish)
{
  int32_t wanted = extras_of(wish)->min_replicas;

  return wanted > 0 ? (uint32_t)wanted : l->acks->majority;
}

static bool are_enough(const lease *l, const claim_terms *wish)
{
  uint32_t wanted;

  if (extras_of(wish)->min_replicas == 0)
    return true;
  wanted = acks_number(l, wish);
  if (extras_of(wish)->wants_fsync && !l->acks->has_fsync && !l->acks->no_fsync)
    return false;
  return wanted > 0 && l->acks->acknowledged >= wanted;
}

bool acks_are_wanted(const lease *l, const claim_terms *wish, uint64_t id)
{
  return !are_enough(l, wish) && l->acks->done_claim_id != id;
}

void acks_forget(lease *l)
{
  l->acks->acknowledged = l->acks->wanted = l->acks->majority = 0;
  l->acks->done_claim_id = 0;
  l->acks->has_fsync = false;
}

static void step(lease *l, ack_step to)
{
  route *r = l->route;

  l->acks->step = to;
  l->acks->is_sent = l->acks->is_in_wait = false;
  l->acks->next = NULL;
  if (r->last_ack != NULL)
    r->last_ack->acks->next = l;
  else
    r->first_ack = l;
  r->last_ack = l;
}

void acks_leave(lease *l)
{
  route *r = l->route;
  lease *before = NULL;

  timers_clear(&l->table->timers, &l->renew);
  for (lease *a = r->first_ack; a != NULL; before = a, a = a->acks->next) {
    if (a != l)
      continue;
    if (before != NULL)
      before->acks->next = l->acks->next;
    else
      r->first_ack = l->acks->next;
    if (r->last_ack == l)
      r->last_ack = before;
    return;
  }
}

/* Nothing renews the lease meanwhile, and its holder needs some of it. */
static instant before_end(const lease *l, int part)
{
  return instant_add(l->term.valid_until, (span){ -l->term.ttl.ns / part });
}

static instant waits_until(const lease *l)
{
  return instant_min(l->acks->until, before_end(l, 4));
}

/* However often its link breaks. */
static void set_patience(lease *l, instant now)
{
  instant at = instant_add(l->acks->until, l->table->settings.command_timeout);
  instant last = before_end(l, 8);       /* later than waits_until(): the reply takes time */

  if (!instant_before(now, last))
    last = l->term.valid_until;          /* not renewed yet */
  timers_set(&l->table->timers, &l->poll, instant_min(last, at));
}

lease_state acks_begin(lease *l, const lease_id *id, instant valid_until, instant now)
{
  const claim_terms *wish = wish_of(&l->claims);

  l->term.id = *id;
  l->term.valid_until = valid_until;
  l->term.ttl = wish->ttl;
  l->term.limit = INSTANT_NEVER;              /* those were the former holder's */
  l->term.is_fixed = false;
  l->acks->claim_id = waiter_id(&l->claims);
  l->acks->seen = 0;
  l->acks->renewed_at = now;
  l->route->wants_acks = true;
  l->acks->until = instant_add(now, extras_of(wish)->replicas_wait);
  set_patience(l, now);
  step(l, ACKS_RENEW);
  return LEASE_ACKING;
}

/* ---- asking ---- */

static bool needs_fsync(const lease *l)
{
  return extras_of(wish_of(&l->claims))->wants_fsync && !l->acks->no_fsync;
}

/* Whether the next WAIT, which is made for `first`, is for `l`, too. */
static bool is_for(const lease *l, const lease *first)
{
  return l->acks->step == ACKS_WAIT && !l->acks->is_sent && needs_fsync(l) == needs_fsync(first);
}

/* It ends when the one that wants the fewest has them, or has no more time. */
static bool wait_command(const lease *first, request *out, instant now)
{
  char count[12], ms[24];
  text number = text_over(count, sizeof(count)), time = text_over(ms, sizeof(ms));
  resp_argument words[4] = { needs_fsync(first) ? RESP_TEXT("WAITAOF") : RESP_TEXT("WAIT") };
  span turn = first->route->wait_turn;
  uint32_t fewest = first->acks->wanted;
  size_t size = 1;

  for (const lease *l = first; l != NULL; l = l->acks->next) {
    if (!is_for(l, first))
      continue;
    turn = span_min(turn, instant_since(waits_until(l), now));
    if (l->acks->wanted < fewest)
      fewest = l->acks->wanted;
  }
  turn = span_max(turn, SPAN_MS(1));     /* WAIT 0 would wait for ever */
  text_add_uint(&number, fewest);
  text_add_int(&time, wire_ms(turn));
  if (needs_fsync(first))
    words[size++] = RESP_TEXT("1");
  words[size++] = (resp_argument){ count, number.used };
  words[size++] = (resp_argument){ ms, time.used };
  return request_command(out, words, size);
}

static void wait_sent(lease *first)
{
  first->route->wait_is_out = true;
  for (lease *l = first->acks->next; l != NULL; l = l->acks->next)
    if (is_for(l, first))
      l->acks->is_sent = l->acks->is_in_wait = true;
  first->acks->is_in_wait = true;
}

static bool step_command(lease *l, request *out, instant now)
{
  resp_argument role[1] = { RESP_TEXT("ROLE") };

  switch (l->acks->step) {
  case ACKS_RENEW:
    if (!wire_renew(l->route, out, &l, 1, now))
      return false;
    out->carries_text = l->route->renew_with_text;
    return true;
  case ACKS_ROLE:
    return request_command(out, role, 1);
  case ACKS_WAIT:
    return wait_command(l, out, now);
  case ACKS_NONE:
    break;
  }
  return false;
}

/* What blocks the link goes last. */
static lease *next_to_send(const route *r)
{
  lease *waits = NULL;

  for (lease *l = r->first_ack; l != NULL; l = l->acks->next) {
    if (!l->acks->is_sent && l->acks->step != ACKS_WAIT)
      return l;
    if (!l->acks->is_sent && waits == NULL)
      waits = l;
  }
  return r->wait_is_out ? NULL : waits;
}

bool lock_next_ack_command(lock_table *t, size_t number, request *out, uint64_t *ret_tag,
                           instant now)
{
  lease *l = next_to_send(t->routes[number]);

  if (l == NULL)
    return false;
  *ret_tag = call_for_acks(l);
  if (*ret_tag == 0)
    return false;
  if (!step_command(l, out, now)) {
    call_free(l->table, slots_get(&l->table->call_slots, *ret_tag));
    return false;
  }
  if (l->acks->step == ACKS_WAIT)
    wait_sent(l);
  l->acks->is_sent = true;
  return true;
}

void acks_renew(lease *l)
{
  l->acks->step = ACKS_RENEW;
  l->acks->is_sent = l->acks->is_in_wait = false;
}

void lock_acks_down(lock_table *t, size_t number, instant now)
{
  route *r = t->routes[number];

  (void)now;
  calls_cut_acks(r);
  r->wait_is_out = false;
  for (lease *l = r->first_ack; l != NULL; l = l->acks->next)
    acks_renew(l);                       /* WAIT counts what was written on its own link */
}

/* ---- replies ---- */

const char *acks_too_few_words(lease *l)
{
  text shown = text_over(l->table->fault_words, sizeof(l->table->fault_words));

  if (l->acks->wanted == 0)
    text_add(&shown, "the server has not said how many replicas it has");
  else
    text_format(&shown, "%u of %u replicas acknowledged the lock", l->acks->seen,
                l->acks->wanted);
  text_add(&shown, " in time; it was given back");
  return l->table->fault_words;
}

/* The first waiter may have changed since WAIT was sent. Where too few have it, its claim fails
 * with `status`. `words`: why; NULL: no server has said why. */
static lease_state settle_with(lease *l, uint32_t acknowledged, bool has_fsync, dibs_status status,
                               const char *words, instant now)
{
  const claim_terms *wish = wish_of(&l->claims);
  uint64_t waiter = waiter_id(&l->claims);
  lease_id id = l->term.id;
  bool is_other = waiter != l->acks->claim_id;

  acks_leave(l);
  l->acks->step = ACKS_NONE;
  timers_clear(&l->table->timers, &l->poll);
  l->acks->acknowledged = acknowledged;
  l->acks->has_fsync = has_fsync;
  if (is_other && acks_are_wanted(l, wish, waiter) && instant_before(now, l->term.valid_until)) {
    return acks_begin(l, &id, l->term.valid_until, now);
  }
  if (!are_enough(l, wish) && !extras_of(wish)->reports_replicas) {
    waiter_fail(&l->claims, status,
                words != NULL ? words : acks_too_few_words(l));
    return LEASE_RELEASING;
  }
  if (l->acks->wanted == 0)
    l->acks->wanted = 1;                 /* a majority was wanted, its number is unknown */
  l->acks->done_claim_id = waiter;
  return hold_granted(l, &id, l->term.valid_until, l->term.ttl, l->term.waiters_elsewhere,
                      false, l->acks->renewed_at, now);
}

static lease_state settle(lease *l, uint32_t acknowledged, bool has_fsync, instant now)
{
  return settle_with(l, acknowledged, has_fsync, DIBS_ERR_NOT_REPLICATED, NULL, now);
}

/* The server does not say how many replicas have it. Without the right to ask, it never will. */
static lease_state settle_refused(lease *l, const resp_node *error, instant now)
{
  bool is_forbidden = resp_fault_of(error->bytes, error->size) == RESP_FAULT_DENIED;
  char words[320];
  text shown = text_over(words, sizeof(words));

  fault_words_keep(l->table, error);
  text_format(&shown, "not known to be at enough replicas, and given back: %s",
              l->table->fault_words);
  return settle_with(l, 0, false, is_forbidden ? DIBS_ERR_DENIED : DIBS_ERR_NOT_REPLICATED, words,
                     now);
}

lease_state acks_give_up(lease *l, instant now)
{
  return settle(l, 0, false, now);
}

lease_state acks_unwanted(lease *l, instant now)
{
  (void)now;
  acks_leave(l);
  return LEASE_RELEASING;
}

static lease_state renewed(lease *l, const resp_reply *reply, instant sent_at, instant now)
{
  const claim_terms *wish = wish_of(&l->claims);
  int32_t ppm = l->table->settings.clock_rate_error_ppm;
  renew_answer a;

  if (!native_renew_answer(reply, 0, &a) || !a.is_ours) {
    return hold_not_ours(l, now);
  }
  hold_count_waiters(l, a.waiters);
  l->term.valid_until = instant_max(l->term.valid_until,
                                    lease_end(sent_at, span_ms(a.remaining_ms), ppm));
  l->acks->renewed_at = sent_at;
  if (extras_of(wish)->min_replicas == 0)
    return settle(l, 0, false, now);     /* the waiter that wanted acknowledgements has ended */
  acks_leave(l);
  set_patience(l, now);
  l->route->wait_turn = TURN_MIN;        /* others may come as soon */
  l->acks->wanted = acks_number(l, wish);
  step(l, l->acks->wanted > 0 ? ACKS_WAIT : ACKS_ROLE);
  return l->state;
}

/* ["master", offset, [replica, ...]]: a majority counts the primary too. */
static lease_state role_reported(lease *l, const resp_reply *reply, instant now)
{
  const resp_node *replicas = resp_child(reply, resp_root(reply), 2);

  if (replicas == NULL || replicas->kind != RESP_ARRAY)
    return settle(l, 0, false, now);
  if (replicas->integer < 1)
    return settle_with(l, 0, false, DIBS_ERR_NOT_REPLICATED,
                       "the server has no replicas; the lock was given back", now);
  l->acks->wanted = l->acks->majority = (uint32_t)(replicas->integer + 1) / 2;
  acks_leave(l);
  step(l, ACKS_WAIT);
  return l->state;
}

static lease_state counted(lease *l, uint32_t acknowledged, bool has_fsync, instant now)
{
  bool is_his = waiter_id(&l->claims) == l->acks->claim_id;

  l->acks->seen = acknowledged;
  if (is_his && acknowledged < l->acks->wanted && instant_before(now, waits_until(l))) {
    acks_leave(l);
    step(l, ACKS_WAIT);
    return l->state;
  }
  return settle(l, acknowledged, has_fsync, now);
}

static lease_state waited(lease *l, const resp_reply *reply, instant now)
{
  const resp_node *root = resp_root(reply);
  const resp_node *local = resp_child(reply, root, 0), *others = resp_child(reply, root, 1);

  if (root->kind == RESP_INTEGER && root->integer >= 0)
    return counted(l, (uint32_t)root->integer, false, now);
  if (local != NULL && others != NULL && others->kind == RESP_INTEGER)
    return counted(l, local->integer >= 1 && others->integer >= 0 ? (uint32_t)others->integer
                                                                 : 0,
                   local->integer >= 1, now);
  return settle(l, 0, false, now);
}

/* Repeats the step after a pause. */
static void again_later(lease *l, instant now)
{
  lock_table *t = l->table;

  timers_set(&t->timers, &l->renew,
             instant_add(now, random_span(&t->random, RETRY_MIN, RETRY_MAX)));
}

void acks_retry(lease *l)
{
  l->acks->is_sent = false;
}

static lock_verdict refused(lease *l, const resp_node *error, instant now)
{
  lock_table *t = l->table;
  resp_fault fault = resp_fault_of(error->bytes, error->size);
  bool is_elsewhere = fault == RESP_FAULT_MOVED || fault == RESP_FAULT_ASK ||
                      fault == RESP_FAULT_NO_SLOT;
  bool passes = fault == RESP_FAULT_LATER || fault == RESP_FAULT_NO_PRIMARY;

  if (passes || (is_elsewhere && t->settings.slots != NULL)) {
    again_later(l, now);
    t->redirect = (redirect){ .port = 0 };
    if (fault == RESP_FAULT_MOVED && redirect_read(error->bytes, error->size, &t->redirect))
      return LOCK_MOVED;                 /* lease_move() starts again on its new route */
    if (fault == RESP_FAULT_NO_PRIMARY)
      return LOCK_NO_PRIMARY;
    return fault == RESP_FAULT_NO_SLOT ? LOCK_MOVED : LOCK_FINE;
  }
  if (l->acks->step == ACKS_RENEW && fault == RESP_FAULT_NO_SCRIPT) {
    l->route->renew_with_text = true;
    l->acks->is_sent = false;
  } else if (l->acks->step == ACKS_WAIT && extras_of(wish_of(&l->claims))->wants_fsync &&
             !l->acks->no_fsync) {
    l->acks->no_fsync = true;            /* older than 7.2, or without an append-only file */
    l->acks->is_sent = false;
  } else {
    lease_become(l, settle_refused(l, error, now), now);
  }
  return LOCK_FINE;
}

static lease *next_in_wait(const route *r)
{
  lease *l = r->first_ack;

  while (l != NULL && !l->acks->is_in_wait)
    l = l->acks->next;
  return l;
}

/* Of each lease the reply is true: all were renewed before this WAIT. */
static lock_verdict wait_answered(route *r, const resp_reply *reply, instant now)
{
  const resp_node *root = resp_root(reply);
  lock_verdict verdict = LOCK_FINE;
  bool is_in_vain = true;
  lease_state to;
  lease *l;

  r->wait_is_out = false;
  while ((l = next_in_wait(r)) != NULL) {
    l->acks->is_in_wait = false;
    if (root->kind == RESP_ERROR) {
      verdict = refused(l, root, now);
      continue;
    }
    to = waited(l, reply, now);
    is_in_vain = is_in_vain && to == LEASE_ACKING;
    lease_become(l, to, now);
  }
  if (is_in_vain)
    r->wait_turn = span_min((span){ r->wait_turn.ns * 2 }, TURN_MAX);
  return verdict;
}

lock_verdict acks_answered(call *c, lease *l, const resp_reply *reply, instant sent_at,
                           instant now)
{
  const resp_node *root = resp_root(reply);

  if (c->ack_step == ACKS_WAIT)
    return wait_answered(c->route, reply, now);
  if (l == NULL || l->state != LEASE_ACKING || !lease_id_equal(&l->term.id, &c->lease) ||
      l->acks->step != c->ack_step || !l->acks->is_sent)
    return LOCK_FINE;
  if (root->kind == RESP_ERROR)
    return refused(l, root, now);
  if (l->acks->step == ACKS_RENEW)
    lease_become(l, renewed(l, reply, sent_at, now), now);
  else
    lease_become(l, role_reported(l, reply, now), now);
  return LOCK_FINE;
}
