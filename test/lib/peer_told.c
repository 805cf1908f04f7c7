/* SPDX-License-Identifier: MIT */
/* test/lib/peer_told.c - what the engine tells its user, as lines. */
#include "peer_parts.h"

static void tell(struct peer *p, const char *what, const effect *e, bool with_status)
{
  char line[128];
  const struct who *w = e->context;

  snprintf(line, sizeof(line), "%s %s%s%s%s", what, w->name, with_status ? " " : "",
           with_status ? dibs_status_name(e->status) : "", e->was_let_go ? " let go" : "");
  peer_keep(p->lines, &p->line_count, line);
}

static void tell_news(struct peer *p, const effect *e)
{
  char line[128];
  const struct who *w = e->context;

  if (e->status != DIBS_OK) {
    tell(p, "cut_off", e, true);
    snprintf(p->warning, sizeof(p->warning), "%s", e->text);
    return;
  }
  snprintf(line, sizeof(line), "observed %s %s", w->name, w->observed.reply);
  peer_keep(p->lines, &p->line_count, line);
}

void peer_take_effect(struct peer *p, const effect *e)
{
  struct who *w = e->context;

  switch (e->kind) {
  case EFFECT_CONNECT:
    peer_connection_is_gone(p, e->link);
    p->wanted[e->link] = true;
    p->wants_files[e->link] = e->status;
    break;
  case EFFECT_DISCONNECT:
    peer_connection_is_gone(p, e->link);
    p->wanted[e->link] = false;
    break;
  case EFFECT_LOCK_GRANTED:
    w->fence = e->fence;
    w->valid_until = e->valid_until;
    tell(p, "granted", e, false);
    break;
  case EFFECT_LOCK_FAILED:
    tell(p, "failed", e, true);
    break;
  case EFFECT_HOLD_RENEWED:
    w->valid_until = e->valid_until;
    tell(p, "renewed", e, false);
    break;
  case EFFECT_HOLD_SUSPECT:
    tell(p, "suspect", e, false);
    break;
  case EFFECT_HOLD_ENDS_SOON:
    tell(p, "ends_soon", e, false);
    break;
  case EFFECT_HOLD_LOST:
    tell(p, "lost", e, true);
    break;
  case EFFECT_RELEASED:
    tell(p, "released", e, true);
    break;
  case EFFECT_DETACHED:
    tell(p, "detached", e, true);
    break;
  case EFFECT_CLOSED:
    peer_keep(p->lines, &p->line_count, "closed");
    break;
  case EFFECT_ANSWERED:
    tell(p, "answered", e, true);
    resp_reply_free(e->reply);
    break;
  case EFFECT_OP_OVER:
    tell(p, "over", e, true);
    break;
  case EFFECT_OP_NEWS:
    tell_news(p, e);
    break;
  case EFFECT_EVENT:
    if (e->event == DIBS_EVENT_WARNING)
      snprintf(p->warning, sizeof(p->warning), "%s", e->text);
    if (e->event > 0 && e->event < EVENT_KINDS)
      p->events[e->event]++;
    snprintf(p->last_event, sizeof(p->last_event), "%s", e->text);
    break;
  }
}

int peer_events(const struct peer *p, int kind)
{
  return p->events[kind];
}

const char *peer_last_event(const struct peer *p)
{
  return p->last_event;
}

void peer_expect_told(struct peer *p, const char *line)
{
  if (p->line_count == 0)
    fail_msg("expected to be told \"%s\", was told nothing", line);
  if (strcmp(p->lines[0], line) != 0)
    fail_msg("expected to be told \"%s\", was told \"%s\"", line, p->lines[0]);
  peer_drop_first(p->lines, &p->line_count);
}

void peer_expect_warning(struct peer *p, const char *words)
{
  if (strstr(p->warning, words) == NULL)
    fail_msg("expected a warning with \"%s\", was told \"%s\"", words, p->warning);
  p->warning[0] = '\0';
}

bool peer_try_told(struct peer *p, const char *line)
{
  if (p->line_count == 0 || strcmp(p->lines[0], line) != 0)
    return false;
  peer_drop_first(p->lines, &p->line_count);
  return true;
}

void peer_expect_told_nothing(struct peer *p)
{
  if (p->line_count > 0)
    fail_msg("expected to be told nothing, was told \"%s\"", p->lines[0]);
}
