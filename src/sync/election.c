/* SPDX-License-Identifier: MIT */
/* sync/election.c - reads the leader of an election.
 *
 * An observer asks when the election's channel has a message, every few seconds, and at
 * the end of the lease that it read. A lease that was not renewed for its whole length by
 * this machine's clock has ended for it, whatever the server's clock shows (protocol.md
 * 12). */
#include "sync/election.h"

#include <string.h>

void leader_read(const elect_answer *a, leader_state *ret)
{
  text client = text_over(ret->client, sizeof(ret->client));
  int64_t since_us = (int64_t)a->lease.token;       /* tokens are times of grants */

  ret->is_known = true;
  ret->is_led = a->is_held && !a->is_leaving && a->remaining_ms > 0;
  ret->is_published = ret->is_led && a->is_published;
  ret->epoch = a->epoch;
  ret->remaining_ms = ret->is_led ? a->remaining_ms : 0;
  ret->led_for_ms = ret->is_led && a->server_us > since_us ? (a->server_us - since_us) / 1000
                                                           : 0;
  if (ret->is_led)
    text_add(&client, a->lease.client);
  ret->value_size = ret->is_led ? a->value_size : 0;
  memcpy(ret->value, a->value, ret->value_size);
  ret->value[ret->value_size] = 0;
}

bool leader_is_same(const leader_state *a, const leader_state *b)
{
  return a->is_known == b->is_known && a->is_led == b->is_led &&
         a->is_published == b->is_published && a->epoch == b->epoch &&
         a->value_size == b->value_size &&
         memcmp(a->value, b->value, a->value_size) == 0;
}

/* ---- look ---- */

static bool look_ask(const sync_op *op, const protocol *p, request *out)
{
  const election_op *e = (const election_op *)(const void *)op;

  return native_elect_look(p, out, e->name, e->name_size);
}

static sync_next look_read(sync_op *op, const resp_reply *reply)
{
  election_op *e = (election_op *)(void *)op;
  elect_answer a;

  if (!native_elect_look_answer(reply, &a))
    return sync_over(DIBS_ERR_PROTOCOL, "unexpected reply to the script elect_look");
  leader_read(&a, &e->state);
  e->lease = a.lease;
  return sync_over(DIBS_OK, "");
}

const sync_row election_look_row = { .name = "election.look", .only_reads = true,
                                     .ask = look_ask, .read = look_read };

/* ---- observe ---- */

/* When this lease, if it is not renewed, ends by this machine's clock. */
static instant watch(election_op *e, const elect_answer *a)
{
  /* Adds one percent and 5 ms: more than two clocks may differ in rate. */
  span length = span_ms(a->lease_ms + a->lease_ms / 100 + 5);

  if (!lease_id_equal(&e->lease, &a->lease) || e->watched_renewals != a->renewals) {
    e->lease = a->lease;
    e->watched_renewals = a->renewals;
    e->watched_since = e->op.now;
  }
  return instant_add(e->watched_since, length);
}

static sync_next observe_read(sync_op *op, const resp_reply *reply)
{
  election_op *e = (election_op *)(void *)op;
  sync_next next = sync_repeat();
  leader_state state;
  elect_answer a;
  instant over_at;

  if (!native_elect_look_answer(reply, &a))
    return sync_over(DIBS_ERR_PROTOCOL, "unexpected reply to elect_look");
  over_at = watch(e, &a);
  if (!instant_before(op->now, over_at))
    a.remaining_ms = 0;
  leader_read(&a, &state);
  if (state.is_led)
    next.at = instant_min(over_at, instant_add(op->now, span_ms(state.remaining_ms + 1)));
  next.is_news = !leader_is_same(&e->state, &state);
  if (next.is_news)
    e->state = state;
  else
    e->state.remaining_ms = state.remaining_ms;
  return next;
}

static void observe_channel(const sync_op *op, const protocol *p, text *out)
{
  const election_op *e = (const election_op *)(const void *)op;

  native_election_channel(p, e->name, e->name_size, out);
}

const sync_row election_observe_row = { .name = "election.observe", .every = { 5000000000 },
                                        .only_reads = true, .is_patient = true,
                                        .ask = look_ask, .read = observe_read,
                                        .channel = observe_channel };
