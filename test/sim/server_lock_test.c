/* SPDX-License-Identifier: MIT */
/* The simulated server: our own scripts answer as doc/design/protocol.md says. */
#include "tests.h"
#include "server/talk.h"

#include <string.h>

#include "dialect/native.h"
#include "rendered.h"

#define OTHER "BBBBBBBBBBBBBBBBBBBBBB"
#define NONCE UINT64_C(12345678901234567890)

static const protocol me = { .prefix = "dibs", .client = "AAAAAAAAAAAAAAAAAAAAAA" };
static const protocol you = { .prefix = "dibs", .client = OTHER };

/* The answer to what `out` holds, read as a client would. */
static resp_reply *answer(talk *t, buffer *out)
{
  resp_reader *reader = resp_reader_new(talk_memory(), RESP_LIMITS_DEFAULT);
  resp_reply *r = NULL;
  const char *bytes;
  size_t size;

  sim_server_receive(t->server, t->own, buffer_bytes(out), buffer_size(out));
  bytes = sim_connection_output(t->own, &size);
  assert_int_equal(resp_reader_feed(reader, bytes, size), DIBS_OK);
  assert_int_equal(resp_reader_next(reader, &r), DIBS_OK);
  assert_non_null(r);
  sim_connection_sent(t->own, size);
  resp_reader_free(reader);
  buffer_deinit(out);
  return r;
}

static buffer empty_buffer(void)
{
  buffer out;

  buffer_init(&out, talk_memory());
  return out;
}

static acquire_answer acquire(talk *t, const protocol *who, uint64_t ask, bool waits)
{
  acquire_call c = { .name = "x", .name_size = 1, .ask = ask, .ttl_ms = 30000,
                     .waits = waits, .nonce = NONCE, .estimate_us = START_US };
  buffer out = empty_buffer();
  acquire_answer a;
  resp_reply *r;

  assert_true(RENDERED(native_acquire, who, &out, true, &c));
  r = answer(t, &out);
  assert_true(native_acquire_answer(who, ask, 30000, r, &a));
  resp_reply_free(r);
  return a;
}

static release_outcome release(talk *t, const protocol *who, const lease_id *lease)
{
  buffer out = empty_buffer();
  release_answer a;
  resp_reply *r;

  assert_true(RENDERED(native_release, who, &out, true, "x", 1, lease, START_US));
  r = answer(t, &out);
  assert_true(native_release_answer(r, &a));
  resp_reply_free(r);
  return a.outcome;
}

TEST(an_acquire_grants_repeats_and_refuses)
{
  talk *t = *state;
  acquire_answer a = acquire(t, &me, 1, false);

  assert_int_equal(a.outcome, ACQUIRE_GRANTED);
  assert_int_equal(a.lease.token, START_US);
  assert_int_equal(a.remaining_ms, 30000);
  assert_string_equal(sim_server_key_text(t->server, "dibs:m:{x}", 10),
                      "string \"AAAAAAAAAAAAAAAAAAAAAA:1:1700000000000000 30000 30000 0 0\" "
                      "until 1700003600000");
  talk_at(t, 100000);
  a = acquire(t, &me, 1, false);
  assert_int_equal(a.outcome, ACQUIRE_AGAIN);
  assert_int_equal(a.remaining_ms, 29900);
  a = acquire(t, &you, 1, false);
  assert_int_equal(a.outcome, ACQUIRE_BUSY);
  assert_string_equal(a.lease.client, me.client);
}

TEST(a_renewal_lengthens_and_counts)
{
  talk *t = *state;
  acquire_answer a = acquire(t, &me, 1, false);
  renew_item item = { "x", 1, &a.lease, 30000 };
  buffer out = empty_buffer();
  renew_answer renewed;
  resp_reply *r;

  talk_at(t, 10000000);
  assert_true(RENDERED(native_renew, &me, &out, true, &item, 1, START_US + 10000000));
  r = answer(t, &out);
  assert_true(native_renew_answer(r, 0, &renewed));
  assert_true(renewed.is_ours);
  assert_int_equal(renewed.remaining_ms, 30000);
  resp_reply_free(r);
  assert_int_equal(acquire(t, &you, 1, false).renewals, 1);
}

TEST(a_release_hands_over_with_one_message)
{
  talk *t = *state;
  sim_connection *inbox = sim_server_accept(t->server);
  acquire_answer a = acquire(t, &me, 1, false);

  assert_int_equal(acquire(t, &you, 1, true).outcome, ACQUIRE_NO_SUBSCRIBER);
  (void)talk_say_by(t, inbox, "SUBSCRIBE dibs:inbox:" OTHER);
  assert_int_equal(acquire(t, &you, 2, true).outcome, ACQUIRE_WAITING);
  talk_at(t, 5000000);
  assert_int_equal(release(t, &me, &a.lease), RELEASE_DONE);
  assert_non_null(strstr(talk_heard(t, inbox),
                         "grant:12345678901234567890 " OTHER ":2:1700000005000000 30000 0 x"));
  a = acquire(t, &you, 2, true);
  assert_int_equal(a.outcome, ACQUIRE_AGAIN);
  assert_int_equal(release(t, &you, &a.lease), RELEASE_DONE);
  assert_int_equal(release(t, &you, &a.lease), RELEASE_DONE);
  assert_int_equal(acquire(t, &you, 2, true).outcome, ACQUIRE_ENDED);
}

TEST(a_lease_that_is_over_is_taken_by_its_deadline)
{
  talk *t = *state;
  acquire_call c = { .name = "x", .name_size = 1, .ask = 1, .ttl_ms = 30000 };
  acquire_answer first = acquire(t, &me, 1, false), a;
  buffer out = empty_buffer();
  resp_reply *r;

  talk_at(t, 31000001);
  c.estimate_us = START_US + 31000001;
  assert_true(RENDERED(native_acquire, &you, &out, true, &c));
  r = answer(t, &out);
  assert_true(native_acquire_answer(&you, 1, 30000, r, &a));
  resp_reply_free(r);
  assert_int_equal(a.outcome, ACQUIRE_GRANTED);
  assert_int_equal(release(t, &me, &first.lease), RELEASE_TAKEN);
}

static acquire_answer share(talk *t, const protocol *who, uint64_t ask, char mode)
{
  share_call c = { .name = "x", .name_size = 1, .ask = ask, .mode = mode, .units = 1,
                   .ttl_ms = 30000, .estimate_us = START_US };
  buffer out = empty_buffer();
  acquire_answer a;
  resp_reply *r;

  assert_true(RENDERED(native_share_acquire, who, &out, true, &c));
  r = answer(t, &out);
  assert_true(native_share_answer(who, ask, r, &a));
  resp_reply_free(r);
  return a;
}

TEST(readers_share_and_keep_a_writer_out)
{
  talk *t = *state;
  acquire_answer one = share(t, &me, 1, 'r');
  buffer out = empty_buffer();
  release_answer released;
  resp_reply *r;

  assert_int_equal(one.outcome, ACQUIRE_GRANTED);
  assert_int_equal(share(t, &you, 1, 'r').outcome, ACQUIRE_GRANTED);
  assert_int_equal(share(t, &me, 2, 'w').outcome, ACQUIRE_BUSY);
  assert_true(RENDERED(native_share_release, &me, &out, true, "x", 1, &one.lease, 0,
                       START_US));
  r = answer(t, &out);
  assert_true(native_release_answer(r, &released));
  assert_int_equal(released.outcome, RELEASE_DONE);
  resp_reply_free(r);
  assert_int_equal(share(t, &me, 3, 'w').outcome, ACQUIRE_BUSY);
}

TEST(permits_are_counted)
{
  talk *t = *state;
  buffer out = empty_buffer();
  bool is_done;
  uint64_t limit;
  resp_reply *r;

  assert_int_equal(share(t, &me, 1, 'p').outcome, ACQUIRE_NOT_SET);
  assert_true(RENDERED(native_share_set, &me, &out, true, "x", 1, SHARE_SET, 2,
                       START_US));
  r = answer(t, &out);
  assert_true(native_share_set_answer(r, &is_done, &limit));
  resp_reply_free(r);
  assert_true(is_done);
  assert_int_equal(share(t, &me, 2, 'p').outcome, ACQUIRE_GRANTED);
  assert_int_equal(share(t, &me, 3, 'p').outcome, ACQUIRE_GRANTED);
  assert_int_equal(share(t, &you, 1, 'p').outcome, ACQUIRE_BUSY);
}

RUN_TESTS_EACH(NULL, NULL, talk_set_up, talk_tear_down)
