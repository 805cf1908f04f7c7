/* SPDX-License-Identifier: MIT */
/* test/oracle/story.c - histories made by hand. */
#include "story.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TTL_MS = 1000, DEADLINE_MS = 3000 };

/* Zero is no instant. */
static int64_t instant(double ms)
{
  return 1000000000 + (int64_t)(ms * 1e6);
}

static struct record *add(struct story *s, double at, int worker, enum op op, enum phase phase)
{
  struct record *r = &s->records[s->count++];

  if (s->count > STORY_MAX)
    abort();
  *r = (struct record){ .at_ns = instant(at), .op = (uint8_t)op, .phase = (uint8_t)phase,
                        .worker = (uint16_t)worker, .seq = (uint32_t)s->count,
                        .lock = NO_LOCK };
  return r;
}

/* The next record of a call. */
static struct record *add_to(struct story *s, double at, uint64_t call, enum op op,
                             enum phase phase)
{
  const struct record *known = &s->calls[call];
  struct record *r = add(s, at, known->worker, op, phase);

  r->call = call;
  r->lock = known->lock;
  r->mode = known->mode;
  r->units = known->units;
  r->fence = known->fence;
  r->flags = known->flags;
  r->ttl_ms = TTL_MS;
  return r;
}

void story_begin(struct story *s)
{
  static const struct run_lock locks[] = { { "shop", 'm', 1 }, { "list", 'r', 1 },
                                           { "seats", 'p', 3 } };

  memset(s, 0, sizeof(*s));
  memcpy(s->locks, locks, sizeof(locks));
  s->lock_count = 3;
}

static uint64_t begin(struct story *s, double at, int worker, int lock, enum hold_mode mode,
                      enum op op, uint32_t units)
{
  uint64_t call = ++s->call_count;
  struct record *r;

  s->calls[call] = (struct record){ .worker = (uint16_t)worker, .lock = (uint16_t)lock,
                                    .mode = (uint8_t)mode, .units = units,
                                    .op = (uint8_t)op };
  r = add_to(s, at, call, op, PHASE_INVOKE);
  r->deadline_ms = DEADLINE_MS;
  return call;
}

uint64_t story_ask(struct story *s, double at, int worker, int lock, enum hold_mode mode)
{
  return begin(s, at, worker, lock, mode, OP_LOCK, 1);
}

uint64_t story_try(struct story *s, double at, int worker, int lock)
{
  return begin(s, at, worker, lock, HOLD_EXCLUSIVE, OP_TRY, 1);
}

uint64_t story_want(struct story *s, double at, int worker, uint32_t units)
{
  return begin(s, at, worker, 2, HOLD_PERMITS, OP_LOCK, units);
}

void story_flag(struct story *s, uint64_t call, uint8_t flags)
{
  s->calls[call].flags = flags;
  for (size_t i = 0; i < s->count; i++)
    if (s->records[i].call == call && s->records[i].op == s->calls[call].op)
      s->records[i].flags = flags;
}

void story_got(struct story *s, double at, uint64_t call, uint64_t fence, double valid)
{
  struct record *r;

  s->calls[call].fence = fence;
  r = add_to(s, at, call, (enum op)s->calls[call].op, PHASE_OK);
  r->valid_ns = instant(valid);
}

void story_not(struct story *s, double at, uint64_t call, int status)
{
  add_to(s, at, call, (enum op)s->calls[call].op, PHASE_FAIL)->status = status;
}

void story_sample(struct story *s, double at, uint64_t call, double valid)
{
  struct record *r = add_to(s, at, call, OP_SAMPLE, PHASE_INFO);

  r->valid_ns = valid == 0 ? 0 : instant(valid);
  r->value = valid == 0 ? 3 : 1;
}

void story_lost(struct story *s, double at, uint64_t call)
{
  (void)add_to(s, at, call, OP_LOST, PHASE_INFO);
}

void story_excused(struct story *s, double at, uint64_t call)
{
  (void)add_to(s, at, call, OP_EXCUSED, PHASE_INFO);
}

void story_release(struct story *s, double at, uint64_t call)
{
  add_to(s, at, call, OP_RELEASE, PHASE_INVOKE)->deadline_ms = 500;
}

void story_released(struct story *s, double at, uint64_t call, int status)
{
  add_to(s, at, call, OP_RELEASE, status == 0 ? PHASE_OK : PHASE_FAIL)->status = status;
}

void story_write(struct story *s, double at, uint64_t call, int place)
{
  add_to(s, at, call, OP_WRITE, place < 0 ? PHASE_FAIL : PHASE_OK)->value = place;
}

uint64_t story_hold(struct story *s, int worker, double asked, double got, double released,
                    uint64_t fence)
{
  uint64_t call = story_ask(s, asked, worker, 0, HOLD_EXCLUSIVE);

  story_got(s, got, call, fence, got + 980);
  story_release(s, released - 1, call);
  story_released(s, released, call, 0);
  return call;
}

void story_dead(struct story *s, double at, int worker)
{
  struct record *r = add(s, at + 1, RUNNER, OP_LIFE, PHASE_OK);

  r->owner = (uint16_t)worker;
  r->sent_ns = instant(at);
}

void story_stall(struct story *s, int worker, double from, double to)
{
  add(s, to, worker, OP_STALL, PHASE_INFO)->sent_ns = instant(from);
}

void story_queued(struct story *s, double sent, double at, uint64_t look, int worker, int rank)
{
  struct record *r = add(s, at, RUNNER, OP_QUEUED, PHASE_INFO);

  r->life = 1;
  r->lock = 0;
  r->call = look;
  r->owner = (uint16_t)worker;
  r->value = rank;
  r->sent_ns = instant(sent);
}

uint64_t story_fault(struct story *s, enum fault kind, int worker, double begin_ms,
                     double end_ms)
{
  static const enum phase phases[] = { PHASE_INVOKE, PHASE_INFO, PHASE_FAIL, PHASE_OK };
  uint64_t number = ++s->fault_count;

  for (int i = 0; i < 4; i++) {
    struct record *r = add(s, i < 2 ? begin_ms : end_ms, RUNNER, OP_FAULT, phases[i]);

    r->mode = (uint8_t)kind;
    r->owner = (uint16_t)worker;
    r->call = number;
  }
  return number;
}

void story_usage(struct story *s, int worker, enum phase when, enum usage what, int64_t value)
{
  struct record *r = add(s, (double)when, worker, OP_USAGE, when);

  r->mode = (uint8_t)what;
  r->value = value;
}

size_t story_found(struct story *s, enum check check)
{
  struct history *h = history_of(s->records, s->count, s->locks, s->lock_count);
  size_t found;

  if (h->flaw[0] != '\0') {
    (void)fprintf(stderr, "a story with a flaw: %s\n", h->flaw);
    abort();
  }
  memset(&s->findings, 0, sizeof(s->findings));
  s->expects.without = (uint32_t)CHECK_ALL & ~CHECK_BIT(check);
  (void)check_all(h, &s->expects, &s->findings);
  found = s->findings.counts[check];
  h = history_free(h);
  return found;
}
