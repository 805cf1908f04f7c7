/* SPDX-License-Identifier: MIT */
/* engine/connection.c - opens connections, and handles their success and loss. */
#include "engine/internal.h"

#include <string.h>

#define BACK_OFF_FIRST_MS 20
#define BACK_OFF_MAX_MS 1000
#define IDLE_PING SPAN_MS(10000)
#define WORDS_MAX 215            /* of a refusal and its files: what keeps both has 256 bytes */

/* ---- life ---- */

static bool roles_change(const engine *e)
{
  deployment_kind kind = e->settings.deployment->kind;

  return kind == DEPLOYMENT_REPLICATED || kind == DEPLOYMENT_SENTINEL;
}

bool connection_has_login_of_servers(const engine *e, purpose p)
{
  return p != FOR_SENTINEL_NEWS &&
         (p != FOR_SCOUT || e->settings.deployment->kind != DEPLOYMENT_SENTINEL);
}

bool connection_has_program_login(const engine *e, const connection *c)
{
  return e->has_credentials && connection_has_login_of_servers(e, c->purpose);
}

static link *make_link(engine *e, purpose p, const server_url *url)
{
  bool is_of_server = p == FOR_COMMANDS || p == FOR_INBOX || p == FOR_ACKS;
  bool is_cluster = e->settings.deployment->kind == DEPLOYMENT_CLUSTER;
  char client_name[32], channel[PREFIX_MAX_BYTES + 40];
  text shown = text_over(client_name, sizeof(client_name));
  text inbox = text_over(channel, sizeof(channel));
  link_settings s = { .memory = &e->memory, .client_name = client_name,
                      .user = url->user, .password = url->password,
                      .checks_role = is_of_server && roles_change(e),
                      .uses_functions = e->settings.uses_functions,
                      .answer_timeout = e->settings.command_timeout, .idle_ping = IDLE_PING };

  text_format(&shown, "dibs:%s", e->settings.client_id);
  if (e->has_credentials && connection_has_login_of_servers(e, p)) {
    s.user = e->user;
    s.password = e->password;
  }
  switch (p) {
  case FOR_COMMANDS:
  case FOR_ACKS:
    s.role = LINK_COMMANDS;
    s.database = url->database;
    break;
  case FOR_INBOX:
    s.role = LINK_INBOX;
    native_inbox(&e->names, &inbox);
    s.channel = is_cluster ? NULL : channel;
    break;
  case FOR_SCOUT:
    s.role = LINK_SCOUT;
    break;
  case FOR_SENTINEL_NEWS:
    s.role = LINK_INBOX;
    s.channel = "+switch-master";
    break;
  }
  return link_new(&s);
}

/* Some numbers are reserved for discovery. */
static int free_number(const engine *e, purpose p)
{
  bool is_of_server = p == FOR_COMMANDS || p == FOR_INBOX || p == FOR_ACKS;
  int most = is_of_server ? ENGINE_LINKS_MAX - SCOUTS_MAX - 1 : ENGINE_LINKS_MAX;

  for (int i = 0; i < most; i++)
    if (e->links[i] == NULL)
      return i;
  return -1;
}

connection *connection_new(engine *e, purpose p, server *s, const server_url *url)
{
  int number = free_number(e, p);
  connection *c = number < 0 ? NULL : mem_zalloc(&e->memory, sizeof(*c));

  if (c == NULL)
    return NULL;
  c->purpose = p;
  c->number = number;
  c->server = s;
  c->url = url;
  c->state = PLAN_OFF;
  c->link = make_link(e, p, url);
  if (c->link == NULL) {
    mem_free(&e->memory, c);
    return NULL;
  }
  e->links[number] = c;
  if (number >= e->link_count)
    e->link_count = number + 1;
  return c;
}

connection *connection_free(engine *e, connection *c)
{
  if (c == NULL)
    return NULL;
  e->links[c->number] = NULL;
  link_free(c->link);
  mem_free(&e->memory, c);
  return NULL;
}

/* NULL: the driver reports on a connection that is not wanted any more. */
connection *connection_of(const engine *e, int i)
{
  connection *c = i >= 0 && i < e->link_count ? e->links[i] : NULL;

  return c != NULL && !c->is_done ? c : NULL;
}

void connection_end(engine *e, connection *c)
{
  bool is_open = c->state == PLAN_CONNECTING || c->state == PLAN_READY;

  link_closed(c->link);
  c->state = PLAN_OFF;
  c->is_left = c->was_ready = c->report_connect = false;
  c->failures = c->refusals = 0;
  c->refusal = DIBS_OK;
  c->is_done = c->server == NULL;        /* freed after its effects were delivered */
  c->report_disconnect = c->report_disconnect || is_open;
  (void)e;
}

/* ---- wanted, lost ---- */

bool connection_is_ready(const connection *c)
{
  return c != NULL && c->state == PLAN_READY && !c->is_left;
}

void connection_want(engine *e, connection *c, instant now)
{
  if (c == NULL || c->state != PLAN_OFF || c->is_done)
    return;
  c->state = PLAN_CONNECTING;
  c->is_resolving = false;
  /* An attempt ends before the calls that wait for it, so they can report its fault. */
  c->until = instant_add(now, (span){ e->settings.connect_timeout.ns / 16 * 15 });
  c->report_connect = true;
}

/* Limited, with jitter, so that clients do not reconnect at the same time. The first
 * attempt after a working connection has broken is immediate. */
static span back_off(engine *e, connection *c, dibs_status why)
{
  int64_t ms = BACK_OFF_FIRST_MS;
  unsigned failures = c->failures + c->refusals;

  if (c->purpose == FOR_INBOX && why == DIBS_ERR_DENIED)
    return random_span(&e->random, (span){ FORBIDDEN_FOR.ns / 2 }, FORBIDDEN_FOR);
  if (c->was_ready && failures <= 1)
    return SPAN_MS(0);
  for (unsigned i = 1; i < failures && ms < BACK_OFF_MAX_MS; i++)
    ms *= 2;
  if (ms > BACK_OFF_MAX_MS)
    ms = BACK_OFF_MAX_MS;
  return random_span(&e->random, SPAN_MS(ms / 2), SPAN_MS(ms));
}

static void commands_lost(engine *e, server *s, dibs_status why, const char *words,
                          instant now)
{
  bool has_said_goodbye = s->farewell_was_sent;

  s->farewell_was_sent = false;
  s->announce_again_at = now;            /* it may have been restarted empty */
  if (has_said_goodbye)
    e->farewells--;                      /* it will get no reply */
  lock_link_down(s->locks, s->route, why, words, now);
  lock_fail_if_final(s->locks, s->route, now);
  fleet_link_lost(e, s);
  asks_unsent(e, s, why, words);
  observe_link_down(e, s, why, words, now);
  topology_search(e, now);
}

static void what_was_lost(engine *e, connection *c, dibs_status why, const char *words,
                          instant now)
{
  switch (c->purpose) {
  case FOR_COMMANDS:
    commands_lost(e, c->server, why, words, now);
    report_disconnected(e, c->server, words, now);
    break;
  case FOR_INBOX:
    lock_inbox_down(c->server->locks, c->server->route, why, words, now);
    observe_inbox_down(e, c->server);
    break;
  case FOR_ACKS:
    lock_acks_down(c->server->locks, c->server->route, now);
    break;
  case FOR_SCOUT:
  case FOR_SENTINEL_NEWS:
    topology_lost(e, c, why, words, now);
    break;
  }
}

/* Whether files may have changed since they were read: certificates, a password. */
static bool files_may_help(const engine *e, const connection *c, dibs_status why)
{
  if (c->state != PLAN_CONNECTING)
    return false;
  return (why == DIBS_ERR_TLS && c->url->transport == SERVER_TLS) ||
         (why == DIBS_ERR_AUTH && c->url->password_file != NULL &&
          !connection_has_program_login(e, c));
}

/* The first refusal of several is not reported: files are read again, and decide. Nor is that of
 * a password that was replaced meanwhile. */
static bool retried_with_others(engine *e, connection *c, dibs_status why, instant now)
{
  bool is_first = c->refusal == DIBS_OK;
  bool is_outdated = c->state == PLAN_CONNECTING && why == DIBS_ERR_AUTH &&
                     link_was_rekeyed(c->link);
  instant until = c->until;

  c->refusal = !is_outdated && files_may_help(e, c, why) ? why : DIBS_OK;
  if (!is_outdated && (c->refusal == DIBS_OK || !is_first))
    return false;
  c->files[0] = '\0';
  c->state = PLAN_OFF;
  connection_want(e, c, now);
  c->until = until;
  return true;
}

/* The refusal, with the files that did not help; these are not cut off. */
static const char *words_with_files(const connection *c, const char *words, text *shown)
{
  size_t room = WORDS_MAX - strlen(c->files), size = strlen(words);

  if (c->refusal == DIBS_OK || c->files[0] == '\0')
    return words;
  text_add_bytes(shown, words, size < room ? size : room);
  text_format(shown, " (%s)", c->files);
  return shown->at;
}

void connection_leave_replica(connection *c, instant now)
{
  if (c->is_left)
    return;
  if (instant_before(instant_add(c->ready_at, SPAN_MS(BACK_OFF_MAX_MS)), now))
    c->refusals = 0;                     /* it has become one */
  c->refusals++;
  c->is_left = true;
}

void connection_lost(engine *e, connection *c, dibs_status why, const char *words, instant now)
{
  char copy[256];
  text shown = text_over(copy, sizeof(copy));

  if (c->state == PLAN_OFF || c->state == PLAN_BACK_OFF)
    return;
  link_closed(c->link);
  if (why == DIBS_ERR_TLS && c->state == PLAN_READY)
    why = DIBS_ERR_UNREACHABLE;          /* no certificate is at fault: the next session may last */
  if (retried_with_others(e, c, why, now))
    return;
  if (c->state == PLAN_READY && !c->is_left)
    c->refusals = 0;                     /* it was no replica */
  c->failures++;
  c->refusals += why == DIBS_ERR_READ_ONLY && c->state == PLAN_CONNECTING;
  c->until = instant_add(now, back_off(e, c, why));
  c->state = instant_before(now, c->until) ? PLAN_BACK_OFF : PLAN_OFF;
  c->is_left = c->was_ready = c->report_connect = false;
  what_was_lost(e, c, why, words_with_files(c, words, &shown), now);
}

void connection_drop(engine *e, connection *c, dibs_status why, const char *words, instant now)
{
  c->report_disconnect = true;
  connection_lost(e, c, why, words, now);
}

instant connection_deadline(const connection *c)
{
  instant at = link_deadline(c->link);

  return c->state == PLAN_CONNECTING || c->state == PLAN_BACK_OFF
           ? instant_min(at, c->until) : at;
}

/* A server without TLS waits for the end of a line and does not answer the handshake. */
static const char *silence_words(const connection *c)
{
  if (c->is_resolving)
    return "its host name is not resolved yet: the name service does not answer; see "
           "/etc/resolv.conf, or raise connect_timeout";
  if (c->url != NULL && c->url->transport == SERVER_TLS)
    return "the server does not answer; if it has no TLS on this port, use redis:// or "
           "valkey://";
  return "the server does not answer";
}

void connection_tick(engine *e, connection *c, instant now)
{
  link_tick(c->link, now);
  if (instant_before(now, c->until))
    return;
  if (c->state == PLAN_CONNECTING)
    connection_drop(e, c, DIBS_ERR_UNREACHABLE, silence_words(c), now);
  else if (c->state == PLAN_BACK_OFF)
    c->state = PLAN_OFF;                 /* if it is still wanted, it is retried at once */
}

bool connection_send(engine *e, connection *c, const request *command, uint64_t tag, instant now)
{
  if (!connection_is_ready(c) || link_send(c->link, command, tag, now) != DIBS_OK)
    return false;
  e->commands++;
  return true;
}

bool connection_send_asking(engine *e, connection *c, const request *command, uint64_t tag,
                            instant now)
{
  static const resp_argument words[] = { { "ASKING", 6 } };
  request asking;
  bool is_sent;

  request_init(&asking, &e->memory);
  is_sent = request_command(&asking, words, 1) &&
            connection_send(e, c, &asking, TAG_IGNORED, now) &&
            connection_send(e, c, command, tag, now);
  request_deinit(&asking);
  return is_sent;
}
