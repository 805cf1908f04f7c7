/* SPDX-License-Identifier: MIT */
/* Observations: questions asked again and again, and the channels that say when.
 *
 * A message is a hint and nothing more: what counts is the answer to a question asked after
 * it. So nothing is missed by one whose subscription was down: it asks once it stands. */
#include "engine/parts.h"

#define ATTEMPTS_SHOWN 100              /* keeps ask.c from giving up: that is ours to say */

/* ---- news ---- */

static void news_add(engine *e, observation *o)
{
  if (o->is_news)
    return;
  o->is_news = true;
  o->next_news = NULL;
  if (e->last_news != NULL)
    e->last_news->next_news = o;
  else
    e->first_news = o;
  e->last_news = o;
}

static void news_take_out(engine *e, observation *o)
{
  observation *before = NULL;

  if (!o->is_news)
    return;
  for (observation *n = e->first_news; n != o; n = n->next_news)
    before = n;
  if (before != NULL)
    before->next_news = o->next_news;
  else
    e->first_news = o->next_news;
  if (e->last_news == o)
    e->last_news = before;
  o->is_news = false;
}

/* ---- time ---- */

static instant mute_until(const engine *e, const observation *o)
{
  if (o->is_patient || instant_is_never(o->mute_since))
    return INSTANT_NEVER;
  return instant_add(o->mute_since, e->settings.connect_timeout);
}

static void timer_follow(engine *e, observation *o)
{
  instant at = instant_min(o->give_up_at, mute_until(e, o));

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
  news_add(e, o);
}

static void over_for_want_of_a_server(engine *e, observation *o, instant now)
{
  if (o->ask.status == DIBS_OK)
    over(e, o, DIBS_ERR_UNREACHABLE, "no connection to the server in time", now);
  else
    over(e, o, o->ask.status, o->ask.words, now);
}

static void mute(observation *o, instant now)
{
  o->mute_since = instant_min(o->mute_since, now);
}

/* Asks if it is time to; and whatever else time has brought. */
static void observation_follow(engine *e, observation *o, instant now)
{
  instant look_at = instant_min(o->look_at, o->hint_at);

  if (o->is_over)
    return;
  if (!instant_before(now, o->give_up_at)) {
    over(e, o, DIBS_TIMED_OUT, "", now);
    return;
  }
  if (!instant_before(now, mute_until(e, o))) {
    over_for_want_of_a_server(e, o, now);
    return;
  }
  if (o->ask.state == ASK_DONE && !instant_before(now, look_at)) {
    o->ask.state = ASK_OPEN;
    o->ask.try_at = now;
    o->ask.attempts = 0;
    o->ask.use_text = false;
    if (o->channel != NULL)
      observed_channel_ask(e, o->channel, now);
  }
  if (o->ask.state == ASK_OPEN && server_is_ready(ask_server(e, &o->ask))) {
    ask_send(e, &o->ask, now);
    if (o->ask.state == ASK_SENT && !instant_before(now, o->hint_at))
      o->hint_at = INSTANT_NEVER;        /* what is said from now on is another hint */
  }
  timer_follow(e, o);
}

static void hint(engine *e, observation *o, instant at, instant now)
{
  o->hint_at = instant_min(o->hint_at, instant_max(at, now));
  observation_follow(e, o, now);
}

/* Ten percent of jitter: those who were woken together shall not poll together. */
static instant next_look(engine *e, const observation *o, instant now)
{
  span shortest = { o->every.ns - o->every.ns / 10 };

  return instant_add(now, random_span(&e->random, shortest, o->every));
}

static void list_leave(engine *e, observation *o)
{
  if (o->previous != NULL)
    o->previous->next = o->next;
  else
    e->first_observation = o->next;
  if (o->next != NULL)
    o->next->previous = o->previous;
  e->observation_count--;
}

static void observation_free(engine *e, observation *o, instant now)
{
  news_take_out(e, o);
  observed_channel_leave(e, o, now);
  timers_clear(&e->observe_timers, &o->timer);
  list_leave(e, o);
  resp_reply_free(o->reply);
  ask_deinit(e, &o->ask);
  mem_free(&e->memory, o);
}

/* ---- what the program asks ---- */

static observation *observation_new(engine *e, const observe_request *r)
{
  observation *o;

  if (!timers_reserve(&e->observe_timers, e->observation_count + 1))
    return NULL;
  o = mem_zalloc(&e->memory, sizeof(*o));
  if (o == NULL)
    return NULL;
  timer_init(&o->timer, 0, o);
  o->next = e->first_observation;
  if (o->next != NULL)
    o->next->previous = o;
  e->first_observation = o;
  e->observation_count++;
  o->ask.observation = o;
  o->ask.state = ASK_DONE;
  o->context = r->context;
  o->every = r->every;
  o->give_up_at = r->give_up_at;
  o->is_patient = r->is_patient;
  return o;
}

/* false: memory. */
static bool channel_join(engine *e, observation *o, const observe_request *r)
{
  observed_channel *c;

  if (r->channel_size == 0)
    return true;
  c = observed_channel_get(e, r->channel, r->channel_size);
  if (c != NULL)
    observed_channel_join(c, o);
  return c != NULL;
}

dibs_status engine_observe(engine *e, const observe_request *r, instant now,
                           uint64_t *ret_id)
{
  observation *o;

  if (e->is_closing)
    return DIBS_ERR_CLOSED;
  o = observation_new(e, r);
  if (o == NULL)
    return DIBS_ERR_NO_MEMORY;
  if (!ask_init(e, &o->ask, r->command, r->with_text) || !channel_join(e, o, r)) {
    observation_free(e, o, now);
    return DIBS_ERR_NO_MEMORY;
  }
  o->look_at = now;
  o->hint_at = INSTANT_NEVER;
  o->mute_since = server_is_ready(ask_server(e, &o->ask)) ? INSTANT_NEVER : now;
  *ret_id = o->ask.id;
  observation_follow(e, o, now);
  engine_pump(e, now);
  return DIBS_OK;
}

static observation *observation_of(const engine *e, uint64_t id)
{
  const ask *a = slots_get(&e->ask_slots, id);

  return a != NULL ? a->observation : NULL;
}

void engine_observe_at(engine *e, uint64_t id, instant at, instant now)
{
  observation *o = observation_of(e, id);

  if (o == NULL)
    return;
  hint(e, o, at, now);
  engine_pump(e, now);
}

static bool buffer_take(buffer *to, const buffer *from)
{
  buffer copy;

  buffer_init(&copy, &to->memory);
  if (!buffer_append(&copy, buffer_bytes(from), buffer_size(from)))
    return false;
  buffer_deinit(to);
  *to = copy;
  return true;
}

bool engine_observe_ask(engine *e, uint64_t id, const buffer *command,
                        const buffer *with_text, instant now)
{
  observation *o = observation_of(e, id);

  if (o != NULL && o->is_over)
    return true;
  /* One half may have been taken: who is told false ends the observation. */
  if (o == NULL || !buffer_take(&o->ask.command, command) ||
      !buffer_take(&o->ask.with_text, with_text))
    return false;
  o->ask.use_text = false;
  o->is_outdated = o->ask.state == ASK_SENT;
  if (o->has_answer) {
    o->reply = resp_reply_free(o->reply);
    o->has_answer = false;
    news_take_out(e, o);
  }
  hint(e, o, now, now);
  engine_pump(e, now);
  return true;
}

bool engine_observe_end(engine *e, uint64_t id, instant now)
{
  observation *o = observation_of(e, id);

  if (o == NULL)
    return false;
  observation_free(e, o, now);
  engine_pump(e, now);
  return true;
}

/* ---- what the server says ---- */

/* An answer, a refusal that lasts, or "later": ask.c has judged it. */
static void judged(engine *e, observation *o, instant now)
{
  ask *a = &o->ask;

  if (a->state != ASK_DONE) {
    if (a->status != DIBS_OK)
      mute(o, now);
    return;
  }
  if (a->status != DIBS_OK) {
    over(e, o, a->status, a->words, now);
    return;
  }
  resp_reply_free(o->reply);             /* one that nobody took is older than this one */
  o->reply = a->reply;
  a->reply = NULL;
  o->has_answer = o->was_answered = true;
  o->mute_since = INSTANT_NEVER;
  o->look_at = next_look(e, o, now);
  news_add(e, o);
}

bool observe_answered(engine *e, observation *o, resp_reply *reply, const server *from,
                      instant now)
{
  const resp_node *said = resp_root(reply);
  bool was_read_only = o->ask.status == DIBS_ERR_READ_ONLY;

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
    mute(o, now);
    return false;
  }
  if (o->ask.attempts > ATTEMPTS_SHOWN)
    o->ask.attempts = ATTEMPTS_SHOWN;
  ask_take_answer(e, &o->ask, reply, from, now);
  if (was_read_only)
    from->commands->refusals = 0;
  judged(e, o, now);
  observation_follow(e, o, now);
  return true;
}

void observe_message(engine *e, const resp_node *name, instant now)
{
  observed_channel *c = observed_channel_find(e, name->bytes, name->size);

  for (observation *o = c != NULL ? c->first : NULL, *next; o != NULL; o = next) {
    next = o->channel_next;
    hint(e, o, now, now);
  }
}

void observe_subscribed(engine *e, const resp_node *name, instant now)
{
  observe_message(e, name, now);         /* what was said before, nobody heard */
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
    /* Another replica would be no server either, for one that has to write. */
    if (o->ask.status == DIBS_ERR_READ_ONLY)
      o->hint_at = now;
    else
      o->mute_since = INSTANT_NEVER;
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
    bool may_come_back = o->is_patient && o->was_answered;

    next = o->next;
    if (!is_at(e, o, s))
      continue;
    mute(o, now);
    o->is_outdated = false;
    if (o->ask.state == ASK_DONE && !o->is_over)
      ask_done(&o->ask, why, words);
    ask_unsent(&o->ask, why, words);
    if (ask_fault_is_final(why) && !may_come_back)
      over(e, o, why, words, now);
    observation_follow(e, o, now);
  }
}

/* ---- time and end ---- */

void observe_tick(engine *e, instant now)
{
  timer *t;

  while ((t = timers_pop(&e->observe_timers, now)) != NULL)
    observation_follow(e, t->owner, now);
}

void observe_close(engine *e, instant now)
{
  for (observation *o = e->first_observation; o != NULL; o = o->next)
    over(e, o, DIBS_ERR_CLOSED, "the client is being closed", now);
}

void observe_free(engine *e)
{
  instant no_matter = { 0 };

  observe_inbox_down(e, NULL, DIBS_ERR_CLOSED, no_matter);
  while (e->first_observation != NULL)
    observation_free(e, e->first_observation, no_matter);
  timers_deinit(&e->observe_timers);
}

bool observe_next_effect(engine *e, effect *ret)
{
  observation *o = e->first_news;
  instant no_matter = { 0 };

  if (o == NULL)
    return false;
  *ret = (effect){ .kind = EFFECT_OBSERVED, .context = o->context, .id = o->ask.id };
  if (o->has_answer) {
    ret->reply = o->reply;
    o->reply = NULL;
    o->has_answer = false;
    if (!o->is_over)
      news_take_out(e, o);
    return true;
  }
  ret->status = o->ask.status;
  ret->is_over = true;
  ret->text = engine_words(e, o->ask.words);
  observation_free(e, o, no_matter);
  return true;
}
