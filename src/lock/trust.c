/* SPDX-License-Identifier: MIT */
/* lock/trust.c - what a message must prove to be accepted, the cost limit of the others,
 * and which tokens are possible (protocol.md 5). Any client with the right to publish can
 * write to an inbox. */
#include "base/hash.h"
#include "lock/table.h"

#define HINTS_MAX 1000                  /* at once, and this number again each second */
#define HINTS_BY_GRANT 4                /* under contention most hints are useless, not all */
#define HINT_DELAY_MIN SPAN_MS(20)
#define HINT_DELAY_MAX SPAN_MS(100)
#define TOKEN_AHEAD_US INT64_C(3600000000)
#define TOKEN_END (UINT64_C(1) << 52)        /* as in lua/native/shared/token_above.lua */
#define WARN_EVERY SPAN_MS(60000)

/* The key is a secret of this client; the tables of a quorum have different seeds, so that
 * no server learns the nonce of another server's ask. */
uint64_t ask_nonce(const lock_table *t, uint64_t ask)
{
  const uint64_t input[2] = { ask, t->settings.seed };

  return siphash(t->settings.nonce_key, input, 2);
}

bool message_is_proven(const lock_table *t, const inbox_message *m)
{
  return m->has_nonce && m->nonce == ask_nonce(t, m->lease.ask);
}

/* ---- hints ---- */

bool hints_take(lock_table *t, unsigned cost, instant now)
{
  int64_t more = instant_since(now, t->hints_at).ns / (1000000000 / HINTS_MAX);

  if (more > 0) {
    t->hints_spent -= (unsigned)(more < t->hints_spent ? more : t->hints_spent);
    t->hints_at = now;
  }
  if (t->hints_spent + cost > HINTS_MAX)
    return false;
  t->hints_spent += cost;
  return true;
}

void hints_paid(lock_table *t)
{
  t->hints_spent -= t->hints_spent < HINTS_BY_GRANT ? t->hints_spent : HINTS_BY_GRANT;
}

bool hint_is_in_time(lease *l, instant now)
{
  lock_table *t = l->table;
  instant at;

  l->ask.had_message = true;
  if (hints_take(t, HINT_ASK, now))
    return true;
  at = instant_add(now, random_span(&t->random, HINT_DELAY_MIN, HINT_DELAY_MAX));
  if (!timer_is_set(&l->poll) || instant_before(at, l->poll.at))
    timers_set(&t->timers, &l->poll, at);
  return false;
}

/* ---- tokens ---- */

bool token_is_possible(uint64_t token, int64_t server_us)
{
  return token <= (uint64_t)server_us + TOKEN_AHEAD_US;
}

void token_raise_floor(uint64_t *floor, uint64_t token, const route *r, instant now)
{
  int64_t server_us = server_clock_at(&r->clock, now);

  if (token > *floor && (server_us == 0 || token_is_possible(token, server_us)))
    *floor = token;
}

bool token_is_of_a_clock(uint64_t token)
{
  return token < TOKEN_END;
}

void token_warn(lock_table *t, const lease *l, uint64_t token, instant now)
{
  text words = text_over(t->warning, sizeof(t->warning));
  many_name first = { 0 };

  if (t->has_warned && instant_since(now, t->warned_at).ns < WARN_EVERY.ns)
    return;
  t->has_warned = t->has_warning = true;
  t->warned_at = now;
  (void)lease_next_name(l, 0, &first);
  text_add(&words, "a lease of ");
  text_add_quoted(&words, first.name, first.size);
  text_add(&words, " with token ");
  text_add_uint(&words, token);
  text_add(&words, ", over an hour ahead of the server's clock: the clock was set back, or "
                   "a message or a key was forged; see SECURITY.md");
}

const char *lock_take_warning(lock_table *t)
{
  bool is_one = t->has_warning;

  t->has_warning = false;
  return is_one ? t->warning : NULL;
}
