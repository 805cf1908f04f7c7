/* SPDX-License-Identifier: MIT */
/* quorum/held.c - a majority of leases, from the grant to the release.
 *
 * `stage` in RECORD_HELD: the time to report the loss; in RECORD_ENDING: the end of
 * validity, when the remaining leases are released. */
#include "quorum/internal.h"

#include <assert.h>

#include "base/fence.h"

#define LOST_NOTICE_MAX SPAN_MS(5)

instant held_end(const quorum_record *r)
{
  return instant_min(r->valid_until, r->limit);
}

/* The end of the majority: at that instant one lease too few is valid. A member lease counts only
 * with the fence's token, so that the next holder's majority contains such a lease.
 * `ret_fresh`: those that are not suspect. false: no majority. */
static bool majority_until(const quorum_record *r, instant now, instant *ret_until,
                           size_t *ret_fresh)
{
  const quorum *q = r->quorum;
  instant ends[QUORUM_SERVERS_MAX] = { { 0 } };
  size_t count = 0;

  *ret_fresh = 0;
  for (size_t i = 0; i < q->count; i++) {
    const member_lease *m = &r->members[i];
    size_t at = count;

    if (!member_stands(m, now) || m->token < r->token)
      continue;
    *ret_fresh += !m->is_suspect;
    for (; at > 0 && instant_before(ends[at - 1], m->valid_until); at--)
      ends[at] = ends[at - 1];
    ends[at] = m->valid_until;
    count++;
  }
  if (count < q->majority)
    return false;
  *ret_until = ends[q->majority - 1];
  return true;
}

/* A loss is reported a little before the end, to allow for a delayed report. */
static void set_deadline(quorum_record *r)
{
  span notice = span_min(LOST_NOTICE_MAX, (span){ r->ttl.ns / 20 });
  instant at = held_end(r);

  at.ns -= notice.ns;
  timers_set(&r->quorum->timers, &r->stage, at);
  holders_end_at(&r->claims, held_end(r));
}

static void set_repair(quorum_record *r, span low, span high, instant now)
{
  quorum *q = r->quorum;

  if (r->is_fixed)
    return;                            /* a repaired lease would end later than the others */
  timers_set(&q->timers, &r->repair, instant_add(now, random_span(&q->random, low, high)));
}

/* A lease was lost. Others may have been ended, too, by a break at all servers: without messages
 * each would be noticed, and repaired, at its own next renewal, and the majority never be lost. */
void held_reduced(quorum_record *r, instant now)
{
  for (size_t i = 0; i < r->quorum->count; i++)
    if (r->members[i].state == MEMBER_GRANTED)
      hold_check_now(r->quorum->servers[i].front, r->members[i].id);
  set_repair(r, SPAN_MS(20), SPAN_MS(200), now);
}

static void set_next_repair(quorum_record *r, instant now)
{
  span third = span_max((span){ r->ttl.ns / 3 }, SPAN_MS(20));

  set_repair(r, (span){ third.ns - third.ns / 10 }, third, now);
}

/* ---- the grant ---- */

/* After a split of the votes others have the rest for a moment only. */
static bool is_refused_somewhere(const quorum_record *r)
{
  for (size_t i = 0; i < r->quorum->count; i++)
    if (r->members[i].state == MEMBER_BUSY)
      return true;
  return false;
}

static void raise_lower(quorum_record *r, instant now)
{
  for (size_t i = 0; i < r->quorum->count; i++)
    if (r->members[i].state == MEMBER_GRANTED)
      member_raise(&r->members[i], r->token, now);
}

/* A fixed hold begins when a majority has granted it, and its leases end together. */
void held_fix(member_lease *m, instant now)
{
  quorum_record *r = m->record;

  if (!r->is_fixed || !member_stands(m, now))
    return;
  m->valid_until = instant_min(m->valid_until, r->limit);
  hold_limit(r->quorum->servers[member_server(m)].front, m->id, r->limit, true);
}

static instant limit_of(const quorum_record *r, instant now)
{
  span max_hold = extras_of(wish_of(&r->claims))->max_hold;
  instant limit = max_hold.ns > 0 ? instant_add(now, max_hold) : INSTANT_NEVER;

  return r->is_fixed ? instant_min(limit, instant_add(now, r->ttl)) : limit;
}

void held_begin(quorum_record *r, uint64_t token, instant now)
{
  quorum *q = r->quorum;
  size_t fresh;
  bool is_there;

  r->token = token;
  r->limit = limit_of(r, now);
  for (size_t i = 0; i < q->count; i++)
    held_fix(&r->members[i], now);
  is_there = majority_until(r, now, &r->valid_until, &fresh);
  assert(is_there);                    /* round.c has just counted them */
  (void)is_there;
  r->state = RECORD_HELD;
  r->is_raising = r->is_probing = r->is_short = false;
  r->rests = r->probes = 0;
  r->is_suspect = fresh < q->majority;
  if (is_refused_somewhere(r))
    set_repair(r, SPAN_MS(20), SPAN_MS(200), now);
  else
    set_next_repair(r, now);
  raise_lower(r, now);
  waiter_holds(&r->claims, fence_of_token(token, 0), 1, r->is_suspect);
  set_deadline(r);
  record_tries_end(r, NULL, now);
}

/* ---- while it is held ---- */

static void give_up(quorum_record *r, const char *words, instant end, instant now)
{
  quorum *q = r->quorum;

  holders_lose(&r->claims, DIBS_LOST, words);
  timers_clear(&q->timers, &r->repair);
  if (!instant_before(now, end)) {
    record_leave(r, now);
    return;
  }
  /* A holder may not know of the loss yet: no other client may get the name before the end. */
  r->state = RECORD_ENDING;
  timers_set(&q->timers, &r->stage, end);
  for (size_t i = 0; i < q->count; i++)
    if (r->members[i].state == MEMBER_PENDING)
      member_withdraw(&r->members[i], now);
}

static void give_up_for(quorum_record *r, const char *words, instant end, instant now)
{
  char bytes[512];
  text shown = text_over(bytes, sizeof(bytes));

  text_add(&shown, words);
  report_add_why(r, "; ", &shown);
  give_up(r, bytes, end, now);
}

void held_look(quorum_record *r, instant now)
{
  size_t fresh;
  instant before = r->valid_until, until = before;
  bool moved, was_suspect = r->is_suspect;

  if (!instant_before(now, r->stage.at)) {
    held_deadline(r, now);             /* the tables' timers come first */
    return;
  }
  if (!majority_until(r, now, &until, &fresh)) {
    r->quorum->backend.counts.renew_failed++;
    give_up_for(r, "fewer than a majority of the servers have this lease", now, now);
    return;
  }
  moved = until.ns != before.ns;
  r->valid_until = until;
  r->is_suspect = fresh < r->quorum->majority;
  if (moved) {
    r->quorum->backend.counts.renewed++;
    slack_note(&r->quorum->backend.counts.slack, instant_since(before, now), r->ttl, now);
    set_deadline(r);
  }
  if (moved || (was_suspect && !r->is_suspect))
    holders_report(&r->claims, LOCK_RENEWED);
  if (r->is_suspect && (moved || !was_suspect))
    holders_report(&r->claims, LOCK_SUSPECT);
}

/* A member lease was granted late, or repaired, or has the fence's token now. */
void held_granted(member_lease *m, instant now)
{
  quorum_record *r = m->record;

  if (r->is_downgraded)
    (void)hold_downgrade(r->quorum->servers[member_server(m)].front, m->id, now);
  member_raise(m, r->token, now);
  held_look(r, now);
}

void held_deadline(quorum_record *r, instant now)
{
  bool by_limit = !instant_before(r->valid_until, r->limit);

  if (r->state == RECORD_ENDING)
    record_leave(r, now);
  else if (by_limit || r->is_fixed)
    give_up(r, r->is_fixed ? "the fixed lease is over" : "max_hold_ms is over", held_end(r), now);
  else
    give_up_for(r, "not renewed in time by a majority", held_end(r), now);
}

/* Takes lost leases of a minority again, so that the next loss is tolerated, too. */
void held_repair(quorum_record *r, instant now)
{
  for (size_t i = 0; i < r->quorum->count; i++) {
    member_lease *m = &r->members[i];

    if (instant_before(now, m->kept_off_until))
      continue;
    if (m->state == MEMBER_NONE || m->state == MEMBER_BUSY || m->state == MEMBER_FAULTY)
      member_cast(m, true, r->token, now);
  }
  set_next_repair(r, now);
}

void held_downgrade(quorum_record *r, instant now)
{
  r->is_downgraded = true;
  r->reads = true;
  for (size_t i = 0; i < r->quorum->count; i++)
    if (r->members[i].state == MEMBER_GRANTED)
      (void)hold_downgrade(r->quorum->servers[i].front, r->members[i].id, now);
}

/* ---- the release ---- */

void held_release(quorum_record *r, instant now)
{
  quorum *q = r->quorum;

  holders_release(&r->claims, instant_add(now, q->command_timeout));
  record_leave(r, now);
}

/* Done when other clients can find a majority free, and the replies show whether it was held until
 * then: after that, servers without replies are not waited for. `asked` of them were asked for a
 * lease and gave none yet: nothing was held there. */
void held_left(quorum_record *r)
{
  const quorum *q = r->quorum;
  size_t open = 0, asked = 0, unknown = 0, done = 0, taken = 0;
  dibs_status status = DIBS_OK;
  bool is_undecided;

  if (r->state != RECORD_LEAVING || r->claims.holders == NULL)
    return;
  for (size_t i = 0; i < q->count; i++) {
    const member_lease *m = &r->members[i];
    bool is_left = m->state == MEMBER_LEFT;

    open += m->state == MEMBER_LEAVING;
    asked += m->state == MEMBER_CANCELLED;
    unknown += is_left && m->why == DIBS_UNKNOWN;
    done += is_left && m->why == DIBS_OK;
    taken += is_left && m->why == DIBS_TAKEN;
  }
  is_undecided = open + asked + unknown > q->count - q->majority ||
                 (done < q->majority && done + open + unknown >= q->majority);
  if (open > 0 && is_undecided)
    return;
  if (is_undecided)
    status = DIBS_UNKNOWN;
  else if (done < q->majority)
    status = taken >= q->majority ? DIBS_TAKEN : DIBS_LOST;   /* a majority is taken */
  r->quorum->backend.counts.released += claims_count(r->claims.holders);
  holders_end(&r->claims, status,
              status == DIBS_OK        ? ""
              : status == DIBS_UNKNOWN ? "fewer than a majority of the servers "
                                         "confirmed the release in time"
                                       : "it had ended before it was released");
}
