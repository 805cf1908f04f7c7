/* SPDX-License-Identifier: MIT */
/* test/script/share_model.c - see share_model.h. */
#include "share_model.h"
#include "model_token.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_DEADLINE 2
#define NOBODY (-1)
#define GRANTS_MAX 64
#define DROPS_MAX 1000

void model_client(int who, char out[CLIENT_ID_SIZE])
{
  memset(out, 'A' + who, CLIENT_ID_SIZE - 1);
  out[CLIENT_ID_SIZE - 1] = 0;
}

static bool agrees(int64_t now, int64_t estimate_us)
{
  return llabs(now - estimate_us) <= 250000;
}

static int64_t min_token_ms(int64_t us)
{
  return us >= 0 ? us / 1000 : -((-us + 999) / 1000);
}

static int64_t remaining_ms(const struct model_holder *h, int64_t now)
{
  int64_t left = min_token_ms(h->deadline_us - now);

  return left < h->length_ms ? left : h->length_ms;
}

static void tell(struct share_model *m, int who, const char *line)
{
  if (m->hears[who]) {
    assert(strlen(m->messages[who]) + strlen(line) + 2 < sizeof(m->messages[who]));
    strcat(strcat(m->messages[who], line), "\n");
  }
}

/* ---- holders ---- */

uint64_t model_used(const struct share_model *m)
{
  uint64_t used = 0;

  for (size_t i = 0; i < m->holder_count; i++)
    used += m->holder[i].units;
  return used;
}

static struct model_holder *find_holder(struct share_model *m, int who, uint64_t ask)
{
  for (size_t i = 0; i < m->holder_count; i++)
    if (m->holder[i].client == who && m->holder[i].ask == ask)
      return &m->holder[i];
  return NULL;
}

static struct model_holder *find_lease(struct share_model *m, int who, const lease_id *lease)
{
  struct model_holder *h = find_holder(m, who, lease->ask);

  return h != NULL && h->token == lease->token ? h : NULL;
}

static void remove_holder(struct share_model *m, struct model_holder *h)
{
  *h = m->holder[--m->holder_count];
}

static bool fits(const struct share_model *m, char mode, uint64_t units)
{
  bool is_written = m->holder_count > 0 && m->holder[0].mode == 'w';

  if (mode == 'r')
    return !is_written;
  if (mode == 'w')
    return m->holder_count == 0;
  return model_used(m) + units <= m->limit;
}

static bool is_full(const struct share_model *m)
{
  return m->kind == MODEL_SEM ? !fits(m, 'p', 1) : !fits(m, 'r', 1);
}

static struct model_holder *grant(struct share_model *m, int64_t now, int who, uint64_t ask,
                                  char mode, uint64_t units, int64_t ttl_ms, uint64_t min_token,
                                  int flags)
{
  struct model_holder *h = &m->holder[m->holder_count++];
  uint64_t token = token_above(now, m->token, min_token);

  assert(m->holder_count < MODEL_MANY);
  m->token = token;
  *h = (struct model_holder){ .client = who, .ask = ask, .mode = mode, .units = units,
    .token = token, .length_ms = ttl_ms, .flags = flags,
    .deadline_us = (int64_t)token + ttl_ms * 1000 + -min_token_ms((int64_t)token - now) * 1000 };
  return h;
}

static void drop_over(struct share_model *m, int64_t now, int64_t estimate_us)
{
  if (!agrees(now, estimate_us))
    return;
  for (size_t i = m->holder_count; i > 0; i--) {
    struct model_holder *h = &m->holder[i - 1];
    if (h->flags == 0 && now > h->deadline_us + 1000000)
      remove_holder(m, h);
  }
}

/* ---- the queue ---- */

static struct model_place *find_place(struct share_model *m, int who, uint64_t ask)
{
  for (size_t i = 0; i < m->place_count; i++)
    if (m->place[i].client == who && m->place[i].ask == ask)
      return &m->place[i];
  return NULL;
}

static void remove_place(struct share_model *m, struct model_place *p)
{
  size_t i = (size_t)(p - m->place);

  memmove(p, p + 1, (m->place_count - i - 1) * sizeof(*p));
  m->place_count--;
}

static void append_place(struct share_model *m, const struct model_place *p)
{
  assert(m->place_count + 1 < MODEL_MANY);
  m->place[m->place_count] = *p;
  m->place[m->place_count++].index = m->next++;
  m->has_queue = true;
}

/* What the pump has to tell, once it is known how many wait behind it. */
struct news {
  size_t count;
  struct {
    int who;
    bool is_lost;
    uint64_t ask, token, units, nonce;
    int64_t ttl_ms;
  } of[MODEL_MANY];
};

static void news_tell(struct share_model *m, const struct news *n)
{
  char client[CLIENT_ID_SIZE], line[256];

  for (size_t i = 0; i < n->count; i++) {
    model_client(n->of[i].who, client);
    if (n->of[i].is_lost)
      snprintf(line, sizeof(line), "lost %s:%llu:0 orders", client,
               (unsigned long long)n->of[i].ask);
    else
      snprintf(line, sizeof(line), "share:%020llu %s:%llu:%llu %lld %llu %llu orders",
               (unsigned long long)n->of[i].nonce, client, (unsigned long long)n->of[i].ask,
               (unsigned long long)n->of[i].token,
               (long long)n->of[i].ttl_ms, (unsigned long long)(m->next - m->head),
               (unsigned long long)n->of[i].units);
    tell(m, n->of[i].who, line);
  }
}

static bool is_live(const struct share_model *m, const struct model_place *p, int64_t now)
{
  return !p->is_tombstone && (p->give_up_us == 0 || now <= p->give_up_us) &&
         (p->polls ? p->give_up_us > 0 : m->hears[p->client]);
}

/* Grants while the head fits. Answers what `asker` has got by it, or NULL. */
static struct model_holder *pump(struct share_model *m, int64_t now, int flags, int asker,
                                 const share_call *c, bool is_quiet, struct news *n)
{
  uint64_t first = m->head;
  int granted = 0;
  uint64_t own = 0;
  bool is_filled = false;

  if (is_quiet)
    return NULL;
  while (m->head < m->next && m->head - first < DROPS_MAX && granted < GRANTS_MAX &&
         !is_filled) {
    struct model_place *p = m->place_count > 0 ? &m->place[0] : NULL;
    if (p != NULL && p->index == m->head) {
      bool is_asker = c != NULL && p->client == asker && !p->is_tombstone && p->ask == c->ask;
      if (is_asker || is_live(m, p, now)) {
        uint64_t units = is_asker ? c->units : p->units;
        if (m->kind == MODEL_SEM && m->limit > 0 && units > m->limit) {
          n->of[n->count].who = p->client;
          n->of[n->count].is_lost = true;
          n->of[n->count++].ask = p->ask;
        } else if (!fits(m, p->mode, units)) {
          break;
        } else {
          struct model_holder *h = grant(m, now, p->client, p->ask, p->mode, units,
            is_asker ? c->ttl_ms : p->ttl_ms, is_asker ? c->min_token : p->min_token, flags);
          granted++;
          is_filled = is_full(m);
          if (is_asker) {
            own = h->token;
          } else if (!p->polls) {
            n->of[n->count].who = p->client;
            n->of[n->count].is_lost = false;
            n->of[n->count].ask = p->ask;
            n->of[n->count].token = h->token;
            n->of[n->count].nonce = p->nonce;
            n->of[n->count].units = units;
            n->of[n->count++].ttl_ms = p->ttl_ms;
          }
        }
      }
      remove_place(m, p);
    }
    m->head++;
  }
  for (size_t i = 0; own > 0 && i < m->holder_count; i++)
    if (m->holder[i].token == own)
      return &m->holder[i];
  return NULL;
}

static int doubt(int64_t now, int64_t estimate_us)
{
  return agrees(now, estimate_us) ? 0 : NO_DEADLINE;
}

/* ---- acquire ---- */

static acquire_answer granted(const struct model_holder *h, int64_t now)
{
  acquire_answer a = { .outcome = ACQUIRE_GRANTED, .server_us = now, .units = h->units,
    .remaining_ms = h->length_ms, .lease_ms = h->length_ms,
    .lease = { .ask = h->ask, .token = h->token } };

  model_client(h->client, a.lease.client);
  return a;
}

static acquire_answer again(const struct model_holder *h, int64_t now)
{
  acquire_answer a = granted(h, now);

  a.outcome = ACQUIRE_AGAIN;
  a.remaining_ms = remaining_ms(h, now);
  a.renewals = h->renewals;
  return a;
}

static acquire_answer plain(int64_t now, acquire_outcome outcome)
{
  return (acquire_answer){ .outcome = outcome, .server_us = now };
}

/* What it would get at once, 0: nothing. */
static uint64_t fits_at_once(const struct share_model *m, const share_call *c)
{
  uint64_t used = model_used(m);
  uint64_t units = c->units > 0 ? c->units : m->limit > used ? m->limit - used : 0;

  return m->head == m->next && units > 0 && fits(m, c->mode, units) ? units : 0;
}

static void drop_watched(struct share_model *m, const share_call *c)
{
  struct model_holder *h;

  if (c->watched == NULL)
    return;
  h = find_lease(m, c->watched->client[0] - 'A', c->watched);
  if (h != NULL && h->renewals == c->watched_renewals)
    remove_holder(m, h);
}

static acquire_answer too_many(struct share_model *m, int64_t now, const share_call *c,
                               struct model_place *mine, bool is_quiet)
{
  acquire_answer a = plain(now, ACQUIRE_TOO_MANY);
  struct news n = { .count = 0 };

  a.units = m->limit;
  if (mine == NULL)
    return a;
  drop_over(m, now, c->estimate_us);
  drop_watched(m, c);
  remove_place(m, mine);
  (void)pump(m, now, doubt(now, c->estimate_us), NOBODY, c, is_quiet || is_full(m), &n);
  news_tell(m, &n);
  return a;
}

static void enqueue(struct share_model *m, int64_t now, int who, const share_call *c)
{
  struct model_place *mine = find_place(m, who, c->ask);
  struct model_place p = { .client = who, .ask = c->ask, .mode = c->mode, .units = c->units,
    .ttl_ms = c->ttl_ms, .give_up_us = c->give_up_us, .min_token = c->min_token, .queued_us = now,
    .polls = c->polls, .nonce = c->nonce };

  if (mine == NULL) {
    append_place(m, &p);
  } else {
    p.index = mine->index;
    p.queued_us = mine->queued_us;
    *mine = p;
  }
}

acquire_answer model_acquire(struct share_model *m, int64_t now, int who, const share_call *c)
{
  struct model_holder *h = find_holder(m, who, c->ask);
  struct model_place *mine = find_place(m, who, c->ask);
  int flags = doubt(now, c->estimate_us);
  struct news n = { .count = 0 };
  acquire_answer a;
  uint64_t units;
  bool is_quiet, is_queued;

  if (c->until_us > 0 && now > c->until_us)
    return plain(now, ACQUIRE_LATE);
  is_quiet = era_is_quarantined(&m->era, now, c->watched);
  if (m->kind <= MODEL_NEW && c->mode == 'p' && c->limit == 0)
    return plain(now, ACQUIRE_NOT_SET);
  if (h != NULL)
    return again(h, now);
  if (mine != NULL && mine->is_tombstone)
    return plain(now, ACQUIRE_ENDED);
  if (mine == NULL && c->limit != 0 && m->kind == MODEL_SEM && m->limit > 0 &&
      m->limit != c->limit) {
    a = plain(now, ACQUIRE_OTHER_LIMIT);
    a.units = m->limit;
    return a;
  }
  if (m->kind == MODEL_SEM && m->limit > 0 && c->units > m->limit)
    return too_many(m, now, c, mine, is_quiet);
  is_queued = c->waits && (c->polls || m->hears[who]);
  if (m->kind <= MODEL_NEW && (!is_quiet || is_queued)) {
    if (m->kind == MODEL_NONE)
      m->head = m->next = 1;
    m->kind = c->mode == 'p' ? MODEL_SEM : MODEL_RW;
    m->limit = c->limit;
    m->generation = 1;
    m->kept = 0;
  }
  drop_over(m, now, c->estimate_us);
  if (is_quiet || fits_at_once(m, c) == 0)
    drop_watched(m, c);
  h = pump(m, now, flags, who, c, is_quiet || is_full(m), &n);
  units = is_quiet ? 0 : fits_at_once(m, c);
  if (h == NULL && units > 0)
    h = grant(m, now, who, c->ask, c->mode, units, c->ttl_ms, c->min_token, flags);
  if (h != NULL) {
    a = granted(h, now);
  } else if (c->waits && !is_queued) {
    a = plain(now, ACQUIRE_NO_SUBSCRIBER);
  } else if (c->waits) {
    enqueue(m, now, who, c);
    a = is_quiet ? era_held_back(&m->era, now, ACQUIRE_WAITING)
                 : plain(now, ACQUIRE_WAITING);
    a.rank = find_place(m, who, c->ask)->index - m->head;
  } else {
    a = is_quiet ? era_held_back(&m->era, now, ACQUIRE_BUSY) : plain(now, ACQUIRE_BUSY);
  }
  news_tell(m, &n);
  return a;
}

bool model_ends_first(const struct share_model *m, const lease_id *lease, int64_t now,
                      const acquire_answer *a)
{
  const struct model_holder *named = NULL;
  int64_t least = INT64_MAX;

  if (m->holder_count == 0)
    return lease->token == 0 && a->remaining_ms == 0 && a->lease_ms == 0;
  for (size_t i = 0; i < m->holder_count; i++) {
    const struct model_holder *h = &m->holder[i];
    if (h->deadline_us < least)
      least = h->deadline_us;
    if (h->client == lease->client[0] - 'A' && h->ask == lease->ask &&
        h->token == lease->token)
      named = h;
  }
  return named != NULL && named->deadline_us == least &&
         a->remaining_ms == remaining_ms(named, now) && a->lease_ms == named->length_ms &&
         a->renewals == named->renewals;
}

/* ---- the others ---- */

static void leave(struct share_model *m, int64_t now, int who, uint64_t ask,
                  struct model_holder *h, bool buries, int64_t until_us, int64_t estimate_us)
{
  bool is_quiet = era_is_quarantined(&m->era, now, NULL);
  struct model_place *p = find_place(m, who, ask);
  struct news n = { .count = 0 };

  if (p != NULL)
    remove_place(m, p);
  if (h != NULL)
    remove_holder(m, h);
  (void)pump(m, now, doubt(now, estimate_us), NOBODY, NULL, is_quiet, &n);
  if (buries && (until_us == 0 || now <= until_us)) {
    struct model_place grave = { .is_tombstone = true, .client = who, .ask = ask,
                                 .give_up_us = until_us };
    if (m->kind == MODEL_NONE) {
      m->kind = MODEL_NEW;
      m->head = m->next = 1;
    }
    append_place(m, &grave);
  }
  news_tell(m, &n);
}

bool model_release(struct share_model *m, int64_t now, int who, const lease_id *lease,
                   int64_t until_us, int64_t estimate_us)
{
  struct model_holder *h = find_holder(m, who, lease->ask);
  bool is_there = h != NULL;

  if (h != NULL && (h->token != lease->token || (m->head == m->next && until_us == 0))) {
    /* Nobody waits: it looks at no era. */
    bool is_fast = m->head == m->next && until_us == 0;
    if (!is_fast)
      (void)era_is_quarantined(&m->era, now, NULL);
    if (h->token != lease->token)
      return false;
    remove_holder(m, h);
    return true;
  }
  leave(m, now, who, lease->ask, h, until_us > 0, until_us, estimate_us);
  return is_there;
}

static void tell_end(struct share_model *m, int who, const char *word, const lease_id *lease)
{
  char line[256], client[CLIENT_ID_SIZE];

  model_client(who, client);
  snprintf(line, sizeof(line), "%s %s:%llu:%llu orders", word, client,
           (unsigned long long)lease->ask, (unsigned long long)lease->token);
  tell(m, who, line);
}

bool model_token_release(struct share_model *m, int64_t now, int who, const lease_id *lease,
                         int64_t estimate_us)
{
  struct model_holder *h = find_holder(m, who, lease->ask);
  bool is_there = h != NULL;

  if (h != NULL && h->token != lease->token) {
    (void)era_is_quarantined(&m->era, now, NULL);
    return false;
  }
  leave(m, now, who, lease->ask, h, false, 0, estimate_us);
  if (is_there) {
    tell_end(m, who, "released", lease);
    tell_end(m, who, "lost", lease);
  }
  return is_there;
}

int64_t model_cancel(struct share_model *m, int64_t now, int who, uint64_t ask,
                     int64_t until_us, int64_t estimate_us)
{
  struct model_holder *h = find_holder(m, who, ask);
  int64_t answer = h != NULL;

  leave(m, now, who, ask, h, true, until_us, estimate_us);
  return answer;
}

release_answer model_break(struct share_model *m, int64_t now, int who, const lease_id *lease,
                           int64_t estimate_us)
{
  struct model_holder *h = find_lease(m, who, lease);
  struct news n = { .count = 0 };
  bool is_quiet;

  is_quiet = era_is_quarantined(&m->era, now, NULL);
  if (h == NULL)
    return (release_answer){ .outcome = RELEASE_GONE };
  remove_holder(m, h);
  (void)pump(m, now, doubt(now, estimate_us), NOBODY, NULL, is_quiet, &n);
  news_tell(m, &n);
  tell_end(m, who, "lost", lease);
  return (release_answer){ .outcome = RELEASE_DONE };
}

static void lengthen(struct model_holder *h, int64_t now, int64_t ttl_ms, int flags)
{
  int64_t deadline = now + ttl_ms * 1000;

  h->flags = ttl_ms < h->length_ms && h->flags == NO_DEADLINE ? NO_DEADLINE : flags;
  if (deadline < h->deadline_us)
    deadline = h->deadline_us;
  h->deadline_us = (int64_t)h->token - min_token_ms((int64_t)h->token - deadline) * 1000;
  if (ttl_ms > h->length_ms)
    h->length_ms = ttl_ms;
  h->renewals++;
}

renew_answer model_renew(struct share_model *m, int64_t now, int who, const lease_id *lease,
                         int64_t ttl_ms, char mode, int64_t estimate_us)
{
  struct model_holder *h = find_lease(m, who, lease);
  struct news n = { .count = 0 };
  renew_answer a = { .is_ours = false };
  bool is_quiet = false;

  if (h == NULL || (now > h->deadline_us && era_is_young(&m->era, now)))
    return a;
  if (m->head < m->next)
    is_quiet = era_is_quarantined(&m->era, now, NULL);
  if (ttl_ms > 0)
    lengthen(h, now, ttl_ms, doubt(now, estimate_us));
  if (h->mode == 'w' && mode == 'r')
    h->mode = 'r';
  a = (renew_answer){ .is_ours = true, .remaining_ms = remaining_ms(h, now) };
  (void)pump(m, now, doubt(now, estimate_us), NOBODY, NULL, is_quiet, &n);
  news_tell(m, &n);
  a.waiters = m->next - m->head;
  return a;
}

static bool model_delete(struct share_model *m, uint64_t *ret_limit)
{
  *ret_limit = 0;
  if (m->kind != MODEL_SEM)
    return true;
  if (m->holder_count > 0 || m->head < m->next) {
    *ret_limit = m->limit;
    return false;
  }
  m->kind = MODEL_NONE;
  m->token = m->generation = 0;
  m->has_queue = false;
  m->head = m->next = 1;
  return true;
}

bool model_set(struct share_model *m, int64_t now, share_set_what what, uint64_t permits,
               int64_t estimate_us, uint64_t *ret_limit)
{
  struct news n = { .count = 0 };
  bool is_done = true, is_quiet = era_is_quarantined(&m->era, now, NULL);

  if (what == SHARE_SET_IF_ABSENT && m->kind == MODEL_SEM) {
    *ret_limit = m->limit;
    return false;
  }
  if (what != SHARE_DELETE) {
    if (m->kind == MODEL_NONE)
      m->head = m->next = 1;
    m->kind = MODEL_SEM;
    *ret_limit = m->limit = permits;
    m->generation++;
    m->kept = what == SHARE_SET;
  }
  if (m->kind == MODEL_SEM) {
    drop_over(m, now, estimate_us);
    (void)pump(m, now, doubt(now, estimate_us), NOBODY, NULL, is_quiet, &n);
    news_tell(m, &n);
  }
  if (what == SHARE_DELETE)
    is_done = model_delete(m, ret_limit);
  return is_done;
}

/* ---- the dump ---- */

static int compare_lines(const void *a, const void *b) { return strcmp(a, b); }

static void place_line(const struct model_place *p, char *line, size_t size)
{
  char client[CLIENT_ID_SIZE], nonce[24] = "";

  model_client(p->client, client);
  if (!p->polls)
    snprintf(nonce, sizeof(nonce), "%020llu", (unsigned long long)p->nonce);
  if (p->is_tombstone)
    snprintf(line, size, "w%llu x %s %llu %lld", (unsigned long long)p->index, client,
             (unsigned long long)p->ask, (long long)p->give_up_us);
  else
    snprintf(line, size, "w%llu %s %llu %lld %c%d %llu %lld %016lld%s %llu",
             (unsigned long long)p->index, client, (unsigned long long)p->ask,
             (long long)p->ttl_ms, p->mode, p->polls ? 4 : 0, (unsigned long long)p->units,
             (long long)p->give_up_us, (long long)p->queued_us, nonce,
             (unsigned long long)p->min_token);
}

static void holder_line(const struct model_holder *h, char *line, size_t size)
{
  char client[CLIENT_ID_SIZE];

  model_client(h->client, client);
  snprintf(line, size, "k%s:%llu %c %llu %llu %lld %lld %llu %d", client,
           (unsigned long long)h->ask, h->mode, (unsigned long long)h->units,
           (unsigned long long)h->token,
           (long long)((h->deadline_us - (int64_t)h->token) / 1000), (long long)h->length_ms,
           (unsigned long long)h->renewals, h->flags);
}

static void state_line(const struct share_model *m, char *line, size_t size)
{
  static const char *const kinds[] = { "none", "new", "rw", "sem" };

  if (m->kind == MODEL_SEM)
    snprintf(line, size, "sem %llu %llu %llu %llu %d", (unsigned long long)m->token,
             (unsigned long long)model_used(m), (unsigned long long)m->limit,
             (unsigned long long)m->generation, m->kept);
  else
    snprintf(line, size, "%s %llu %llu %d", kinds[m->kind], (unsigned long long)m->token,
             (unsigned long long)model_used(m), m->holder_count > 0 && m->holder[0].mode == 'w');
}

void model_dump(const struct share_model *m, text *out)
{
  static char lines[2 * MODEL_MANY + 2][160];
  size_t count = 0;
  char state[160];

  if (m->kind == MODEL_NONE) {
    text_add(out, "none");
    return;
  }
  for (size_t i = 0; i < m->holder_count; i++)
    holder_line(&m->holder[i], lines[count++], sizeof(lines[0]));
  for (size_t i = 0; i < m->place_count; i++)
    place_line(&m->place[i], lines[count++], sizeof(lines[0]));
  if (m->has_queue) {
    snprintf(lines[count++], sizeof(lines[0]), "h %llu", (unsigned long long)m->head);
    snprintf(lines[count++], sizeof(lines[0]), "n %llu", (unsigned long long)m->next);
  }
  qsort(lines, count, sizeof(lines[0]), compare_lines);
  state_line(m, state, sizeof(state));
  text_add(out, state);
  for (size_t i = 0; i < count; i++) {
    text_add(out, "\n");
    text_add(out, lines[i]);
  }
}
