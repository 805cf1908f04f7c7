/* SPDX-License-Identifier: MIT */
/* api/noting.c - what happens to a claim, for all that count or show it: the totals of the fleet
 * and the history (src/fleet/), the log, and tracers. All functions need the mutex. */
#include "api/log.h"
#include "api/probe.h"

static fleet *fleet_of(const claim *cl)
{
  return engine_fleet(drive_engine(cl->client->drive));
}

static bool has_log(const claim *cl)
{
  return cl->client->log != NULL;
}

static void tell(const claim *cl, const char *end, instant now)
{
  const char *name;
  size_t size;
  fleet *f = fleet_of(cl);

  if (!fleet_tells(f, &cl->note, end, now))
    return;
  for (size_t i = 0; claim_name(cl, i, &name, &size); i++)
    fleet_tell(f, &cl->note, end, name, size, cl->note_fence, now);
}

void noting_began(claim *cl, const lock_spec *spec, instant now)
{
  const char *name;
  size_t size;

  if (!claim_name(cl, 0, &name, &size))
    return;
  cl->note = (fleet_note){ .ttl_ms = span_to_ms(spec->ttl) };
  if (spec->kind == LOCK_RWLOCK) {
    cl->note.kind = DIBS_KIND_RWLOCK;
    cl->note.mode = spec->reads ? DIBS_MODE_READ : DIBS_MODE_EXCLUSIVE;
  } else if (kind_has_permits(spec->kind)) {
    cl->note.kind = DIBS_KIND_SEMAPHORE;
    cl->note.mode = DIBS_MODE_PERMITS;
  }
  cl->client->has_shared |= cl->note.mode != DIBS_MODE_EXCLUSIVE;
  fleet_began(fleet_of(cl), &cl->note, name, size, now);
  if (PROBE_IS_ON(acquire__start))
    probe_acquire_start(cl);
  if (has_log(cl))
    log_requested(cl, now);
}

void noting_granted(claim *cl, uint64_t fence)
{
  instant now = drive_now();

  cl->note_fence = fence;
  fleet_granted(fleet_of(cl), &cl->note, now);
  if (PROBE_IS_ON(granted))
    probe_granted(cl);
  if (has_log(cl))
    log_granted(cl, now);
}

void noting_retaken(claim *cl, uint64_t fence, instant now)
{
  cl->note_fence = fence;
  fleet_retaken(fleet_of(cl), &cl->note, now);
  if (PROBE_IS_ON(acquire__start))
    probe_acquire_start(cl);
  if (PROBE_IS_ON(granted))
    probe_granted(cl);
  if (!has_log(cl))
    return;
  log_requested(cl, now);
  log_granted(cl, now);
}

static dibs_fleet_wait wait_of(dibs_status status)
{
  switch (status) {
  case DIBS_BUSY: return DIBS_FLEET_BUSY;
  case DIBS_TIMED_OUT: return DIBS_FLEET_TIMED_OUT;
  case DIBS_CANCELLED:
  case DIBS_ERR_CLOSED: return DIBS_FLEET_CANCELLED;
  case DIBS_UNKNOWN: return DIBS_FLEET_UNKNOWN;
  default: return DIBS_FLEET_ERROR;
  }
}

void noting_failed(claim *cl)
{
  dibs_fleet_wait how = wait_of(cl->asked.status);
  instant now = drive_now();

  if (has_log(cl))
    log_refused(cl, now);
  tell(cl, fleet_wait_words[how], now);
  fleet_refused(fleet_of(cl), &cl->note, how, now);
}

static dibs_fleet_end end_of(dibs_status status)
{
  switch (status) {
  case DIBS_LOST: return DIBS_FLEET_LOST;
  case DIBS_TAKEN: return DIBS_FLEET_TAKEN;
  default: return DIBS_FLEET_RELEASED;
  }
}

void noting_renewed(const claim *cl, bool was_suspect)
{
  if (PROBE_IS_ON(renewed))
    probe_renewed(cl, drive_now());
  if (has_log(cl))
    log_renewed(cl, was_suspect, drive_now());
}

void noting_suspect(const claim *cl)
{
  if (has_log(cl))
    log_suspect(cl, drive_now());
}

/* The program of a hold that its token has released lost it, by log and probe; for all that count
 * it was released. */
void noting_ended(claim *cl, const outcome *end, bool is_detached, instant now)
{
  dibs_fleet_end how = end_of(end->status);

  if (!cl->note.is_open || !cl->note.is_granted)
    return;
  if (how == DIBS_FLEET_RELEASED && PROBE_IS_ON(released))
    probe_released(cl, now);
  if (how != DIBS_FLEET_RELEASED && PROBE_IS_ON(lost))
    probe_lost(cl, now);
  if (has_log(cl))
    log_ended(cl, end, is_detached, now);
  if (cl->was_let_go)
    how = DIBS_FLEET_RELEASED;
  tell(cl, fleet_end_words[how], now);
  fleet_ended(fleet_of(cl), &cl->note, how, now);
}
