/* SPDX-License-Identifier: MIT */
/* dialect/native/share.c - read/write locks and semaphores: the calls of the share scripts
 * and their answers, as the heads of lua/native/share_<verb>.lua define them. */
#include "dialect/native.h"

#include <assert.h>
#include <string.h>

#include <dibs/client.h>

#include "dialect/call_words.h"
#include "dialect/children.h"
#include "dialect/internal.h"

#define CONTENTION_SIZE (3 + 3 * NUMBER_SIZE + LEASE_TEXT_SIZE + PLACE_SIZE)
#define ASK_TEXT_SIZE (CLIENT_ID_SIZE + 1 + NUMBER_SIZE)

/* `r`, `w`, `p5`; `p0` asks for all free permits. */
static void add_kind(text *t, const share_call *c)
{
  assert(c->mode == 'r' || c->mode == 'w' || c->mode == 'p');
  text_add_bytes(t, &c->mode, 1);
  if (c->mode == 'p')
    text_add_uint(t, c->units);
}

bool native_share_acquire(const protocol *n, request *out, const share_call *c)
{
  char key[KEY_TEXT_SIZE], ask[NUMBER_SIZE], ttl[NUMBER_SIZE], until[NUMBER_SIZE];
  char min_token[NUMBER_SIZE], estimate[NUMBER_SIZE], mode[NUMBER_SIZE];
  char contention[CONTENTION_SIZE];
  text what = text_over(mode, sizeof(mode)), t = text_over(contention, sizeof(contention));
  char era[KEY_TEXT_SIZE];
  resp_argument keys[2], arguments[8];
  size_t key_count = 1;

  assert(c->ttl_ms > 0);
  assert(c->units > 0 || c->mode != 'p' || !c->waits);
  add_kind(&what, c);
  add_mode(&t, c->waits, c->polls, c->nonce);
  add_watching(n, &t, c->give_up_us, c->watched, c->watched_renewals, c->name, c->name_size);
  keys[0] = word_key(n, key, c->name, c->name_size);
  key_count += add_era(n, keys + 1, era, c->name, c->name_size);
  arguments[0] = (resp_argument){ n->client, strlen(n->client) };
  arguments[1] = word_uint(ask, c->ask);
  arguments[2] = word_uint(ttl, (uint64_t)c->ttl_ms);
  arguments[3] = word_time(until, c->until_us);
  arguments[4] = word_uint(min_token, c->min_token);
  arguments[5] = word_time(estimate, c->estimate_us);
  arguments[6] = word_of(&what);
  arguments[7] = word_of(&t);
  return request_script(out, &script_native_share_acquire, keys, key_count,
                     arguments, 8);
}

/* `C:K` */
static resp_argument word_ask(char bytes[ASK_TEXT_SIZE], const char *client, uint64_t ask)
{
  text t = text_over(bytes, ASK_TEXT_SIZE);

  text_add(&t, client);
  text_add(&t, ":");
  text_add_uint(&t, ask);
  return word_of(&t);
}

bool native_share_release(const protocol *n, request *out, const void *name,
                          size_t name_size, const lease_id *lease, int64_t until_us,
                          int64_t estimate_us)
{
  char key[KEY_TEXT_SIZE], ask[ASK_TEXT_SIZE], token[NUMBER_SIZE], place[PLACE_SIZE];
  char until[NUMBER_SIZE], estimate[NUMBER_SIZE];
  char era[KEY_TEXT_SIZE];
  resp_argument keys[2], arguments[5];
  size_t key_count = 1;

  keys[0] = word_key(n, key, name, name_size);
  key_count += add_era(n, keys + 1, era, name, name_size);
  arguments[0] = word_ask(ask, lease->client, lease->ask);
  arguments[1] = word_uint(token, lease->token);
  arguments[2] = word_place(n, place, name, name_size);
  arguments[3] = word_time(estimate, estimate_us);
  arguments[4] = word_time(until, until_us);
  return request_script(out, &script_native_share_release, keys, key_count,
                     arguments, 5);
}

bool native_share_cancel(const protocol *n, request *out, const void *name,
                         size_t name_size, uint64_t ask, int64_t until_us,
                         int64_t estimate_us)
{
  char key[KEY_TEXT_SIZE], number[ASK_TEXT_SIZE], place[PLACE_SIZE];
  char until[NUMBER_SIZE], estimate[NUMBER_SIZE];
  char era[KEY_TEXT_SIZE];
  resp_argument keys[2], arguments[4];
  size_t key_count = 1;

  keys[0] = word_key(n, key, name, name_size);
  key_count += add_era(n, keys + 1, era, name, name_size);
  arguments[0] = word_ask(number, n->client, ask);
  arguments[1] = word_time(until, until_us);
  arguments[2] = word_place(n, place, name, name_size);
  arguments[3] = word_time(estimate, estimate_us);
  return request_script(out, &script_native_share_cancel, keys, key_count,
                     arguments, 4);
}

/* `<ttl> <mode> <prefix> <name>` */
static resp_argument word_renewal(const protocol *n, char bytes[NUMBER_SIZE + 2 + PLACE_SIZE],
                                  const share_renew_item *item)
{
  text t = text_over(bytes, NUMBER_SIZE + 2 + PLACE_SIZE);

  add_time(&t, item->ttl_ms);
  text_add_bytes(&t, &item->mode, 1);
  text_add(&t, " ");
  add_place(n, &t, item->name, item->name_size);
  return word_of(&t);
}

bool native_share_renew(const protocol *n, request *out, const share_renew_item *items,
                        size_t count, int64_t estimate_us)
{
  char key[KEY_TEXT_SIZE], id[LEASE_TEXT_SIZE], renewal[NUMBER_SIZE + 2 + PLACE_SIZE];
  char estimate[NUMBER_SIZE];
  resp_argument pair[2];

  assert(count > 0 && count <= RENEW_BATCH_MAX);
  (void)request_script(out, &script_native_share_renew, NULL, 0, NULL, 0);
  for (size_t i = 0; i < count; i++)
    (void)request_add_key(out, word_key(n, key, items[i].name, items[i].name_size));
  if (add_era(n, pair, key, items[0].name, items[0].name_size) > 0)
    (void)request_add_key(out, pair[0]);
  for (size_t i = 0; i < count; i++) {
    pair[0] = word_lease(id, items[i].lease);
    pair[1] = word_renewal(n, renewal, &items[i]);
    (void)request_add(out, pair, 2);
  }
  pair[0] = word_time(estimate, estimate_us);
  return request_add(out, pair, 1);
}

bool native_share_set(const protocol *n, request *out, const void *name, size_t name_size,
                      share_set_what what, uint64_t permits, int64_t estimate_us)
{
  static const resp_argument verbs[] = {
    [SHARE_SET] = { "set", 3 }, [SHARE_SET_IF_ABSENT] = { "absent", 6 },
    [SHARE_DELETE] = { "delete", 6 },
  };
  char key[KEY_TEXT_SIZE], count[NUMBER_SIZE], place[PLACE_SIZE], estimate[NUMBER_SIZE];
  char era[KEY_TEXT_SIZE];
  resp_argument keys[2], arguments[4];
  size_t key_count = 1;

  keys[0] = word_key(n, key, name, name_size);
  key_count += add_era(n, keys + 1, era, name, name_size);
  arguments[0] = verbs[what];
  arguments[1] = word_uint(count, permits);
  arguments[2] = word_place(n, place, name, name_size);
  arguments[3] = word_time(estimate, estimate_us);
  return request_script(out, &script_native_share_set, keys, key_count, arguments, 4) &&
         request_limit(out);
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
      !is_time(a.server_us) || outcome < ACQUIRE_GRANTED || outcome > ACQUIRE_NOT_SET)
    return false;
  a.outcome = (acquire_outcome)outcome;
  if (a.outcome <= ACQUIRE_BUSY)
    is_good = read_lease_answer(n, ask, r, &a);
  else if (a.outcome == ACQUIRE_TOO_MANY)
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
