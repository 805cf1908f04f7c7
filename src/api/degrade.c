/* SPDX-License-Identifier: MIT */
/* api/degrade.c - locks of this machine, from the request to the release. */
#include "api/degrade.h"

#include "api/removed_files.h"
#include "lock/lease.h"
#include "tls/digest.h"

#define PAUSE_FIRST SPAN_MS(20)
#define PAUSE_MOST SPAN_MS(200)

dibs_status degrade_open(client_record *c, text *why)
{
  if (c->servers.data.degrade != DEGRADE_LOCAL)
    return DIBS_OK;
  c->local = mem_zalloc(&c->memory, sizeof(*c->local));
  if (c->local == NULL)
    return DIBS_ERR_NO_MEMORY;
  c->local->look_at = INSTANT_NEVER;
  return sha256_prepare(why) ? DIBS_OK : DIBS_ERR_SYSTEM;
}

/* ---- taking ---- */

static void end_waiting(claim *cl, dibs_status status, const char *words)
{
  cl->local->state = LOCAL_NOT;
  claim_failed(cl, status, words);
}

static end_terms end_of(const local_claim *l)
{
  return end_terms_of(l->spec.is_fixed, l->spec.ttl, l->spec.max_hold, drive_now());
}

static void grant(claim *cl, uint64_t fence, int depth, end_terms end)
{
  local_claim *l = cl->local;
  effect e = { .fence = fence, .depth = depth, .units = 1, .text = "" };

  l->state = LOCAL_HELD;
  cl->client->local->granted++;
  (void)removed_files_plan(cl->client);
  l->end = end;
  l->ends_at = instant_min(end.at, instant_add(drive_now(), span_ms(DIBS_MS_MAX)));
  e.valid_until = l->ends_at;
  claim_granted(cl, &e);
  atomic_store(&cl->hold->durability, durability_word(DIBS_DURABLE_LOCAL, 0, 0));
}

static void grant_inner(claim *cl, const claim *outer)
{
  const char *fault = inner_end_fault(end_of(cl->local), outer->local->end);

  if (cl->local->spec.no_reentry)
    end_waiting(cl, DIBS_WOULD_DEADLOCK, "this owner holds the name already");
  else if (fault != NULL)
    end_waiting(cl, DIBS_ERR_ARGUMENT, fault);
  else if (!lock_files_copy(&cl->local->files, &outer->local->files))
    end_waiting(cl, DIBS_ERR_SYSTEM, "no descriptor left, or the program closed its lock file");
  else
    grant(cl, atomic_load(&outer->hold->fence), atomic_load(&outer->hold->depth) + 1,
          outer->local->end);
}

#define BUSY_HERE "another process of this machine has it without a server, by degrade=local"

/* Another process holds the file lock. */
static void go_on_waiting(claim *cl, instant now, const char *words)
{
  local_claim *l = cl->local;

  if (l->spec.is_try) {
    end_waiting(cl, DIBS_BUSY, words);
  } else if (!instant_before(now, l->spec.give_up_at)) {
    end_waiting(cl, DIBS_TIMED_OUT, words);
  } else {
    l->next_try = instant_min(instant_add(now, l->pause), l->spec.give_up_at);
    l->pause = span_min((span){ 2 * l->pause.ns }, PAUSE_MOST);
  }
}

static void take(claim *cl, instant now)
{
  const claim *outer = local_claim_outer(cl, LOCAL_HELD);
  dibs_error error = { .size = sizeof(error),
                       .text = "no server, and no lock of this machine either" };
  uint64_t fence = 0;
  dibs_status status;

  if (outer != NULL) {
    grant_inner(cl, outer);
    return;
  }
  status = lock_files_take(cl, &cl->local->files, &fence, &error);
  if (status == DIBS_OK)
    grant(cl, fence, 1, end_of(cl->local));
  else if (status == DIBS_BUSY)
    go_on_waiting(cl, now, "");
  else
    end_waiting(cl, DIBS_ERR_UNREACHABLE, error.text);
}

/* Passes it to the engine, with the rest of its time, unless a process of this machine holds the
 * name without a server. */
static void ask_servers(claim *cl, instant now)
{
  dibs_error error = { .size = sizeof(error),
                       .text = "a lock file of degrade=local cannot be locked" };
  dibs_status status = lock_files_share(cl, &cl->local->files, &error);

  if (status == DIBS_BUSY) {
    go_on_waiting(cl, now, BUSY_HERE);
    return;
  }
  if (status != DIBS_OK) {
    end_waiting(cl, DIBS_ERR_SYSTEM, error.text);
    return;
  }
  cl->local->state = LOCAL_NOT;
  (void)removed_files_plan(cl->client);
  status = engine_lock(drive_engine(cl->client->drive), &cl->local->spec, now, &cl->id);
  if (status != DIBS_OK)
    claim_failed(cl, status, dibs_status_text(status));
}

/* ---- the time ---- */

/* When it is to do something: its next try; the warning before the end of a hold, or that end;
 * the end of a lease that was reported lost. */
static instant due_at(const claim *cl)
{
  const local_claim *l = cl->local;
  instant at;

  if (local_claim_is(cl, LOCAL_WAITS))
    return l->next_try;
  if (local_claim_is(cl, LOCAL_NOT) && cl->is_lost && lock_files_are_open(&l->files))
    return l->ends_at;
  if (!local_claim_is(cl, LOCAL_HELD) || !lock_files_are_open(&l->files))
    return INSTANT_NEVER;
  at = l->ends_at;
  if (local_claim_holds(cl, LOCAL_HELD) && cl->watch.warn.ns > 0 && !watch_is_warned(cl))
    at.ns -= cl->watch.warn.ns;
  return at;
}

void degrade_alarm_set(client_record *c)
{
  instant at = instant_min(outages_ask_at(c), c->local->look_at);

  for (const claim *cl = c->first_claim; cl != NULL; cl = cl->next)
    at = instant_min(at, due_at(cl));
  c->degrade_alarm_at = at;
  client_alarm_set(c);
}

static bool is_to_be_local(const claim *cl)
{
  return cl->local->may_be_local && outage_of(cl) != NULL;
}

/* A fixed lease or the longest hold has ended, or what a lost hold had left to stop: other
 * processes may take the lock. */
static void time_is_over(claim *cl)
{
  if (local_claim_holds(cl, LOCAL_HELD))
    local_claim_lose(cl, "its time is over");
  local_claim_end_files(cl);
}

static void step(claim *cl, instant now)
{
  if (local_claim_is(cl, LOCAL_WAITS) && is_to_be_local(cl))
    take(cl, now);
  else if (local_claim_is(cl, LOCAL_WAITS))
    ask_servers(cl, now);
  else if (local_claim_is(cl, LOCAL_NOT))
    local_claim_let_go(cl);
  else if (!instant_before(now, cl->local->ends_at))
    time_is_over(cl);
  else
    watch_look(cl);
}

/* The oldest is the last in the list, which is before the first. */
static void step_all(client_record *c, instant now)
{
  claim *cl = c->first_claim != NULL ? c->first_claim->previous : NULL, *newer;

  for (; cl != NULL; cl = newer) {
    newer = cl != c->first_claim ? cl->previous : NULL;
    if (!instant_before(now, due_at(cl)))
      step(cl, now);
  }
}

void degrade_alarm(client_record *c)
{
  instant now = drive_now();

  if (c->local == NULL || c->is_closing)
    return;
  step_all(c, now);
  removed_files_look(c, now);
  outages_ask(c, now);
  degrade_alarm_set(c);
}

/* ---- the end of an outage ---- */

bool degrade_is_needed(const client_record *c, uint16_t key_slot)
{
  for (const claim *cl = c->first_claim; cl != NULL; cl = cl->next)
    if ((local_claim_is(cl, LOCAL_WAITS) || local_claim_holds(cl, LOCAL_HELD)) &&
        cl->local->slot == key_slot)
      return true;
  return false;
}

static void lose_to_servers(claim *cl, instant now)
{
  local_claim_lose(cl, "a server answers again: this was a lock of this machine only");
  cl->local->ends_at = instant_add(now, cl->local->spec.ttl);
}

void degrade_outage_over(client_record *c, uint16_t key_slot)
{
  instant now = drive_now();
  claim *next;

  for (claim *cl = c->first_claim; cl != NULL; cl = next) {
    next = cl->next;
    if (cl->local == NULL || cl->local->slot != key_slot)
      continue;
    if (local_claim_is(cl, LOCAL_WAITS))
      ask_servers(cl, now);
    else if (local_claim_holds(cl, LOCAL_HELD))
      lose_to_servers(cl, now);
  }
  degrade_alarm_set(c);
}

/* ---- a claim's way ---- */

static void begin_here(claim *cl)
{
  cl->id = 0;
  cl->local->state = LOCAL_WAITS;
  cl->local->next_try = drive_now();
  cl->local->pause = PAUSE_FIRST;
  degrade_alarm_set(cl->client);
}

bool degrade_begin(claim *cl)
{
  dibs_error error = DIBS_ERROR_INIT;

  if (cl->local == NULL)
    return false;
  /* An owner enters its lease of the servers again, as long as that is valid. */
  if ((is_to_be_local(cl) && local_claim_outer(cl, LOCAL_NOT) == NULL) ||
      lock_files_share(cl, &cl->local->files, &error) != DIBS_OK) {
    begin_here(cl);
    return true;
  }
  if (removed_files_plan(cl->client))
    degrade_alarm_set(cl->client);
  return false;
}

bool degrade_takes_over(claim *cl, dibs_status status)
{
  if (cl->local == NULL || !cl->local->may_be_local || !outage_is_shown(cl->client, status) ||
      cl->client->is_closing || !outage_begin(cl))
    return false;
  begin_here(cl);
  return true;
}

bool degrade_cancel(claim *cl)
{
  if (!local_claim_is(cl, LOCAL_WAITS))
    return false;
  end_waiting(cl, DIBS_CANCELLED, "");
  return true;
}

void degrade_lost(claim *cl)
{
  client_record *c = cl->client;
  instant now = drive_now(), end = now;

  if (!local_claim_is(cl, LOCAL_NOT))
    return;
  if (cl->hold != NULL)                  /* the end that dibs_hold_valid_ms() has promised */
    end = instant_min((instant){ atomic_load(&cl->hold->valid_until_ns) },
                      instant_add(now, LOST_NOTICE_MAX));
  if (!instant_before(now, end) || !lock_files_are_open(&cl->local->files)) {
    local_claim_let_go(cl);
    return;
  }
  cl->local->ends_at = end;
  c->degrade_alarm_at = instant_min(c->degrade_alarm_at, end);
  client_alarm_set(c);
}

void degrade_release(claim *cl)
{
  client_record *c = cl->client;
  dibs_error room;
  effect e = { .status = cl->is_lost ? DIBS_LOST : DIBS_OK,
               .text = cl->is_lost ? outcome_error(&cl->loss, &room)->text : "" };

  c->local->released += !cl->is_lost;
  local_claim_end_files(cl);
  claim_released(cl, &e);
  for (claim *other = c->first_claim; other != NULL; other = other->next)
    if (local_claim_is(other, LOCAL_WAITS))
      other->local->next_try = drive_now();
  degrade_alarm_set(c);
}

void degrade_close(client_record *c)
{
  claim *next;

  if (c->local == NULL)
    return;
  for (claim *cl = c->first_claim; cl != NULL; cl = next) {
    next = cl->next;
    if (local_claim_is(cl, LOCAL_WAITS))
      end_waiting(cl, DIBS_ERR_CLOSED, "");
  }
}

void degrade_count(const client_record *c, engine_stats *stats)
{
  if (c->local == NULL)
    return;
  stats->granted += c->local->granted;
  stats->granted_local += c->local->granted;
  stats->released += c->local->released;
  stats->lost += c->local->lost;
  for (const claim *cl = c->first_claim; cl != NULL; cl = cl->next) {
    stats->holds += local_claim_holds(cl, LOCAL_HELD);
    stats->waiting += local_claim_is(cl, LOCAL_WAITS);
  }
}
