/* SPDX-License-Identifier: MIT */
/* api/quorum_ask.c - one request to all servers of a quorum: a majority must answer,
 * because a minority may not have a hold. */
#include "api/question.h"

#include <string.h>

#include "topo/topo.h"

#define REASONS_MAX 208            /* shown of what is known about servers: all are named */
#define REASON_MAX 104             /* about one of them */

/* Sends to servers that have not answered. Returns the number of replies. Mutex held. */
static size_t ask_missing(client_record *c, const request *k, question *qs, size_t count,
                          bool is_brief, instant until)
{
  size_t answered = 0;

  for (size_t i = 0; i < count; i++) {
    if (qs[i].reply != NULL)
      continue;
    outcome_clear(&qs[i].end);
    question_ask_by(c, &qs[i], k, (sync_op){ .give_up_at = until, .is_brief = is_brief,
                                             .is_pinned = true, .server = i });
  }
  for (size_t i = 0; i < count; i++) {
    /* Also for one that was answered meanwhile: another thread may still be about to wake it. */
    (void)drive_wait(c->drive, &qs[i].waiter, INSTANT_NEVER);
    answered += qs[i].reply != NULL;
  }
  return answered;
}

static bool is_silence(dibs_status status)
{
  return status == DIBS_ERR_UNREACHABLE || status == DIBS_UNKNOWN;
}

/* With what is known of each, such as BUSY. Returns them as bits. */
static uint32_t missing_add(client_record *c, const question *qs, size_t count, size_t silent,
                            text *out)
{
  size_t most = silent > 1 ? REASONS_MAX / silent : REASON_MAX;
  uint32_t missing = 0;

  for (size_t i = 0; i < count; i++) {
    const server_url *url = engine_route_url(drive_engine(c->drive), i);
    dibs_error room = DIBS_ERROR_INIT;
    char bytes[128] = "";
    text shown = text_over(bytes, sizeof(bytes));
    const char *why;

    if (qs[i].reply != NULL)
      continue;
    if (url != NULL)
      server_url_show(url, &shown);
    text_format(out, "%s%s", missing == 0 ? "" : ", ", bytes);
    why = outcome_error(&qs[i].end, &room)->text;
    if (why[0] != 0) {
      text_add(out, " (");
      text_add_bytes(out, why, strnlen(why, most));
      text_add(out, ")");
    }
    missing |= (uint32_t)1 << i;
  }
  return missing;
}

/* Whether there may be a majority: the time of the call was too short for replies, as
 * lock_add_no_reply() says. */
static bool was_short(const question *qs, size_t count, size_t answered)
{
  for (size_t i = 0; i < count; i++) {
    dibs_error room = DIBS_ERROR_INIT;

    if (qs[i].reply == NULL && is_silence(qs[i].end.status))
      answered += strstr(outcome_error(&qs[i].end, &room)->text, "too short") != NULL;
  }
  return answered > count / 2;
}

/* Mutex held. */
static dibs_status judge(client_record *c, const question *qs, size_t count, size_t answered)
{
  char bytes[512];
  text words = text_over(bytes, sizeof(bytes));
  uint32_t missing;

  text_format(&words, "%zu of %zu servers did not answer: ", count - answered, count);
  missing = missing_add(c, qs, count, count - answered, &words);
  if (answered > count / 2) {
    if (missing != 0 && missing != c->missing_reported)
      client_event(c, DIBS_EVENT_WARNING, "", bytes);
    c->missing_reported = missing;
    return DIBS_OK;
  }
  for (size_t i = 0; i < count; i++)
    if (qs[i].reply == NULL && !is_silence(qs[i].end.status))
      return outcome_note(&qs[i].end, c);
  if (was_short(qs, count, answered))
    text_add(&words, "; the time of the call may be too short");
  return client_fault(c, DIBS_ERR_UNREACHABLE, bytes);
}

dibs_status quorum_ask(client_record *c, const request *k, instant until,
                       question **ret_questions, size_t *ret_count)
{
  dibs_status status = client_enter(c, true);
  size_t count, answered;
  question *qs;

  *ret_questions = NULL;
  *ret_count = 0;
  if (status != DIBS_OK)
    return status;
  count = engine_route_count(drive_engine(c->drive));
  qs = mem_zalloc(&c->memory, count * sizeof(*qs));
  if (qs == NULL) {
    status = client_fault(c, DIBS_ERR_NO_MEMORY, "");
  } else {
    answered = ask_missing(c, k, qs, count, true, until);
    if (answered <= count / 2)
      answered = ask_missing(c, k, qs, count, false, until);
    status = judge(c, qs, count, answered);
    *ret_questions = qs;
    *ret_count = count;
  }
  client_leave(c);
  return status;
}

/* ---- a majority, and no longer ---- */

typedef struct majority {
  drive_waiter waiter;
  size_t answered, ended;          /* `ended` counts those that have failed, too */
  size_t count;
} majority;

static void majority_look(client_record *c, majority *m)
{
  if (!m->waiter.is_done && (m->answered > m->count / 2 || m->ended == m->count))
    drive_waiter_done(c->drive, &m->waiter);
}

static void majority_answered(client_record *c, question *q)
{
  majority *m = q->context;

  m->answered += q->reply != NULL;
  m->ended++;
  majority_look(c, m);
}

/* Mutex held. */
static dibs_status majority_wait(client_record *c, const request *k, question *qs, size_t count,
                                 instant until)
{
  majority m = { .count = count };

  drive_waiter_init(&m.waiter);
  for (size_t i = 0; i < count; i++) {
    question_ask_by(c, &qs[i], k,
                    (sync_op){ .give_up_at = until, .is_pinned = true, .server = i });
    m.ended += qs[i].waiter.is_done;
    qs[i].then = majority_answered;
    qs[i].context = &m;
  }
  majority_look(c, &m);
  (void)drive_wait(c->drive, &m.waiter, INSTANT_NEVER);
  for (size_t i = 0; i < count; i++)
    (void)engine_stop(drive_engine(c->drive), qs[i].id, drive_now());
  return m.answered > count / 2 ? DIBS_OK : judge(c, qs, count, m.answered);
}

dibs_status quorum_answers(client_record *c, const request *k, instant until)
{
  dibs_status status = client_enter(c, true);
  size_t count;
  question *qs;

  if (status != DIBS_OK)
    return status;
  count = engine_route_count(drive_engine(c->drive));
  qs = mem_zalloc(&c->memory, count * sizeof(*qs));
  status = qs == NULL ? client_fault(c, DIBS_ERR_NO_MEMORY, "")
                      : majority_wait(c, k, qs, count, until);
  client_leave(c);
  if (qs != NULL)
    quorum_ask_end(c, qs, count);
  return status;
}

void quorum_ask_end(client_record *c, question *questions, size_t count)
{
  for (size_t i = 0; i < count; i++)
    question_deinit(&questions[i]);
  mem_free(&c->memory, questions);
}
