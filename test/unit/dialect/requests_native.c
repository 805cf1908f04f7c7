/* SPDX-License-Identifier: MIT */
/* requests_native.c - the requests of the native dialect, and of synchronizers of any dialect. */
#include "requests.h"

#include "dialect/native/barrier.h"
#include "dialect/native/election.h"
#include "dialect/native/guard.h"
#include "dialect/native/latch.h"

#define HERE .prefix = "dibs", .client = ANNA

static const protocol here = { HERE };
static const lease_id lease = { .client = ANNA, .ask = 7, .token = 1700000000000000 };
static const lease_id of_bert = { .client = BERT, .ask = 3, .token = 99 };

static void lock_asks(void)
{
  static const protocol places[] = {
    { HERE, .has_sharded_channels = true }, { HERE, .quarantine_ms = 7000 },
    { HERE, .has_tags = true }, { HERE, .has_tags = true, .has_sharded_channels = true },
    { HERE, .has_tags = true, .quarantine_ms = 1 },
    { HERE, .has_tags = true, .has_sharded_channels = true, .quarantine_ms = 1 },
  };
  acquire_call c = { .name = "x", .name_size = 1, .ask = 8, .ttl_ms = 100, .until_us = -5 };

  FACT("native acquire: a try; what it does not have is 0 or -");
  SENT(native_acquire(&here, out, &c));
  FACT("native acquire: the lease that the client has detached is the last word");
  c.detached = &lease;
  SENT(native_acquire(&here, out, &c));
  FACT("native acquire: an ask that polls");
  c = (acquire_call){ .name = "x", .name_size = 1, .ask = 8, .ttl_ms = 100, .waits = true,
                      .polls = true, .give_up_us = 14 };
  SENT(native_acquire(&here, out, &c));
  FACT("native acquire: an ask that waits, with all its arguments; its lease may linger");
  c = (acquire_call){ .name = "two words", .name_size = 9, .ask = 8, .ttl_ms = 30000,
    .waits = true, .nonce = 42, .lingers = true, .until_us = 11, .estimate_us = 12,
    .min_token = 13, .give_up_us = 14, .watched = &of_bert, .watched_renewals = 15 };
  SENT(native_acquire(&here, out, &c));
  FACT("native acquire: after the first time and not after the last one, nothing is calculated");
  c = (acquire_call){ .name = "x", .name_size = 1, .ask = 8, .ttl_ms = 900000,
                      .estimate_us = 1700000000000000 };
  SENT(native_acquire(&here, out, &c));
  c.until_us = 1700000000250001;
  c.min_token = 1699999999749998;
  SENT(native_acquire(&here, out, &c));
  c.until_us = 1700000000249999;
  c.min_token = 1699999999750000;
  SENT(native_acquire(&here, out, &c));
  c.ttl_ms = 900001;
  SENT(native_acquire(&here, out, &c));
  FACT("native acquire: behind the prefix c: Cluster; s: with sharded channels; q: era guard");
  c = (acquire_call){ .name = "x{y}", .name_size = 4, .ask = 8, .ttl_ms = 100 };
  for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
    SENT(native_acquire(&places[i], out, &c));
}

static void lock_ends(void)
{
  static const protocol guarded = { HERE, .quarantine_ms = 9 };
  static const lease_string plain = { .ttl_ms = 30000 }, lingers = { 2000, true };
  renew_item items[] = { { "x", 1, &lease, 100 }, { "{y}", 3, &lease, 200 } };

  FACT("native release, break: the lease");
  SENT(native_release(&here, out, "x", 1, &lease, 77));
  SENT(native_break(&here, out, "x", 1, &lease, 77));
  FACT("native release by IFEQ: the whole string that lua/native/acquire.lua stored");
  SENT(native_release_ifeq(&here, out, "x", 1, &lease, &plain));
  SENT(native_release_ifeq(&here, out, "x", 1, &lease, &lingers));
  FACT("native cancel: the ask; behind it the lease that the client has detached");
  SENT(native_cancel(&here, out, "x", 1, 9, 123, 77, NULL));
  SENT(native_cancel(&here, out, "x", 1, 9, 123, 77, &lease));
  FACT("native renew: all locks, and then all leases");
  SENT(native_renew(&here, out, items, 2, 55));
  FACT("native raise: the lease and its new token");
  SENT(native_raise(&here, out, "x", 1, &lease, 1700000000000005));
  SENT(native_share_raise(&here, out, "x", 1, &lease, 1700000000000005));
  FACT("native inspect: the lock, and the prefix for the inboxes; in doubt of the server's clock");
  SENT(native_inspect(&here, out, "x", 1));
  SENT(native_inspect_in_doubt(&here, out, "x", 1));
  FACT("native with an era guard: whatever can make an owner has the key of the era as its last");
  SENT(native_release(&guarded, out, "x", 1, &lease, 77));
  SENT(native_break(&guarded, out, "x", 1, &lease, 77));
  SENT(native_cancel(&guarded, out, "x", 1, 9, 0, 77, NULL));
  SENT(native_renew(&guarded, out, items, 2, 55));
}

static void shares(void)
{
  const share_renew_item items[] = { { "x", 1, &lease, 100, 'r', 0, false },
                                     { "{y}", 3, &lease, 0, 'p', 5, false } };
  share_call c = { .name = "two words", .name_size = 9, .ask = 8, .mode = 'r', .units = 1,
    .ttl_ms = 30000, .waits = true, .nonce = UINT64_MAX, .until_us = 11, .estimate_us = 12,
    .min_token = 13, .give_up_us = 14, .watched = &of_bert, .watched_renewals = 15 };

  FACT("native share_acquire: a reader that waits, with all its arguments");
  SENT(native_share_acquire(&here, out, &c));
  FACT("native share_acquire: permits are counted in the mode; the limit is behind them");
  c = (share_call){ .name = "x", .name_size = 1, .ask = 8, .mode = 'p', .units = 5,
                    .ttl_ms = 100, .until_us = -5 };
  SENT(native_share_acquire(&here, out, &c));
  c.limit = 7;
  SENT(native_share_acquire(&here, out, &c));
  FACT("native share_release, share_cancel: the ask, apart from the token");
  SENT(native_share_release(&here, out, "x", 1, &lease, 123, 77));
  SENT(native_share_cancel(&here, out, "x", 1, 9, 123, 77));
  FACT("native share_renew: of each lease what it is to be: its length and mode");
  SENT(native_share_renew(&here, out, items, 2, 55));
  FACT("native share_set: the number of permits is set, set if there is none, or deleted");
  SENT(native_share_set(&here, out, "x", 1, SHARE_SET, 5, 77));
  SENT(native_share_set(&here, out, "x", 1, SHARE_SET_IF_ABSENT, 5, 77));
  SENT(native_share_set(&here, out, "x", 1, SHARE_DELETE, 0, 77));
}

static void sets(void)
{
  static const lease_id of_set = { .client = ANNA, .set = 3, .ask = 7, .token = 1700000000000000 };
  static const lease_id watched = { .client = BERT, .set = 9, .ask = 3, .token = 99 };
  static const many_name names[] = { { "a", 1 }, { "two words", 9 } };
  static const many_name spelled[] = { { "x", 1 }, { "y", 1 }, { "yy", 2 }, { "{x}", 3 } };
  static const many_name other[] = { { "y", 1 }, { "{x}", 3 } };
  many_call c = { .names = names, .count = 1, .set = 1, .ask = 8, .ttl_ms = 100,
                  .until_us = -5 };

  FACT("native many_acquire: a try for a set of one name");
  SENT(native_many_acquire(&here, out, &c));
  FACT("native many_acquire: a set that waits and keeps what is free, with all its arguments");
  c = (many_call){ .names = names, .count = 2, .set = 4294967295u, .ask = 8, .ttl_ms = 30000,
    .waits = true, .nonce = 42, .keeps = true, .until_us = 11, .estimate_us = 12,
    .min_token = 13, .give_up_us = 14, .watched = &watched, .watched_renewals = 15 };
  SENT(native_many_acquire(&here, out, &c));
  FACT("native many_release, many_cancel: all members");
  SENT(native_many_release(&here, out, names, 2, &of_set, 77));
  SENT(native_many_cancel(&here, out, names, 2, 3, 9, 123, -1));
  FACT("native raise: of a set, all members");
  SENT(native_many_raise(&here, out, names, 2, &of_set, 1700000000000005));
  FACT("native many: members are sorted by their keys, not their names, and each is sent once");
  SENT(native_many_cancel(&here, out, spelled, 4, 3, 9, 0, 0));
  c = (many_call){ .names = other, .count = 2, .set = 1, .ask = 8, .ttl_ms = 100 };
  SENT(native_many_acquire(&here, out, &c));
}

static void latches(void)
{
  latch_call c = { .name = "gate", .name_size = 4, .number = 7, .count = 3, .id = "part",
                   .id_size = 4 };

  FACT("latch: its keys, its channel, and what is counted");
  SENT(native_latch_set(&here, out, &c));
  SENT(native_latch_down(&here, out, &c));
  SENT(native_latch_delete(&here, out, &c));
  SENT(native_latch_look(&here, out, "gate", 4));
  FACT("latch: a name with a tag keeps it, and its channel has one more pair of braces");
  c = (latch_call){ .name = "{gate}", .name_size = 6, .number = 8 };
  SENT(native_latch_delete(&here, out, &c));
}

static void barriers(void)
{
  static const barrier_call c = { .name = "x", .name_size = 1, .party = 7, .parties = 3,
                                  .generation = 5, .silence_ms = 9000 };

  FACT("barrier: its key, the party, what is expected, its channel");
  SENT(native_barrier_arrive(&here, out, &c));
  SENT(native_barrier_leave(&here, out, &c));
  SENT(native_barrier_look(&here, out, "{a}b", 4));
  SENT(native_barrier_reset(&here, out, "x", 1, 9007199254740991));
}

static void elections(void)
{
  publish_call c = { .name = "x", .name_size = 1, .lease = &lease, .fence = 1740800000000000002,
                     .publication = 3, .ttl_ms = 30000, .value = "here", .value_size = 4 };

  FACT("election: what is published outlives the lease, for an hour or four times its length");
  SENT(native_elect_publish(&here, out, &c));
  c.ttl_ms = 1000000;
  SENT(native_elect_clear(&here, out, &c));
  c.ttl_ms = 2073600000;                   /* 24 days, beyond 32 bits */
  SENT(native_elect_clear(&here, out, &c));
  FACT("election: a look");
  SENT(native_elect_look(&here, out, "{a}b", 4));
}

static void guarded_writes(void)
{
  const resp_argument words[] = { RESP_TEXT("a"), RESP_TEXT(""), RESP_TEXT("b"), RESP_TEXT("2") };
  guard_call c = { .key = "stock", .key_size = 5, .fence = INT64_MAX, .number = 7,
                   .settled = 4 };

  FACT("guarded write: its keys, the fence, the client, the numbers of this and settled writes");
  SENT(native_guarded_set(&here, out, &c, RESP_TEXT("v"), 30));
  SENT(native_guarded_hset(&here, out, &c, words, 4));
  SENT(native_guarded_hdel(&here, out, &c, words, 1));
  SENT(native_guarded_del(&here, out, &c));
  SENT(native_guarded_incr(&here, out, &c, INT64_MIN));
  FACT("guarded write: a key with a tag keeps it, and is not the one without");
  c.key = "{stock}";
  c.key_size = 7;
  SENT(native_guarded_incr(&here, out, &c, 1));
  FACT("guarded read: of a string, of a field of a hash; and the longest value wanted");
  SENT(native_guarded_get(&here, out, RESP_TEXT("stock"), NULL, 7));
  SENT(native_guarded_get(&here, out, RESP_TEXT("stock"), &words[0], 7));
}

void native_requests(void)
{
  lock_asks();
  lock_ends();
  shares();
  sets();
  latches();
  barriers();
  elections();
  guarded_writes();
}

/* ---- the longest ---- */

static const lease_id last = { .client = ANNA, .ask = UINT64_MAX, .token = UINT64_MAX };

#define NAMED .name = longest_name, .name_size = NAME_MAX_BYTES
#define TIMES .until_us = INT64_MAX, .estimate_us = INT64_MAX, .give_up_us = INT64_MAX
#define NAME longest_name, NAME_MAX_BYTES

static void longest_lock(const protocol *far)
{
  static const lease_string string = { INT64_MAX, true };
  static const acquire_call c = { NAMED, TIMES, .ask = UINT64_MAX, .ttl_ms = INT64_MAX,
    .waits = true, .polls = true, .lingers = true, .min_token = UINT64_MAX, .detached = &last,
    .watched = &last, .watched_renewals = UINT64_MAX };
  renew_item items[RENEW_BATCH_MAX];

  for (size_t i = 0; i < RENEW_BATCH_MAX; i++)
    items[i] = (renew_item){ NAME, &last, INT64_MAX };
  FITS(native_acquire(far, out, &c));
  FITS(native_release(far, out, NAME, &last, INT64_MAX));
  FITS(native_release_ifeq(far, out, NAME, &last, &string));
  FITS(native_cancel(far, out, NAME, UINT64_MAX, INT64_MAX, INT64_MAX, &last));
  FITS(native_renew(far, out, items, RENEW_BATCH_MAX, INT64_MAX));
}

static void longest_share(const protocol *far)
{
  static const share_call c = { NAMED, TIMES, .ask = UINT64_MAX, .mode = 'p',
    .units = UINT64_MAX, .ttl_ms = INT64_MAX, .waits = true, .min_token = UINT64_MAX,
    .watched = &last, .watched_renewals = UINT64_MAX };
  share_renew_item items[RENEW_BATCH_MAX];

  for (size_t i = 0; i < RENEW_BATCH_MAX; i++)
    items[i] = (share_renew_item){ NAME, &last, INT64_MAX, 'r', 0, false };
  FITS(native_share_acquire(far, out, &c));
  FITS(native_share_release(far, out, NAME, &last, INT64_MAX, INT64_MAX));
  FITS(native_share_cancel(far, out, NAME, UINT64_MAX, INT64_MAX, INT64_MAX));
  FITS(native_share_renew(far, out, items, RENEW_BATCH_MAX, INT64_MAX));
  FITS(native_share_set(far, out, NAME, SHARE_SET_IF_ABSENT, UINT64_MAX, INT64_MAX));
}

static void longest_set(const protocol *far)
{
  static char bytes[MANY_NAMES_MAX][NAME_MAX_BYTES];
  many_name names[MANY_NAMES_MAX];
  lease_id of_set = last;
  many_call c = { TIMES, .names = names, .count = MANY_NAMES_MAX, .set = UINT32_MAX,
    .ask = UINT64_MAX, .ttl_ms = INT64_MAX, .waits = true, .keeps = true,
    .min_token = UINT64_MAX, .watched = &of_set, .watched_renewals = UINT64_MAX };

  of_set.set = UINT32_MAX;
  for (size_t i = 0; i < MANY_NAMES_MAX; i++) {
    memcpy(bytes[i], longest_name, NAME_MAX_BYTES);
    bytes[i][0] = (char)i;
    names[i] = (many_name){ bytes[i], NAME_MAX_BYTES };
  }
  FITS(native_many_acquire(far, out, &c));
  FITS(native_many_release(far, out, names, MANY_NAMES_MAX, &of_set, INT64_MAX));
  FITS(native_many_cancel(far, out, names, MANY_NAMES_MAX, UINT32_MAX, UINT64_MAX, INT64_MAX,
                          INT64_MAX));
  FITS(native_many_raise(far, out, names, MANY_NAMES_MAX, &of_set, UINT64_MAX));
}

static void longest_other(const protocol *far)
{
  static const latch_call latch = { NAMED, .number = UINT64_MAX, .count = INT64_MAX };
  static const barrier_call barrier = { NAMED, .party = UINT64_MAX, .parties = 10000,
                                        .generation = UINT64_MAX, .silence_ms = INT64_MAX };
  static const publish_call leader = { NAMED, .lease = &last, .fence = UINT64_MAX,
    .publication = UINT64_MAX, .ttl_ms = 2073600000, .value = "here", .value_size = 4 };
  static const guard_call guard = { .key = longest_name, .key_size = NAME_MAX_BYTES,
    .fence = INT64_MAX, .number = UINT64_MAX, .settled = UINT64_MAX };
  resp_argument words[2 * GUARD_FIELDS_MAX];

  for (size_t i = 0; i < 2 * GUARD_FIELDS_MAX; i++)
    words[i] = RESP_TEXT("w");
  FITS(native_latch_down(far, out, &latch));
  FITS(native_latch_look(far, out, NAME));
  FITS(native_barrier_arrive(far, out, &barrier));
  FITS(native_barrier_leave(far, out, &barrier));
  FITS(native_elect_publish(far, out, &leader));
  FITS(native_elect_clear(far, out, &leader));
  FITS(native_guarded_hset(far, out, &guard, words, 2 * GUARD_FIELDS_MAX));
  assert_int_equal(sent_words, 10 + 2 * GUARD_FIELDS_MAX);
}

void native_longest(void)
{
  static const protocol cluster = { HERE, .has_tags = true, .has_sharded_channels = true,
                                    .quarantine_ms = INT64_MAX };
  protocol far = longest_of(&here), far_cluster = longest_of(&cluster);

  longest_lock(&far_cluster);
  longest_share(&far);
  longest_set(&far);
  longest_other(&far);
}
