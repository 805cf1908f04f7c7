/* SPDX-License-Identifier: MIT */
/* dialect/native/many.c - multi-locks: the calls of lua/native/many_*.lua and their answers. */
#include "dialect/native.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <dibs/client.h>

#include "base/hash_tag.h"
#include "dialect/call_words.h"
#include "dialect/children.h"
#include "dialect/internal.h"

#define ASKER_SIZE (CLIENT_ID_SIZE + 11)

/* ---- in the order that all clients use ---- */

/* Sorted by keys, not by names: `x` and `{x}` are one lock, and would sort differently.
 * Kept names always precede the name waited for, so all clients must use one order. */
typedef struct member {
  many_name name;
  size_t index;                  /* index in the caller's order */
  bool is_bare;                  /* its key has braces around it */
} member;

typedef struct members {
  size_t count;
  member *sorted[MANY_NAMES_MAX];
  member all[MANY_NAMES_MAX];
} members;

/* A byte of its key, counted after what all keys begin with. */
static unsigned char key_byte(const member *m, size_t i)
{
  if (!m->is_bare)
    return ((const unsigned char *)m->name.name)[i];
  if (i == 0)
    return '{';
  return i <= m->name.size ? ((const unsigned char *)m->name.name)[i - 1] : '}';
}

/* As memcmp() of the keys. Keys are not kept: those of a large set would fill a small stack. */
static int compare(const void *a, const void *b)
{
  const member *x = *(member *const *)a, *y = *(member *const *)b;
  size_t x_size = x->name.size + (x->is_bare ? 2 : 0);
  size_t y_size = y->name.size + (y->is_bare ? 2 : 0);

  for (size_t i = 0; i < x_size && i < y_size; i++)
    if (key_byte(x, i) != key_byte(y, i))
      return key_byte(x, i) < key_byte(y, i) ? -1 : 1;
  return (x_size > y_size) - (x_size < y_size);
}

static void members_sort(const many_name *names, size_t count, members *m)
{
  assert(count > 0 && count <= MANY_NAMES_MAX);
  for (size_t i = 0; i < count; i++) {
    assert(native_name_fault(names[i].name, names[i].size) == NULL);
    m->all[i] = (member){ names[i], i, !hash_tag_is_in(names[i].name, names[i].size) };
    m->sorted[i] = &m->all[i];
  }
  qsort(m->sorted, count, sizeof(m->sorted[0]), compare);
  m->count = 0;
  for (size_t i = 0; i < count; i++)
    if (i == 0 || compare(&m->sorted[m->count - 1], &m->sorted[i]) != 0)
      m->sorted[m->count++] = m->sorted[i];
}

static void put_keys(const protocol *n, const members *m, request *out)
{
  for (size_t i = 0; i < m->count; i++)
    put_key(n, out, m->sorted[i]->name.name, m->sorted[i]->name.size);
}

/* Then come the arguments of the script, and names_end(). */
static void begin(const protocol *n, const members *m, request *out, const script *s)
{
  request_begin(out, s);
  put_keys(n, m, out);
  put_era(n, out, m->sorted[0]->name.name, m->sorted[0]->name.size);
  request_keys_end(out);
}

static bool names_end(const members *m, request *out)
{
  for (size_t i = 0; i < m->count; i++)
    request_put(out, m->sorted[i]->name.name, m->sorted[i]->name.size);
  return !out->is_incomplete;
}

/* ---- arguments ---- */

static void put_asker(const protocol *n, request *out, uint32_t set)
{
  char bytes[ASKER_SIZE];
  text t = text_over(bytes, sizeof(bytes));

  assert(set > 0);
  asker_write(n->client, set, &t);
  put_of(out, &t);
}

/* ---- calls ---- */

/* The seventh argument. */
static void add_manner(const protocol *n, text *t, const many_call *c)
{
  add_mode(t, c->waits, c->polls, c->nonce);
  text_add(t, c->keeps ? "1 " : "0 ");
  add_watching(t, c->give_up_us, c->watched, c->watched_renewals);
  add_prefix(n, t);
}

bool native_many_acquire(const protocol *n, request *out, const many_call *c)
{
  char manner[4 + 3 * NUMBER_SIZE + LEASE_TEXT_SIZE + PREFIX_WORD_SIZE];
  text t = text_over(manner, sizeof(manner));
  members m;

  assert(c->ttl_ms > 0 && c->ask > 0);
  add_manner(n, &t, c);
  members_sort(c->names, c->count, &m);
  begin(n, &m, out, &script_native_many_acquire);
  put_asker(n, out, c->set);
  put_uint(out, c->ask);
  put_uint(out, (uint64_t)c->ttl_ms);
  put_time(out, c->until_us);
  put_uint(out, c->min_token);
  put_estimate(out, c->estimate_us);
  put_of(out, &t);
  return names_end(&m, out);
}

bool native_many_release(const protocol *n, request *out, const many_name *names,
                         size_t count, const lease_id *lease, int64_t estimate_us)
{
  members m;

  members_sort(names, count, &m);
  begin(n, &m, out, &script_native_many_release);
  put_lease(out, lease);
  put_prefix(n, out);
  put_estimate(out, estimate_us);
  return names_end(&m, out) && request_limit(out);
}

bool native_many_cancel(const protocol *n, request *out, const many_name *names,
                        size_t count, uint32_t set, uint64_t ask, int64_t until_us,
                        int64_t estimate_us)
{
  members m;

  members_sort(names, count, &m);
  begin(n, &m, out, &script_native_many_cancel);
  put_asker(n, out, set);
  put_uint(out, ask);
  put_time(out, until_us);
  put_prefix(n, out);
  put_estimate(out, estimate_us);
  return names_end(&m, out);
}

bool native_many_raise(const protocol *n, request *out, const many_name *names, size_t count,
                       const lease_id *lease, uint64_t token)
{
  members m;

  members_sort(names, count, &m);
  request_begin(out, &script_native_raise);
  put_keys(n, &m, out);
  request_keys_end(out);
  put_lease(out, lease);
  put_uint(out, token);
  return !out->is_incomplete;
}

/* ---- the answer to acquire ---- */

static bool read_own(const protocol *n, const many_call *c, const resp_reply *r, size_t at,
                     acquire_answer *a)
{
  if (!child_count(r, at, &a->lease.token) || a->lease.token == 0 ||
      a->lease.token > TOKEN_MAX)
    return false;
  memcpy(a->lease.client, n->client, CLIENT_ID_SIZE);
  a->lease.set = c->set;
  a->lease.ask = c->ask;
  return true;
}

static bool read_granted(const protocol *n, const many_call *c, const resp_reply *r,
                         acquire_answer *a)
{
  a->lease_ms = c->ttl_ms;
  return has_children(r, 4) && child_int(r, 2, &a->remaining_ms) &&
         is_remaining(a->remaining_ms, c->ttl_ms) && read_own(n, c, r, 3, a);
}

static bool read_again(const protocol *n, const many_call *c, const resp_reply *r,
                       acquire_answer *a)
{
  return has_children(r, 6) && child_int(r, 2, &a->remaining_ms) &&
         child_int(r, 3, &a->lease_ms) && is_remaining(a->remaining_ms, a->lease_ms) &&
         read_own(n, c, r, 4, a) && child_count(r, 5, &a->renewals);
}

/* The busy name comes as its index in the sorted order. */
static bool read_busy(const many_call *c, const resp_reply *r, acquire_answer *a,
                      size_t *ret_busy)
{
  uint64_t last, place;
  members m;

  if (!has_children(r, 8) || !child_int(r, 2, &a->remaining_ms) ||
      !child_int(r, 3, &a->lease_ms) || !is_remaining(a->remaining_ms, a->lease_ms) ||
      !child_lease(r, 4, &a->lease) || !child_count(r, 5, &a->renewals) ||
      !child_count(r, 6, &last) || !child_count(r, 7, &place))
    return false;
  members_sort(c->names, c->count, &m);
  if (place >= m.count)
    return false;
  if (a->outcome == ACQUIRE_WAITING)
    a->rank = last;
  else
    a->holder_lingers = last != 0;
  *ret_busy = m.sorted[place]->index;
  return true;
}

bool native_many_answer(const protocol *n, const many_call *c, const resp_reply *r,
                        acquire_answer *ret, size_t *ret_busy)
{
  acquire_answer a = { .rank = 0 };
  int64_t outcome;
  bool is_good = false;

  if (!child_int(r, 0, &outcome) || !child_int(r, 1, &a.server_us) || !is_time(a.server_us) ||
      outcome < ACQUIRE_GRANTED || outcome > ACQUIRE_LATE)
    return false;
  a.outcome = (acquire_outcome)outcome;
  switch (a.outcome) {
  case ACQUIRE_GRANTED:
    is_good = read_granted(n, c, r, &a);
    break;
  case ACQUIRE_AGAIN:
    is_good = read_again(n, c, r, &a);
    break;
  case ACQUIRE_WAITING:
  case ACQUIRE_BUSY:
    is_good = read_busy(c, r, &a, ret_busy);
    break;
  default:
    is_good = has_children(r, 2);
    break;
  }
  if (is_good)
    *ret = a;
  return is_good;
}
