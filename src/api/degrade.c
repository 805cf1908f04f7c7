/* SPDX-License-Identifier: MIT */
/* api/degrade.c - locks of this machine, from the request to the release. */
#include "api/degrade.h"

#include <string.h>

#define PAUSE_FIRST SPAN_MS(20)
#define PAUSE_MOST SPAN_MS(200)
#define ASK_FOR SPAN_MS(30000)     /* limit of one probe; the next follows */
#define ASK_AGAIN SPAN_MS(100)
#define LOOK_AGAIN SPAN_MS(500)    /* doc/guide/which-deployment.md promises it */

/* ---- preparation ---- */

/* A request that needs replicas must not become a lock of this machine. */
static bool may_be_local(const claim *cl, const lock_spec *spec)
{
  return spec_is_mutex(spec) && cl->campaign == NULL &&
         (spec->min_replicas == 0 || spec->reports_replicas);
}

/* Names of the caller are borrowed for the call only. */
static void texts_copy(const claim *cl, local_claim *l, const lock_spec *spec)
{
  text note = text_over(l->note, sizeof(l->note));

  l->spec = *spec;
  l->spec.name = cl->name;
  l->spec.names = cl->name_count > 0 ? l->names : NULL;
  for (size_t i = 0; i < cl->name_count; i++) {
    const char *name;

    (void)claim_name(cl, i, &name, &l->names[i].size);
    l->names[i].name = name;
  }
  if (spec->owner_size > 0)
    memcpy(l->owner, spec->owner, spec->owner_size);
  l->spec.owner = l->owner;
  if (spec->note != NULL) {
    text_add(&note, spec->note);
    l->spec.note = l->note;
  }
}

dibs_status degrade_prepare(claim *cl, const lock_spec *spec)
{
  size_t files = cl->name_count == 0 ? 1 : cl->name_count;
  local_claim *l;

  if (cl->client->outage == NULL)
    return DIBS_OK;
  l = mem_zalloc(&cl->client->memory, sizeof(*l) + cl->name_count * sizeof(l->names[0]) +
                                      files * sizeof(int));
  if (l == NULL)
    return DIBS_ERR_NO_MEMORY;
  lock_files_init(&l->files, (int *)(void *)(l->names + cl->name_count), files);
  texts_copy(cl, l, spec);
  l->may_be_local = may_be_local(cl, spec);
  cl->local = l;
  return DIBS_OK;
}

/* ---- other claims of this client ---- */

static bool same_name(const claim *a, const claim *b)
{
  return a->name_size == b->name_size && memcmp(a->name, b->name, a->name_size) == 0;
}

static bool same_owner(const claim *a, const claim *b)
{
  size_t size = a->local->spec.owner_size;

  return size > 0 && size == b->local->spec.owner_size &&
         memcmp(a->local->owner, b->local->owner, size) == 0;
}

static bool is_held_here(const claim *cl)
{
  return cl->local != NULL && cl->local->state == LOCAL_HELD && cl->is_held && !cl->is_lost;
}

static bool is_held_by_server(const claim *cl)
{
  return cl->local != NULL && cl->local->state == LOCAL_NOT && cl->is_held && !cl->is_lost;
}

/* A hold of the same owner for which `is_held` is true. */
static claim *outer_of(const claim *cl, bool (*is_held)(const claim *cl))
{
  for (claim *other = cl->client->first_claim; other != NULL; other = other->next)
    if (other != cl && is_held(other) && same_name(cl, other) && same_owner(cl, other))
      return other;
  return NULL;
}

/* Inner and outer holds have copies of one descriptor. */
static bool has_copy(const claim *cl)
{
  for (const claim *other = cl->client->first_claim; other != NULL; other = other->next)
    if (other != cl && other->local != NULL && other->local->state == LOCAL_HELD &&
        lock_files_are_open(&other->local->files) && same_name(cl, other))
      return true;
  return false;
}

/* The lock of this machine ends with the last of its holds. */
static void files_end(claim *cl)
{
  lock_files_end(cl, &cl->local->files, cl->local->state == LOCAL_HELD && has_copy(cl));
}

void degrade_free(claim *cl)
{
  if (cl->local == NULL)
    return;
  lock_files_end(cl, &cl->local->files, false);
  mem_free(&cl->client->memory, cl->local);
  cl->local = NULL;
}

void degrade_forked(client_record *c)
{
  for (claim *cl = c->first_claim; cl != NULL; cl = cl->next)
    if (cl->local != NULL)
      lock_files_end(cl, &cl->local->files, true);
}

void degrade_let_go(claim *cl)
{
  if (cl->local == NULL || cl->local->state != LOCAL_NOT)
    return;
  lock_files_end(cl, &cl->local->files, false);
  cl->local->lacks_files = false;
}

/* ---- taking ---- */

/* Looks for removed files after a while, unless it is going to. */
static void look_later(outage *o)
{
  if (instant_is_never(o->look_at))
    o->look_at = instant_add(drive_now(), LOOK_AGAIN);
}

static void end_waiting(claim *cl, dibs_status status, const char *words)
{
  cl->local->state = LOCAL_NOT;
  claim_failed(cl, status, words);
}

static void grant(claim *cl, uint64_t fence, int depth)
{
  local_claim *l = cl->local;
  instant now = drive_now();
  instant until = instant_add(now, l->spec.is_fixed ? l->spec.ttl : span_ms(DIBS_MS_MAX));
  effect e = { .fence = fence, .depth = depth, .units = 1, .text = "" };

  if (l->spec.max_hold.ns > 0)
    until = instant_min(until, instant_add(now, l->spec.max_hold));
  l->state = LOCAL_HELD;
  look_later(cl->client->outage);
  l->ends_at = e.valid_until = until;
  claim_granted(cl, &e);
  atomic_store(&cl->hold->durability, durability_word(DIBS_DURABLE_LOCAL, 0, 0));
}

static void grant_inner(claim *cl, const claim *outer)
{
  if (cl->local->spec.no_reentry)
    end_waiting(cl, DIBS_WOULD_DEADLOCK, "this owner holds the name already");
  else if (!lock_files_copy(&cl->local->files, &outer->local->files))
    end_waiting(cl, DIBS_ERR_SYSTEM, "no descriptor left");
  else
    grant(cl, atomic_load(&outer->hold->fence), atomic_load(&outer->hold->depth) + 1);
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
  const claim *outer = outer_of(cl, is_held_here);
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
    grant(cl, fence, 1);
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
  look_later(cl->client->outage);
  status = engine_lock(drive_engine(cl->client->drive), &cl->local->spec, now, &cl->id);
  if (status != DIBS_OK)
    claim_failed(cl, status, dibs_status_text(status));
}

static void try_again(claim *cl, instant now)
{
  if (cl->client->outage->is_on && cl->local->may_be_local)
    take(cl, now);
  else
    ask_servers(cl, now);
}

/* ---- the time ---- */

static bool has_lock_here(const claim *cl)
{
  return cl->local->state == LOCAL_HELD && lock_files_are_open(&cl->local->files);
}

/* Its warning, or its end. */
static instant next_of_hold(const claim *cl)
{
  instant at = cl->local->ends_at;

  if (is_held_here(cl) && cl->watch.warn.ns > 0 && !watch_is_warned(cl))
    at.ns -= cl->watch.warn.ns;
  return at;
}

static void alarm_set(client_record *c)
{
  outage *o = c->outage;
  instant at = o->is_on && !o->is_asked ? o->ask_at : INSTANT_NEVER;

  at = instant_min(at, o->look_at);
  for (const claim *cl = c->first_claim; cl != NULL; cl = cl->next) {
    if (cl->local == NULL)
      continue;
    if (cl->local->state == LOCAL_WAITS)
      at = instant_min(at, cl->local->next_try);
    else if (has_lock_here(cl))
      at = instant_min(at, next_of_hold(cl));
  }
  c->degrade_alarm_at = at;
  client_alarm_set(c);
}

#define REMOVED "its lock file was removed while it was held"

static void lose(claim *cl, const char *words)
{
  effect e = { .status = DIBS_LOST, .text = words };

  claim_lost(cl, &e);
}

/* A fixed lease or the longest hold has ended, or what a lost hold had left to stop: other
 * processes may take the lock. */
static void time_is_over(claim *cl)
{
  if (is_held_here(cl))
    lose(cl, "its time is over");
  files_end(cl);
}

/* ---- lock files that were removed ---- */

static void share_again(claim *cl)
{
  dibs_error error = { .size = sizeof(error), .text = "" };
  dibs_status status = lock_files_share(cl, &cl->local->files, &error);

  cl->local->lacks_files = status != DIBS_OK;
  if (cl->local->lacks_files && cl->is_held && !cl->is_lost)
    lose(cl, status == DIBS_BUSY ? REMOVED ", and another process has the lock without a server"
                                 : error.text);
}

static void files_removed(claim *cl)
{
  if (cl->local->state == LOCAL_NOT) {
    share_again(cl);
    return;
  }
  if (is_held_here(cl))
    lose(cl, REMOVED);
  files_end(cl);
}

/* Whether files keep other processes from what this claim believes in, or asks the servers for. */
static bool needs_files(const claim *cl)
{
  return cl->local != NULL && cl->local->state != LOCAL_WAITS &&
         (lock_files_are_open(&cl->local->files) || cl->local->lacks_files);
}

static void look_at_files(client_record *c)
{
  claim *next;

  c->outage->look_at = INSTANT_NEVER;
  for (claim *cl = c->first_claim; cl != NULL; cl = next) {
    next = cl->next;
    if (!needs_files(cl))
      continue;
    look_later(c->outage);
    if (cl->local->lacks_files || !lock_files_are_named(&cl->local->files))
      files_removed(cl);
  }
}

/* The oldest is the last in the list. */
static void try_all(client_record *c, instant now)
{
  claim *cl = c->first_claim, *newer;

  while (cl != NULL && cl->next != NULL)
    cl = cl->next;
  for (; cl != NULL; cl = newer) {
    newer = cl->previous;
    if (cl->local == NULL)
      continue;
    if (cl->local->state == LOCAL_WAITS && !instant_before(now, cl->local->next_try))
      try_again(cl, now);
    else if (has_lock_here(cl) && !instant_before(now, cl->local->ends_at))
      time_is_over(cl);
    else if (has_lock_here(cl) && !instant_before(now, next_of_hold(cl)))
      watch_look(cl);
  }
}

/* ---- the outage ---- */

static bool is_needed(const client_record *c)
{
  for (const claim *cl = c->first_claim; cl != NULL; cl = cl->next)
    if (cl->local != NULL && (cl->local->state == LOCAL_WAITS || is_held_here(cl)))
      return true;
  return false;
}

static void lose_to_servers(claim *cl, instant now)
{
  lose(cl, "a server answers again: this was a lock of this machine only");
  cl->local->ends_at = instant_add(now, cl->local->spec.ttl);
}

static void outage_end(client_record *c)
{
  instant now = drive_now();
  claim *next;

  c->outage->is_on = c->outage->was_reported = false;
  for (claim *cl = c->first_claim; cl != NULL; cl = next) {
    next = cl->next;
    if (cl->local != NULL && cl->local->state == LOCAL_WAITS)
      ask_servers(cl, now);
    else if (is_held_here(cl))
      lose_to_servers(cl, now);
  }
  alarm_set(c);
}

static void outage_answered(client_record *c, question *q)
{
  dibs_status status = q->end.status;
  bool is_over = status != DIBS_ERR_UNREACHABLE && status != DIBS_UNKNOWN &&
                 status != DIBS_ERR_NO_MEMORY;

  question_deinit(q);
  c->outage->is_asked = false;
  if (status == DIBS_ERR_CLOSED || c->is_closing)
    return;
  if (is_over) {
    outage_end(c);
    return;
  }
  c->outage->is_on = is_needed(c);
  c->outage->ask_at = instant_add(drive_now(), ASK_AGAIN);
  alarm_set(c);
}

static void outage_ask(client_record *c, instant now)
{
  static const resp_argument ping[] = { { "PING", 4 } };
  outage *o = c->outage;
  request command;

  request_init(&command, &c->memory);
  (void)request_command(&command, ping, 1);         /* refused when it is incomplete */
  question_ask(c, &o->question, &command, instant_add(now, ASK_FOR));
  request_deinit(&command);
  o->is_asked = !o->question.waiter.is_done;
  if (o->is_asked)
    o->question.then = outage_answered;
  else
    o->ask_at = instant_add(now, ASK_AGAIN);
}

static void outage_begin(client_record *c)
{
  outage *o = c->outage;

  if (!o->is_on) {
    o->is_on = true;
    o->ask_at = drive_now();
  }
  if (!o->was_reported)
    client_event(c, DIBS_EVENT_WARNING, "",
                 "no server: locks hold on this machine only, until one answers");
  o->was_reported = true;
}

/* ---- a claim's way ---- */

static void begin_here(claim *cl)
{
  cl->id = 0;
  cl->local->state = LOCAL_WAITS;
  cl->local->next_try = drive_now();
  cl->local->pause = PAUSE_FIRST;
  alarm_set(cl->client);
}

/* An owner enters its lease of the servers again, as long as that is valid. */
static bool is_for_this_machine(const claim *cl)
{
  return cl->client->outage->is_on && cl->local->may_be_local &&
         outer_of(cl, is_held_by_server) == NULL;
}

bool degrade_begin(claim *cl)
{
  dibs_error error = DIBS_ERROR_INIT;

  if (cl->local == NULL)
    return false;
  if (is_for_this_machine(cl) || lock_files_share(cl, &cl->local->files, &error) != DIBS_OK) {
    begin_here(cl);
    return true;
  }
  if (instant_is_never(cl->client->outage->look_at)) {
    look_later(cl->client->outage);
    alarm_set(cl->client);
  }
  return false;
}

bool degrade_takes_over(claim *cl, dibs_status status)
{
  if (cl->local == NULL || !cl->local->may_be_local || status != DIBS_ERR_UNREACHABLE ||
      cl->client->is_closing)
    return false;
  outage_begin(cl->client);
  begin_here(cl);
  return true;
}

bool degrade_cancel(claim *cl)
{
  if (cl->local == NULL || cl->local->state != LOCAL_WAITS)
    return false;
  end_waiting(cl, DIBS_CANCELLED, "");
  return true;
}

void degrade_release(claim *cl)
{
  client_record *c = cl->client;
  effect e = { .status = cl->is_lost ? DIBS_LOST : DIBS_OK, .text = "" };

  files_end(cl);
  claim_released(cl, &e);
  for (claim *other = c->first_claim; other != NULL; other = other->next)
    if (other->local != NULL && other->local->state == LOCAL_WAITS)
      other->local->next_try = drive_now();
  alarm_set(c);
}

void degrade_close(client_record *c)
{
  claim *next;

  if (c->outage == NULL)
    return;
  c->outage->is_on = false;
  for (claim *cl = c->first_claim; cl != NULL; cl = next) {
    next = cl->next;
    if (cl->local != NULL && cl->local->state == LOCAL_WAITS)
      end_waiting(cl, DIBS_ERR_CLOSED, "");
  }
}

void degrade_alarm(client_record *c)
{
  instant now = drive_now();

  if (c->outage == NULL || c->is_closing)
    return;
  try_all(c, now);
  if (!instant_before(now, c->outage->look_at))
    look_at_files(c);
  if (c->outage->is_on && !c->outage->is_asked && !instant_before(now, c->outage->ask_at))
    outage_ask(c, now);
  alarm_set(c);
}
