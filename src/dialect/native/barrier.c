/* SPDX-License-Identifier: MIT */
/* dialect/native/barrier.c - calls and answers of lua/native/barrier_*.lua. */
#include "dialect/native/barrier.h"

#include <assert.h>

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

/* The bytes of the arguments of one call. */
typedef struct call_texts {
  char key[KEY_TEXT_SIZE], channel[BARRIER_CHANNEL_SIZE + 1], party[PARTY_SIZE];
  char parties[NUMBER_SIZE], generation[NUMBER_SIZE], silence[NUMBER_SIZE];
} call_texts;

static resp_argument word_barrier(const protocol *n, call_texts *at, const void *name,
                                  size_t size)
{
  text t = text_over(at->key, sizeof(at->key));

  assert(native_name_fault(name, size) == NULL);
  native_barrier_key(n, name, size, &t);
  return word_of(&t);
}

static resp_argument word_channel(const protocol *n, call_texts *at, const void *name,
                                  size_t size)
{
  text t = text_over(at->channel, sizeof(at->channel));

  add_channel_mark(n, &t);
  native_barrier_channel(n, name, size, &t);
  return word_of(&t);
}

static resp_argument word_party(const protocol *n, call_texts *at, uint64_t party)
{
  text t = text_over(at->party, sizeof(at->party));

  text_add(&t, n->client);
  text_add(&t, ":");
  text_add_uint(&t, party);
  return word_of(&t);
}

bool native_barrier_arrive(const protocol *n, request *out, const barrier_call *c)
{
  call_texts at;
  resp_argument key = word_barrier(n, &at, c->name, c->name_size);
  resp_argument arguments[] = {
    word_party(n, &at, c->party), word_uint(at.parties, c->parties),
    word_uint(at.generation, c->generation),
    word_uint(at.silence, (uint64_t)c->silence_ms),
    word_channel(n, &at, c->name, c->name_size),
  };

  assert(c->parties > 0 && c->parties <= PARTIES_MAX && c->silence_ms > 0);
  return request_script(out, &script_native_barrier_arrive, &key, 1, arguments, 5) &&
         request_limit(out);
}

bool native_barrier_leave(const protocol *n, request *out, const barrier_call *c)
{
  call_texts at;
  resp_argument key = word_barrier(n, &at, c->name, c->name_size);
  resp_argument arguments[] = { word_party(n, &at, c->party),
                                word_uint(at.generation, c->generation),
                                word_channel(n, &at, c->name, c->name_size) };

  return request_script(out, &script_native_barrier_leave, &key, 1, arguments, 3);
}

bool native_barrier_look(const protocol *n, request *out, const void *name,
                         size_t name_size)
{
  call_texts at;
  resp_argument key = word_barrier(n, &at, name, name_size);

  return request_script(out, &script_native_barrier_look, &key, 1, NULL, 0);
}

bool native_barrier_reset(const protocol *n, request *out, const void *name,
                          size_t name_size, uint64_t generation)
{
  call_texts at;
  resp_argument key = word_barrier(n, &at, name, name_size);
  resp_argument arguments[] = { word_uint(at.generation, generation),
                                word_channel(n, &at, name, name_size) };

  return request_script(out, &script_native_barrier_reset, &key, 1, arguments, 2) &&
         request_limit(out);
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
