/* SPDX-License-Identifier: MIT */
/* requests_foreign.c - the requests of the dialects redisson, spring and plain, and those for data
 * and rate limiters, whose layout is Redisson's in any dialect. */
#include "requests.h"

#include "dialect/data.h"
#include "dialect/redisson/rate.h"
#include "dialect/redisson/redisson.h"

#define REDISSON .dialect = &redisson_dialect, .prefix = "dibs"
#define SHARDED .has_tags = true, .has_sharded_channels = true

static const protocol here = { REDISSON, .client = ANNA };
static const protocol voter = { REDISSON, .client = ANNA, .is_voter = true };
static const protocol cluster = { REDISSON, .client = ANNA, SHARDED };
static const protocol spring = { .dialect = &spring_dialect, .prefix = "dibs",
                                 .registry = "orders", .client = ANNA };
static const protocol plain = { .dialect = &plain_dialect, .prefix = "dibs", .client = ANNA };
static const lease_id lease = { .client = ANNA, .ask = 7, .token = 900 };
static const lease_id of_bert = { .client = BERT, .ask = 7, .token = 1 };
static const renew_item items[] = { { "x", 1, &lease, 500 }, { "y", 1, &lease, 600 } };

static void redisson_locks(void)
{
  const dialect_ops *d = here.dialect;
  acquire_call c = { .name = "n", .name_size = 1, .ask = 7, .ttl_ms = 30000, .waits = true,
                     .until_us = 99, .min_token = 5 };

  FACT("redisson acquire: the keys that the kind of lock needs: plain, fair, fenced");
  SENT(d->acquire(&here, out, &c));
  c.waits = false;
  c.kind = LOCK_FAIR;
  SENT(d->acquire(&here, out, &c));
  c.kind = LOCK_FENCED;
  SENT(d->acquire(&here, out, &c));
  FACT("redisson acquire, raise: on a quorum, with the key of the last token, for the next");
  c.kind = LOCK_MUTEX;
  SENT(d->acquire(&voter, out, &c));
  SENT(d->raise(&voter, out, "n", 1, &lease, 1000));
  SENT(d->share_raise(&voter, out, "a{b}", 4, &lease, 1001));
  FACT("redisson release: how and where it is published, and for how many ms an ask has ended");
  SENT(d->release(&here, out, "n", 1, &lease, 0, 1000000));
  SENT(d->release(&cluster, out, "n", 1, &lease, 3000000, 1000000));
  FACT("redisson cancel, break, renew, inspect");
  SENT(d->cancel(&here, out, "n", 1, 7, 3000000, 1000000, NULL));
  SENT(d->break_lease(&here, out, "n", 1, &of_bert, 0));
  SENT(d->renew(&here, out, items, 2, 0));
  SENT(d->inspect(&here, out, "n", 1));
}

static void readers_and_writers(void)
{
  const dialect_ops *d = here.dialect;
  share_call c = { .name = "x y", .name_size = 3, .ask = 8, .mode = 'r', .units = 1,
                   .ttl_ms = 30000, .waits = true, .until_us = 11, .min_token = 13 };

  FACT("redisson rw_acquire: a reader; on a quorum, with the key of the last token; a writer");
  SENT(d->share_acquire(&here, out, &c));
  SENT(d->share_acquire(&voter, out, &c));
  c.name = "a{b";
  c.mode = 'w';
  c.waits = false;
  SENT(d->share_acquire(&here, out, &c));
}

static void permits(void)
{
  static const protocol bert = { REDISSON, .client = BERT };
  static const protocol sharded = { REDISSON, .client = BERT, SHARDED };
  const dialect_ops *d = here.dialect;
  const share_renew_item renewals[] = { { "x", 1, &of_bert, 100, 'r', 0, false },
                                        { "y", 1, &of_bert, 0, 'p', 5, false },
                                        { "z", 1, &of_bert, 100, 'w', 0, false },
                                        { "t", 1, &of_bert, 100, 'w', 0, true } };
  share_call c = { .name = "x", .name_size = 1, .ask = 1, .mode = 'p', .units = 5,
                   .ttl_ms = 100, .waits = true };
  share_ending e = { .name = "x", .name_size = 1, .lease = of_bert, .units = 5,
                     .ttl_ms = 30001, .estimate_us = 1000000 };

  FACT("redisson permits_acquire: the first id, and how they are taken: p with a lease, u none");
  SENT(d->share_acquire(&bert, out, &c));
  c.limit = 7;
  c.kind = LOCK_COUNTER;
  SENT(d->share_acquire(&sharded, out, &c));
  FACT("redisson share_release: remembered for the ms in which a copy of the ask may arrive");
  SENT(d->share_release(&here, out, &e));
  e.copies_us = 6000000;
  SENT(d->share_cancel(&here, out, &e));
  FACT("redisson share_release: longer for permits without a lease, but not for their cancel");
  e.kind = LOCK_COUNTER;
  SENT(d->share_release(&here, out, &e));
  SENT(d->share_cancel(&here, out, &e));
  FACT("redisson share_renew: of each lease the keys that it has, and then what it is to be");
  SENT(d->share_renew(&here, out, renewals, 4, 0));
  FACT("redisson share_set: the number of permits, and the channel");
  SENT(d->share_set(&here, out, "x", 1, SHARE_SET_IF_ABSENT, 4, 0));
}

static void string_locks(void)
{
  const dialect_ops *s = spring.dialect, *p = plain.dialect;
  acquire_call c = { .name = "x", .name_size = 1, .ask = 7, .ttl_ms = 500, .waits = true,
                     .until_us = 12, .min_token = 3 };
  renew_item tagged = { "{t}x", 4, &lease, 500 };

  FACT("spring: the lock, the record of an ask that has ended, the ask, the channels");
  SENT(s->acquire(&spring, out, &c));
  SENT(s->release(&spring, out, "x", 1, &lease, 0, 0));
  SENT(s->cancel(&spring, out, "x", 1, 7, 3000000, 1000000, NULL));
  SENT(s->break_lease(&spring, out, "x", 1, &lease, 0));
  SENT(s->inspect(&spring, out, "x", 1));
  FACT("plain: the lock is named as it is; its last token is kept beside it");
  c = (acquire_call){ .name = "x", .name_size = 1, .ask = 7, .ttl_ms = 500 };
  SENT(p->acquire(&plain, out, &c));
  SENT(p->release(&plain, out, "x", 1, &lease, 1, 0));
  SENT(p->cancel(&plain, out, "x", 1, 7, 3000000, 1000000, NULL));
  SENT(p->raise(&plain, out, "x", 1, &lease, 1000));
  SENT(p->break_lease(&plain, out, "x", 1, &lease, 0));
  SENT(p->inspect(&plain, out, "x", 1));
  FACT("spring, plain renew: of spring with the ask beside each lock");
  SENT(s->renew(&spring, out, items, 2, 0));
  SENT(p->renew(&plain, out, items, 2, 0));
  FACT("spring: a tag is kept");
  SENT(s->renew(&spring, out, &tagged, 1, 0));
}

static void rates(void)
{
  static const uint8_t id[RATE_ID_SIZE] = "0123456789abcdef";
  rate_call c = { .name = "api", .name_size = 3, .permits = 3, .id = id, .number = 7,
                  .rate = 10, .interval_ms = 1000, .keepalive_ms = 5000, .type = 1,
                  .how = 'u' };

  FACT("rate limiter: all its keys, the permits, the id of the request");
  SENT(rate_acquire(&here, out, &c));
  SENT(rate_cancel(&here, out, &c));
  SENT(rate_look(&here, out, &c));
  FACT("rate limiter: the last key of a change is where its answer is kept");
  SENT(rate_set(&here, out, &c));
  SENT(rate_release(&here, out, &c));
  SENT(rate_delete(&here, out, &c));
  FACT("rate limiter: a name with an opening brace gets none");
  c.name = "{t}api";
  c.name_size = 6;
  SENT(rate_delete(&here, out, &c));
}

static void sent_all(const data_verb *verbs, size_t count)
{
  data_call c = { .name = { "n", 1 }, .key = { "k", 1 }, .value = { "v", 1 },
                  .expected = { "x", 1 }, .number = -1, .count = 7, .cursor = "42" };

  for (size_t i = 0; i < count; i++) {
    c.verb = verbs[i];
    SENT(data_encode(&here, out, &c));
  }
}

#define SENT_ALL(verbs) sent_all((verbs), sizeof(verbs) / sizeof((verbs)[0]))

static void data(void)
{
  static const data_verb reads[] = { DATA_MAP_HAS, DATA_MAP_SIZE, DATA_LIST_SIZE, DATA_SET_HAS,
                                     DATA_SET_SIZE, DATA_TTL };
  static const data_verb changes[] = {
    DATA_MAP_SET, DATA_MAP_ADD, DATA_LIST_ADD, DATA_LIST_ADD_FIRST, DATA_SET_ADD,
    DATA_MAP_REMOVE, DATA_LIST_REMOVE, DATA_SET_REMOVE
  };
  static const data_verb ends[] = { DATA_EXPIRE, DATA_PERSIST, DATA_DELETE };
  static const data_verb scripts[] = {
    DATA_MAP_PUT, DATA_MAP_REPLACE, DATA_MAP_REPLACE_IF, DATA_MAP_GET, DATA_MAP_TAKE,
    DATA_MAP_REMOVE_IF, DATA_MAP_PAGE, DATA_LIST_GET, DATA_LIST_SET, DATA_LIST_INSERT,
    DATA_LIST_REMOVE_AT, DATA_LIST_PAGE, DATA_LIST_POP, DATA_SET_PAGE, DATA_SET_POP
  };

  FACT("data: a read that one command does is that command");
  SENT_ALL(reads);
  FACT("data: a change that one command does is a script that checks the limit and executes it");
  SENT_ALL(changes);
  FACT("data: its end is changed with that of the fence of its guarded writes");
  SENT_ALL(ends);
  FACT("data: all others are scripts of one key");
  SENT_ALL(scripts);
}

void foreign_requests(void)
{
  redisson_locks();
  readers_and_writers();
  permits();
  string_locks();
  rates();
  data();
}

/* ---- the longest ---- */

#define NAME longest_name, NAME_MAX_BYTES

void foreign_longest(void)
{
  static const lease_id last = { .client = ANNA, .ask = UINT64_MAX, .token = UINT64_MAX };
  const uint8_t id[RATE_ID_SIZE] = { 0 };
  protocol far = longest_of(&here), far_spring = longest_of(&spring);
  renew_item renewals[RENEW_BATCH_MAX];
  share_renew_item shares[RENEW_BATCH_MAX];
  rate_call c = { .name = longest_name, .name_size = NAME_MAX_BYTES, .number = UINT64_MAX,
                  .id = id, .rate = UINT64_MAX, .how = 's' };

  for (size_t i = 0; i < RENEW_BATCH_MAX; i++) {
    renewals[i] = (renew_item){ NAME, &last, INT64_MAX };
    shares[i] = (share_renew_item){ NAME, &last, INT64_MAX, 'p', UINT64_MAX, false };
  }
  FITS(redisson_dialect.share_renew(&far, out, shares, RENEW_BATCH_MAX, INT64_MAX));
  FITS(spring_dialect.release(&far_spring, out, NAME, &last, 1, 0));
  FITS(spring_dialect.break_lease(&far_spring, out, NAME, &last, 0));
  FITS(spring_dialect.renew(&far_spring, out, renewals, RENEW_BATCH_MAX, 0));
  FITS(rate_set(&far, out, &c));
  FITS(rate_acquire(&far, out, &c));
}
