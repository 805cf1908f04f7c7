/* SPDX-License-Identifier: MIT */
/* dialect/redisson/share.c - the calls of lua/redisson for shared names: read/write locks
 * and permits, with a lease or without. */
#include "dialect/redisson/internal.h"

#include <assert.h>
#include <string.h>

#include "dialect/call_words.h"

#define WHAT_SIZE (NUMBER_SIZE * 2 + 8)

static resp_argument word_permit(uint8_t id[PERMIT_ID_SIZE], const char *client, uint64_t ask)
{
  redisson_permit_id(client, ask, id);
  return (resp_argument){ (const char *)id, PERMIT_ID_SIZE };
}

static void add_letter(text *t, char letter)
{
  text_add_bytes(t, &letter, 1);
  text_add(t, " ");
}

/* Permits: `u` without a lease. */
static void add_permits(text *t, bool is_unleased, uint64_t units)
{
  add_letter(t, is_unleased ? 'u' : 'p');
  text_add_uint(t, units);
}

static bool rw_acquire(const protocol *n, request *out, const share_call *c)
{
  char over[REDISSON_KEY_SIZE], reading[REDISSON_KEY_SIZE], owner[OWNER_SIZE];
  char ttl[NUMBER_SIZE], until[NUMBER_SIZE], min_token[NUMBER_SIZE], what[WHAT_SIZE];
  char last[REDISSON_KEY_SIZE];
  text w = text_over(what, sizeof(what));
  resp_argument keys[4], arguments[5];

  add_letter(&w, c->waits ? 'w' : 't');
  text_add_bytes(&w, &c->mode, 1);
  keys[0] = (resp_argument){ c->name, c->name_size };
  keys[1] = word_ask_key(n, over, "over", c->name, c->name_size, n->client, c->ask);
  keys[2] = word_reading(reading, c->name, c->name_size, n->client, c->ask);
  keys[3] = word_token_key(n, last, c->name, c->name_size);
  arguments[0] = word_owner(owner, n->client, c->ask);
  arguments[1] = word_uint(ttl, (uint64_t)c->ttl_ms);
  arguments[2] = word_time(until, c->until_us);
  arguments[3] = word_of(&w);
  arguments[4] = word_uint(min_token, c->min_token);
  return request_script(out, &script_redisson_rw_acquire, keys,
                     n->is_voter ? 4 : 3, arguments, 5);
}

static bool permits_acquire(const protocol *n, request *out, const share_call *c)
{
  char over[REDISSON_KEY_SIZE], permits[REDISSON_KEY_SIZE], taken[REDISSON_KEY_SIZE];
  char channel[REDISSON_KEY_SIZE], what[WHAT_SIZE];
  char ttl[NUMBER_SIZE], until[NUMBER_SIZE], min_token[NUMBER_SIZE];
  uint8_t permit[PERMIT_ID_SIZE];
  text w = text_over(what, sizeof(what));
  resp_argument keys[4], arguments[7];

  add_letter(&w, c->waits ? 'w' : 't');
  add_permits(&w, c->kind == LOCK_COUNTER, c->units);
  keys[0] = (resp_argument){ c->name, c->name_size };
  keys[1] = word_ask_key(n, over, "over", c->name, c->name_size, n->client, c->ask);
  keys[2] = word_behind(permits, c->name, c->name_size, "timeout");
  keys[3] = word_ask_key(n, taken, "taken", c->name, c->name_size, n->client, c->ask);
  arguments[0] = word_permit(permit, n->client, c->ask);
  arguments[1] = word_uint(ttl, (uint64_t)c->ttl_ms);
  arguments[2] = word_time(until, c->until_us);
  arguments[3] = word_of(&w);
  arguments[4] = word_uint(min_token, c->min_token);
  arguments[5] = word_publish(n);
  arguments[6] = word_tagged(channel, "redisson_sc", c->name, c->name_size);
  return request_script(out, &script_redisson_permits_acquire, keys, 4, arguments,
                     7);
}

bool redisson_share_acquire(const protocol *n, request *out, const share_call *c)
{
  assert(c->ttl_ms > 0);
  assert(c->mode == 'r' || c->mode == 'w' || c->mode == 'p');
  return c->mode == 'p' ? permits_acquire(n, out, c)
                        : rw_acquire(n, out, c);
}

bool redisson_share_release(const protocol *n, request *out, const share_ending *e,
                            bool is_cancel, int64_t copies_ms)
{
  char over[REDISSON_KEY_SIZE], reading[REDISSON_KEY_SIZE], permits[REDISSON_KEY_SIZE];
  char taken[REDISSON_KEY_SIZE], channels[2][REDISSON_KEY_SIZE], owner[OWNER_SIZE];
  char what[WHAT_SIZE], copies[NUMBER_SIZE];
  const char *client = e->lease.client;
  uint8_t permit[PERMIT_ID_SIZE];
  text w = text_over(what, sizeof(what));
  resp_argument keys[5], arguments[8];

  add_permits(&w, !is_cancel && e->kind == LOCK_COUNTER, e->units);
  keys[0] = (resp_argument){ e->name, e->name_size };
  keys[1] = word_ask_key(n, over, "over", e->name, e->name_size, client, e->lease.ask);
  keys[2] = word_reading(reading, e->name, e->name_size, client, e->lease.ask);
  keys[3] = word_behind(permits, e->name, e->name_size, "timeout");
  keys[4] = word_ask_key(n, taken, "taken", e->name, e->name_size, client, e->lease.ask);
  arguments[0] = word_owner(owner, client, e->lease.ask);
  arguments[1] = word_permit(permit, client, e->lease.ask);
  arguments[2] = word_of(&w);
  arguments[3] = word_time(copies, copies_ms);
  arguments[4] = word_publish(n);
  arguments[5] = word_tagged(channels[0], "redisson_rwlock", e->name, e->name_size);
  arguments[6] = word_tagged(channels[1], "redisson_sc", e->name, e->name_size);
  arguments[7] = is_cancel ? RESP_TEXT("0") : RESP_TEXT("2");
  return request_script(out, &script_redisson_share_release, keys, 5, arguments, 8);
}

static void add_renewal_keys(request *out, const share_renew_item *item)
{
  char reading[REDISSON_KEY_SIZE], permits[REDISSON_KEY_SIZE];

  (void)request_add_key(out, (resp_argument){ item->name, item->name_size });
  (void)request_add_key(out, word_reading(reading, item->name, item->name_size,
                                          item->lease->client, item->lease->ask));
  (void)request_add_key(out, word_behind(permits, item->name, item->name_size, "timeout"));
}

static void add_renewal(request *out, const share_renew_item *item)
{
  char channel[REDISSON_KEY_SIZE], owner[OWNER_SIZE], what[WHAT_SIZE];
  uint8_t permit[PERMIT_ID_SIZE];
  const lease_id *lease = item->lease;
  text w = text_over(what, sizeof(what));
  resp_argument parts[4];

  add_time(&w, item->ttl_ms);
  add_letter(&w, item->mode);
  text_add_uint(&w, item->mode == 'p' ? item->units : 0);
  parts[0] = word_owner(owner, lease->client, lease->ask);
  parts[1] = word_permit(permit, lease->client, lease->ask);
  parts[2] = word_of(&w);
  parts[3] = word_tagged(channel, "redisson_rwlock", item->name, item->name_size);
  (void)request_add(out, parts, 4);
}

bool redisson_share_renew(const protocol *n, request *out, const share_renew_item *items,
                          size_t count, int64_t estimate_us)
{
  resp_argument publish = word_publish(n);

  (void)estimate_us;
  assert(count > 0 && count <= RENEW_BATCH_MAX);
  (void)request_script(out, &script_redisson_share_renew, NULL, 0, NULL, 0);
  for (size_t i = 0; i < count; i++)
    add_renewal_keys(out, &items[i]);
  for (size_t i = 0; i < count; i++)
    add_renewal(out, &items[i]);
  return request_add(out, &publish, 1);
}

bool redisson_share_set(const protocol *n, request *out, const void *name, size_t name_size,
                        share_set_what what, uint64_t permits, int64_t estimate_us)
{
  static const resp_argument verbs[] = {
    [SHARE_SET] = { "set", 3 }, [SHARE_SET_IF_ABSENT] = { "absent", 6 },
    [SHARE_DELETE] = { "delete", 6 },
  };
  char ids[REDISSON_KEY_SIZE], channel[REDISSON_KEY_SIZE], count[NUMBER_SIZE];
  resp_argument keys[2], arguments[4];

  (void)estimate_us;
  keys[0] = (resp_argument){ name, name_size };
  keys[1] = word_behind(ids, name, name_size, "timeout");
  arguments[0] = verbs[what];
  arguments[1] = word_uint(count, permits);
  arguments[2] = word_publish(n);
  arguments[3] = word_tagged(channel, "redisson_sc", name, name_size);
  return request_script(out, &script_redisson_share_set, keys, 2, arguments, 4) &&
         request_limit(out);
}
