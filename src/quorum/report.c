/* SPDX-License-Identifier: MIT */
/* quorum/report.c - why servers took no part. */
#include "quorum/internal.h"

#include <inttypes.h>

static void why(quorum_server *s, dibs_status status, const char *words)
{
  text t = text_over(s->why_words, sizeof(s->why_words));

  s->why = status;
  text_add(&t, words);
}

void report_why(quorum_record *r)
{
  quorum *q = r->quorum;

  for (size_t i = 0; i < q->count; i++) {
    quorum_server *s = &q->servers[i];

    switch (r->members[i].state) {
    case MEMBER_GRANTED:
    case MEMBER_LEAVING:
    case MEMBER_LEFT:
      why(s, DIBS_OK, "");
      break;
    case MEMBER_BUSY:
      why(s, DIBS_BUSY, "another owner holds the name at this server");
      break;
    case MEMBER_FAULTY:
      why(s, r->members[i].why, s->last == r->members[i].why ? s->last_words : "");
      break;
    case MEMBER_PENDING:
    case MEMBER_CANCELLED:
      if (r->members[i].waits)
        why(s, DIBS_BUSY, "other clients are first in the queue of this server");
      else
        why(s, DIBS_ERR_UNREACHABLE, "this server has not answered");
      break;
    case MEMBER_NONE:
      why(s, DIBS_ERR_UNREACHABLE, "this server was not asked, or no longer has the lease");
      break;
    }
  }
}

dibs_status quorum_server_why(const quorum *q, size_t i, const char **ret_words)
{
  *ret_words = q->servers[i].why_words;
  return q->servers[i].why;
}

void report_add_why(const quorum_record *r, const char *before, text *out)
{
  const quorum *q = r->quorum;
  size_t used = out->used;

  for (size_t i = 0; i < q->count && out->used == used; i++) {
    const member_lease *m = &r->members[i];
    const quorum_server *s = &q->servers[i];

    if (m->state == MEMBER_GRANTED)
      hold_add_why(s->front, m->id, before, out);
    else if ((m->state == MEMBER_NONE || m->state == MEMBER_FAULTY) && m->why == s->last &&
             s->last_words[0] != 0)
      lock_add_words(s->table, 0, before, s->last_words, out);
  }
}

static bool is_silence(dibs_status s)
{
  return s == DIBS_ERR_UNREACHABLE || s == DIBS_UNKNOWN || s == DIBS_TIMED_OUT;
}

/* The claim's own limit came before its servers' replies: there may be a majority. */
static bool was_short(const quorum_record *r, const quorum_record *asking, instant now)
{
  const quorum *q = r->quorum;
  size_t possible = 0;

  if (instant_before(now, wish_of(&r->claims)->give_up_at) ||
      instant_since(now, waiter_since(&r->claims)).ns >= q->connect_timeout.ns)
    return false;
  for (size_t i = 0; i < q->count; i++) {
    const member_lease *m = &asking->members[i];

    possible += m->state == MEMBER_GRANTED || m->state == MEMBER_BUSY ||
                m->state == MEMBER_PENDING || (m->state == MEMBER_FAULTY && m->was_short);
  }
  return possible >= q->majority;
}

dibs_status report_fault(quorum_record *r, instant now, const char **ret_words)
{
  const quorum_record *asking = record_asking(r);
  quorum *q = r->quorum;
  text t = text_over(q->fault_words, sizeof(q->fault_words));
  dibs_status status = DIBS_ERR_UNREACHABLE;
  size_t answered = 0;

  for (size_t i = 0; i < q->count; i++) {
    const member_lease *m = &asking->members[i];
    size_t same = 0;

    answered += m->state == MEMBER_GRANTED || m->state == MEMBER_BUSY;
    if (m->state != MEMBER_FAULTY || is_silence(m->why))
      continue;
    for (size_t j = 0; j < q->count; j++)
      same += asking->members[j].state == MEMBER_FAULTY && asking->members[j].why == m->why;
    if (same > q->count - q->majority) {       /* without these there is no majority */
      *ret_words = q->servers[i].last_words;
      return m->why;
    }
  }
  if (asking->is_raising && answered >= q->majority) {
    *ret_words = UNCONFIRMED_WORDS;
    return status;
  }
  text_format(&t, "%zu of %zu servers took part, %zu are needed", answered, q->count, q->majority);
  if (was_short(r, asking, now)) {
    waiter_was_short(&r->claims);
    text_format(&t, "; no reply of the others within %" PRId64 " ms, which may be too short",
                span_to_ms(instant_since(now, waiter_since(&r->claims))));
  }
  *ret_words = q->fault_words;
  return status;
}
