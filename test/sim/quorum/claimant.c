/* SPDX-License-Identifier: MIT */
/* test/sim/quorum/claimant.c - see claimant.h. */
#include "claimant.h"

#include <stdlib.h>
#include <string.h>

static void heard(site_client *c, const lock_event *e, void *data)
{
  told *t = e->context;
  text words = text_over(t->words, sizeof(t->words));

  (void)data;
  assert_true(t->failed + t->released == 0);
  assert_true(t->lost == 0 || e->kind == LOCK_RELEASED);
  t->last = *e;
  t->at = c->site->now;
  text_add(&words, e->words);
  t->granted += e->kind == LOCK_GRANTED;
  t->renewed += e->kind == LOCK_RENEWED;
  t->suspect += e->kind == LOCK_SUSPECT;
  t->warned += e->kind == LOCK_ENDS_SOON;
  t->lost += e->kind == LOCK_LOST;
  t->failed += e->kind == LOCK_FAILED;
  t->released += e->kind == LOCK_RELEASED;
  if (e->kind == LOCK_GRANTED)
    t->fence = e->fence;
  if (e->kind == LOCK_GRANTED || e->kind == LOCK_RENEWED)
    t->valid_until = e->valid_until;
}

site *site_with_quarantine(size_t servers, size_t clients, span quarantine)
{
  site *s = calloc(1, sizeof(*s));

  assert_non_null(s);
  site_init(s, 11, servers, clients, quarantine);
  s->jitter = (span){ 0 };
  s->heard = heard;
  return s;
}

site *site_of(size_t servers, size_t clients)
{
  return site_with_quarantine(servers, clients, SPAN_MS(0));
}

void over(site *s)
{
  site_deinit(s);
  free(s);
}

lock_spec wish_for(told *t)
{
  return (lock_spec){ .context = t, .kind = LOCK_MUTEX, .name = "x", .name_size = 1, .units = 1,
                      .ttl = TTL, .give_up_at = INSTANT_NEVER };
}

void claim_as(site *s, size_t client, told *t, const lock_spec *w)
{
  memset(t, 0, sizeof(*t));
  assert_int_equal(hold_claim(s->clients[client].front, w, s->now, &t->id), DIBS_OK);
  site_settle(s);
}

void claim_by(site *s, size_t client, told *t, bool is_try)
{
  lock_spec w = wish_for(t);

  w.is_try = is_try;
  claim_as(s, client, t, &w);
}

void release_by(site *s, size_t client, told *t)
{
  assert_int_equal(hold_release(s->clients[client].front, t->id, s->now), DIBS_OK);
  site_settle(s);
}

span await(site *s, const unsigned *count, span most)
{
  instant from = s->now;
  unsigned before = *count;

  while (*count == before) {
    assert_true(instant_since(s->now, from).ns < most.ns);
    site_run_for(s, (span){ 100000 });
  }
  return instant_since(s->now, from);
}

void hold(site *s, size_t client, told *t)
{
  claim_by(s, client, t, false);
  (void)await(s, &t->granted, SPAN_MS(1000));
}

size_t held_at(site *s)
{
  size_t count = 0;

  for (size_t i = 0; i < s->server_count; i++)
    count += site_is_held(s, i, "x");
  return count;
}

size_t with_token(site *s, uint64_t token)
{
  char words[32];
  text t = text_over(words, sizeof(words));
  size_t count = 0;

  text_add(&t, ":");
  text_add_uint(&t, token);
  text_add(&t, " ");
  for (size_t i = 0; i < s->server_count; i++)
    count += strstr(site_lease(s, i, "x"), words) != NULL;
  return count;
}
