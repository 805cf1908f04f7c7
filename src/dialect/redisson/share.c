/* SPDX-License-Identifier: MIT */
/* dialect/redisson/share.c - the calls of lua/redisson for shared names: read/write locks
 * and permits, with a lease or without. */
#include "dialect/redisson/internal.h"

#include <assert.h>
#include <string.h>

#include "dialect/call_words.h"

#define WHAT_SIZE (NUMBER_SIZE * 2 + 8)

static void put_permit(request *out, const char *client, uint64_t ask)
{
  uint8_t id[PERMIT_ID_SIZE];

  redisson_permit_id(client, ask, id);
  request_put(out, id, sizeof(id));
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
  char what[WHAT_SIZE];
  text w = text_over(what, sizeof(what));

  add_letter(&w, c->waits ? 'w' : 't');
  text_add_bytes(&w, &c->mode, 1);
  request_begin(out, &script_redisson_rw_acquire);
  request_put(out, c->name, c->name_size);
  put_ask_key(n, out, "over", c->name, c->name_size, n->client, c->ask);
  put_reading(out, c->name, c->name_size, n->client, c->ask);
  if (n->is_voter)
    put_token_key(n, out, c->name, c->name_size);
  request_keys_end(out);
  put_owner(out, n->client, c->ask);
  put_uint(out, (uint64_t)c->ttl_ms);
  put_time(out, c->until_us);
  put_of(out, &w);
  put_uint(out, c->min_token);
  return !out->is_incomplete;
}

static bool permits_acquire(const protocol *n, request *out, const share_call *c)
{
  char what[WHAT_SIZE];
  text w = text_over(what, sizeof(what));

  add_letter(&w, c->waits ? 'w' : 't');
  add_letter(&w, c->kind == LOCK_COUNTER ? 'u' : 'p');
  add_units(&w, c);
  request_begin(out, &script_redisson_permits_acquire);
  request_put(out, c->name, c->name_size);
  put_ask_key(n, out, "over", c->name, c->name_size, n->client, c->ask);
  put_behind(out, c->name, c->name_size, "timeout");
  put_ask_key(n, out, "taken", c->name, c->name_size, n->client, c->ask);
  request_keys_end(out);
  put_permit(out, n->client, c->ask);
  put_uint(out, (uint64_t)c->ttl_ms);
  put_time(out, c->until_us);
  put_of(out, &w);
  put_uint(out, c->min_token);
  put_publish(n, out);
  put_tagged(out, "redisson_sc", c->name, c->name_size);
  return !out->is_incomplete;
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
  const char *client = e->lease.client;
  char what[WHAT_SIZE];
  text w = text_over(what, sizeof(what));

  add_permits(&w, !is_cancel && e->kind == LOCK_COUNTER, e->units);
  request_begin(out, &script_redisson_share_release);
  request_put(out, e->name, e->name_size);
  put_ask_key(n, out, "over", e->name, e->name_size, client, e->lease.ask);
  put_reading(out, e->name, e->name_size, client, e->lease.ask);
  put_behind(out, e->name, e->name_size, "timeout");
  put_ask_key(n, out, "taken", e->name, e->name_size, client, e->lease.ask);
  request_keys_end(out);
  put_owner(out, client, e->lease.ask);
  put_permit(out, client, e->lease.ask);
  put_of(out, &w);
  put_time(out, copies_ms);
  put_publish(n, out);
  put_tagged(out, "redisson_rwlock", e->name, e->name_size);
  put_tagged(out, "redisson_sc", e->name, e->name_size);
  put_text(out, is_cancel ? "0" : "2");
  return !out->is_incomplete;
}

/* While a slot moves, a key that is not there stops a request of several keys: TRYAGAIN. The name
 * stands for those that a lease of this mode does not have. */
static void put_renewal_keys(request *out, const share_renew_item *item)
{
  request_put(out, item->name, item->name_size);
  if (item->mode == 'r' || item->is_of_token)
    put_reading(out, item->name, item->name_size, item->lease->client, item->lease->ask);
  else
    request_put(out, item->name, item->name_size);
  if (item->mode == 'p' || item->is_of_token)
    put_behind(out, item->name, item->name_size, "timeout");
  else
    request_put(out, item->name, item->name_size);
}

static void put_renewal(request *out, const share_renew_item *item)
{
  const lease_id *lease = item->lease;
  char what[WHAT_SIZE];
  text w = text_over(what, sizeof(what));

  add_time(&w, item->ttl_ms);
  add_letter(&w, item->mode);
  text_add_uint(&w, item->mode == 'p' ? item->units : 0);
  put_owner(out, lease->client, lease->ask);
  put_permit(out, lease->client, lease->ask);
  put_of(out, &w);
  put_tagged(out, "redisson_rwlock", item->name, item->name_size);
}

bool redisson_share_renew(const protocol *n, request *out, const share_renew_item *items,
                          size_t count, int64_t estimate_us)
{
  (void)estimate_us;
  assert(count > 0 && count <= RENEW_BATCH_MAX);
  request_begin(out, &script_redisson_share_renew);
  for (size_t i = 0; i < count; i++)
    put_renewal_keys(out, &items[i]);
  request_keys_end(out);
  for (size_t i = 0; i < count; i++)
    put_renewal(out, &items[i]);
  put_publish(n, out);
  return !out->is_incomplete;
}

bool redisson_share_set(const protocol *n, request *out, const void *name, size_t name_size,
                        share_set_what what, uint64_t permits, int64_t estimate_us)
{
  (void)estimate_us;
  request_begin(out, &script_redisson_share_set);
  request_put(out, name, name_size);
  put_behind(out, name, name_size, "timeout");
  request_keys_end(out);
  put_text(out, share_set_words[what]);
  put_uint(out, permits);
  put_publish(n, out);
  put_tagged(out, "redisson_sc", name, name_size);
  return request_limit(out);
}
