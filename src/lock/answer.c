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
    lock_server_time(t, a.server_us, sent_at, now);
  if (n != NULL)
    ask_answered(n, c, &a, sent_at, now);
  return LOCK_FINE;
}

static lock_verdict answer_release(const call *c, name *n, const resp_reply *reply, instant now)
{
  release_answer a;

  if (!native_release_answer(reply, &a))
    return LOCK_BROKEN;
  if (n != NULL && n->state == NAME_RELEASING && lease_id_equal(&n->lease, &c->lease))
    leave_released(n, &a, now);
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
  t->renew_with_text = t->link_is_doubtful = false;
  lock_server_time(t, server_us, sent_at, now);
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

/* ---- refusals: the table of reliability.md B30 ---- */

/* An explicit refusal: this sending was not executed, an earlier one may have been. */
static void not_executed(name *n, const call *c)
{
  if (c->kind == CALL_ACQUIRE && n->ask == c->ask)
    n->ask_was_sent = n->ask_was_repeated;
  if (c->kind == CALL_RELEASE && lease_id_equal(&n->lease, &c->lease))
    n->release_was_sent = n->release_was_repeated;
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
  case CALL_RENEW:
  case CALL_STRAY:
  case CALL_NOTE:
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
    t->renew_with_text = true;
}

static void keep_words(lock_table *t, const resp_node *error)
{
  text shown = text_over(t->fault_words, sizeof(t->fault_words));

  for (size_t i = 0; i < error->size; i++) {
    char byte = error->bytes[i];
    char printable = byte >= ' ' && byte <= '~' ? byte : '?';
    text_add_bytes(&shown, &printable, 1);
  }
}

static lock_verdict refused(lock_table *t, const call *c, name *n, const resp_node *error,
                            instant now)
{
  resp_fault fault = resp_fault_of(error->bytes, error->size);

  keep_words(t, error);
  if (n != NULL)
    not_executed(n, c);
  if (fault == RESP_FAULT_READ_ONLY)
    return LOCK_READ_ONLY;             /* everything open is asked again elsewhere */
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

lock_verdict lock_answer(lock_table *t, uint64_t tag, instant sent_at, const resp_reply *reply,
                         instant now)
{
  call *c = slots_get(&t->call_slots, tag);
  lock_verdict verdict = LOCK_FINE;
  name *n;

  if (c == NULL)
    return LOCK_FINE;
  n = c->name_id != 0 ? call_name(t, c->name_id) : NULL;

  if (resp_root(reply)->kind == RESP_ERROR)
    verdict = refused(t, c, n, resp_root(reply), now);
  else if (c->kind == CALL_ACQUIRE)
    verdict = answer_acquire(t, c, n, sent_at, reply, now);
  else if (c->kind == CALL_RELEASE)
    verdict = answer_release(c, n, reply, now);
  else if (c->kind == CALL_CANCEL)
    verdict = answer_cancel(c, n, reply, now);
  else if (c->kind == CALL_RENEW)
    verdict = answer_renew(t, c, sent_at, reply, now);

  if (verdict == LOCK_FINE && resp_root(reply)->kind != RESP_ERROR)
    lock_can_write(t, now);
  call_free(t, c);
  return verdict;
}
