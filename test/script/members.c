/* SPDX-License-Identifier: MIT */
/* test/script/members.c - see members.h. */

#include "tests.h"

#include <stdio.h>
#include <string.h>

#include "members.h"
#include "server.h"
#include "rendered.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyz"
#define PLANTED_AGO_US 60000000

static const many_name *names_of(const char *letters, size_t *ret_count)
{
  static many_name rotating[8][26];
  static unsigned next;
  many_name *names = rotating[next++ % 8];

  *ret_count = strlen(letters);
  for (size_t i = 0; i < *ret_count; i++)
    names[i] = (many_name){ strchr(LETTERS, letters[i]), 1 };
  return names;
}

static const resp_reply *call(struct world *w)
{
  const resp_reply *r = world_raw(w, world_buffer(w));

  buffer_clear(world_buffer(w));
  if (resp_root(r)->kind == RESP_ERROR)
    fail_msg("%s", resp_root(r)->bytes);
  return r;
}

many_call members_call(struct world *w, const char *letters, uint64_t ask)
{
  many_call c = { .set = 1, .ask = ask, .ttl_ms = 30000, .waits = true,
                  .estimate_us = world_time_us(w) };

  c.names = names_of(letters, &c.count);
  return c;
}

many_answer members_send(struct world *w, int who, const many_call *c)
{
  many_answer m = { .busy = 0 };
  size_t busy = 0;

  assert_true(RENDERED(native_many_acquire, world_native(w, who), world_buffer(w), false,
                       c));
  assert_true(native_many_answer(world_native(w, who), c, call(w), &m.a, &busy));
  if (m.a.outcome == ACQUIRE_WAITING || m.a.outcome == ACQUIRE_BUSY)
    m.busy = *(const char *)c->names[busy].name;
  return m;
}

many_answer members_acquire(struct world *w, int who, const char *letters, uint64_t ask)
{
  many_call c = members_call(w, letters, ask);

  return members_send(w, who, &c);
}

many_answer members_try(struct world *w, int who, const char *letters, uint64_t ask)
{
  many_call c = members_call(w, letters, ask);

  c.waits = false;
  return members_send(w, who, &c);
}

release_answer members_release(struct world *w, int who, const char *letters,
                               const lease_id *lease)
{
  size_t count;
  const many_name *names = names_of(letters, &count);
  release_answer a;

  assert_true(RENDERED(native_many_release, world_native(w, who), world_buffer(w), false,
                       names, count, lease, world_time_us(w)));
  assert_true(native_release_answer(call(w), &a));
  return a;
}

static bool token_release(const protocol *n, request *out, const char *letters,
                          const lease_id *lease, int64_t us)
{
  size_t count;
  const many_name *names = names_of(letters, &count);

  if (!native_many_release(n, out, names, count, lease, us))
    return false;
  out->limit_us = us + HOUR_MS * INT64_C(1000);
  return true;
}

release_answer members_token_release(struct world *w, int who, const char *letters,
                                     const lease_id *lease)
{
  release_answer a;

  assert_true(RENDERED(token_release, world_native(w, who), world_buffer(w), false, letters,
                       lease, world_time_us(w)));
  assert_true(native_release_answer(call(w), &a));
  return a;
}

int64_t members_cancel(struct world *w, int who, const char *letters, uint32_t set,
                       uint64_t ask, int64_t until_us)
{
  size_t count;
  const many_name *names = names_of(letters, &count);
  const resp_reply *r;

  assert_true(RENDERED(native_many_cancel, world_native(w, who), world_buffer(w), false,
                       names, count, set, ask, until_us, world_time_us(w)));
  r = call(w);
  assert_true(native_cancel_answer(r));
  return resp_root(r)->integer;
}

const char *members_error(struct world *w, int who, const many_call *c)
{
  const resp_node *root;

  assert_true(RENDERED(native_many_acquire, world_native(w, who), world_buffer(w), false,
                       c));
  root = resp_root(world_raw(w, world_buffer(w)));
  buffer_clear(world_buffer(w));
  return root->kind == RESP_ERROR ? root->bytes : "";
}

/* ---- single locks ---- */

acquire_call one_call(struct world *w, char letter, uint64_t ask)
{
  acquire_call c = world_call(w, ask);

  c.name = strchr(LETTERS, letter);
  c.name_size = 1;
  return c;
}

acquire_answer one_send(struct world *w, int who, const acquire_call *c)
{
  acquire_answer a;

  assert_true(RENDERED(native_acquire, world_native(w, who), world_buffer(w), false, c));
  assert_true(native_acquire_answer(world_native(w, who), c->ask, c->ttl_ms, call(w), &a));
  return a;
}

acquire_answer one_acquire(struct world *w, int who, char letter, uint64_t ask)
{
  acquire_call c = one_call(w, letter, ask);

  return one_send(w, who, &c);
}

acquire_answer one_try(struct world *w, int who, char letter, uint64_t ask)
{
  acquire_call c = one_call(w, letter, ask);

  c.waits = false;
  return one_send(w, who, &c);
}

release_answer one_release(struct world *w, int who, char letter, const lease_id *lease)
{
  release_answer a;

  assert_true(RENDERED(native_release, world_native(w, who), world_buffer(w), false,
                       &letter, 1, lease, world_time_us(w)));
  assert_true(native_release_answer(call(w), &a));
  return a;
}

int64_t one_cancel(struct world *w, int who, char letter, uint64_t ask, int64_t until_us)
{
  const resp_reply *r;

  assert_true(RENDERED(native_cancel, world_native(w, who), world_buffer(w), false,
                       &letter, 1, ask, until_us, world_time_us(w), NULL));
  r = call(w);
  assert_true(native_cancel_answer(r));
  return resp_root(r)->integer;
}

/* ---- what is stored ---- */

const char *members_key(char letter)
{
  static char keys[8][16];
  static unsigned next;
  char *key = keys[next++ % 8];

  (void)snprintf(key, sizeof(keys[0]), "dibs:m:{%c}", letter);
  return key;
}

/* Into one of 8 rotating buffers: answers of the server are overwritten by the next. */
static const char *keep(const char *words)
{
  static char kept[8][4096];
  static unsigned next;
  char *out = kept[next++ % 8];

  (void)snprintf(out, sizeof(kept[0]), "%s", words);
  return out;
}

const char *members_value(struct world *w, char letter)
{
  return keep(test_server_command(world_server(w), "EVAL %s 1 %s",
    "local kind = redis.call('TYPE', KEYS[1]).ok "
    "if kind == 'none' then return '' end "
    "if redis.call('PTTL', KEYS[1]) < 3500000 then return 'no retention' end "
    "if kind == 'string' then return redis.call('GET', KEYS[1]) end "
    "return redis.call('HGET', KEYS[1], 's') or ''", members_key(letter)));
}

const char *members_holder(struct world *w, char letter)
{
  char *value = (char *)(uintptr_t)members_value(w, letter);

  if (value[0] == '=')
    return "";
  value[strcspn(value, " ")] = 0;
  return value;
}

const char *members_queue(struct world *w, char letter)
{
  return keep(test_server_command(world_server(w), "EVAL %s 1 %s",
    "if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then return '' end "
    "local out = '' "
    "for i = redis.call('HGET', KEYS[1], 'h'), redis.call('HGET', KEYS[1], 'n') - 1 do "
    "  local e = redis.call('HGET', KEYS[1], 'w' .. i) "
    "  if e then out = out .. string.match(e, '^x? ?%S+ %d+ ') end "
    "end "
    "return out", members_key(letter)));
}

lease_id members_plant(struct world *w, char letter, int who, uint32_t set, uint64_t ask,
                       int64_t left_ms)
{
  lease_id l = { .set = set, .ask = ask };
  char value[160];

  memcpy(l.client, world_native(w, who)->client, CLIENT_ID_SIZE);
  l.token = (uint64_t)(world_time_us(w) - PLANTED_AGO_US);
  (void)snprintf(value, sizeof(value), "%s %lld 30000 0 0", lease_text(&l),
                 (long long)left_ms + PLANTED_AGO_US / 1000);
  assert_string_equal(test_server_command(world_server(w), "SET %s %s PX %d",
                                          members_key(letter), value, HOUR_MS), "OK");
  return l;
}
