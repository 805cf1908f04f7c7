/* SPDX-License-Identifier: MIT */
/* engine/observe.c - observations: operations that are repeated, after messages on their
 * channels and by time.
 *
 * A message is only a hint: the reply to a command sent after it counts. An observation
 * whose subscription was down misses nothing: it asks when it is subscribed again. */
#include "engine/internal.h"

#include <utlist.h>

/* ---- time ---- */

static instant mute_until(const engine *e, const observation *o)
{
  bool is_borne = o->ask.op->row->is_patient || e->is_patient ||
                  (o->was_answered && e->settings.patience == PATIENCE_ONCE_ANSWERED);

  if (is_borne || instant_is_never(o->unreachable_since))
    return INSTANT_NEVER;
  return instant_add(o->unreachable_since, e->settings.connect_timeout);
}

/* When a patient one has news that its server cannot be asked. */
static instant cut_off_at(const engine *e, const observation *o)
{
  if (!o->ask.op->row->is_patient || o->is_cut_off || instant_is_never(o->unreachable_since))
    return INSTANT_NEVER;
  return instant_add(o->unreachable_since, e->settings.connect_timeout);
}

static void timer_follow(engine *e, observation *o)
{
  instant at = instant_min(o->ask.give_up_at, instant_min(mute_until(e, o), cut_off_at(e, o)));

  if (o->ask.state == ASK_DONE)
    at = instant_min(at, instant_min(o->look_at, o->hint_at));
  else if (o->ask.state == ASK_OPEN && server_is_ready(ask_server(e, &o->ask)))
    at = instant_min(at, o->ask.try_at);
  if (o->is_over || instant_is_never(at))
    timers_clear(&e->observe_timers, &o->timer);
  else
    timers_set(&e->observe_timers, &o->timer, at);
}

/* ---- one observation ---- */

static void over(engine *e, observation *o, dibs_status status, const char *words, instant now)
{
  if (o->is_over)
    return;
  if (words != o->ask.words)
    ask_done(&o->ask, status, words);
  o->ask.state = ASK_DONE;
  o->ask.status = status;
  o->is_over = true;
  observed_channel_leave(e, o, now);
  timer_follow(e, o);
  observe_news_add(e, o);
}

static void over_for_want_of_a_server(engine *e, observation *o, instant now)
{
  ask_doubt(&o->ask);
  ask_unanswered(e, &o->ask, now);
  over(e, o, o->ask.status, o->ask.words, now);
}

static void over_without_reply(engine *e, observation *o, instant now)
{
  ask_without_reply(e, &o->ask, DIBS_ERR_UNREACHABLE, now);
  over(e, o, o->ask.status, o->ask.words, now);
}

/* Until the next reply. */
static void cut_off(engine *e, observation *o)
{
  o->is_cut_off = true;
  observe_news_add(e, o);
}

static void mute(engine *e, observation *o, instant now)
{
  e->observe_is_mute = true;
  o->unreachable_since = instant_min(o->unreachable_since, now);
}

/* DIBS_TIMED_OUT needs a reply of the server; without one it is a fault. */
static void limit_reached(engine *e, observation *o, instant now)
{
  ask_doubt(&o->ask);
  o->is_late = instant_is_never(o->unreachable_since) && !o->was_answered;
  if (!instant_is_never(o->unreachable_since))
    over_for_want_of_a_server(e, o, now);
  else if (o->is_late)
    over_without_reply(e, o, now);
  else
    over(e, o, DIBS_TIMED_OUT, "", now);
}

/* Handles time limits, and sends the command when it is due. */
static void observation_follow(engine *e, observation *o, instant now)
{
  instant look_at = instant_min(o->look_at, o->hint_at);

  if (o->is_over)
    return;
  if (!instant_before(now, o->ask.give_up_at)) {
    limit_reached(e, o, now);
    return;
  }
  if (!instant_before(now, mute_until(e, o))) {
    over_for_want_of_a_server(e, o, now);
    return;
  }
  if (!instant_before(now, cut_off_at(e, o)))
    cut_off(e, o);
  if (o->ask.state == ASK_DONE && !instant_before(now, look_at)) {
    o->ask.state = ASK_OPEN;
    o->ask.try_at = now;
    o->ask.attempts = 0;
    o->ask.command.carries_text = false;
    if (o->channel != NULL)
      observed_channel_ask(e, o->channel, now);
  }
  if (o->ask.state == ASK_OPEN && server_is_ready(ask_server(e, &o->ask))) {
    ask_send(e, &o->ask, now);
    if (o->ask.state == ASK_SENT && !instant_before(now, o->hint_at))
      o->hint_at = INSTANT_NEVER;        /* later messages are new hints */
  }
  timer_follow(e, o);
}

void observe_hint(engine *e, observation *o, instant at, instant now)
{
  o->hint_at = instant_min(o->hint_at, instant_max(at, now));
  observation_follow(e, o, now);
}

/* Ten percent of jitter: observations that were woken together should not poll together. */
static instant next_look(engine *e, const observation *o, instant now)
{
  span longest = o->ask.op->row->every, shortest = { longest.ns - longest.ns / 10 };

  return instant_add(now, random_span(&e->random, shortest, longest));
}

static void observation_free(engine *e, observation *o, instant now)
{
  observe_news_remove(e, o);
  observed_channel_leave(e, o, now);
  timers_clear(&e->observe_timers, &o->timer);
  DL_DELETE2(e->first_observation, o, previous, next);
  e->observation_count--;
  ask_deinit(e, &o->ask);
  mem_free(&e->memory, o);
}

/* ---- begin and end ---- */

static observation *observation_new(engine *e, sync_op *op)
{
  observation *o;

  if (!timers_reserve(&e->observe_timers, e->observation_count + 1))
    return NULL;
  o = mem_zalloc(&e->memory, sizeof(*o));
  if (o == NULL)
    return NULL;
  timer_init(&o->timer, 0);
  DL_PREPEND2(e->first_observation, o, previous, next);
  e->observation_count++;
  o->ask.observation = o;
  o->ask.state = ASK_DONE;
  o->ask.op = op;
  o->ask.give_up_at = op->give_up_at;
  return o;
}

/* false: no memory */
static bool channel_join(engine *e, observation *o)
{
  char bytes[SYNC_CHANNEL_SIZE];
  text name = text_over(bytes, sizeof(bytes));
  const sync_op *op = o->ask.op;
  observed_channel *c;

  if (op->row->channel == NULL)
    return true;
  op->row->channel(op, &e->names, &name);
  c = observed_channel_get(e, bytes, name.used);
  if (c != NULL)
    observed_channel_join(c, o);
  return c != NULL;
}

dibs_status observe_begin(engine *e, sync_op *op, instant now, uint64_t *ret_id)
{
  observation *o;

  if (e->is_closing)
    return DIBS_ERR_CLOSED;
  o = observation_new(e, op);
  if (o == NULL)
    return DIBS_ERR_NO_MEMORY;
  if (!ask_init(e, &o->ask, NULL) || !channel_join(e, o)) {
    observation_free(e, o, now);
    return DIBS_ERR_NO_MEMORY;
  }
  o->ask.asked_at = o->look_at = now;
  o->hint_at = INSTANT_NEVER;
  o->unreachable_since = INSTANT_NEVER;
  if (!server_is_ready(ask_server(e, &o->ask)))
    mute(e, o, now);
  *ret_id = o->ask.id;
  observation_follow(e, o, now);
  engine_advance(e, now);
  return DIBS_OK;
}

void observe_end(engine *e, observation *o, instant now)
{
  observation_free(e, o, now);
  engine_advance(e, now);
}

/* ---- replies and messages ---- */

/* ask.c has classified the reply: a result, a permanent fault, or a repetition. */
static void judged(engine *e, observation *o, instant now)
{
  ask *a = &o->ask;

  if (a->state != ASK_DONE) {
    if (a->status != DIBS_OK)
      mute(e, o, now);
    return;
  }
  if (a->status != DIBS_OK) {
    over(e, o, a->status, a->words, now);
    return;
  }
  o->was_answered = true;
  o->is_cut_off = false;
  o->unreachable_since = INSTANT_NEVER;
  o->look_at = next_look(e, o, now);
  observe_news_add(e, o);
}

bool observe_answered(engine *e, observation *o, resp_reply *reply, const server *from,
                      instant now)
{
  const resp_node *said = resp_root(reply);

  if (o->is_outdated) {
    resp_reply_free(reply);
    o->is_outdated = false;
    o->ask.state = ASK_OPEN;
    observation_follow(e, o, now);
    return true;
  }
  if (said->kind == RESP_ERROR &&
      resp_fault_of(said->bytes, said->size) == RESP_FAULT_READ_ONLY) {
    resp_reply_free(reply);
    mute(e, o, now);
    return false;
  }
  ask_take_answer(e, &o->ask, reply, from, now);
  judged(e, o, now);
  observation_follow(e, o, now);
  return true;
}

void observe_message(engine *e, const resp_node *name, instant now)
{
  observed_channel *c = observed_channel_find(e, name->bytes, name->size);

  for (observation *o = c != NULL ? c->first : NULL, *next; o != NULL; o = next) {
    next = o->channel_next;
    observe_hint(e, o, now, now);
  }
}

/* ---- connections ---- */

bool observe_is_open(const engine *e)
{
  for (const observation *o = e->first_observation; o != NULL; o = o->next)
    if (!o->is_over)
      return true;
  return false;
}

void observe_link_up(engine *e, const server *s, instant now)
{
  for (observation *o = e->first_observation, *next; o != NULL; o = next) {
    next = o->next;
    if (ask_server(e, &o->ask) != s)
      continue;
    /* A command that writes needs the primary: another replica is no help. */
    if (o->ask.status == DIBS_ERR_READ_ONLY)
      o->hint_at = now;
    else
      o->unreachable_since = INSTANT_NEVER;
    observation_follow(e, o, now);
  }
}

void observe_ask_again(engine *e, instant now)
{
  for (observation *o = e->first_observation, *next; o != NULL; o = next) {
    next = o->next;
    if (o->ask.state == ASK_OPEN)
      observation_follow(e, o, now);
  }
}

static bool is_at(const engine *e, const observation *o, const server *s)
{
  return s == NULL ||
         (o->ask.state == ASK_SENT ? o->ask.sent_to : ask_server(e, &o->ask)) == s;
}

void observe_link_down(engine *e, const server *s, dibs_status why, const char *words, instant now)
{
  for (observation *o = e->first_observation, *next; o != NULL; o = next) {
    bool may_come_back = o->ask.op->row->is_patient && o->was_answered;

    next = o->next;
    if (!is_at(e, o, s))
      continue;
    mute(e, o, now);
    o->is_outdated = false;
    if (o->ask.state == ASK_DONE && !o->is_over)
      ask_done(&o->ask, why, words);
    ask_unsent(&o->ask, why, words);
    if (ask_fault_is_final(why) && !o->is_over) {
      if (may_come_back)
        cut_off(e, o);
      else
        over(e, o, why, words, now);
    }
    observation_follow(e, o, now);
  }
}

/* ---- time and end ---- */

void observe_tick(engine *e, instant now)
{
  timer *t;

  while ((t = timers_pop(&e->observe_timers, now)) != NULL)
    observation_follow(e, RECORD_OF(observation, timer, t), now);
}

void observe_close(engine *e, instant now)
{
  for (observation *o = e->first_observation; o != NULL; o = o->next)
    over(e, o, DIBS_ERR_CLOSED, "the client is being closed", now);
}

void observe_be_patient(engine *e)
{
  for (observation *o = e->first_observation; o != NULL; o = o->next)
    timer_follow(e, o);
}

void observe_free(engine *e)
{
  instant no_matter = { 0 };

  observe_inbox_down(e, NULL);
  while (e->first_observation != NULL)
    observation_free(e, e->first_observation, no_matter);
  timers_deinit(&e->observe_timers);
}
