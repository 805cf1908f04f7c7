/* SPDX-License-Identifier: MIT */
/* api/log_claim.c - the lines about claims: their levels and fields. */
#include "api/log_sink.h"

#include <string.h>

/* What the history calls notable: worth a line that is usually shown. */
static dibs_log_level level_of(const claim *cl, span lasted)
{
  return lasted.ns > cl->client->history_over.ns ? DIBS_LOG_INFO : DIBS_LOG_DEBUG;
}

static span waited(const claim *cl, instant now)
{
  return instant_since(cl->note.is_granted ? cl->note.granted : now, cl->note.began);
}

static const char *kind_word(const claim *cl)
{
  switch (cl->note.mode) {
  case DIBS_MODE_READ: return "read";
  case DIBS_MODE_PERMITS: return "permits";
  case DIBS_MODE_EXCLUSIVE: break;
  }
  return cl->note.kind == DIBS_KIND_RWLOCK ? "write" : "lock";
}

/* NULL: the line is not wanted. log_end() follows. */
static log_line *begin(const claim *cl, log_event event, dibs_log_level level, instant now)
{
  log_line *l = log_begin(cl->client, event, level, now);
  char class_name[FLEET_CLASS_SIZE];
  const char *name;
  size_t size;

  if (l == NULL || !claim_name(cl, 0, &name, &size))
    return l;
  log_line_add_bytes(l, "name", name, size);
  if (cl->name_count > 1)
    log_line_add_uint(l, "names", cl->name_count);
  fleet_class_name(cl->client->servers.data.classes, name, size, class_name);
  log_line_add(l, "class", class_name);
  log_line_add(l, "kind", kind_word(cl));
  return l;
}

static void add_fence(log_line *l, const claim *cl)
{
  if (cl->note_fence != 0)
    log_line_add_uint(l, "fence", cl->note_fence);
}

static void add_lease(log_line *l, const claim *cl)
{
  log_line_add_uint(l, "ttl_ms", (uint64_t)cl->note.ttl_ms);
}

static void add_valid(log_line *l, const claim *cl, instant now)
{
  span left = instant_since((instant){ atomic_load(&cl->hold->valid_until_ns) }, now);

  log_line_add_ms(l, "valid_ms", left);
}

static void add_outcome(log_line *l, const outcome *o)
{
  dibs_error room = DIBS_ERROR_INIT;
  const dibs_error *e = outcome_error(o, &room);

  log_line_add(l, "status", dibs_status_name(o->status));
  log_line_add(l, "server", e->node);
  log_line_add(l, "reason", e->text);
}

void log_requested(const claim *cl, instant now)
{
  log_line *l = begin(cl, LOG_REQUESTED, DIBS_LOG_DEBUG, now);

  if (l == NULL)
    return;
  add_lease(l, cl);
  log_end(l);
}

void log_granted(const claim *cl, instant now)
{
  log_line *l = begin(cl, LOG_GRANTED, level_of(cl, waited(cl, now)), now);

  if (l == NULL)
    return;
  add_fence(l, cl);
  add_lease(l, cl);
  log_line_add_ms(l, "waited_ms", waited(cl, now));
  log_end(l);
}

static dibs_log_level level_of_refusal(dibs_status status)
{
  switch (status) {
  case DIBS_BUSY:
  case DIBS_ERR_CLOSED: return DIBS_LOG_DEBUG;
  case DIBS_CANCELLED: return DIBS_LOG_INFO;
  default: return status > 0 ? DIBS_LOG_WARNING : DIBS_LOG_ERROR;
  }
}

void log_refused(const claim *cl, instant now)
{
  log_line *l = begin(cl, LOG_REFUSED, level_of_refusal(cl->asked.status), now);

  if (l == NULL)
    return;
  add_lease(l, cl);
  log_line_add_ms(l, "waited_ms", waited(cl, now));
  add_outcome(l, &cl->asked);
  log_end(l);
}

void log_renewed(const claim *cl, bool was_suspect, instant now)
{
  log_line *l = begin(cl, LOG_RENEWED, was_suspect ? DIBS_LOG_INFO : DIBS_LOG_DEBUG, now);

  if (l == NULL)
    return;
  add_fence(l, cl);
  add_valid(l, cl, now);
  log_end(l);
}

void log_suspect(const claim *cl, instant now)
{
  log_line *l = begin(cl, LOG_SUSPECT, DIBS_LOG_WARNING, now);
  char words[512];
  text why = text_over(words, sizeof(words));

  if (l == NULL)
    return;
  add_fence(l, cl);
  add_valid(l, cl, now);
  engine_add_why(drive_engine(cl->client->drive), cl->id, &why);
  log_line_add(l, "reason", words);
  log_end(l);
}

void log_ended(const claim *cl, const outcome *end, bool is_detached, instant now)
{
  bool is_kept = end->status == DIBS_OK || end->status == DIBS_UNKNOWN;
  span held = instant_since(now, cl->note.granted);
  dibs_log_level level = end->status == DIBS_OK ? level_of(cl, held) : DIBS_LOG_WARNING;
  log_event event = is_detached ? LOG_DETACHED : LOG_RELEASED;
  log_line *l = begin(cl, is_kept ? event : LOG_LOST, is_kept ? level : DIBS_LOG_ERROR, now);

  if (l == NULL)
    return;
  add_fence(l, cl);
  add_lease(l, cl);
  log_line_add_ms(l, "held_ms", held);
  if (end->status != DIBS_OK)
    add_outcome(l, end);
  log_end(l);
}
