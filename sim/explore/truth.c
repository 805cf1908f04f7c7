/* SPDX-License-Identifier: MIT */
/* Truth: what the server has for each name, read again only when something changed there,
 * and what it ever had. */
#include "explore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/sim_server.h"
#include "world/world.h"

/* 2026-01-01 00:00, which every world says at its start. */
#define START_WALL_US 1767225600000000ll

/* ---- a reader of RESP2 ---- */

int64_t answer_number(answer *a)
{
  int64_t value = strtoll(a->at + 1, NULL, 10);

  while (a->at < a->end && *a->at != '\n')
    a->at++;
  a->at++;
  return value;
}

const char *answer_bulk(answer *a, size_t *ret_size)
{
  const char *bytes;
  int64_t size;

  if (a->at >= a->end || *a->at != '$')
    return NULL;
  size = answer_number(a);
  if (size < 0)
    return NULL;
  bytes = a->at;
  a->at += size + 2;
  *ret_size = (size_t)size;
  return bytes;
}

/* Asked after every change: its words are written once. */
enum { ASK_STRING, ASK_HASH };

static answer ask(trial *t, int what, int name)
{
  static const char *const verbs[] = { "MGET", "HGETALL" };
  static char commands[2][NAMES][80];
  char *command = commands[what][name];
  size_t size = 0;
  const char *bytes;

  if (command[0] == 0) {
    char key[32];
    int used = snprintf(key, sizeof(key), EXPLORE_PREFIX ":m:{%s}", name_texts[name]);

    (void)snprintf(command, sizeof(commands[0][0]), "*2\r\n$%zu\r\n%s\r\n$%d\r\n%s\r\n",
                   strlen(verbs[what]), verbs[what], used, key);
  }
  bytes = sim_server_ask(world_server(t->sim), command, strlen(command), &size);
  return (answer){ bytes, bytes + size };
}

/* ---- words ---- */

typedef struct words { const char *at, *end; } words;

static uint64_t take_number(words *w)
{
  uint64_t value = 0;

  while (w->at < w->end && *w->at >= '0' && *w->at <= '9')
    value = value * 10 + (uint64_t)(*w->at++ - '0');
  if (w->at < w->end)
    w->at++;                              /* the separator */
  return value;
}

static int64_t take_signed(words *w)
{
  bool is_negative = w->at < w->end && *w->at == '-';
  int64_t value;

  w->at += is_negative;
  value = (int64_t)take_number(w);
  return is_negative ? -value : value;
}

static void take_text(words *w, char separator, char *ret_text, size_t size)
{
  size_t n = 0;

  for (; w->at < w->end && *w->at != separator; w->at++)
    if (n + 1 < size)
      ret_text[n++] = *w->at;
  ret_text[n] = 0;
  w->at++;
}

/* ---- leases ---- */

lease *truth_lease(trial *t, int name, uint64_t token)
{
  truth *x = &t->truths[name];
  size_t kept = x->lease_count < LEASES_MAX ? x->lease_count : LEASES_MAX;

  for (size_t i = 1; i <= kept; i++) {
    lease *l = &x->leases[(x->lease_count - i) % LEASES_MAX];

    if (l->token == token)
      return l;
  }
  return NULL;
}

bool truth_has_forgotten(const trial *t, int name, uint64_t token)
{
  const truth *x = &t->truths[name];

  for (size_t i = 0; i < LEASES_MAX; i++)
    if (x->leases[i].token <= token)
      return false;
  return x->lease_count > LEASES_MAX;
}

const lease *truth_lease_after(const trial *t, int name, uint64_t token, int64_t before)
{
  const truth *x = &t->truths[name];

  for (size_t i = 0; i < LEASES_MAX; i++)
    if (x->leases[i].token > token && x->leases[i].begun_at < before)
      return &x->leases[i];
  return NULL;
}

lease *truth_lease_of(trial *t, int name, const char *client, uint64_t ask)
{
  truth *x = &t->truths[name];
  size_t kept = x->lease_count < LEASES_MAX ? x->lease_count : LEASES_MAX;

  for (size_t i = 1; i <= kept; i++) {
    lease *l = &x->leases[(x->lease_count - i) % LEASES_MAX];

    if (l->ask == ask && strcmp(l->client, client) == 0)
      return l;
  }
  return NULL;
}

lease *truth_lease_new(trial *t, truth *x, uint64_t token)
{
  lease *l = &x->leases[x->lease_count++ % LEASES_MAX];

  /* A lease that still stands is kept, however many came after it. */
  for (int i = 0; i < HOLDERS_MAX && l->token != 0 && l->gone_at == 0; i++)
    l = &x->leases[x->lease_count++ % LEASES_MAX];
  memset(l, 0, sizeof(*l));
  l->token = token;
  l->begun_at = trial_now(t);
  l->end_max = INT64_MIN;
  return l;
}

/* A deadline never shrinks, but by a replica that had not got the last renewal. */
void truth_end_seen(trial *t, lease *l, int64_t deadline_us)
{
  int64_t end = deadline_us - START_WALL_US;

  if (l->was_lost ? deadline_us >= l->deadline_max
                  : deadline_us < l->deadline_max && t->is_losing)
    l->was_lost = !l->was_lost;
  if (deadline_us > l->deadline_max)
    l->deadline_max = deadline_us;
  if (deadline_us > l->deadline_us)
    l->cut_us = l->cut_us > deadline_us - l->deadline_us
                  ? l->cut_us - (deadline_us - l->deadline_us) : 0;
  l->deadline_us = deadline_us;
  l->seen_at = trial_now(t);
  if (end > l->end_max)
    l->end_max = end;
}

/* `w` stands behind the token: `ahead length renewals flags`. */
static void holder_seen(trial *t, int name, const lease *seen, words *w)
{
  truth *x = &t->truths[name];
  lease *l = truth_lease(t, name, seen->token);
  int64_t deadline;
  uint64_t renewals;

  /* Data lost and the clock set back: then a token may be another's again, protocol.md 8, or of
   * the same ask, which was lost with them. */
  if (l != NULL && t->is_fence_weak[name] &&
      (l->gone_at != 0 || l->ask != seen->ask || strcmp(l->client, seen->client) != 0))
    l = NULL;
  if (l == NULL) {
    l = truth_lease_new(t, x, seen->token);
    memcpy(l->client, seen->client, sizeof(l->client));
    l->ask = seen->ask;
  } else if (l->gone_at != 0) {
    cover(POINT_REVIVED_BY_FAILOVER);
    if (!t->is_losing)
      flaw(t, "S9: token %llu of %s was gone, and is there again",
           (unsigned long long)l->token, name_texts[name]);
  }
  deadline = (int64_t)seen->token + take_signed(w) * 1000;
  l->gone_at = 0;
  l->mode = seen->mode;
  l->units = seen->units;
  truth_end_seen(t, l, deadline);
  l->length_ms = (int64_t)take_number(w);
  renewals = take_number(w);
  if (renewals != l->renewals)
    cover(POINT_RENEWAL_SEEN);
  l->renewals = renewals;
  l->is_doubted = (take_number(w) & 2) != 0;
  if (l->is_doubted)
    cover(POINT_DOUBTED_LEASE);
  l->mark = x->mark;
  if (x->holder_count < HOLDERS_MAX)
    x->holders[x->holder_count++] = l;
}

/* ---- a mutex ---- */

static void mutex_read(trial *t, int name, const char *value, size_t size)
{
  truth *x = &t->truths[name];
  words w = { value, value + size };
  bool is_free = size > 0 && value[0] == '=';
  lease seen = { .mode = 'x', .units = 1 };

  x->kind = TRUTH_MUTEX;
  w.at += is_free;
  take_text(&w, ':', seen.client, sizeof(seen.client));
  seen.ask = take_number(&w);
  seen.token = take_number(&w);
  x->last_token = seen.token;
  if (!is_free) {
    holder_seen(t, name, &seen, &w);
    x->used = 1;
  } else {
    memcpy(x->memory_client, seen.client, sizeof(seen.client));
    x->memory_ask = seen.ask;
  }
}

/* ---- fields of a hash ---- */

static void shared_state_read(truth *x, const char *value, size_t size)
{
  words w = { value, value + size };
  char kind[8], first[64];

  take_text(&w, ' ', kind, sizeof(kind));
  x->kind = strcmp(kind, "rw") == 0 ? TRUTH_RW : strcmp(kind, "sem") == 0 ? TRUTH_SEM
          : strcmp(kind, "new") == 0 ? TRUTH_NEW : TRUTH_OTHER;
  x->last_token = take_number(&w);
  x->used = take_number(&w);
  (void)take_number(&w);
  (void)take_number(&w);
  take_text(&w, ' ', first, sizeof(first));
  x->limit = x->kind == TRUTH_SEM ? take_number(&w) : 0;
}

/* `k<C:K>`: `mode units T ahead length renewals flags`. */
static void shared_holder_read(trial *t, int name, const char *field, size_t field_size,
                               const char *value, size_t size)
{
  words id = { field + 1, field + field_size }, w = { value, value + size };
  lease seen = { 0 };
  char mode[4];

  take_text(&id, ':', seen.client, sizeof(seen.client));
  seen.ask = take_number(&id);
  take_text(&w, ' ', mode, sizeof(mode));
  seen.mode = mode[0];
  seen.units = take_number(&w);
  seen.token = take_number(&w);
  holder_seen(t, name, &seen, &w);
}

static void waiter_read(truth *x, const char *field, size_t field_size, const char *value,
                        size_t size)
{
  words id = { field + 1, field + field_size }, w = { value, value + size };
  waiter *e = &x->waiters[x->waiter_count];
  char mode[4];

  if (x->waiter_count == WAITERS_MAX)
    return;
  memset(e, 0, sizeof(*e));
  e->index = take_number(&id);
  e->is_tombstone = size > 2 && value[0] == 'x' && value[1] == ' ';
  if (e->is_tombstone)
    w.at += 2;
  take_text(&w, ' ', e->client, sizeof(e->client));
  e->ask = take_number(&w);
  if (!e->is_tombstone) {
    (void)take_number(&w);
    take_text(&w, ' ', mode, sizeof(mode));
    e->mode = mode[0];
    e->units = take_number(&w);
    e->give_up_us = (int64_t)take_number(&w);
  }
  x->waiter_count++;
}

static int by_index(const void *a, const void *b)
{
  const waiter *x = a, *y = b;

  return x->index < y->index ? -1 : x->index > y->index;
}

static void hash_read(trial *t, int name, answer *a)
{
  truth *x = &t->truths[name];
  int64_t count = a->at < a->end && *a->at == '*' ? answer_number(a) : -1;

  if (count <= 0) {
    x->kind = count == 0 ? TRUTH_NONE : TRUTH_OTHER;
    return;
  }
  x->is_fat = true;
  for (; count > 1; count -= 2) {
    size_t field_size = 0, size = 0;
    const char *field = answer_bulk(a, &field_size), *value = answer_bulk(a, &size);

    if (field == NULL || value == NULL)
      return;
    if (field_size == 1 && field[0] == 's') {
      if (name < MUTEXES)
        mutex_read(t, name, value, size);
      else
        shared_state_read(x, value, size);
    } else if (field_size > 1 && field[0] == 'k') {
      shared_holder_read(t, name, field, field_size, value, size);
    } else if (field_size > 1 && field[0] == 'w') {
      waiter_read(x, field, field_size, value, size);
    }
  }
  qsort(x->waiters, x->waiter_count, sizeof(waiter), by_index);
}

/* ---- all names ---- */

static void name_read(trial *t, int name)
{
  truth *x = &t->truths[name];
  answer a;

  x->kind = TRUTH_NONE;
  x->is_fat = false;
  x->memory_client[0] = 0;
  x->last_token = x->used = x->limit = 0;
  x->holder_count = x->waiter_count = 0;
  x->mark++;
  x->has_no_end = false;
  if (t->plan->is_redisson) {
    redisson_read(t, name);
    return;
  }
  if (name < MUTEXES) {
    const char *value;
    size_t size = 0;

    a = ask(t, ASK_STRING, name);
    (void)answer_number(&a);
    value = answer_bulk(&a, &size);
    if (value != NULL) {
      mutex_read(t, name, value, size);
      return;
    }
  }
  a = ask(t, ASK_HASH, name);
  hash_read(t, name, &a);
}

/* One event may bring commands that count to zero and arm again: the mark of the last zero
 * shows it. */
static void latch_read(trial *t)
{
  size_t size = 0, zero_size = 0;
  const char *bytes = truth_ask(t, "EXISTS", LATCH_NAME, &size);
  bool was_zeroed;

  t->is_latch_armed = size > 1 && bytes[1] != '0';
  bytes = truth_command(t, "HGET " EXPLORE_PREFIX ":l:{" LATCH_NAME "} z", &zero_size);
  if (zero_size >= sizeof(t->latch_zero))
    zero_size = sizeof(t->latch_zero) - 1;
  was_zeroed = bytes[0] == '$' && bytes[1] != '-' &&
               strncmp(bytes, t->latch_zero, zero_size) != 0;
  if (was_zeroed)
    (void)snprintf(t->latch_zero, sizeof(t->latch_zero), "%.*s", (int)zero_size, bytes);
  if (!t->is_latch_armed || was_zeroed)
    t->latch_open_at = trial_now(t);
}

/* What was there before and is not any more. */
static void note_gone(trial *t, int name, const truth *before)
{
  for (size_t i = 0; i < before->holder_count; i++) {
    lease *l = before->holders[i];

    if (l->mark != t->truths[name].mark && l->gone_at == 0) {
      l->gone_at = trial_now(t);
      if (t->is_losing) {
        l->was_lost = true;
        cover(POINT_LEASE_DATA_LOST);
      }
    }
  }
}

static bool is_name_used(const plan *p, int name)
{
  unsigned uses = 0;

  if (name < MUTEXES)
    return name < p->names;
  if (p->is_redisson)
    return false;
  for (int i = ACT_READ; i <= ACT_REREAD && name == NAME_RW; i++)
    uses += p->weight[i];
  for (int i = ACT_PERMITS; i <= ACT_RESIZE && name == NAME_SEM; i++)
    uses += p->weight[i];
  return uses > 0;
}

void truth_read(trial *t)
{
  uint64_t version = sim_server_version(world_server(t->sim));
  static truth before;

  if (t->is_latch_armed == false)
    t->latch_open_at = trial_now(t);
  if (version == t->seen_version && t->looks > 0)
    return;
  t->seen_version = version;
  for (int name = 0; name < NAMES; name++) {
    truth *x = &t->truths[name];

    if (!is_name_used(t->plan, name))
      continue;
    /* Not the leases: they are many, and stay where they are. */
    memcpy(&before, x, offsetof(truth, leases));
    name_read(t, name);
    if (x->limit != before.limit)
      x->limit_since = trial_now(t);
    note_gone(t, name, &before);
    oracle_server(t, name, &before);
  }
  if (t->plan->weight[ACT_LATCH] + t->plan->weight[ACT_AWAIT] > 0)
    latch_read(t);
}
