/* SPDX-License-Identifier: MIT */
/* engine/fleet_link.c - sends the reports of fleet/: over connections that exist anyway, after what
 * is due for locks. A report that fails is no fault: one warning, and the locks go on. */
#include "engine/internal.h"

#include <string.h>

#define GIVE_UP SPAN_MS(30000)       /* then the server may have forgotten its number */
#define GIVE_UP_AT_CLOSE SPAN_MS(300)  /* Cluster: a server that was not needed before */

enum { PART_OPEN = 0, PART_SENT, PART_OVER };

/* A quorum: the one request to each server. */
static size_t part_count(const engine *e)
{
  size_t count = e->quorum != NULL ? e->server_count : fleet_report_parts(e->fleet);

  return count < FLEET_PARTS_MAX ? count : FLEET_PARTS_MAX;
}

static size_t part_of_fleet(const engine *e, size_t i)
{
  return e->quorum != NULL ? 0 : i;
}

/* An error reply, or one that the script passed over: Redis 7.0 names no NOPERM in a script. */
static bool is_denied(const char *fault)
{
  return resp_fault_of(fault, strlen(fault)) == RESP_FAULT_DENIED ||
         strstr(fault, "NOPERM") != NULL || strstr(fault, "can't run this command") != NULL;
}

static void warn(engine *e, const char *fault)
{
  char words[256];
  text shown = text_over(words, sizeof(words));

  if (e->fleet_link.has_warned)
    return;
  e->fleet_link.has_warned = true;
  text_format(&shown, "what this client does is missing in the history and in the totals of the "
                      "fleet (%sreport=off ends the reports): %s",
              is_denied(fault) ? "dibs acl prints the rights; " : "", fault);
  engine_report(e, DIBS_EVENT_WARNING, words);
}

static void part_over(engine *e, size_t i, bool is_recorded)
{
  e->fleet_link.parts[i].state = PART_OVER;
  e->fleet_link.parts[i].sent_to = NULL;
  if (is_recorded)
    fleet_report_done(e->fleet, part_of_fleet(e, i), true);
  if (e->fleet_link.parts[i].is_farewell) {
    e->fleet_link.parts[i].is_farewell = false;
    e->farewells--;
    e->is_closed = e->farewells == 0;
  }
}

static server *server_of_part(engine *e, size_t i)
{
  const char *key;
  size_t size;

  if (e->quorum != NULL)
    return e->servers[i];
  return request_key(&e->scratch, &key, &size) ? server_of_key(e, key, size) : NULL;
}

static void part_send(engine *e, size_t i, instant now)
{
  struct fleet_part *p = &e->fleet_link.parts[i];
  server *s;

  p->try_at = (instant){ 0 };          /* from now on it waits for its server, not for a time */
  if (!fleet_report_write(e->fleet, part_of_fleet(e, i), now, &e->scratch))
    return;
  e->scratch.carries_text = p->carries_text;
  s = server_of_part(e, i);
  if (server_is_ready(s)) {
    if (connection_send(e, s->commands, &e->scratch, TAG_FLEET | (uint64_t)i << 32, now)) {
      p->state = PART_SENT;
      p->sent_to = s;
    }
  } else if (e->quorum != NULL || (e->is_closing && e->topology.slots == NULL)) {
    part_over(e, i, false);
  }
  p->wants = p->state == PART_OPEN ? s : NULL;
  e->scratch.carries_text = false;
}

static void end_if_over(engine *e, instant now)
{
  fleet_link *l = &e->fleet_link;

  for (size_t i = 0; i < l->count; i++)
    if (l->parts[i].state != PART_OVER)
      return;
  l->is_open = false;
  fleet_report_end(e->fleet, now);
}

static void give_up(engine *e)
{
  fleet_link *l = &e->fleet_link;

  /* What was sent may have arrived: it must not count twice. */
  for (size_t i = 0; i < l->count; i++)
    if (l->parts[i].state != PART_OVER)
      part_over(e, i, l->parts[i].state == PART_SENT || l->parts[i].was_lost);
}

static bool begin(engine *e, bool is_last, instant now)
{
  fleet_link *l = &e->fleet_link;

  if (l->is_open || l->is_off || !fleet_report_begin(e->fleet, is_last, now))
    return false;
  l->is_open = true;
  l->give_up_at = instant_add(now, is_last ? GIVE_UP_AT_CLOSE : GIVE_UP);
  l->count = part_count(e);
  memset(l->parts, 0, l->count * sizeof(l->parts[0]));
  return true;
}

void fleet_link_advance(engine *e, instant now)
{
  fleet_link *l = &e->fleet_link;

  if (!l->is_open && (e->is_closing || server_any_ready(e) == NULL ||
                      instant_before(now, fleet_due(e->fleet)) || !begin(e, false, now)))
    return;
  if (!instant_before(now, l->give_up_at))
    give_up(e);
  for (size_t i = 0; i < l->count; i++)
    if (l->parts[i].state == PART_OPEN && !instant_before(now, l->parts[i].try_at))
      part_send(e, i, now);
  end_if_over(e, now);
}

instant fleet_link_deadline(const engine *e)
{
  const fleet_link *l = &e->fleet_link;
  instant first = l->give_up_at;

  if (l->is_off || e->is_closed)
    return INSTANT_NEVER;
  if (!l->is_open)
    return e->is_closing || server_any_ready(e) == NULL ? INSTANT_NEVER : fleet_due(e->fleet);
  for (size_t i = 0; i < l->count; i++)
    if (l->parts[i].state == PART_OPEN && l->parts[i].try_at.ns > 0)
      first = instant_min(first, l->parts[i].try_at);
  return first;
}

bool fleet_link_is_open(const engine *e)
{
  return e->fleet_link.is_open;
}

void fleet_link_farewell(engine *e, instant now)
{
  fleet_link *l = &e->fleet_link;

  if (!begin(e, true, now))
    return;
  for (size_t i = 0; i < l->count; i++) {
    part_send(e, i, now);
    if (l->parts[i].state != PART_OVER) {
      l->parts[i].is_farewell = true;
      e->farewells++;
    }
  }
}

bool fleet_link_wants(const engine *e, const server *s)
{
  for (size_t i = 0; e->fleet_link.is_open && i < e->fleet_link.count; i++)
    if (e->fleet_link.parts[i].state == PART_OPEN && e->fleet_link.parts[i].wants == s)
      return true;
  return false;
}

void fleet_link_lost(engine *e, const server *s)
{
  for (size_t i = 0; i < e->fleet_link.count; i++) {
    struct fleet_part *p = &e->fleet_link.parts[i];

    if (p->state != PART_SENT || p->sent_to != s)
      continue;
    p->state = PART_OPEN;
    p->was_lost = true;
    if (e->is_closing)
      part_over(e, i, true);
  }
}

/* Whether the server may execute it when it is asked again. */
static void refused(engine *e, size_t i, const resp_node *error, instant now)
{
  struct fleet_part *p = &e->fleet_link.parts[i];
  resp_fault fault = resp_fault_of(error->bytes, error->size);
  bool is_elsewhere = fault == RESP_FAULT_MOVED || fault == RESP_FAULT_ASK;

  if (fault == RESP_FAULT_NO_SCRIPT && !p->carries_text) {
    p->carries_text = true;
    p->state = PART_OPEN;
    if (p->is_farewell) {              /* counted again when it is sent */
      part_send(e, i, now);
      if (p->state != PART_SENT)
        part_over(e, i, false);
    }
    return;
  }
  if (is_elsewhere && e->topology.slots != NULL && !p->is_farewell && p->attempts++ < 5) {
    topology_search(e, now);
    p->state = PART_OPEN;
    p->try_at = instant_add(now, SPAN_MS(200));
    return;
  }
  if (is_denied(error->bytes))
    e->fleet_link.is_off = true;
  if (!is_elsewhere && !resp_fault_passes(fault))
    warn(e, error->bytes);
  part_over(e, i, p->was_lost);
}

void fleet_link_answered(engine *e, uint64_t tag, const resp_reply *reply, instant now)
{
  size_t i = (size_t)(tag >> 32);
  const char *fault;

  if (!e->fleet_link.is_open || i >= e->fleet_link.count ||
      e->fleet_link.parts[i].state != PART_SENT)
    return;
  if (resp_root(reply)->kind == RESP_ERROR) {
    refused(e, i, resp_root(reply), now);
  } else {
    if (fleet_report_answer(reply, &fault) && fault[0] != 0) {
      e->fleet_link.is_off = is_denied(fault);
      warn(e, fault);
    }
    part_over(e, i, true);
  }
  end_if_over(e, now);
}
