/* SPDX-License-Identifier: MIT */
/* test/script/model.c - see model.h. */
#include "model.h"
#include "model_token.h"
#include <inttypes.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOBODY (-1)
#define NEVER_HELD (-2)       /* a queue at a name that nobody had yet */
#define LINGERS 1
#define NO_DEADLINE 2

void model_client(int who, char out[CLIENT_ID_SIZE])
{
  memset(out, who == NEVER_HELD ? '.' : 'A' + who, CLIENT_ID_SIZE - 1);
  out[CLIENT_ID_SIZE - 1] = 0;
}

void model_lease(const struct model *m, char out[LEASE_TEXT_SIZE])
{
  char client[CLIENT_ID_SIZE];

  out[0] = 0;
  if (m->client == NOBODY)
    return;
  model_client(m->client, client);
  snprintf(out, LEASE_TEXT_SIZE, "%s:%llu:%llu", client, (unsigned long long)m->ask,
           (unsigned long long)m->token);
}

static lease_id lease_of(const struct model *m)
{
  lease_id l = { .ask = m->ask, .token = m->token };

  model_client(m->client, l.client);
  return l;
}

static bool is_lease(const struct model *m, const char *lease)
{
  char own[LEASE_TEXT_SIZE];

  model_lease(m, own);
  return strcmp(own, lease) == 0;
}

/* Whether it is `lease` with the next token. */
static bool is_lease_raised(const struct model *m, const char *lease)
{
  const char *token = strrchr(lease, ':');
  char raised[LEASE_TEXT_SIZE];

  if (token == NULL)
    return false;
  snprintf(raised, sizeof(raised), "%.*s%" PRIu64, (int)(token + 1 - lease), lease,
           (uint64_t)strtoull(token + 1, NULL, 10) + 1);
  return is_lease(m, raised);
}

/* A program may have the token from before the raise of a lingering lease. */
static bool is_grant(const struct model *m, const char *lease)
{
  return m->is_held && (is_lease(m, lease) || is_lease_raised(m, lease));
}

/* What is in other hands is no longer one's own. */
static bool is_own_lease(const struct model *m, int who)
{
  return m->exists && m->client == who &&
         !is_grant(m, m->detached[who]);
}

static void tell(struct model *m, int who, const char *line)
{
  if (who >= 0 && m->hears[who])
    strcat(strcat(m->messages[who], line), "\n");
}

static int64_t min_token_ms(int64_t us)
{
  return us >= 0 ? us / 1000 : -((-us + 999) / 1000);
}

static int64_t remaining_ms(const struct model *m, int64_t now)
{
  int64_t left = min_token_ms(m->deadline_us - now);

  return left < m->length_ms ? left : m->length_ms;
}

/* ---- the queue ---- */

static struct model_entry *first_entry(struct model *m, int *ret_who)
{
  struct model_entry *first = NULL;

  for (int who = 0; who < MODEL_CLIENTS; who++) {
    struct model_entry *e = &m->entry[who];
    if (e->is_there && (first == NULL || e->index < first->index)) {
      first = e;
      *ret_who = who;
    }
  }
  return first;
}

static bool is_patient(const struct model_entry *e, int64_t now)
{
  return !e->is_tombstone && (e->give_up_us == 0 || now <= e->give_up_us);
}

static void grant(struct model *m, int64_t now, int who, uint64_t ask, int64_t ttl_ms,
                  int flags, uint64_t min_token)
{
  uint64_t token = token_above(now, m->token, min_token);

  m->exists = m->is_held = true;
  m->client = who;
  m->ask = ask;
  m->token = token;
  /* Kept in whole ms from the token, rounded in favour of the lease. */
  m->deadline_us = (int64_t)token + ttl_ms * 1000 + -min_token_ms((int64_t)token - now) * 1000;
  m->length_ms = ttl_ms;
  m->renewals = 0;
  m->flags = flags;
}

/* false: nobody was left. */
static bool grant_next(struct model *m, int64_t now, int asker, const acquire_call *c,
                       int flags)
{
  struct model_entry *e;
  int who = 0;

  while ((e = first_entry(m, &who)) != NULL) {
    bool is_asker = who == asker && !e->is_tombstone;
    e->is_there = false;
    m->head = e->index + 1;
    if (is_asker) {
      grant(m, now, who, c->ask, c->ttl_ms, flags, c->min_token);
      return true;
    }
    if (is_patient(e, now) && (e->polls ? e->give_up_us > 0 : m->hears[who])) {
      char lease[LEASE_TEXT_SIZE], line[256];
      grant(m, now, who, e->ask, e->ttl_ms, e->flags | (flags & NO_DEADLINE), e->min_token);
      model_lease(m, lease);
      snprintf(line, sizeof(line), "grant:%020llu %s %lld %llu orders",
               (unsigned long long)e->nonce, lease, (long long)e->ttl_ms,
               (unsigned long long)(m->next - m->head));
      if (!e->polls)
        tell(m, who, line);
      return true;
    }
  }
  return false;
}

static void set_free(struct model *m, int client, uint64_t ask, uint64_t token)
{
  m->exists = true;
  m->is_held = m->has_queue = false;
  m->client = client;
  m->ask = ask;
  m->token = token;
}

static bool agrees(int64_t now, int64_t estimate_us)
{
  return llabs(now - estimate_us) <= 250000;
}

static void end_lease(struct model *m, int64_t now, int64_t estimate_us, int client,
                      uint64_t ask, uint64_t token)
{
  int flags = agrees(now, estimate_us) ? 0 : NO_DEADLINE;

  if (m->has_queue && era_is_quarantined(&m->era, now, NULL)) {
    set_free(m, client, ask, token);
    m->has_queue = true;
    return;
  }
  if (m->has_queue && grant_next(m, now, NOBODY, NULL, flags))
    return;
  set_free(m, client, ask, token);
}

/* ---- acquire ---- */

static bool is_over(const struct model *m, int64_t now, const acquire_call *c)
{
  char watched[LEASE_TEXT_SIZE];
  text t = text_over(watched, sizeof(watched));

  if (c->watched != NULL) {
    lease_id_write(c->watched, &t);
    if (is_lease(m, watched) && c->watched_renewals == m->renewals)
      return true;
  }
  return now > m->deadline_us + 1000000 && (m->flags & NO_DEADLINE) == 0 &&
         agrees(now, c->estimate_us);
}

static acquire_answer answer(const struct model *m, int64_t now, acquire_outcome outcome)
{
  acquire_answer a = { .outcome = outcome, .server_us = now };

  if (outcome == ACQUIRE_ENDED || outcome == ACQUIRE_NO_SUBSCRIBER || outcome == ACQUIRE_LATE)
    return a;
  a.lease = lease_of(m);
  a.remaining_ms = outcome == ACQUIRE_GRANTED ? m->length_ms : remaining_ms(m, now);
  a.lease_ms = m->length_ms;
  a.renewals = m->renewals;
  if (outcome == ACQUIRE_BUSY)
    a.holder_lingers = m->flags & LINGERS;
  return a;
}

static void want(struct model *m)
{
  char lease[LEASE_TEXT_SIZE], line[256];

  model_lease(m, lease);
  snprintf(line, sizeof(line), "want %s orders", lease);
  tell(m, m->client, line);
}

static void enqueue(struct model *m, int64_t now, int who, const acquire_call *c, int flags)
{
  struct model_entry *mine = &m->entry[who], old = *mine;

  if (!m->has_queue) {
    m->has_queue = true;
    m->head = m->next = 1;
  }
  if (!m->exists) {
    m->exists = true;
    m->is_held = false;
    m->client = NEVER_HELD;
    m->ask = m->token = 0;
  }
  *mine = (struct model_entry){ .is_there = true, .ask = c->ask, .min_token = c->min_token,
    .ttl_ms = c->ttl_ms, .give_up_us = c->give_up_us, .flags = flags & LINGERS,
    .polls = c->polls, .nonce = c->nonce };
  if (old.is_there && !old.is_tombstone) {
    mine->index = old.index;
    mine->queued_us = old.queued_us;
  } else {
    mine->index = m->next++;
    mine->queued_us = now;
  }
}

/* What is dead in front of `who` goes. */
static void trim(struct model *m, int64_t now, int who)
{
  struct model_entry *e;
  int first = who;

  while ((e = first_entry(m, &first)) != NULL && first != who && !is_patient(e, now))
    e->is_there = false;
  m->head = e->index;
}

static acquire_answer wait_or_get(struct model *m, int64_t now, int who,
                                  const acquire_call *c, bool is_free, bool is_held_back,
                                  int flags)
{
  bool is_deaf = !c->polls && !m->hears[who] && (m->has_queue || !is_free);
  bool had_queue = m->has_queue, was_granted = false;
  bool is_expected = had_queue && !m->entry[who].is_there && m->renewals == 0 &&
                     (m->flags & LINGERS) == 0;
  acquire_answer a;

  if (!is_deaf && (had_queue || !is_free))
    enqueue(m, now, who, c, flags);
  if (is_free && m->has_queue)
    was_granted = grant_next(m, now, who, c, flags);
  if (is_free && !was_granted) {
    m->has_queue = false;
    grant(m, now, who, c->ask, c->ttl_ms, flags, c->min_token);
    return answer(m, now, ACQUIRE_GRANTED);
  }
  if (was_granted && m->client == who)
    return answer(m, now, ACQUIRE_GRANTED);
  if (is_deaf)
    return answer(m, now, ACQUIRE_NO_SUBSCRIBER);
  if (!was_granted)
    trim(m, now, who);
  a = is_held_back ? era_held_back(&m->era, now, ACQUIRE_WAITING)
                   : answer(m, now, ACQUIRE_WAITING);
  a.rank = m->entry[who].index - m->head;
  if (!was_granted && a.rank == 0 && !is_held_back && !is_expected)
    want(m);
  return a;
}

static acquire_answer try_to_get(struct model *m, int64_t now, int who, const acquire_call *c,
                                 bool is_free, bool is_held_back, int flags)
{
  struct model_entry *mine = &m->entry[who];
  bool was_granted = false;

  if (mine->is_there && !mine->is_tombstone && mine->ask < c->ask)
    mine->is_there = false;
  if (is_held_back)
    return era_held_back(&m->era, now, ACQUIRE_BUSY);
  if (is_free && m->has_queue)
    was_granted = grant_next(m, now, who, c, flags);
  if (is_free && !was_granted) {
    m->has_queue = false;
    grant(m, now, who, c->ask, c->ttl_ms, flags, c->min_token);
    return answer(m, now, ACQUIRE_GRANTED);
  }
  if (was_granted && m->client == who)
    return answer(m, now, ACQUIRE_GRANTED);
  if (!was_granted && (m->flags & LINGERS) != 0)
    want(m);
  return answer(m, now, ACQUIRE_BUSY);
}

acquire_answer model_acquire(struct model *m, int64_t now, int who, const acquire_call *c)
{
  const struct model_entry *mine = &m->entry[who];
  int flags = (c->lingers ? LINGERS : 0) | (agrees(now, c->estimate_us) ? 0 : NO_DEADLINE);
  bool is_own = is_own_lease(m, who), is_free, is_held_back;

  if (c->until_us > 0 && now > c->until_us)
    return answer(m, now, ACQUIRE_LATE);
  is_held_back = era_is_quarantined(&m->era, now, c->watched);
  if (is_own && m->is_held && m->ask == c->ask)
    return answer(m, now, ACQUIRE_AGAIN);
  if (is_own && m->ask >= c->ask)
    return answer(m, now, ACQUIRE_ENDED);
  if (mine->is_there && (mine->ask > c->ask || (mine->is_tombstone && mine->ask == c->ask)))
    return answer(m, now, ACQUIRE_ENDED);
  is_free = !m->exists || !m->is_held || is_own || is_over(m, now, c);
  is_held_back = is_held_back && is_free;
  is_free = is_free && !is_held_back;
  return c->waits ? wait_or_get(m, now, who, c, is_free, is_held_back, flags)
                  : try_to_get(m, now, who, c, is_free, is_held_back, flags);
}

/* ---- the others ---- */

/* What became of a lease that does not stand there. */
static release_outcome gone_how(const struct model *m, const char *lease)
{
  const char *token = strrchr(lease, ':');

  if (m->exists && m->is_held)
    return is_lease(m, lease) ? RELEASE_GONE : RELEASE_TAKEN;
  return m->exists && strtoull(token + 1, NULL, 10) == m->token ? RELEASE_UNTAKEN
                                                                : RELEASE_GONE;
}

/* Whether the memory is the one that breaking this lease left. */
static bool was_broken(const struct model *m, const char *lease)
{
  return m->exists && !m->is_held && is_lease_raised(m, lease);
}

typedef enum ending { BY_HOLDER, BY_TOKEN, BY_BREAK } ending;

static release_answer end_named(struct model *m, int64_t now, int64_t estimate_us,
                                const char *lease, ending how)
{
  release_answer a = { .outcome = RELEASE_GONE };
  bool breaks = how == BY_BREAK;
  char line[256], lost[LEASE_TEXT_SIZE];
  int owner = m->client;

  if (!m->exists || !(is_lease(m, lease) || (how == BY_TOKEN && is_grant(m, lease)))) {
    a.outcome = gone_how(m, lease);
    if (a.outcome == RELEASE_TAKEN)
      a.taker = lease_of(m);
    if (breaks && was_broken(m, lease))
      a.outcome = RELEASE_UNTAKEN;
    if (a.outcome == RELEASE_UNTAKEN && !breaks)
      a.outcome = RELEASE_DONE;
    return a;
  }
  if (!m->is_held) {
    a.outcome = breaks ? RELEASE_UNTAKEN : RELEASE_DONE;
    return a;
  }
  model_lease(m, lost);
  end_lease(m, now, estimate_us, m->client, m->ask, m->token + (breaks ? 1 : 0));
  if (how == BY_TOKEN) {
    snprintf(line, sizeof(line), "released %s orders", lost);
    tell(m, owner, line);
  }
  if (how != BY_HOLDER) {
    snprintf(line, sizeof(line), "lost %s orders", lost);
    tell(m, owner, line);
  }
  a.outcome = RELEASE_DONE;
  return a;
}

release_answer model_release(struct model *m, int64_t now, const char *lease,
                             int64_t estimate_us)
{
  return end_named(m, now, estimate_us, lease, BY_HOLDER);
}

release_answer model_token_release(struct model *m, int64_t now, const char *lease,
                                   int64_t estimate_us)
{
  return end_named(m, now, estimate_us, lease, BY_TOKEN);
}

release_answer model_break(struct model *m, int64_t now, const char *lease,
                           int64_t estimate_us)
{
  return end_named(m, now, estimate_us, lease, BY_BREAK);
}

int64_t model_cancel(struct model *m, int64_t now, int who, uint64_t ask, int64_t until_us,
                     int64_t estimate_us)
{
  struct model_entry *mine = &m->entry[who];
  bool is_own = is_own_lease(m, who);

  if (is_own && m->ask > ask)
    return 0;
  if (m->has_queue && (!mine->is_there || mine->ask <= ask)) {
    bool was_there = mine->is_there;
    uint64_t index = was_there ? mine->index : m->next;
    *mine = (struct model_entry){ .is_there = until_us == 0 || now <= until_us,
      .is_tombstone = true, .index = index, .ask = ask, .give_up_us = until_us };
    if (mine->is_there && !was_there)
      m->next++;
  }
  if (is_own && m->is_held) {
    end_lease(m, now, estimate_us, who, ask, m->token);
    return 1;
  }
  if (!m->has_queue && !(m->exists && m->is_held) && !(is_own && m->ask == ask))
    set_free(m, who, ask, m->token);
  return 0;
}

renew_answer model_renew(struct model *m, int64_t now, const char *lease, int64_t ttl_ms,
                         int64_t estimate_us)
{
  int64_t wanted = now + ttl_ms * 1000;

  if (!m->exists || !m->is_held || !is_lease(m, lease) ||
      (now > m->deadline_us && era_is_young(&m->era, now)))
    return (renew_answer){ .is_ours = false, .gone = gone_how(m, lease) };
  if (wanted > m->deadline_us)
    m->deadline_us = wanted;
  m->deadline_us = (int64_t)m->token - min_token_ms((int64_t)m->token - m->deadline_us) * 1000;
  if (ttl_ms > m->length_ms)
    m->length_ms = ttl_ms;
  m->renewals++;
  if (!agrees(now, estimate_us))
    m->flags |= NO_DEADLINE;
  else if (ttl_ms == m->length_ms)     /* covers all that was promised in doubt */
    m->flags &= ~NO_DEADLINE;
  return (renew_answer){ .is_ours = true, .remaining_ms = remaining_ms(m, now),
                         .waiters = m->has_queue ? m->next - m->head : 0 };
}

/* ---- dump ---- */

static void dump_entry(const struct model_entry *e, int who, text *out)
{
  char client[CLIENT_ID_SIZE], line[256], nonce[24] = "";

  model_client(who, client);
  if (!e->polls)
    snprintf(nonce, sizeof(nonce), "%020llu", (unsigned long long)e->nonce);
  if (e->is_tombstone)
    snprintf(line, sizeof(line), "x %s %llu %lld", client, (unsigned long long)e->ask,
             (long long)e->give_up_us);
  else
    snprintf(line, sizeof(line), "%s %llu %lld x%d 1 %lld %016lld%s %llu", client,
             (unsigned long long)e->ask, (long long)e->ttl_ms, e->flags + (e->polls ? 4 : 0),
             (long long)e->give_up_us, (long long)e->queued_us, nonce,
             (unsigned long long)e->min_token);
  text_add(out, "\n");
  text_add_uint(out, e->index);
  text_add(out, " ");
  text_add(out, line);
}

void model_dump(const struct model *m, text *out)
{
  struct model copy = *m;
  char lease[LEASE_TEXT_SIZE], line[64];
  struct model_entry *e;
  int who = 0;

  if (!m->exists) {
    text_add(out, "none");
    return;
  }
  model_lease(m, lease);
  text_add(out, m->is_held ? "" : "=");
  text_add(out, lease);
  if (m->is_held) {
    snprintf(line, sizeof(line), " %lld %lld %llu %d",
             (long long)((m->deadline_us - (int64_t)m->token) / 1000),
             (long long)m->length_ms, (unsigned long long)m->renewals, m->flags);
    text_add(out, line);
  }
  if (!m->has_queue)
    return;
  snprintf(line, sizeof(line), "\n%llu %llu", (unsigned long long)m->head,
           (unsigned long long)m->next);
  text_add(out, line);
  while ((e = first_entry(&copy, &who)) != NULL) {
    dump_entry(e, who, out);
    e->is_there = false;
  }
}
