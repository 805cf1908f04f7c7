/* SPDX-License-Identifier: MIT */
/* lock/table.c - the table of names and claims. */
#include "lock/table.h"

#include <assert.h>
#include <string.h>

lock_table *lock_table_new(const lock_settings *s)
{
  lock_table *t = mem_zalloc(s->memory, sizeof(*t));
  text prefix, client, registry;

  if (t == NULL)
    return NULL;

  t->memory = *s->memory;
  t->settings = *s;
  t->settings.memory = &t->memory;
  prefix = text_over(t->native.prefix, sizeof(t->native.prefix));
  text_add(&prefix, s->prefix);
  client = text_over(t->native.client, sizeof(t->native.client));
  text_add(&client, s->client_id);
  registry = text_over(t->native.registry, sizeof(t->native.registry));
  text_add(&registry, s->registry != NULL ? s->registry : "");
  random_seed(&t->random, s->seed);
  timers_init(&t->timers, &t->memory);
  slots_init(&t->slots, &t->memory);
  slots_init(&t->name_slots, &t->memory);
  slots_init(&t->call_slots, &t->memory);
  owners_init(t);
  t->native.dialect = s->dialect;
  t->native.is_voter = s->is_voter;
  t->native.has_tags = s->slots != NULL;
  t->native.uses_functions = s->uses_functions;
  t->native.quarantine_ms = span_to_ms(s->quarantine);
  t->only_polls = s->only_polls || dialect_traits_of(&t->native)->is_silent;
  return routes_init(t) ? t : lock_table_free(t);
}

static void claims_free(lock_table *t, claim *claims)
{
  while (claims != NULL) {
    claim *c = claims;
    DL_DELETE(claims, c);
    timers_clear(&t->timers, &c->timer);
    mem_free(&t->memory, c->note);
    mem_free(&t->memory, c);
  }
}

lock_table *lock_table_free(lock_table *t)
{
  memory m;

  if (t == NULL)
    return NULL;

  while (t->telling != NULL) {          /* ended claims live in no list but this one */
    claim *c = t->telling;
    DL_DELETE2(t->telling, c, previous_telling, next_telling);
    if (c->state == CLAIM_OVER) {
      mem_free(&t->memory, c->note);
      mem_free(&t->memory, c);
    }
  }
  while (t->first_name != NULL) {
    name *n = t->first_name;
    claims_free(t, n->waiting);
    claims_free(t, n->holders);
    claims_free(t, n->lost);
    name_free(n);
  }
  channels_free(t);
  routes_free(t);
  while (t->detached != NULL) {
    detached *d = t->detached;
    t->detached = d->next;
    mem_free(&t->memory, d);
  }
  timers_deinit(&t->timers);
  slots_deinit(&t->slots);
  slots_deinit(&t->name_slots);
  slots_deinit(&t->call_slots);
  m = t->memory;
  mem_free(&m, t);
  return NULL;
}

bool table_reserve_timers(lock_table *t, size_t more)
{
  /* Only ever grows: as many timers as names and claims ever lived at once. */
  size_t wanted = (size_t)(t->counts.names * 3 + t->counts.holds + t->counts.waiting) + 1 + more;

  if (wanted <= t->timer_count)
    return true;
  wanted += wanted / 2;
  if (!timers_reserve(&t->timers, wanted))
    return false;
  t->timer_count = wanted;
  return true;
}

/* ---- time ---- */

instant lock_deadline(const lock_table *t)
{
  return timers_first(&t->timers);
}

static void name_poll_timer(name *n, instant now)
{
  n->redirects = 0;
  switch (n->state) {
  case NAME_ASKING:
  case NAME_QUEUED:
    name_due(n);
    break;
  case NAME_RELEASING:
  case NAME_CANCELLING:
    leave_timer(n, now);
    break;
  case NAME_CONFIRMING:
    name_renewal_due(n);
    break;
  case NAME_ACKING:
    acks_give_up(n, now);
    break;
  case NAME_LINGERING:
    linger_end(n, now);
    break;
  case NAME_HELD:
    if (n->raise_to != 0)
      name_due(n);
    break;
  case NAME_IDLE:
    break;
  }
}

static void name_renew_timer(name *n, instant now)
{
  n->redirects = 0;
  if (n->state == NAME_ACKING) {
    acks_retry(n);
    return;
  }
  if (n->is_renewing) {
    /* No answer for a good part of the ttl: this connection is not to be relied on. */
    hold_suspect(n);
    n->renewing_at->link_is_doubtful = true;
    (void)now;
    return;
  }
  name_renewal_due(n);
}

static void name_deadline_timer(name *n, instant now)
{
  bool by_limit = !instant_before(n->valid_until, n->limit);

  hold_lost(n, DIBS_LOST,
            n->is_fixed ? "the fixed lease is over" : by_limit ? "max_hold_ms is over"
                                                               : "not renewed in time",
            now);
  /* Told a little early, so that the teller may be late; who has not heard it yet, or works
   * by what he was promised before, must not meet the next one before the end. */
  leave_not_before(n, hold_end(n));
}

/* Idle names leave the lists of what is due when their turn comes; where nothing is sent,
 * nothing's turn does. */
static void sweep(lock_table *t, bool is_end)
{
  for (size_t i = 0; i <= t->route_count; i++) {
    route *r = i < t->route_count ? t->routes[i] : t->nowhere;

    if (r->has_idle_dues && (is_end || !r->is_up))
      dues_sweep(r);
  }
}

void lock_tick(lock_table *t, instant now)
{
  timer *due;

  while ((due = timers_pop(&t->timers, now)) != NULL) {
    switch (due->kind) {
    case TIMER_CLAIM:
      claim_timer(due->owner, now);
      break;
    case TIMER_POLL:
      name_poll_timer(due->owner, now);
      break;
    case TIMER_RENEW:
      name_renew_timer(due->owner, now);
      break;
    case TIMER_DEADLINE:
      name_deadline_timer(due->owner, now);
      break;
    case TIMER_OWNERS:
      owners_timer(t);
      break;
    default:
      assert(false);
    }
  }
  sweep(t, false);
}

/* ---- the end ---- */

static void name_close(name *n, instant now)
{
  claim *c, *next;

  claims_fail(n, DIBS_ERR_CLOSED, "the client is being closed");
  for (c = n->lost; c != NULL; c = next) {
    next = c->next;
    claim_end(c, &n->lost, LOCK_RELEASED, c->status);
  }
  if (n->state == NAME_HELD) {
    for (c = n->holders; c != NULL; c = c->next) {
      c->state = CLAIM_RELEASING;
      c->was_valid = true;
    }
    leave_release(n, now);
  } else if (n->state == NAME_LINGERING) {
    linger_end(n, now);
  } else if (n->state == NAME_RELEASING) {
    n->release_is_early = false;         /* nobody works on behind dibs_close() */
    name_due(n);
  } else {
    ask_end(n, now);
  }
}

void lock_close(lock_table *t, instant now)
{
  name *n, *next;

  t->is_closing = true;
  for (n = t->first_name; n != NULL; n = next) {
    next = n->next;
    name_close(n, now);
  }
  sweep(t, true);
}

bool lock_is_quiet(const lock_table *t)
{
  for (size_t i = 0; i < t->route_count; i++)
    if (t->routes[i]->strays != NULL)
      return false;
  return t->first_name == NULL;
}

lock_counts lock_get_counts(const lock_table *t)
{
  return t->counts;
}
