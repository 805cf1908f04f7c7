/* SPDX-License-Identifier: MIT */
/* api/noting.c - notes what happens to a claim for the totals of the fleet and the history:
 * src/fleet/. All functions need the mutex. */
#include "api/api.h"

static fleet *fleet_of(const claim *cl)
{
  return engine_fleet(drive_engine(cl->client->drive));
}

static void tell(const claim *cl, const char *end, instant now)
{
  const char *name;
  size_t size;

  for (size_t i = 0; claim_name(cl, i, &name, &size); i++)
    fleet_tell(fleet_of(cl), &cl->note, end, name, size, cl->note_fence, now);
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
}

void noting_granted(claim *cl, uint64_t fence)
{
  cl->note_fence = fence;
  fleet_granted(fleet_of(cl), &cl->note, drive_now());
}

void noting_retaken(claim *cl, uint64_t fence)
{
  cl->note_fence = fence;
  fleet_retaken(fleet_of(cl), &cl->note, drive_now());
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

void noting_failed(claim *cl, dibs_status status)
{
  dibs_fleet_wait how = wait_of(status);
  instant now = drive_now();

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

void noting_ended(claim *cl, dibs_status status)
{
  dibs_fleet_end how = end_of(status);
  instant now = drive_now();

  if (!cl->note.is_open || !cl->note.is_granted)
    return;
  tell(cl, fleet_end_words[how], now);
  fleet_ended(fleet_of(cl), &cl->note, how, now);
}
