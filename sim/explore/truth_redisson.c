/* SPDX-License-Identifier: MIT */
/* Truth in Redisson's format: who is written in the hash and until when, who waits for a fair
 * lock, and which token a fenced one has. A lease has no token of its own there: here it gets
 * a number. */
#include "explore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world/world.h"

#define UUID_CHARS 36

/* ---- owners ---- */

static int hex_of(char c)
{
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 0;
}

void redisson_owner_read(const char *bytes, size_t size, char ret_client[34], uint64_t *ret_ask)
{
  uint8_t id[16] = { 0 };
  size_t digits = 0;

  for (size_t i = 0; i < UUID_CHARS && i < size && digits < 32; i++)
    if (bytes[i] != '-') {
      id[digits / 2] = (uint8_t)(id[digits / 2] << 4 | hex_of(bytes[i]));
      digits++;
    }
  text_base64url_16(id, ret_client);
  *ret_ask = 0;
  for (size_t i = UUID_CHARS + 1; i < size; i++)
    *ret_ask = *ret_ask * 10 + (uint64_t)(bytes[i] - '0');
}

void redisson_owner_write(const char *client, uint64_t ask, char ret_owner[64])
{
  uint8_t b[16] = { 0 };

  (void)text_base64url_16_read(client, b);
  (void)snprintf(ret_owner, 64,
                 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x:%llu",
                 b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11],
                 b[12], b[13], b[14], b[15], (unsigned long long)ask);
}

bool is_peer(const trial *t, const char *client)
{
  for (int i = 0; i < t->plan->peers; i++)
    if (strcmp(t->peer_clients[i], client) == 0)
      return true;
  return false;
}

/* ---- questions ---- */

static answer ask(trial *t, const char *form, int name)
{
  char command[160];
  size_t size = 0;
  const char *bytes;

  (void)snprintf(command, sizeof(command), form, name_texts[name]);
  bytes = truth_command(t, command, &size);
  return (answer){ bytes, bytes + size };
}

static int64_t ask_number(trial *t, const char *form, int name)
{
  answer a = ask(t, form, name);

  return answer_number(&a);
}

/* ---- who has it ---- */

/* A name that its channel woke asks while an answer is on its way, and the second asking may
 * come when what the first was granted was taken away by force. */
static bool may_be_asked_twice(const trial *t, const lease *l)
{
  return has_late_requests(t->plan) ||
         trial_now(t) - l->begun_at < 20000 + 4ll * t->plan->delay_max_us;
}

/* The same owner may be written again: data came back, an answer was lost and the lease was
 * over by the next sending, or a renewal has created what it must not. */
static lease *lease_of(trial *t, int name, const char *client, uint64_t ask)
{
  truth *x = &t->truths[name];
  lease *l = truth_lease_of(t, name, client, ask);
  bool is_broken = l != NULL && l->is_broken;

  if (l != NULL && (l->gone_at == 0 || t->is_losing)) {
    if (l->gone_at != 0)
      cover(POINT_REVIVED_BY_FAILOVER);
    return l;
  }
  if (l != NULL && l->life != 0 && !may_be_asked_twice(t, l))
    flaw(t, "S9: ask %llu of %s had %s, and has it again", (unsigned long long)ask, client,
         name_texts[name]);
  l = truth_lease_new(t, x, x->lease_count + 1);
  (void)snprintf(l->client, sizeof(l->client), "%s", client);
  l->ask = ask;
  l->mode = 'x';
  l->is_foreign = is_peer(t, client);
  l->is_broken = l->is_revoked = l->is_foreign && is_broken;
  if (l->is_foreign)
    cover(POINT_PEER_HELD);
  return l;
}

static void holder_read(trial *t, int name, const char *owner, size_t size, uint64_t units,
                        int64_t end_ms)
{
  truth *x = &t->truths[name];
  char client[34];
  uint64_t number;
  int64_t before;
  lease *l;

  redisson_owner_read(owner, size, client, &number);
  l = lease_of(t, name, client, number);
  before = l->deadline_us;
  l->units = units;
  l->gone_at = 0;
  l->mark = x->mark;
  truth_end_seen(t, l, end_ms * 1000);
  if (before != 0 && l->deadline_us > before)
    cover(POINT_RENEWAL_SEEN);
  l->length_ms = (l->deadline_us - host_wall_us(world_host(t->sim))) / 1000 + 1;
  if (x->holder_count < HOLDERS_MAX)
    x->holders[x->holder_count++] = l;
}

static void holders_read(trial *t, int name)
{
  truth *x = &t->truths[name];
  int64_t end_ms = ask_number(t, "PEXPIRETIME %s", name), count;
  answer a = ask(t, "HGETALL %s", name);

  x->kind = TRUTH_REDISSON;
  x->has_no_end = end_ms == -1;
  if (a.at >= a.end || *a.at != '*') {
    x->kind = TRUTH_OTHER;
    return;
  }
  for (count = answer_number(&a); count > 1; count -= 2) {
    size_t size = 0, digits = 0;
    const char *owner = answer_bulk(&a, &size), *units = answer_bulk(&a, &digits);

    if (owner == NULL || units == NULL)
      return;
    holder_read(t, name, owner, size, strtoull(units, NULL, 10), end_ms);
  }
  x->used = x->holder_count;
}

/* ---- who waits ---- */

static void waiters_read(trial *t, int name)
{
  truth *x = &t->truths[name];
  answer a = ask(t, "LRANGE redisson_lock_queue:{%s} 0 -1", name);
  int64_t count = answer_number(&a);

  for (; count > 0 && x->waiter_count < WAITERS_MAX; count--) {
    waiter *w = &x->waiters[x->waiter_count];
    size_t size = 0;
    const char *owner = answer_bulk(&a, &size);

    if (owner == NULL)
      return;
    *w = (waiter){ .index = x->waiter_count++, .mode = 'x', .units = 1 };
    redisson_owner_read(owner, size, w->client, &w->ask);
  }
  /* Without a deadline: 0, which is over. */
  a = ask(t, "ZRANGE redisson_lock_timeout:{%s} 0 -1 WITHSCORES", name);
  for (count = answer_number(&a); count > 1; count -= 2) {
    size_t size = 0, digits = 0;
    const char *owner = answer_bulk(&a, &size), *score = answer_bulk(&a, &digits);
    char client[34];
    uint64_t number;

    if (owner == NULL || score == NULL)
      return;
    redisson_owner_read(owner, size, client, &number);
    for (size_t i = 0; i < x->waiter_count; i++)
      if (x->waiters[i].ask == number && strcmp(x->waiters[i].client, client) == 0)
        x->waiters[i].give_up_us = strtoll(score, NULL, 10) * 1000;
  }
}

static void fenced_read(trial *t, int name)
{
  answer a = ask(t, "GET redisson_lock_token:{%s}", name);
  size_t size = 0;
  const char *digits = answer_bulk(&a, &size);

  t->truths[name].last_token = digits == NULL ? 0 : strtoull(digits, NULL, 10);
}

void redisson_read(trial *t, int name)
{
  redisson_kind f = t->plan->redisson_kinds[name];

  holders_read(t, name);
  if (f == REDISSON_FAIR)
    waiters_read(t, name);
  if (f == REDISSON_FENCED)
    fenced_read(t, name);
}

/* ---- a hold's ---- */

/* `lease:C:K:T:name` */
lease *redisson_lease(trial *t, int name, const grip *g)
{
  char words[DIBS_TOKEN_SIZE], client[34];
  text token = text_over(words, sizeof(words));

  if (!process_hold_lease(t->sim, t->lives[g->life].process, g->hold, &token) ||
      token.used < 6 + 22 + 2)
    return NULL;
  (void)snprintf(client, sizeof(client), "%.22s", words + 6);
  return truth_lease_of(t, name, client, strtoull(words + 6 + 23, NULL, 10));
}

void redisson_granted(trial *t, grip *g)
{
  const lease *l = NULL;

  /* Its program may hear of it later: what becomes of it until then counts, too. */
  for (int i = 0; i < MUTEXES && l == NULL; i++)
    if ((g->names >> i & 1) != 0)
      l = g->lease[i] = redisson_lease(t, i, g);
  g->token = l == NULL ? 0 : l->token;
  g->is_revoked = l != NULL && l->is_revoked;
  g->is_orphan = l != NULL && (l->was_lost || l->cut_us > 0);
}
