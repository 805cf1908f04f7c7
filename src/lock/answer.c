/* SPDX-License-Identifier: MIT */
/* lock/answer.c - replies and refusals: their effect on the names of a call. */
#include "lock/table.h"

static lock_verdict answer_acquire(lock_table *t, const call *c, lease *l, instant sent_at,
                                   const resp_reply *reply, instant now)
{
  acquire_answer a = { .units = 1 };

  if (l == NULL && c->lease_kind == LEASE_SET)
    return LOCK_FINE;                    /* the names needed to read it are gone */
  if (!wire_acquire_answer(t, c, l, reply, &a))
    return LOCK_BROKEN;
  if (a.server_us > 0)
    server_clock_learn(&c->route->clock, a.server_us, sent_at, now);
  if (l != NULL)
    lease_become(l, ask_answered(l, c, &a, sent_at, now), now);
  return LOCK_FINE;
}

static bool is_releasing(const lease *l, const call *c)
{
  return l != NULL && l->state == LEASE_RELEASING && lease_id_equal(&l->term.id, &c->lease);
}

/* Another string is stored, or the server does not execute the command: the script decides. */
static void release_by_script(lease *l, const call *c)
{
  if (!is_releasing(l, c))
    return;
  l->term.is_as_granted = false;
  lease_due(l);
}

static void released(lease *l, const call *c, const release_answer *a, instant sent_at, instant now)
{
  if (!is_releasing(l, c))
    return;
  again_keep(l, now);
  lease_become(l, leave_released(l, a, sent_at, now), now);
}

static lock_verdict answer_release(const call *c, lease *l, instant sent_at,
                                   const resp_reply *reply, instant now)
{
  release_answer a;

  if (!native_release_answer(reply, &a))
    return LOCK_BROKEN;
  if (a.has_ifeq && c->route->ifeq == IFEQ_UNKNOWN)
    c->route->ifeq = IFEQ_KNOWN;
  released(l, c, &a, sent_at, now);
  return LOCK_FINE;
}

static lock_verdict answer_ifeq(const call *c, lease *l, instant sent_at, const resp_reply *reply,
                                instant now)
{
  bool is_done;

  if (!native_release_ifeq_answer(reply, &is_done))
    return LOCK_BROKEN;
  if (is_done) {
    released(l, c, &(release_answer){ .outcome = RELEASE_DONE }, sent_at, now);
  } else if (l != NULL) {
    call_not_executed(l, c);
    release_by_script(l, c);
  }
  return LOCK_FINE;
}

static bool renewed_name(const lease *l, const call *c, size_t i)
{
  return l != NULL &&
         lease_is_in(l, STATES_RENEWED) &&
         lease_id_equal(&l->term.id, &c->renewals[i].lease);
}

static bool set_renew_answer(const resp_reply *reply, size_t count, renew_answer *ret)
{
  renew_answer all = renew_answer_of_set();

  for (size_t i = 0; i < count; i++) {
    renew_answer a;

    if (!native_renew_answer(reply, i, &a))
      return false;
    renew_answer_add(&all, &a);
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
    lease *l = call_name(t, c->renewals[i].lease_number);
    renew_answer a;

    if (l == NULL)
      continue;
    if (l->kind == LEASE_SET ? !set_renew_answer(reply, l->many.count, &a)
                            : !native_renew_answer(reply, i, &a))
      return LOCK_BROKEN;
    if (!renewed_name(l, c, i))
      continue;
    if (c->renewals[i].mode == l->mode)
      l->is_downgrading = false;
    if (c->renewals[i].is_still)
      a.remaining_ms = 0;                /* clients that watch the lease saw no renewal */
    lease_become(l, hold_renewed(l, &a, c->renewals[i].reports != l->term.reports, sent_at, now),
                 now);
  }
  return LOCK_FINE;
}

static lock_verdict answer_cancel(const call *c, lease *l, const resp_reply *reply, instant now)
{
  if (!native_cancel_answer(reply))
    return LOCK_BROKEN;
  if (l != NULL && l->state == LEASE_CANCELLING && l->ask.number == c->ask)
    lease_become(l, leave_cancelled(l), now);
  return LOCK_FINE;
}

/* DIBS_LOST: the server no longer has the lease. */
static void raise_failed(lease *l, dibs_status status, const char *words, instant now)
{
  l->term.raise_to = 0;
  if (l->state != LEASE_HELD && l->state != LEASE_PARKED)
    lease_due(l);
  else
    lease_become(l, status == DIBS_LOST ? hold_gone(l) : hold_lost(l, status, words), now);
}

/* The reason of a renewal that failed stays until the next one. */
static void raise_reason_ends(lease *l)
{
  if (!l->term.is_suspect)
    holders_say(&l->claims, "");
}

/* Before it is done no renewal is sent: what refuses it is the reason of a loss. */
static void raise_refused(lease *l, dibs_status status, bool is_repeated, instant now)
{
  l->term.raise_was_sent = false;
  if (is_repeated) {
    holders_say(&l->claims, l->table->fault_words);
    lease_retry(l, now);
  } else if (park_renumber_refused(l)) {
    raise_reason_ends(l);
  } else {
    raise_failed(l, status, l->table->fault_words, now);
  }
}

static void holders_raised(lease *l)
{
  holders_set_fence(&l->claims, fence_of(l, l->term.id.token));
  if (l->state != LEASE_HELD)
    return;
  holders_report(&l->claims, LOCK_RAISED);
  lease_renewal_due(l);
}

static lock_verdict answer_raise(const call *c, lease *l, const resp_reply *reply, instant now)
{
  if (!native_cancel_answer(reply))
    return LOCK_BROKEN;
  if (l == NULL || l->term.raise_to != c->token || !lease_id_equal(&l->term.id, &c->lease))
    return LOCK_FINE;
  if (resp_root(reply)->integer == 0) {
    raise_failed(l, DIBS_LOST, "", now);
    return LOCK_FINE;
  }
  l->term.raise_to = 0;
  raise_reason_ends(l);
  l->term.id.token = c->token;
  hold_remember_token(l, now);
  if (!park_renumbered(l))
    holders_raised(l);
  if (l->state == LEASE_RELEASING)
    lease_due(l);                        /* it waited for this reply */
  return LOCK_FINE;
}

/* ---- refusals ---- */

/* Of several copies, it is not known which ones were executed. */
static void copy_not_executed(unsigned *sendings)
{
  if (*sendings == 1)
    *sendings = 0;
}

/* An explicit refusal: this copy was not executed, an earlier one may have been. */
void call_not_executed(lease *l, const call *c)
{
  if (c->kind == CALL_ACQUIRE && l->ask.number == c->ask)
    copy_not_executed(&l->ask.sendings);
  if (c->kind == CALL_RELEASE && lease_id_equal(&l->term.id, &c->lease))
    copy_not_executed(&l->end_sendings);
  if (c->kind == CALL_RAISE && l->term.raise_to == c->token)
    l->term.raise_was_sent = false;
}

/* Repeated until the lease or the place in the queue has ended by itself: a server that forbids
 * or cannot execute it now may do so later. Claims that wait for the end would be refused, too. */
static void end_refused(lease *l, dibs_status status, bool is_brief, instant now)
{
  if (!is_brief)
    waiters_fail(&l->claims, status, l->table->fault_words);
  holders_say(&l->claims, l->table->fault_words);
  lease_retry(l, now);
}

static void refuse_name(lease *l, const call *c, resp_fault fault, instant now)
{
  lock_table *t = l->table;
  dibs_status status = resp_fault_status(fault);
  bool later = resp_fault_passes(fault), is_brief = later || fault == RESP_FAULT_REFUSED;

  switch (c->kind) {
  case CALL_ACQUIRE:
    if (!lease_is_in(l, STATES_ASK) || l->ask.number != c->ask)
      return;
    if (later || (fault == RESP_FAULT_REFUSED && l->ask.was_answered)) {
      lease_undecided(l, status, now);   /* a full server still has its place in the queue */
      lease_retry(l, now);
      return;
    }
    if (l->ask.sendings > 1)             /* an earlier copy may have been executed */
      claims_fail(l, status, t->fault_words);
    else
      waiters_fail(&l->claims, status, t->fault_words);
    lease_become(l, lease_unwanted(l, now), now);
    return;
  case CALL_RELEASE:
    if (!is_releasing(l, c))
      return;
    if (fault == RESP_FAULT_WRONG_TYPE)
      lease_become(l, leave_refused(l, DIBS_LOST, t->fault_words), now);
    else
      end_refused(l, status, is_brief, now);
    return;
  case CALL_CANCEL:
    if (l->state != LEASE_CANCELLING || l->ask.number != c->ask)
      return;
    if (fault == RESP_FAULT_WRONG_TYPE)
      lease_become(l, leave_cancelled(l), now);
    else
      end_refused(l, status, is_brief, now);
    return;
  case CALL_RAISE:
    if (l->term.raise_to == c->token && lease_id_equal(&l->term.id, &c->lease))
      raise_refused(l, status, later, now);
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
    lease *l = call_name(t, c->renewals[i].lease_number);

    if (!renewed_name(l, c, i))
      continue;
    l->renewing_at = NULL;
    if (fault == RESP_FAULT_NO_SCRIPT)
      lease_renewal_due(l);
    else
      hold_renew_failed(l, t->fault_words, now);
  }
  if (fault == RESP_FAULT_NO_SCRIPT)
    c->route->renew_with_text = true;
}

/* A queue, a full server or one that is busy say nothing of the command itself. */
static void refuse_ifeq(lease *l, const call *c, resp_fault fault)
{
  if (fault != RESP_FAULT_WRONG_TYPE && fault != RESP_FAULT_REFUSED && !resp_fault_passes(fault))
    c->route->ifeq = IFEQ_REFUSED;
  release_by_script(l, c);
}

void fault_words_keep(lock_table *t, const resp_node *error)
{
  text shown = text_over(t->fault_words, sizeof(t->fault_words));

  resp_fault_add(error->bytes, error->size, &shown);
}

/* Whether the name still waits for the result of this call; its timers belong to that. */
static bool is_current(const lease *l, const call *c)
{
  switch (c->kind) {
  case CALL_ACQUIRE:
    return lease_is_in(l, STATES_ASK) && l->ask.number == c->ask;
  case CALL_CANCEL:
    return l->state == LEASE_CANCELLING && l->ask.number == c->ask;
  case CALL_RELEASE:
    return is_releasing(l, c);
  case CALL_RAISE:
    return l->term.raise_to == c->token && lease_id_equal(&l->term.id, &c->lease);
  case CALL_RENEW:
    return renewed_name(l, c, 0);
  case CALL_STRAY:
  case CALL_NOTE:
  case CALL_ACKS:
    break;
  }
  return false;
}

/* Sets a repetition in case the new address stays unknown. NULL: the call is not current. */
static lease *redirected_name(lock_table *t, const call *c, lease *l, instant now)
{
  if (c->kind == CALL_RENEW)
    l = c->count == 1 ? call_name(t, c->renewals[0].lease_number) : NULL;
  if (l == NULL || !is_current(l, c))
    return NULL;
  if (c->kind == CALL_RENEW)
    hold_renew_failed(l, t->fault_words, now);
  else
    lease_retry(l, now);
  return l;
}

/* The name waits until the engine finds its slot's server; otherwise it asks again after a
 * pause. */
static lock_verdict redirected(lock_table *t, call *c, lease *l, const resp_node *error,
                               resp_fault fault, instant now)
{
  l = redirected_name(t, c, l, now);
  t->redirect = (redirect){ .port = 0 };
  if (l != NULL && c->kind == CALL_ACQUIRE && fault == RESP_FAULT_NO_SLOT)
    lease_undecided(l, resp_fault_status(fault), now);
  if (c->kind == CALL_STRAY)
    orphan_again(t, c, fault != RESP_FAULT_NO_SLOT);
  if (fault == RESP_FAULT_NO_SLOT)
    return LOCK_MOVED;
  if (!redirect_read(error->bytes, error->size, &t->redirect))
    return LOCK_BROKEN;
  if (l != NULL) {
    l->is_redirected = true;
    l->redirects++;
  }
  return t->redirect.is_ask ? LOCK_ASK : LOCK_MOVED;
}

/* All open requests are repeated at another server. */
static lock_verdict read_only(lock_table *t, call *c)
{
  if (c->kind == CALL_STRAY)
    orphan_again(t, c, false);
  return LOCK_READ_ONLY;
}

static bool is_elsewhere(resp_fault fault)
{
  return fault == RESP_FAULT_MOVED || fault == RESP_FAULT_ASK || fault == RESP_FAULT_NO_SLOT;
}

/* A script may fail in its middle, after it has granted or ended the lease. A full server or one
 * without its replicas refuses the first write of an ask, and with it the whole. */
static bool may_be_half_done(const call *c, const resp_node *error, resp_fault fault)
{
  bool is_of_one_command = fault == RESP_FAULT_DENIED || fault == RESP_FAULT_WRONG_TYPE ||
                           fault == RESP_FAULT_OTHER;

  return resp_fault_in_script(error->bytes, error->size) &&
         (c->kind == CALL_RELEASE || (c->kind == CALL_ACQUIRE && is_of_one_command));
}

static lock_verdict refused(lock_table *t, call *c, lease *l, const resp_node *error,
                            instant now)
{
  resp_fault fault = resp_fault_of(error->bytes, error->size);

  fault_words_keep(t, error);
  if (l != NULL && !may_be_half_done(c, error, fault))
    call_not_executed(l, c);
  if (is_elsewhere(fault) && t->settings.slots != NULL)
    return redirected(t, c, l, error, fault, now);
  if (fault == RESP_FAULT_READ_ONLY)
    return read_only(t, c);
  if (c->kind == CALL_STRAY && (resp_fault_passes(fault) || fault == RESP_FAULT_NO_SCRIPT))
    orphan_again(t, c, false);
  if (c->kind == CALL_RENEW) {
    refuse_renewals(t, c, fault, now);
  } else if (c->is_ifeq) {
    refuse_ifeq(l, c, fault);
  } else if (l != NULL && fault == RESP_FAULT_NO_SCRIPT) {
    l->with_text = true;
    lease_due(l);
  } else if (l != NULL) {
    refuse_name(l, c, fault, now);
  }
  return fault == RESP_FAULT_NO_PRIMARY ? LOCK_NO_PRIMARY : LOCK_FINE;
}

/* The request was redirected to this server, which cannot execute it, and its link is
 * closed. A reconnect does not repeat requests of other routes: schedule them now. */
static void turned_away(lock_table *t, const call *c, const char *words, instant now)
{
  for (size_t i = 0; i < (c->count > 0 ? c->count : 1); i++) {
    lease *l = call_name(t, c->count > 0 ? c->renewals[i].lease_number : c->lease_number);

    if (l != NULL && c->kind == CALL_RAISE)
      l->term.raise_was_sent = false;
    if (l == NULL || l->route == c->route || c->kind == CALL_ACKS)
      continue;
    if (c->kind != CALL_RENEW) {
      lease_retry(l, now);
    } else if (renewed_name(l, c, i)) {
      l->renewing_at = NULL;
      hold_renew_failed(l, words, now);
    }
  }
}

bool lock_is_ask(const lock_table *t, uint64_t tag)
{
  const call *c = slots_get(&t->call_slots, tag);

  return c != NULL && c->kind == CALL_ACQUIRE;
}

lock_verdict lock_answer(lock_table *t, uint64_t tag, instant sent_at, const resp_reply *reply,
                         instant now)
{
  call *c = slots_get(&t->call_slots, tag);
  lock_verdict verdict = LOCK_FINE;
  lease *l;

  if (c == NULL)
    return LOCK_FINE;
  l = c->lease_number != 0 ? call_name(t, c->lease_number) : NULL;

  if (l != NULL && resp_root(reply)->kind != RESP_ERROR) {
    l->redirects = 0;
    lease_decided(l, now);
  }
  if (c->kind == CALL_ACKS)
    verdict = acks_answered(c, l, reply, sent_at, now);
  else if (resp_root(reply)->kind == RESP_ERROR)
    verdict = refused(t, c, l, resp_root(reply), now);
  else if (c->kind == CALL_ACQUIRE)
    verdict = answer_acquire(t, c, l, sent_at, reply, now);
  else if (c->is_ifeq)
    verdict = answer_ifeq(c, l, sent_at, reply, now);
  else if (c->kind == CALL_RELEASE)
    verdict = answer_release(c, l, sent_at, reply, now);
  else if (c->kind == CALL_CANCEL)
    verdict = answer_cancel(c, l, reply, now);
  else if (c->kind == CALL_RENEW)
    verdict = answer_renew(t, c, sent_at, reply, now);
  else if (c->kind == CALL_RAISE)
    verdict = answer_raise(c, l, reply, now);

  if (verdict == LOCK_FINE && resp_root(reply)->kind != RESP_ERROR) {
    route_can_write(c->route, now);
    if (c->is_again)
      t->again_pauses = 0;
  }
  if (verdict == LOCK_READ_ONLY || verdict == LOCK_BROKEN)
    turned_away(t, c, verdict == LOCK_BROKEN ? "unexpected reply" : t->fault_words, now);
  call_free(t, c);
  return verdict;
}
