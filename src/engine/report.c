/* SPDX-License-Identifier: MIT */
/* engine/report.c - reports the state of servers to the program: connections, and requests
 * that wait because no server can be asked. */
#include "engine/internal.h"

#include <string.h>

#define GAP_FIRST SPAN_MS(1000)     /* between two reports of one server */
#define GAP_MAX SPAN_MS(30000)
#define STUCK_AFTER SPAN_MS(2000)   /* the first warning; the next one after twice the time */
#define STUCK_AGAIN_MAX SPAN_MS(60000)
#define STUCK_FORGET SPAN_MS(10000) /* without requests for this time, the next report is new */

/* ---- connections ---- */

/* `url`: of one server; NULL: of the search for servers. */
static void link_reported(engine *e, link_report *r, const server_url *url, instant now)
{
  char shown[256];
  text address = text_over(shown, sizeof(shown));
  bool is_calm = r->reported == SEEN_NOTHING ||
                 instant_since(now, r->reported_at).ns > 2 * GAP_MAX.ns;

  r->gap = is_calm ? GAP_FIRST : span_min((span){ 2 * r->gap.ns }, GAP_MAX);
  r->reported = r->is;
  r->reported_at = now;
  if (url != NULL)
    server_url_show(url, &address);
  if (r->is == SEEN_UP && url != NULL)
    engine_report_of(e, DIBS_EVENT_CONNECTED, url, shown);
  else if (r->is == SEEN_DOWN)
    engine_report_of(e, DIBS_EVENT_DISCONNECTED, url, r->words);
}

static bool link_is_news(const link_report *r)
{
  return r->is != r->reported;
}

static instant link_free_at(const link_report *r)
{
  return r->reported == SEEN_NOTHING ? (instant){ 0 } : instant_add(r->reported_at, r->gap);
}

static void link_flush(engine *e, link_report *r, const server_url *url, instant now)
{
  if (link_is_news(r) && !instant_before(now, link_free_at(r)))
    link_reported(e, r, url, now);
}

static void link_is(link_report *r, link_seen is, const char *words)
{
  text shown = text_over(r->words, sizeof(r->words));

  r->is = is;
  text_add(&shown, words);
}

void report_connected(engine *e, server *s, instant now)
{
  link_is(&s->report, SEEN_UP, "");
  link_flush(e, &s->report, &s->url, now);
}

void report_disconnected(engine *e, server *s, const char *words, instant now)
{
  link_is(&s->report, SEEN_DOWN, words);
  link_flush(e, &s->report, &s->url, now);
}

void report_search(engine *e, bool was_found, const char *words, instant now)
{
  link_is(&e->topology.report, was_found ? SEEN_UP : SEEN_DOWN, words);
  link_flush(e, &e->topology.report, NULL, now);
}

static void report_no_messages(engine *e, const server *s, const char *why)
{
  char words[512];
  text shown = text_over(words, sizeof(words));

  text_add(&shown, "no messages from ");
  server_url_show(&s->url, &shown);
  text_format(&shown, "; waiters and observers poll: %s", why);
  engine_report(e, DIBS_EVENT_WARNING, words);
}

void report_polling(engine *e, const server *s, instant now)
{
  const char *why;

  if (lock_polls(s->locks, s->route, observe_wants_inbox(e, s), now, &why))
    report_no_messages(e, s, why);
}

void report_channel_refused(engine *e, server *s, const char *why)
{
  if (!s->refusal_is_reported)
    report_no_messages(e, s, why);
  s->refusal_is_reported = true;
}

/* ---- nothing can be asked ---- */

/* Why no server can be asked, and since when, if known. */
typedef struct obstacle {
  const server *server;           /* NULL: unknown */
  const char *words;
  instant since;
  answered_kind needs;            /* what shows its end */
} obstacle;

/* Since when a command of a ready server has no reply, if that is long: its connection will be
 * closed later. */
static instant silent_since(const server *s, instant now)
{
  instant since = server_is_ready(s) ? link_unanswered_since(s->commands->link) : INSTANT_NEVER;

  return !instant_is_never(since) && !instant_before(now, instant_add(since, STUCK_AFTER))
           ? since : INSTANT_NEVER;
}

static bool is_refused(const engine *e, const server *s)
{
  for (const ask *a = e->first_ask; a != NULL; a = a->next)
    if (a->state == ASK_OPEN && a->status != DIBS_OK && ask_server(e, a) == s)
      return true;
  return false;
}

static bool can_ask(const engine *e, const server *s, instant now)
{
  const char *words;
  size_t route;

  return server_is_ready(s) && !is_refused(e, s) && instant_is_never(silent_since(s, now)) &&
         !lock_cannot_ask(s->locks, now, &route, &words);
}

static bool has_majority(const engine *e, instant now)
{
  size_t can = 0;

  for (size_t i = 0; i < e->server_count; i++)
    can += can_ask(e, e->servers[i], now);
  return can > e->server_count / 2;
}

/* A quorum goes on without a minority of its servers. */
static bool is_borne(const engine *e, instant now)
{
  return e->quorum != NULL && has_majority(e, now);
}

static bool lock_obstacle(const engine *e, instant now, obstacle *ret)
{
  for (size_t i = 0; i < engine_table_count(e); i++) {
    size_t route;

    if (!lock_cannot_ask(engine_table(e, i), now, &route, &ret->words))
      continue;
    ret->needs = ANSWERED_LOCK;
    for (size_t s = 0; s < e->server_count; s++)
      if (e->servers[s]->locks == engine_table(e, i) && e->servers[s]->route == route)
        ret->server = e->servers[s];
    return true;
  }
  return false;
}

bool engine_cannot_ask(const engine *e, instant now, const char **ret_words)
{
  obstacle o;

  if (!lock_obstacle(e, now, &o) || is_borne(e, now))
    return false;
  *ret_words = o.words;
  return true;
}

dibs_status ask_why(const engine *e, const ask *a, const char **ret_words)
{
  const server *s = ask_server(e, a);

  *ret_words = a->words;
  if (a->words[0] != 0)
    return a->status;
  if (s != NULL)
    return lock_link_why(s->locks, s->route, ret_words);
  if (e->topology.slots != NULL)           /* no node serves the slot */
    return lock_link_why(e->cluster_locks, ROUTE_NONE, ret_words);
  return a->status;
}

static bool ask_obstacle(const engine *e, obstacle *ret)
{
  for (const ask *a = e->first_ask; a != NULL; a = a->next)
    if (a->state == ASK_OPEN &&
        (a->status != DIBS_OK || !server_is_ready(ask_server(e, a)))) {
      ret->server = ask_server(e, a);
      ret->needs = server_is_ready(ret->server) ? ANSWERED_REFUSED : ANSWERED_ONE;
      (void)ask_why(e, a, &ret->words);
      return true;
    }
  return false;
}

static bool observe_obstacle(engine *e, obstacle *ret)
{
  for (const observation *o = e->first_observation; o != NULL && e->observe_is_mute; o = o->next)
    if (!o->is_over && !instant_is_never(o->unreachable_since)) {
      ret->server = ask_server(e, &o->ask);
      (void)ask_why(e, &o->ask, &ret->words);
      return true;
    }
  e->observe_is_mute = false;
  return false;
}

static bool silence_obstacle(const engine *e, instant now, obstacle *ret)
{
  for (size_t i = 0; i < e->server_count; i++) {
    instant since = silent_since(e->servers[i], now);

    if (instant_is_never(since))
      continue;
    *ret = (obstacle){ .server = e->servers[i], .words = "the server does not answer",
                       .since = since };
    return true;
  }
  return false;
}

static bool find_obstacle(engine *e, instant now, obstacle *ret)
{
  *ret = (obstacle){ .since = now };
  if (e->is_closing)
    return false;
  return (lock_obstacle(e, now, ret) || ask_obstacle(e, ret) || observe_obstacle(e, ret) ||
          silence_obstacle(e, now, ret)) && !is_borne(e, now);
}

static void add_seconds(text *shown, span s)
{
  text_add_int(shown, span_to_ms((span){ s.ns + SPAN_MS(500).ns }) / 1000);
  text_add(shown, " s");
}

static void warn(engine *e, const obstacle *o, instant now)
{
  char words[512], place[128] = "";
  text shown = text_over(words, sizeof(words)), node = text_over(place, sizeof(place));

  text_add(&shown, "no server could be asked for ");
  add_seconds(&shown, instant_since(now, e->stuck.since));
  text_format(&shown, ": %s", o->words[0] != 0 ? o->words : "no connection yet");
  if (o->server != NULL && o->server->has_url)
    server_url_show(&o->server->url, &node);
  if (node.used > 0 && strstr(o->words, place) == NULL)
    text_format(&shown, " (%s)", place);
  engine_report(e, DIBS_EVENT_WARNING, words);
}

void report_answered(engine *e, const server *s, answered_kind what)
{
  e->servers[s->number]->has_answered |= what >= e->stuck.needs;
}

/* Of a quorum those of the servers that can be asked still count. */
static void answers_forget(engine *e, instant now)
{
  for (size_t i = 0; i < e->server_count; i++)
    if (e->quorum == NULL || !can_ask(e, e->servers[i], now))
      e->servers[i]->has_answered = false;
}

static bool has_answer(const engine *e)
{
  size_t count = 0;

  for (size_t i = 0; i < e->server_count; i++)
    count += e->servers[i]->has_answered;
  return e->quorum != NULL ? count > e->server_count / 2 : count > 0;
}

static void stuck_on(engine *e, const obstacle *o, instant now)
{
  stuck_report *s = &e->stuck;

  if (!s->is_obstructed && s->is_on && instant_since(now, s->clear_since).ns >= STUCK_FORGET.ns)
    s->is_on = false;
  s->is_obstructed = true;
  if (!s->is_on) {
    *s = (stuck_report){ .is_on = true, .is_obstructed = true, .since = o->since,
                         .pause = STUCK_AFTER };
    s->warn_at = instant_add(o->since, STUCK_AFTER);
  }
  s->needs = o->needs;
  answers_forget(e, now);
  if (instant_before(now, s->warn_at))
    return;
  warn(e, o, now);
  s->was_warned = true;
  s->warn_at = instant_add(now, s->pause);
  s->pause = span_min((span){ 2 * s->pause.ns }, STUCK_AGAIN_MAX);
}

/* No request waits for a server any more. Recovered only if a server has answered since one did, of
 * a quorum a majority: otherwise the requests were given up. */
static void stuck_off(engine *e, instant now)
{
  bool is_answered = has_answer(e);
  char words[64];
  text shown = text_over(words, sizeof(words));

  if (e->stuck.is_obstructed)
    e->stuck.clear_since = now;
  e->stuck.is_obstructed = false;
  if (e->stuck.was_warned && !is_answered &&
      instant_since(now, e->stuck.clear_since).ns < STUCK_FORGET.ns)
    return;
  if (e->stuck.was_warned && !e->is_closing && is_answered) {
    text_add(&shown, "after ");
    add_seconds(&shown, instant_since(now, e->stuck.since));
    engine_report(e, DIBS_EVENT_RECOVERED, words);
  }
  e->stuck = (stuck_report){ .is_on = false };
}

void report_advance(engine *e, instant now)
{
  obstacle o;

  for (size_t i = 0; i < e->server_count; i++)
    link_flush(e, &e->servers[i]->report, &e->servers[i]->url, now);
  link_flush(e, &e->topology.report, NULL, now);
  if (find_obstacle(e, now, &o))
    stuck_on(e, &o, now);
  else if (e->stuck.is_on)
    stuck_off(e, now);
}

static instant link_report_deadline(const link_report *r)
{
  return link_is_news(r) ? link_free_at(r) : INSTANT_NEVER;
}

/* When silence_obstacle() first considers `s`. A time in the past is no deadline: a quorum
 * goes on without `s`. */
static instant silence_deadline(const engine *e, const server *s)
{
  instant since = server_is_ready(s) ? link_unanswered_since(s->commands->link) : INSTANT_NEVER;
  instant at = instant_is_never(since) ? since : instant_add(since, STUCK_AFTER);

  return instant_before(e->now, at) ? at : INSTANT_NEVER;
}

instant report_deadline(const engine *e)
{
  instant at = e->stuck.is_obstructed ? e->stuck.warn_at : INSTANT_NEVER;

  at = instant_min(at, link_report_deadline(&e->topology.report));
  for (size_t i = 0; i < e->server_count; i++) {
    const server *s = e->servers[i];

    at = instant_min(at, link_report_deadline(&s->report));
    if (!e->stuck.is_obstructed)
      at = instant_min(at, silence_deadline(e, s));
  }
  return e->is_closing ? INSTANT_NEVER : at;
}
