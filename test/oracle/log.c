/* SPDX-License-Identifier: MIT */
/* test/oracle/log.c - what becomes of asks, as records. */
#include "log.h"
#include "history_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDING_NS 1001       /* two clocks, in microseconds */

void history_log_free(struct history_log *log)
{
  free(log->records);
  *log = (struct history_log){ NULL, 0, 0 };
}

struct record *history_log_add(struct history_log *log, int64_t at_ns, enum op op,
                               enum phase phase)
{
  struct record *r;

  if (log->count == log->room) {
    log->room = log->room == 0 ? 1024 : log->room * 2;
    log->records = history_grow(log->records, log->room, sizeof(*log->records));
  }
  if (log->count > 0 && at_ns <= log->records[log->count - 1].at_ns)
    at_ns = log->records[log->count - 1].at_ns + 1;
  r = &log->records[log->count++];
  *r = (struct record){ .at_ns = at_ns, .op = (uint8_t)op, .phase = (uint8_t)phase,
                        .worker = RUNNER, .lock = NO_LOCK, .seq = (uint32_t)log->count };
  return r;
}

void history_log_death(struct history_log *log, int64_t at_ns, uint16_t worker, uint16_t life)
{
  struct record *r = history_log_add(log, at_ns, OP_LIFE, PHASE_OK);

  r->owner = worker;
  r->value = life;
  r->sent_ns = r->at_ns;
}

struct history *history_judge(const struct history_log *log, const char *const *names,
                              const char *kinds, uint32_t permits, bool orders_beliefs,
                              struct findings *ret_findings)
{
  uint32_t checks = CHECK_BIT(CHECK_EXCLUSION) | CHECK_BIT(CHECK_FENCE) |
                    CHECK_BIT(CHECK_PERMITS) | CHECK_BIT(CHECK_READERS) |
                    CHECK_BIT(CHECK_SELF_FENCE) | CHECK_BIT(CHECK_WHOLE);
  struct expectations e = { .without = CHECK_ALL & ~checks, .orders_beliefs = orders_beliefs };
  struct run_lock locks[LOCKS_MAX];
  struct history *h;
  size_t count = strlen(kinds);

  for (size_t i = 0; i < count; i++) {
    locks[i] = (struct run_lock){ .kind = kinds[i], .limit = permits };
    (void)snprintf(locks[i].name, sizeof(locks[i].name), "%s", names[i]);
  }
  h = history_of(log->records, log->count, locks, count);
  memset(ret_findings, 0, sizeof(*ret_findings));
  (void)check_all(h, &e, ret_findings);
  return h;
}

/* One for each member. */
static void put(const struct logged *l, int64_t at_ns, enum op op, enum phase phase, int status)
{
  for (uint16_t lock = 0; l->locks >> lock != 0; lock++) {
    struct record *r;

    if ((l->locks >> lock & 1) == 0)
      continue;
    r = history_log_add(l->log, at_ns, op, phase);
    r->worker = l->worker;
    r->life = l->life;
    r->thread = l->thread;
    r->lock = lock;
    r->call = l->call;
    r->units = l->units;
    r->ttl_ms = l->ttl_ms;
    r->mode = l->mode;
    r->flags = l->flags;
    r->fence = l->fence;
    r->valid_ns = l->valid_ns;
    r->status = status;
  }
}

void logged_ask(struct logged *l, int64_t at_ns, enum op op)
{
  l->call = l->log->count + 1;
  put(l, at_ns, op, PHASE_INVOKE, 0);
}

void logged_failed(struct logged *l, int64_t at_ns, int status)
{
  put(l, at_ns, OP_LOCK, PHASE_FAIL, status);
}

void logged_granted(struct logged *l, int64_t at_ns, uint64_t fence, int64_t valid_ns)
{
  l->is_granted = true;
  l->fence = fence;
  l->valid_ns = valid_ns;
  put(l, at_ns, OP_LOCK, PHASE_OK, 0);
}

void logged_valid(struct logged *l, int64_t at_ns, int64_t valid_ns)
{
  if (!l->is_granted || (valid_ns != 0 && valid_ns <= l->valid_ns + ROUNDING_NS) ||
      valid_ns == l->valid_ns)
    return;
  l->valid_ns = valid_ns;
  put(l, at_ns, OP_SAMPLE, PHASE_INFO, 0);
}

void logged_lost(struct logged *l, int64_t at_ns)
{
  if (!l->is_granted)
    return;
  put(l, at_ns, OP_LOST, PHASE_INFO, 0);
  l->valid_ns = 0;             /* what is believed from here on is new */
}

void logged_excused(struct logged *l, int64_t at_ns)
{
  if (l->is_granted && (l->flags & FLAG_EXCUSED) == 0)
    put(l, at_ns, OP_EXCUSED, PHASE_INFO, 0);
  l->flags |= FLAG_EXCUSED;
}

void logged_downgrade(struct logged *l, int64_t at_ns)
{
  if (!l->is_granted)
    return;
  put(l, at_ns, OP_RELEASE, PHASE_INVOKE, 0);
  put(l, at_ns, OP_RELEASE, PHASE_OK, 0);
  l->mode = HOLD_READ;
  l->flags |= FLAG_NESTED;
  l->fence = 0;                /* it was judged when it was granted */
  logged_ask(l, at_ns, OP_LOCK);
  put(l, at_ns, OP_LOCK, PHASE_OK, 0);
}

void logged_release(struct logged *l, int64_t at_ns)
{
  if (l->is_granted)
    put(l, at_ns, OP_RELEASE, PHASE_INVOKE, 0);
  l->is_granted = false;
}
