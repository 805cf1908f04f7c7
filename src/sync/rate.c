/* SPDX-License-Identifier: MIT */
/* sync/rate.c - rate limiters: setting them, taking permits at once, and waiting until the
 * time that the server named. */
#include "sync/rate.h"

#include <inttypes.h>

#define LOOK_EVERY_MS 10000            /* without a message: another rate, a release */
#define LOOK_EVERY_LEAST SPAN_MS(9000) /* the engine adds its jitter */
#define NOT_SET "no rate is set for this name; see dibs_rate_limiter_set()"

static const rate_op *asking(const sync_op *op)
{
  return (const rate_op *)(const void *)op;
}

static rate_op *reading(sync_op *op)
{
  return (rate_op *)(void *)op;
}

static bool encode(rate_encode *request_of, const sync_op *op, const protocol *p, request *out)
{
  const rate_op *r = asking(op);
  rate_call c = r->call;

  c.name = r->name;
  c.name_size = r->name_size;
  c.id = r->id;
  return request_of(p, out, &c);
}

static sync_next odd(void)
{
  return sync_over(DIBS_ERR_PROTOCOL, "unexpected reply to a rate limiter script");
}

/* ---- the rate ---- */

static bool set_ask(const sync_op *op, const protocol *p, request *out)
{
  return encode(rate_set, op, p, out);
}

static sync_next set_read(sync_op *op, const resp_reply *reply)
{
  int64_t done;

  (void)op;
  if (!rate_change_answer(reply, &done))
    return odd();
  if (done < 0)
    return sync_over(DIBS_ERR_NOT_SET, NOT_SET);
  return done == 1 ? sync_over(DIBS_OK, "")
                   : sync_over(DIBS_BUSY, "the limiter has a rate already, which was not changed; "
                                          "DIBS_RATE_UPDATE or DIBS_RATE_RESET replaces it");
}

const sync_row rate_set_row = { .name = "rate.set", .repeats_for = SYNC_REPEATS_FOR,
                                .ask = set_ask, .read = set_read };

static bool delete_ask(const sync_op *op, const protocol *p, request *out)
{
  return encode(rate_delete, op, p, out);
}

static sync_next delete_read(sync_op *op, const resp_reply *reply)
{
  sync_next next = set_read(op, reply);

  return next.status == DIBS_BUSY ? sync_over(DIBS_OK, "") : next;     /* there was none */
}

const sync_row rate_delete_row = { .name = "rate.delete", .repeats_for = SYNC_REPEATS_FOR,
                                   .ask = delete_ask, .read = delete_read };

static bool look_ask(const sync_op *op, const protocol *p, request *out)
{
  return encode(rate_look, op, p, out);
}

static sync_next look_read(sync_op *op, const resp_reply *reply)
{
  rate_op *r = reading(op);

  if (!rate_look_answer(reply, &r->state))
    return odd();
  return r->state.is_set ? sync_over(DIBS_OK, "") : sync_over(DIBS_ERR_NOT_SET, NOT_SET);
}

const sync_row rate_look_row = { .name = "rate.look", .only_reads = true, .ask = look_ask,
                                 .read = look_read };

/* ---- permits ---- */

static bool release_ask(const sync_op *op, const protocol *p, request *out)
{
  return encode(rate_release, op, p, out);
}

static sync_next release_read(sync_op *op, const resp_reply *reply)
{
  rate_op *r = reading(op);

  if (!rate_release_answer(reply, &r->given))
    return odd();
  return r->given >= 0 ? sync_over(DIBS_OK, "") : sync_over(DIBS_ERR_NOT_SET, NOT_SET);
}

const sync_row rate_release_row = { .name = "rate.release", .repeats_for = SYNC_REPEATS_FOR,
                                    .ask = release_ask, .read = release_read };

static bool acquire_ask(const sync_op *op, const protocol *p, request *out)
{
  return encode(rate_acquire, op, p, out);
}

static const char *too_many(rate_op *r)
{
  text why = text_over(r->why, sizeof(r->why));

  text_format(&why, "%" PRIu64 " permits are wanted at once; this limiter never has more than "
                    "%" PRId64 " in %" PRId64 " ms",
              r->call.permits, r->answer.rate, r->answer.interval_ms);
  return r->why;
}

static const char *too_early(rate_op *r)
{
  text why = text_over(r->why, sizeof(r->why));

  text_format(&why, "the rate is used up: as many permits are free again in %" PRId64 " ms",
              r->answer.wait_ms);
  return r->why;
}

static sync_next try_read(sync_op *op, const resp_reply *reply)
{
  rate_op *r = reading(op);

  if (!rate_acquire_answer(reply, &r->answer))
    return odd();
  switch (r->answer.outcome) {
  case RATE_GRANTED:
    return sync_over(DIBS_OK, "");
  case RATE_LATER:
    return sync_over(DIBS_BUSY, too_early(r));
  case RATE_NOT_SET:
    return sync_over(DIBS_ERR_NOT_SET, NOT_SET);
  case RATE_TOO_MANY:
    return sync_over(DIBS_ERR_ARGUMENT, too_many(r));
  }
  return odd();
}

/* Many clients may have got the same moment: adds up to a sixteenth of the wait, 2 to 20
 * ms. */
static span jitter(rate_op *r, int64_t wait_ms)
{
  span most = span_min(span_max(span_ms(wait_ms / 16), SPAN_MS(2)), SPAN_MS(20));

  return random_span(&r->random, (span){ 0 }, most);
}

static sync_next acquire_read(sync_op *op, const resp_reply *reply)
{
  rate_op *r = reading(op);
  sync_next next = try_read(op, reply);
  int64_t wait_ms = r->answer.wait_ms;
  instant at;

  if (next.status != DIBS_BUSY)
    return next;
  if (wait_ms > LOOK_EVERY_MS)
    wait_ms = LOOK_EVERY_MS;
  at = instant_add(instant_add(op->now, span_ms(wait_ms)), jitter(r, wait_ms));
  r->asks_at = instant_min(at, instant_add(op->now, LOOK_EVERY_LEAST));
  return sync_repeat_at(at);
}

/* A request that is under way may still be granted: its permits are not used. */
static bool acquire_undo(const sync_op *op, const protocol *p, request *out)
{
  return !instant_before(op->now, asking(op)->asks_at) && encode(rate_cancel, op, p, out);
}

const sync_row rate_acquire_row = { .name = "rate.acquire",
                                    .every = { LOOK_EVERY_MS * INT64_C(1000000) },
                                    .ask = acquire_ask, .read = acquire_read,
                                    .undo = acquire_undo };

/* Its asks_at stays 0: always under way. */
const sync_row rate_try_row = { .name = "rate.try", .ask = acquire_ask, .read = try_read,
                                .undo = acquire_undo };
