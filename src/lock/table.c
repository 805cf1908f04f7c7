/* SPDX-License-Identifier: MIT */
/* lock/table.c - the table of names and claims. */
#include "lock/table.h"

#include <assert.h>
#include <string.h>

lock_table *lock_table_new(const lock_settings *s)
{
  lock_table *t = mem_zalloc(s->memory, sizeof(*t));
  text prefix, client;

  if (t == NULL)
    return NULL;

  t->memory = *s->memory;
  t->settings = *s;
  t->settings.memory = &t->memory;
  prefix = text_over(t->native.prefix, sizeof(t->native.prefix));
  text_add(&prefix, s->prefix);
  client = text_over(t->native.client, sizeof(t->native.client));
  text_add(&client, s->client_id);
  random_seed(&t->random, s->seed);
  timers_init(&t->timers, &t->memory);
  slots_init(&t->slots, &t->memory);
  slots_init(&t->name_slots, &t->memory);
  slots_init(&t->call_slots, &t->memory);
  owners_init(t);
  t->down_why = DIBS_ERR_UNREACHABLE;
  return t;
}

static void claim_list_free(lock_table *t, claim_list *l)
{
  while (l->first != NULL) {
    claim *c = l->first;
    claims_remove(l, c);
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

  while (t->first_event != NULL) {      /* ended claims live in no list but this one */
    claim *c = t->first_event;
    t->first_event = c->next_event;
    if (c->state == CLAIM_OVER) {
      mem_free(&t->memory, c->note);
      mem_free(&t->memory, c);
    }
  }
  while (t->first_name != NULL) {
    name *n = t->first_name;
    claim_list_free(t, &n->waiting);
    claim_list_free(t, &n->holders);
    claim_list_free(t, &n->lost);
    name_free(n);
  }
  while (t->calls != NULL)
    call_free(t, t->calls);
  while (t->strays != NULL) {
    stray *s = t->strays;
    t->strays = s->next;
    mem_free(&t->memory, s);
  }
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

void claims_append(claim_list *l, claim *c)
{
  c->next = NULL;
  c->previous = l->last;
  if (l->last != NULL)
    l->last->next = c;
  else
    l->first = c;
  l->last = c;
}

void claims_remove(claim_list *l, claim *c)
{
  if (c->previous != NULL)
    c->previous->next = c->next;
  else
    l->first = c->next;
  if (c->next != NULL)
    c->next->previous = c->previous;
  else
    l->last = c->previous;
  c->next = c->previous = NULL;
}

/* ---- time ---- */

instant lock_deadline(const lock_table *t)
{
  return timers_first(&t->timers);
}

static void name_poll_timer(name *n, instant now)
{
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
  case NAME_LINGERING:
    linger_end(n, now);
    break;
  case NAME_IDLE:
  case NAME_HELD:
    break;
  }
}

static void name_renew_timer(name *n, instant now)
{
  if (n->is_renewing) {
    /* No answer for a good part of the ttl: this connection is not to be relied on. */
    hold_suspect(n);
    n->table->link_is_doubtful = true;
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
  if (t->has_idle_dues && !t->is_up)
    dues_sweep(t);
}

void lock_server_time(lock_table *t, int64_t server_us, instant sent_at, instant now)
{
  server_clock_learn(&t->clock, server_us, sent_at, now);
}

void lock_wall_clock(lock_table *t, int64_t wall_us, instant now)
{
  server_clock_wall(&t->clock, wall_us, now);
}

/* ---- the connections ---- */

static void rearm_waiting(lock_table *t, instant now)
{
  for (name *n = t->first_name; n != NULL; n = n->next)
    for (claim *c = n->waiting.first; c != NULL; c = c->next)
      claim_arm(c, now);
}

void lock_link_up(lock_table *t, instant now)
{
  t->is_up = true;
  t->link_is_doubtful = false;
  for (name *n = t->first_name; n != NULL; n = n->next) {
    if (n->state == NAME_HELD || n->state == NAME_CONFIRMING ||
        n->state == NAME_LINGERING) {
      if (!n->is_fixed || n->confirm_now || n->is_downgrading)
        name_renewal_due(n);
    } else if (n->state != NAME_IDLE) {
      name_due(n);
    }
  }
  rearm_waiting(t, now);
  owners_link_up(t);
}

void lock_link_down(lock_table *t, dibs_status why, const char *words, instant now)
{
  text shown = text_over(t->down_words, sizeof(t->down_words));

  /* A replica that is met again and again is one long outage, not many short ones. */
  if ((t->is_up && !t->is_read_only) || instant_before(t->down_since, (instant){ 1 }))
    t->down_since = now;
  t->is_read_only |= why == DIBS_ERR_READ_ONLY;
  t->is_up = false;
  t->link_is_doubtful = false;
  t->down_why = why;
  text_add(&shown, words);
  while (t->calls != NULL)
    call_cut(t, t->calls);
  for (name *n = t->first_name; n != NULL; n = n->next) {
    n->is_renewing = false;
    hold_suspect(n);
  }
  rearm_waiting(t, now);
}

void lock_can_write(lock_table *t, instant now)
{
  if (!t->is_read_only)
    return;
  t->is_read_only = false;
  rearm_waiting(t, now);
}

static bool is_final(dibs_status why)
{
  return why == DIBS_ERR_AUTH || why == DIBS_ERR_DENIED || why == DIBS_ERR_TLS ||
         why == DIBS_ERR_PROTOCOL || why == DIBS_ERR_CONFIG;
}

void lock_fail_if_final(lock_table *t, instant now)
{
  name *n, *next;

  if (t->is_up || !is_final(t->down_why))
    return;
  for (n = t->first_name; n != NULL; n = next) {
    next = n->next;
    claims_fail(n, t->down_why, t->down_words);
    ask_end(n, now);
  }
}

void lock_inbox_up(lock_table *t, instant now)
{
  t->inbox_is_up = true;
  t->inbox_up_at = now;
  t->inbox_is_deaf = false;
  for (name *n = t->first_name; n != NULL; n = n->next) {
    if ((n->state == NAME_ASKING && n->needs_inbox) || n->state == NAME_QUEUED) {
      n->needs_inbox = false;
      name_due(n);
    } else if (n->state == NAME_HELD && !n->is_fixed) {
      name_renewal_due(n);              /* a `want` may have been lost: the answer tells */
    }
  }
}

void lock_inbox_down(lock_table *t, dibs_status why, const char *words, instant now)
{
  name *n, *next;

  t->inbox_is_up = false;
  t->inbox_is_deaf = false;
  for (n = t->first_name; n != NULL; n = n->next)
    if (n->state == NAME_LINGERING)
      linger_end(n, now);                /* nobody could tell us that he wants it */
  if (!is_final(why))
    return;
  for (n = t->first_name; n != NULL; n = next) {
    next = n->next;
    if (!n->needs_inbox)
      continue;
    claims_fail(n, why, words);
    ask_end(n, now);
  }
}

bool lock_wants_link(const lock_table *t)
{
  return t->first_name != NULL;
}

bool lock_wants_inbox(const lock_table *t)
{
  return t->wants_inbox;
}

bool lock_link_is_doubtful(const lock_table *t)
{
  return t->link_is_doubtful;
}

bool lock_inbox_is_deaf(const lock_table *t)
{
  return t->inbox_is_deaf;
}

/* ---- the end ---- */

static void name_close(name *n, instant now)
{
  claim *c, *next;

  claims_fail(n, DIBS_ERR_CLOSED, "the client is being closed");
  for (c = n->lost.first; c != NULL; c = next) {
    next = c->next;
    claim_end(c, &n->lost, LOCK_RELEASED, c->status);
  }
  if (n->state == NAME_HELD) {
    for (c = n->holders.first; c != NULL; c = c->next) {
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
  if (t->has_idle_dues)
    dues_sweep(t);
}

bool lock_is_quiet(const lock_table *t)
{
  return t->first_name == NULL && t->strays == NULL;
}

lock_counts lock_get_counts(const lock_table *t)
{
  return t->counts;
}
