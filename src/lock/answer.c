/* SPDX-License-Identifier: MIT */
/* Answers and refusals: what they mean for the names they are about. */
#include "lock/table.h"

static lock_verdict answer_acquire(lock_table *t, const call *c, name *n, instant sent_at,
                                   const resp_reply *reply, instant now)
{
  acquire_answer a = { .units = 1 };

  if (n == NULL && c->name_kind == NAME_SET)
    return LOCK_FINE;                    /* the names to read it by are gone */
  if (!wire_acquire_answer(t, c, n, reply, &a))
    return LOCK_BROKEN;
  if (a.server_us > 0)
    server_clock_learn(&c->route->clock, a.server_us, sent_at, now);
  if (n != NULL)
    ask_answered(n, c, &a, sent_at, now);
  return LOCK_FINE;
}

static lock_verdict answer_release(const call *c, name *n, instant sent_at,
                                   const resp_reply *reply, instant now)
{
  release_answer a;

  if (!native_release_answer(reply, &a))
    return LOCK_BROKEN;
  if (n != NULL && n->state == NAME_RELEASING && lease_id_equal(&n->lease, &c->lease))
    leave_released(n, &a, sent_at, now);
  return LOCK_FINE;
}

static bool renewed_name(const name *n, const call *c, size_t i)
{
  return n != NULL &&
         (n->state == NAME_HELD || n->state == NAME_CONFIRMING ||
          n->state == NAME_LINGERING) &&
         lease_id_equal(&n->lease, &c->renewals[i].lease);
}

/* A set has what all its members have. */
static bool set_renew_answer(const resp_reply *reply, size_t count, renew_answer *ret)
{
  renew_answer all = { .is_ours = true, .remaining_ms = INT64_MAX };

  for (size_t i = 0; i < count; i++) {
    renew_answer a;

    if (!native_renew_answer(reply, i, &a))
      return false;
    all.is_ours &= a.is_ours;
    all.waiters += a.waiters;
    if (a.remaining_ms < all.remaining_ms)
      all.remaining_ms = a.remaining_ms;
  }
  *ret = all;
  return true;
}

static lock_verdict answer_renew(lock_table *t, const call *c, instant sent_at,
                                 const resp_reply *reply, instant now)
{
  int64_t server_us;

  if (!native_renew_server_us(reply, &server_us))
    return LOCK_BROKEN;
  c->route->renew_with_text = c->route->link_is_doubtful = false;
  server_clock_learn(&c->route->clock, server_us, sent_at, now);
  for (size_t i = 0; i < c->count; i++) {
    name *n = call_name(t, c->renewals[i].name_id);
    renew_answer a;

    if (n == NULL)
      continue;
    if (n->kind == NAME_SET ? !set_renew_answer(reply, n->member_count, &a)
                            : !native_renew_answer(reply, i, &a))
      return LOCK_BROKEN;
    if (!renewed_name(n, c, i))
      continue;
    if (c->renewals[i].mode == n->mode)
      n->is_downgrading = false;
    if (c->renewals[i].is_still)
      a.remaining_ms = 0;                /* who watches the lease was told of no renewal */
    hold_renewed(n, &a, sent_at, now);
  }
  return LOCK_FINE;
}

static lock_verdict answer_cancel(const call *c, name *n, const resp_reply *reply, instant now)
{
  if (!native_cancel_answer(reply))
    return LOCK_BROKEN;
  if (n != NULL && n->state == NAME_CANCELLING && n->ask == c->ask)
    leave_cancelled(n, now);
  return LOCK_FINE;
}

static void raise_failed(name *n, const char *words, instant now)
{
  n->raise_to = 0;
  if (n->state == NAME_HELD)
    hold_lost(n, DIBS_LOST, words, now);
  else
    name_due(n);
}

static lock_verdict answer_raise(const call *c, name *n, const resp_reply *reply, instant now)
{
  if (!native_cancel_answer(reply))
    return LOCK_BROKEN;
  if (n == NULL || n->raise_to != c->token || !lease_id_equal(&n->lease, &c->lease))
    return LOCK_FINE;
  if (resp_root(reply)->integer == 0) {
    raise_failed(n, "the server no longer has this lease", now);
    return LOCK_FINE;
  }
  n->raise_to = 0;
  n->lease.token = c->token;
  if (c->token > n->table->floor)
    n->table->floor = c->token;
  for (claim *h = n->holders; h != NULL; h = h->next) {
    h->fence = fence_of(n, c->token);
    if (n->state == NAME_HELD)
      claim_tell(h, LOCK_RAISED);
  }
  if (n->state == NAME_HELD)
    name_renewal_due(n);
  else
    name_due(n);
  return LOCK_FINE;
}

/* ---- refusals: the table of reliability.md B30 ---- */

/* An explicit refusal: this sending was not executed, an earlier one may have been. */
void call_not_executed(name *n, const call *c)
{
  if (c->kind == CALL_ACQUIRE && n->ask == c->ask)
    n->ask_was_sent = n->ask_was_repeated;
  if (c->kind == CALL_RELEASE && lease_id_equal(&n->lease, &c->lease))
    n->release_was_sent = n->release_was_repeated;
  if (c->kind == CALL_RAISE && n->raise_to == c->token)
    n->raise_was_sent = false;
}

static void refuse_name(name *n, const call *c, resp_fault fault, instant now)
{
  lock_table *t = n->table;
  dibs_status status = resp_fault_status(fault);
  bool later = fault == RESP_FAULT_LATER;

  switch (c->kind) {
  case CALL_ACQUIRE:
    if ((n->state != NAME_ASKING && n->state != NAME_QUEUED) || n->ask != c->ask)
      return;
    if (later) {
      name_retry(n, now);
      return;
    }
    claims_fail(n, status, t->fault_words);
    ask_end(n, now);                     /* an earlier sending may have been served */
    return;
  case CALL_RELEASE:
    if (n->state != NAME_RELEASING || !lease_id_equal(&n->lease, &c->lease))
      return;
    if (later || fault == RESP_FAULT_REFUSED)
      name_retry(n, now);
    else
      leave_refused(n, fault == RESP_FAULT_WRONG_TYPE ? DIBS_LOST : status, t->fault_words,
                    now);
    return;
  case CALL_CANCEL:
    if (n->state != NAME_CANCELLING || n->ask != c->ask)
      return;
    if (later || fault == RESP_FAULT_REFUSED)
      name_retry(n, now);
    else
      leave_cancelled(n, now);
    return;
  case CALL_RAISE:
    if (n->raise_to == c->token && lease_id_equal(&n->lease, &c->lease)) {
      n->raise_was_sent = false;
      if (later)
        name_retry(n, now);
      else
        raise_failed(n, t->fault_words, now);
    }
    return;
  case CALL_RENEW:
  case CALL_STRAY:
  case CALL_NOTE:
  case CALL_ACKS:
    return;
  }
}

static void refuse_renewals(lock_table *t, const call *c, resp_fault fault, instant now)
{
  for (size_t i = 0; i < c->count; i++) {
    name *n = call_name(t, c->renewals[i].name_id);

    if (!renewed_name(n, c, i))
      continue;
    n->is_renewing = false;
    if (fault == RESP_FAULT_NO_SCRIPT)
      name_renewal_due(n);
    else
      hold_renew_failed(n, now);
  }
  if (fault == RESP_FAULT_NO_SCRIPT)
    c->route->renew_with_text = true;
}

static void keep_words(lock_table *t, const resp_node *error)
{
  const char *advice = resp_fault_advice(resp_fault_of(error->bytes, error->size));
  text shown = text_over(t->fault_words, sizeof(t->fault_words));

  if (advice != NULL) {
    text_add(&shown, advice);
    return;
  }
  for (size_t i = 0; i < error->size; i++) {
    char byte = error->bytes[i];
    char printable = byte >= ' ' && byte <= '~' ? byte : '?';
    text_add_bytes(&shown, &printable, 1);
  }
}

/* Whether the name still wants what this call asked for; its timers are about that. */
static bool is_current(const name *n, const call *c)
{
  switch (c->kind) {
  case CALL_ACQUIRE:
    return (n->state == NAME_ASKING || n->state == NAME_QUEUED) && n->ask == c->ask;
  case CALL_CANCEL:
    return n->state == NAME_CANCELLING && n->ask == c->ask;
  case CALL_RELEASE:
    return n->state == NAME_RELEASING && lease_id_equal(&n->lease, &c->lease);
  case CALL_RAISE:
    return n->raise_to == c->token && lease_id_equal(&n->lease, &c->lease);
  case CALL_RENEW:
    return renewed_name(n, c, 0);
  case CALL_STRAY:
  case CALL_NOTE:
  case CALL_ACKS:
    break;
  }
  return false;
}

/* Again after a while, should nobody say where it is. NULL: it wants something else by now. */
static name *redirected_name(lock_table *t, const call *c, name *n, instant now)
{
  if (c->kind == CALL_RENEW)
    n = c->count == 1 ? call_name(t, c->renewals[0].name_id) : NULL;
  if (n == NULL || !is_current(n, c))
    return NULL;
  if (c->kind == CALL_RENEW)
    hold_renew_failed(n, now);
  else
    name_retry(n, now);
  return n;
}

/* The name waits for the engine to say where its slot is; should it not know, it asks again
 * after a while. */
static lock_verdict redirected(lock_table *t, call *c, name *n, const resp_node *error,
                               resp_fault fault, instant now)
{
  n = redirected_name(t, c, n, now);
  t->redirect = (redirect){ .port = 0 };
  if (c->kind == CALL_STRAY)
    stray_again(t, c, fault != RESP_FAULT_NO_SLOT);
  if (fault == RESP_FAULT_NO_SLOT)
    return LOCK_MOVED;
  if (!redirect_read(error->bytes, error->size, &t->redirect))
    return LOCK_BROKEN;
  if (n != NULL) {
    n->is_redirected = true;
    n->redirects++;
  }
  return t->redirect.is_ask ? LOCK_ASK : LOCK_MOVED;
}

/* Everything open is asked again elsewhere. */
static lock_verdict read_only(lock_table *t, call *c)
{
  if (c->kind == CALL_STRAY)
    stray_again(t, c, false);
  return LOCK_READ_ONLY;
}

/* Who was given the URL of one server is led nowhere. */
static resp_fault fault_of(const lock_table *t, const resp_node *error)
{
  resp_fault fault = resp_fault_of(error->bytes, error->size);

  if (t->settings.slots != NULL)
    return fault;
  if (fault == RESP_FAULT_NO_SLOT)
    return RESP_FAULT_LATER;
  return fault == RESP_FAULT_MOVED || fault == RESP_FAULT_ASK ? RESP_FAULT_OTHER : fault;
}

static lock_verdict refused(lock_table *t, call *c, name *n, const resp_node *error,
                            instant now)
{
  resp_fault fault = fault_of(t, error);

  keep_words(t, error);
  if (n != NULL)
    call_not_executed(n, c);
  if (fault == RESP_FAULT_MOVED || fault == RESP_FAULT_ASK || fault == RESP_FAULT_NO_SLOT)
    return redirected(t, c, n, error, fault, now);
  if (fault == RESP_FAULT_READ_ONLY)
    return read_only(t, c);
  if (c->kind == CALL_STRAY && fault == RESP_FAULT_LATER)
    stray_again(t, c, false);
  if (c->kind == CALL_RENEW) {
    refuse_renewals(t, c, fault, now);
  } else if (n != NULL && fault == RESP_FAULT_NO_SCRIPT) {
    n->with_text = true;
    name_due(n);
  } else if (n != NULL) {
    refuse_name(n, c, fault, now);
  }
  return LOCK_FINE;
}

/* A server that will not do for what it was asked, since a slot is on its way there: its link
 * goes down, and coming up again it would remind nobody of a name whose route is another. */
static void turned_away(lock_table *t, const call *c, instant now)
{
  for (size_t i = 0; i < (c->count > 0 ? c->count : 1); i++) {
    name *n = call_name(t, c->count > 0 ? c->renewals[i].name_id : c->name_id);

    if (n == NULL || n->route == c->route || c->kind == CALL_ACKS)
      continue;
    if (c->kind == CALL_RAISE)
      n->raise_was_sent = false;
    if (c->kind != CALL_RENEW) {
      name_retry(n, now);
    } else if (renewed_name(n, c, i)) {
      n->is_renewing = false;
      hold_renew_failed(n, now);
    }
  }
}

lock_verdict lock_answer(lock_table *t, uint64_t tag, instant sent_at, const resp_reply *reply,
                         instant now)
{
  call *c = slots_get(&t->call_slots, tag);
  lock_verdict verdict = LOCK_FINE;
  name *n;

  if (c == NULL)
    return LOCK_FINE;
  n = c->name_id != 0 ? call_name(t, c->name_id) : NULL;

  if (n != NULL && resp_root(reply)->kind != RESP_ERROR)
    n->redirects = 0;
  if (c->kind == CALL_ACKS)
    verdict = acks_answered(c, n, reply, sent_at, now);
  else if (resp_root(reply)->kind == RESP_ERROR)
    verdict = refused(t, c, n, resp_root(reply), now);
  else if (c->kind == CALL_ACQUIRE)
    verdict = answer_acquire(t, c, n, sent_at, reply, now);
  else if (c->kind == CALL_RELEASE)
    verdict = answer_release(c, n, sent_at, reply, now);
  else if (c->kind == CALL_CANCEL)
    verdict = answer_cancel(c, n, reply, now);
  else if (c->kind == CALL_RENEW)
    verdict = answer_renew(t, c, sent_at, reply, now);
  else if (c->kind == CALL_RAISE)
    verdict = answer_raise(c, n, reply, now);

  if (verdict == LOCK_FINE && resp_root(reply)->kind != RESP_ERROR)
    route_can_write(c->route, now);
  if (verdict == LOCK_READ_ONLY || verdict == LOCK_BROKEN)
    turned_away(t, c, now);
  call_free(t, c);
  return verdict;
}
