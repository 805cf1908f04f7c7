/* SPDX-License-Identifier: MIT */
/* dialect/native/share.c - read/write locks and semaphores: the calls of the share scripts
 * and their answers, as the heads of lua/native/share_<verb>.lua define them. */
#include "dialect/native.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include <dibs/client.h>

#include "dialect/call_words.h"
#include "dialect/children.h"
#include "dialect/internal.h"

#define CONTENTION_SIZE (3 + 3 * NUMBER_SIZE + LEASE_TEXT_SIZE + PLACE_SIZE)
#define ASK_TEXT_SIZE (CLIENT_ID_SIZE + 1 + NUMBER_SIZE)

/* `r`, `w`, `p` and the permits; `p0` asks for all free ones. */
static void add_kind(text *t, const share_call *c)
{
  assert(c->mode == 'r' || c->mode == 'w' || c->mode == 'p');
  text_add_bytes(t, &c->mode, 1);
  if (c->mode == 'p')
    add_units(t, c);
}

bool native_share_acquire(const protocol *n, request *out, const share_call *c)
{
  char mode[2 * NUMBER_SIZE], contention[CONTENTION_SIZE];
  text what = text_over(mode, sizeof(mode)), t = text_over(contention, sizeof(contention));

  assert(c->ttl_ms > 0);
  assert(c->units > 0 || c->mode != 'p' || !c->waits);
  add_kind(&what, c);
  add_mode(&t, c->waits, c->polls, c->nonce);
  add_watching(&t, c->give_up_us, c->watched, c->watched_renewals);
  add_place(n, &t, c->name, c->name_size);
  begin_with_era(n, out, &script_native_share_acquire, c->name, c->name_size);
  put_text(out, n->client);
  put_uint(out, c->ask);
  put_uint(out, (uint64_t)c->ttl_ms);
  put_time(out, c->until_us);
  put_uint(out, c->min_token);
  put_estimate(out, c->estimate_us);
  put_of(out, &what);
  put_of(out, &t);
  return !out->is_incomplete;
}

/* `C:K` */
static void put_ask(request *out, const char *client, uint64_t ask)
{
  char bytes[ASK_TEXT_SIZE];
  text t = text_over(bytes, sizeof(bytes));

  text_format(&t, "%s:%" PRIu64, client, ask);
  put_of(out, &t);
}

bool native_share_release(const protocol *n, request *out, const void *name,
                          size_t name_size, const lease_id *lease, int64_t until_us,
                          int64_t estimate_us)
{
  begin_with_era(n, out, &script_native_share_release, name, name_size);
  put_ask(out, lease->client, lease->ask);
  put_uint(out, lease->token);
  put_place(n, out, name, name_size);
  put_estimate(out, estimate_us);
  put_time(out, until_us);
  return !out->is_incomplete;
}

bool native_share_cancel(const protocol *n, request *out, const void *name,
                         size_t name_size, uint64_t ask, int64_t until_us,
                         int64_t estimate_us)
{
  begin_with_era(n, out, &script_native_share_cancel, name, name_size);
  put_ask(out, n->client, ask);
  put_time(out, until_us);
  put_place(n, out, name, name_size);
  put_estimate(out, estimate_us);
  return !out->is_incomplete;
}

/* `<ttl> <mode> <prefix> <name>` */
static void put_renewal(const protocol *n, request *out, const share_renew_item *item)
{
  char bytes[NUMBER_SIZE + 2 + PLACE_SIZE];
  text t = text_over(bytes, sizeof(bytes));

  add_time(&t, item->ttl_ms);
  text_add_bytes(&t, &item->mode, 1);
  text_add(&t, " ");
  add_place(n, &t, item->name, item->name_size);
  put_of(out, &t);
}

bool native_share_renew(const protocol *n, request *out, const share_renew_item *items,
                        size_t count, int64_t estimate_us)
{
  assert(count > 0 && count <= RENEW_BATCH_MAX);
  request_begin(out, &script_native_share_renew);
  for (size_t i = 0; i < count; i++)
    put_key(n, out, items[i].name, items[i].name_size);
  put_era(n, out, items[0].name, items[0].name_size);
  request_keys_end(out);
  for (size_t i = 0; i < count; i++) {
    put_lease(out, items[i].lease);
    put_renewal(n, out, &items[i]);
  }
  put_estimate(out, estimate_us);
  return !out->is_incomplete;
}

bool native_share_set(const protocol *n, request *out, const void *name, size_t name_size,
                      share_set_what what, uint64_t permits, int64_t estimate_us)
{
  begin_with_era(n, out, &script_native_share_set, name, name_size);
  put_text(out, share_set_words[what]);
  put_uint(out, permits);
  put_place(n, out, name, name_size);
  put_estimate(out, estimate_us);
  return request_limit(out);
}

/* ---- answers ---- */

static bool read_units(const resp_reply *r, size_t i, uint64_t *ret_units)
{
  return child_count(r, i, ret_units) && *ret_units > 0;
}

static bool read_granted(const protocol *n, uint64_t ask, const resp_reply *r, acquire_answer *a)
{
  uint64_t token;

  return has_children(r, 6) && child_int(r, 2, &a->remaining_ms) &&
         child_int(r, 3, &a->lease_ms) && child_count(r, 4, &token) &&
         read_units(r, 5, &a->units) && own_lease(n, ask, token, &a->lease);
}

static bool read_again(const protocol *n, uint64_t ask, const resp_reply *r, acquire_answer *a)
{
  uint64_t token;

  return has_children(r, 7) && child_int(r, 2, &a->remaining_ms) &&
         child_int(r, 3, &a->lease_ms) && child_count(r, 4, &token) &&
         child_count(r, 5, &a->renewals) && read_units(r, 6, &a->units) &&
         own_lease(n, ask, token, &a->lease);
}

/* There may be no holder: the limit was lowered to 0, or one script cannot grant more. */
static bool read_taken(const resp_reply *r, acquire_answer *a)
{
  const resp_node *lease = child_string(r, 4);
  uint64_t rank;

  if (!has_children(r, 8) || lease == NULL || !child_int(r, 2, &a->remaining_ms) ||
      !child_int(r, 3, &a->lease_ms) || !child_count(r, 5, &a->renewals) ||
      !child_count(r, 6, &rank) || !child_count(r, 7, &a->last_token))
    return false;
  a->rank = a->outcome == ACQUIRE_WAITING ? rank : 0;
  return lease->size == 0 || child_lease(r, 4, &a->lease);
}

static bool read_lease_answer(const protocol *n, uint64_t ask, const resp_reply *r,
                              acquire_answer *a)
{
  bool is_good;

  if (a->outcome == ACQUIRE_GRANTED)
    is_good = read_granted(n, ask, r, a);
  else if (a->outcome == ACQUIRE_AGAIN)
    is_good = read_again(n, ask, r, a);
  else
    is_good = read_taken(r, a);
  return is_good && is_remaining(a->remaining_ms, a->lease_ms);
}

bool native_share_answer(const protocol *n, uint64_t ask, const resp_reply *r,
                         acquire_answer *ret)
{
  acquire_answer a = { .rank = 0 };
  int64_t outcome;
  bool is_good;

  if (!child_int(r, 0, &outcome) || !child_int(r, 1, &a.server_us) ||
      !is_time(a.server_us) || outcome < ACQUIRE_GRANTED || outcome > ACQUIRE_OTHER_LIMIT)
    return false;
  a.outcome = (acquire_outcome)outcome;
  if (a.outcome <= ACQUIRE_BUSY)
    is_good = read_lease_answer(n, ask, r, &a);
  else if (a.outcome == ACQUIRE_TOO_MANY || a.outcome == ACQUIRE_OTHER_LIMIT)
    is_good = has_children(r, 3) && child_count(r, 2, &a.units);
  else
    is_good = has_children(r, 2);
  if (is_good)
    *ret = a;
  return is_good;
}

bool native_share_set_answer(const resp_reply *r, bool *ret_done, uint64_t *ret_limit)
{
  uint64_t done, limit;

  if (!has_children(r, 2) || !child_count(r, 0, &done) || done > 1 ||
      !child_count(r, 1, &limit))
    return false;
  *ret_done = done == 1;
  *ret_limit = limit;
  return true;
}
