/* SPDX-License-Identifier: MIT */
/* quorum/tell.c - what the program is told: events of claims, and why servers took no part. */
#include "quorum/parts.h"

/* Events need no memory: each claim carries its own, one bit a kind. */
void tell_event(claim *c, lock_event_kind kind)
{
  quorum *q = c->quorum;

  if (c->events == 0)
    DL_APPEND2(q->telling, c, previous_telling, next_telling);
  c->events |= 1u << kind;
  if (kind == LOCK_RENEWED)      /* a doubt not yet told is over */
    c->events &= ~(1u << LOCK_SUSPECT);
}

/* The last event of a claim; its id is stale from now on. */
void tell_end(claim *c, lock_event_kind kind, dibs_status status, const char *words)
{
  quorum *q = c->quorum;

  timers_clear(&q->timers, &c->timer);
  slots_remove(&q->slots, c->id);
  if (c->state == CLAIM_WAITING)
    q->counts.waiting--;
  else
    q->counts.holds--;
  c->state = CLAIM_OVER;
  c->ballot = NULL;
  c->status = status;
  c->words = words;
  tell_event(c, kind);
}

static lock_event event_of(const claim *c, lock_event_kind kind)
{
  const ballot *b = c->ballot;
  lock_event e = { .kind = kind, .context = c->context, .id = c->id, .fence = c->fence,
                   .units = 1, .depth = c->depth, .status = c->status, .words = c->words };

  if (c->state == CLAIM_HELD) {
    e.valid_until = held_end(b);
    e.token = b->token;
    for (size_t i = 0; i < c->quorum->count; i++)
      e.acknowledged += b->votes[i].state == VOTE_GRANTED;
    e.replicas_wanted = (uint32_t)c->quorum->majority;
  }
  if (b != NULL && b->name != NULL) {
    e.name = b->name->bytes + 1;
    e.name_size = b->name->size - 1;
  }
  return e;
}

bool quorum_next_event(quorum *q, lock_event *ret)
{
  claim *c = q->telling;
  lock_event_kind kind = LOCK_GRANTED;

  if (c == NULL)
    return false;
  while ((c->events & (1u << kind)) == 0)
    kind++;
  c->events &= ~(1u << kind);
  *ret = event_of(c, kind);
  if (c->events != 0)
    return true;

  DL_DELETE2(q->telling, c, previous_telling, next_telling);
  if (c->state == CLAIM_OVER) {
    q->claim_count--;
    q->counts.bytes -= sizeof(*c) + c->owner_size;
    mem_free(&q->memory, c);
  }
  return true;
}

/* ---- why ---- */

static void why(quorum_server *s, dibs_status status, const char *words)
{
  text t = text_over(s->why_words, sizeof(s->why_words));

  s->why = status;
  text_add(&t, words);
}

void tell_why(ballot *b)
{
  quorum *q = b->quorum;

  for (size_t i = 0; i < q->count; i++) {
    quorum_server *s = &q->servers[i];

    switch (b->votes[i].state) {
    case VOTE_GRANTED:
    case VOTE_LEAVING:
    case VOTE_LEFT:
      why(s, DIBS_OK, "");
      break;
    case VOTE_BUSY:
      why(s, DIBS_BUSY, "somebody else holds it there");
      break;
    case VOTE_FAULTY:
      why(s, b->votes[i].why, s->last == b->votes[i].why ? s->last_words : "");
      break;
    case VOTE_PENDING:
    case VOTE_CANCELLED:
      if (b->votes[i].waits)
        why(s, DIBS_BUSY, "others are before us in its queue");
      else
        why(s, DIBS_ERR_UNREACHABLE, "it has not answered");
      break;
    case VOTE_NONE:
      why(s, DIBS_ERR_UNREACHABLE, "it was not asked, or has lost the lease again");
      break;
    }
  }
}

dibs_status quorum_server_why(const quorum *q, size_t i, const char **ret_words)
{
  *ret_words = q->servers[i].why_words;
  return q->servers[i].why;
}

static bool is_silence(dibs_status s)
{
  return s == DIBS_ERR_UNREACHABLE || s == DIBS_UNKNOWN || s == DIBS_TIMED_OUT;
}

dibs_status tell_fault(ballot *b, const char **ret_words)
{
  quorum *q = b->quorum;
  text t = text_over(q->fault_words, sizeof(q->fault_words));
  dibs_status status = DIBS_ERR_UNREACHABLE;
  size_t answered = 0;

  for (size_t i = 0; i < q->count; i++) {
    const vote *v = &b->votes[i];
    size_t same = 0;

    answered += v->state == VOTE_GRANTED || v->state == VOTE_BUSY;
    if (v->state != VOTE_FAULTY || is_silence(v->why))
      continue;
    for (size_t j = 0; j < q->count; j++)
      same += b->votes[j].state == VOTE_FAULTY && b->votes[j].why == v->why;
    if (same > q->count - q->majority) {       /* without these there is no majority */
      *ret_words = q->servers[i].last_words;
      return v->why;
    }
  }
  text_add_uint(&t, answered);
  text_add(&t, " of ");
  text_add_uint(&t, q->count);
  text_add(&t, " servers took part, ");
  text_add_uint(&t, q->majority);
  text_add(&t, " are needed");
  *ret_words = q->fault_words;
  return status;
}
