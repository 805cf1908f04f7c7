/* SPDX-License-Identifier: MIT */
/* dialect/native/barrier.c - calls and answers of lua/native/barrier_*.lua. */
#include "dialect/native/barrier.h"

#include <assert.h>
#include <inttypes.h>

#include "dialect/call_words.h"
#include "dialect/internal.h"

#define PARTY_SIZE (CLIENT_ID_SIZE + 24)
#define PARTIES_MAX 10000

void native_barrier_key(const protocol *n, const void *name, size_t size, text *out)
{
  tagged_write(n, ":b:", name, size, out);
}

void native_barrier_channel(const protocol *n, const void *name, size_t size, text *out)
{
  tagged_write(n, ":barrier:", name, size, out);
}

/* ---- calls ---- */

/* The one key. */
static void begin(const protocol *n, request *out, const script *s, const void *name, size_t size)
{
  char bytes[KEY_TEXT_SIZE];
  text t = text_over(bytes, sizeof(bytes));

  assert(native_name_fault(name, size) == NULL);
  native_barrier_key(n, name, size, &t);
  request_begin(out, s);
  put_of(out, &t);
  request_keys_end(out);
}

static void put_channel(const protocol *n, request *out, const void *name, size_t size)
{
  char bytes[BARRIER_CHANNEL_SIZE + 1];
  text t = text_over(bytes, sizeof(bytes));

  add_channel_mark(n, &t);
  native_barrier_channel(n, name, size, &t);
  put_of(out, &t);
}

static void put_party(const protocol *n, request *out, uint64_t party)
{
  char bytes[PARTY_SIZE];
  text t = text_over(bytes, sizeof(bytes));

  text_format(&t, "%s:%" PRIu64, n->client, party);
  put_of(out, &t);
}

bool native_barrier_arrive(const protocol *n, request *out, const barrier_call *c)
{
  assert(c->parties > 0 && c->parties <= PARTIES_MAX && c->silence_ms > 0);
  begin(n, out, &script_native_barrier_arrive, c->name, c->name_size);
  put_party(n, out, c->party);
  put_uint(out, c->parties);
  put_uint(out, c->generation);
  put_uint(out, (uint64_t)c->silence_ms);
  put_channel(n, out, c->name, c->name_size);
  return request_limit(out);
}

bool native_barrier_leave(const protocol *n, request *out, const barrier_call *c)
{
  begin(n, out, &script_native_barrier_leave, c->name, c->name_size);
  put_party(n, out, c->party);
  put_uint(out, c->generation);
  put_channel(n, out, c->name, c->name_size);
  return !out->is_incomplete;
}

bool native_barrier_look(const protocol *n, request *out, const void *name,
                         size_t name_size)
{
  begin(n, out, &script_native_barrier_look, name, name_size);
  return !out->is_incomplete;
}

bool native_barrier_reset(const protocol *n, request *out, const void *name,
                          size_t name_size, uint64_t generation)
{
  begin(n, out, &script_native_barrier_reset, name, name_size);
  put_uint(out, generation);
  put_channel(n, out, name, name_size);
  return request_limit(out);
}

/* ---- answers ---- */

static bool number_at(const resp_reply *r, size_t i, int64_t most, int64_t *ret_value)
{
  const resp_node *node = resp_child(r, resp_root(r), i);

  if (node == NULL || node->kind != RESP_INTEGER || node->integer < 0 || node->integer > most)
    return false;
  *ret_value = node->integer;
  return true;
}

static bool place_read(const resp_reply *r, barrier_answer *a)
{
  int64_t generation, arrived, place;

  if (!number_at(r, 1, TOKEN_MAX, &generation) || !number_at(r, 2, PARTIES_MAX, &arrived) ||
      !number_at(r, 3, PARTIES_MAX, &place))
    return false;
  a->generation = (uint64_t)generation;
  a->arrived = (uint32_t)arrived;
  a->place = (uint32_t)place;
  return true;
}

bool native_barrier_arrive_answer(const resp_reply *r, barrier_answer *ret)
{
  int64_t code, parties;

  *ret = (barrier_answer){ .look_ms = 0 };
  if (!number_at(r, 0, BARRIER_LATE, &code) || code == BARRIER_NONE)
    return false;
  ret->outcome = (barrier_outcome)code;
  if (code == BARRIER_LATE)
    return true;
  if (code == BARRIER_OTHER) {
    if (!number_at(r, 1, PARTIES_MAX, &parties))
      return false;
    ret->arrived = (uint32_t)parties;
    return true;
  }
  if (code == BARRIER_WAITING && !number_at(r, 4, INT32_MAX, &ret->look_ms))
    return false;
  return place_read(r, ret);
}

bool native_barrier_leave_answer(const resp_reply *r, barrier_answer *ret)
{
  int64_t code;

  *ret = (barrier_answer){ .look_ms = 0 };
  if (!number_at(r, 0, BARRIER_BROKEN, &code))
    return false;
  ret->outcome = (barrier_outcome)code;
  return code == BARRIER_NONE || place_read(r, ret);
}

bool native_barrier_look_answer(const resp_reply *r, barrier_look *ret)
{
  int64_t generation, parties, broken, arrived;

  if (!number_at(r, 0, TOKEN_MAX, &generation) || !number_at(r, 1, PARTIES_MAX, &parties) ||
      !number_at(r, 2, 1, &broken) || !number_at(r, 3, PARTIES_MAX, &arrived))
    return false;
  *ret = (barrier_look){ .generation = (uint64_t)generation, .parties = (uint32_t)parties,
                         .arrived = (uint32_t)arrived, .is_broken = broken == 1 };
  return true;
}

bool native_barrier_reset_answer(const resp_reply *r)
{
  const resp_node *root = resp_root(r);

  return root->kind == RESP_INTEGER && (root->integer == 0 || root->integer == 1);
}
