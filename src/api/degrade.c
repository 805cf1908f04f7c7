/* SPDX-License-Identifier: MIT */
/* api/degrade.c - locks of this machine, from the request to the release. */
#include "api/degrade.h"

#include <openssl/evp.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "local/local.h"

#define PAUSE_FIRST SPAN_MS(20)
#define PAUSE_MOST SPAN_MS(200)
#define ASK_FOR SPAN_MS(30000)     /* limit of one probe; the next follows */
#define ASK_AGAIN SPAN_MS(100)

/* ---- preparation ---- */

/* A request that needs replicas must not become a lock of this machine. */
static bool may_be_local(const claim *cl, const lock_spec *spec)
{
  return cl->client->outage != NULL && spec_is_mutex(spec) && cl->campaign == NULL &&
         (spec->min_replicas == 0 || spec->reports_replicas);
}

dibs_status degrade_prepare(claim *cl, const lock_spec *spec)
{
  local_claim *l;

  if (!may_be_local(cl, spec))
    return DIBS_OK;
  l = mem_zalloc(&cl->client->memory, sizeof(*l));
  if (l == NULL)
    return DIBS_ERR_NO_MEMORY;
  l->fd = -1;
  l->spec = *spec;
  l->spec.name = cl->name;         /* that of the caller is borrowed for the call only */
  if (spec->owner_size > 0)
    memcpy(l->owner, spec->owner, spec->owner_size);
  l->spec.owner = l->owner;
  if (spec->note != NULL) {
    text note = text_over(l->note, sizeof(l->note));

    text_add(&note, spec->note);
    l->spec.note = l->note;
  }
  cl->local = l;
  return DIBS_OK;
}

/* In a forked child the file lock still belongs to the parent. */
static void fd_end(const claim *cl)
{
  local_claim *l = cl->local;

  if (l->fd < 0)
    return;
  if (l->state == LOCAL_HELD && cl->client->epoch == fork_epoch())
    local_lock_end(l->fd);
  else
    (void)close(l->fd);
  l->fd = -1;
}

void degrade_forked(client_record *c)
{
  for (claim *cl = c->first_claim; cl != NULL; cl = cl->next)
    if (cl->local != NULL)
      fd_end(cl);
}

void degrade_free(claim *cl)
{
  if (cl->local == NULL)
    return;
  fd_end(cl);
  mem_free(&cl->client->memory, cl->local);
  cl->local = NULL;
}

/* ---- other claims of this client ---- */

static bool same_name(const claim *a, const claim *b)
{
  return a->name_size == b->name_size && memcmp(a->name, b->name, a->name_size) == 0;
}

static bool is_held_here(const claim *cl)
{
  return cl->local != NULL && cl->local->state == LOCAL_HELD && cl->is_held && !cl->is_lost;
}

/* A local hold of the same owner. */
static claim *outer_of(const claim *cl)
{
  const lock_spec *spec = &cl->local->spec;

  for (claim *other = cl->client->first_claim; other != NULL && spec->owner_size > 0;
       other = other->next)
    if (other != cl && is_held_here(other) && same_name(cl, other) &&
        other->local->spec.owner_size == spec->owner_size &&
        memcmp(other->local->owner, spec->owner, spec->owner_size) == 0)
      return other;
  return NULL;
}

/* A lease of the servers that has not ended. */
static bool is_held_by_server(const claim *cl)
{
  int64_t now = drive_now().ns;

  for (const claim *other = cl->client->first_claim; other != NULL; other = other->next)
    if (other->is_held && !other->is_lost && other->hold != NULL && !is_held_here(other) &&
        same_name(cl, other) && atomic_load(&other->hold->valid_until_ns) > now)
      return true;
  return false;
}

/* ---- taking ---- */

static bool digest_write(const claim *cl, char ret_digest[65])
{
  static const char digits[] = "0123456789abcdef";
  const char *prefix = cl->client->names.prefix;
  unsigned char bytes[EVP_MAX_MD_SIZE];
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  bool is_made = context != NULL && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1 &&
                 EVP_DigestUpdate(context, prefix, strlen(prefix) + 1) == 1 &&
                 EVP_DigestUpdate(context, cl->name, cl->name_size) == 1 &&
                 EVP_DigestFinal_ex(context, bytes, NULL) == 1;

  EVP_MD_CTX_free(context);
  for (size_t i = 0; i < 32 && is_made; i++) {
    ret_digest[2 * i] = digits[bytes[i] >> 4];
    ret_digest[2 * i + 1] = digits[bytes[i] & 15];
  }
  ret_digest[64] = 0;
  return is_made;
}

static void end_waiting(claim *cl, dibs_status status, const char *words)
{
  cl->local->state = LOCAL_NOT;
  fd_end(cl);
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
  l->ends_at = e.valid_until = until;
  claim_granted(cl, &e);
  atomic_store(&cl->hold->durability, durability_word(DIBS_DURABLE_LOCAL, 0, 0));
}

/* Grants the same file lock again: copies of a descriptor share it. */
static void grant_inner(claim *cl, const claim *outer)
{
  if (cl->local->spec.no_reentry) {
    end_waiting(cl, DIBS_WOULD_DEADLOCK, "this owner holds the name already");
    return;
  }
  if (cl->local->fd >= 0)
    (void)close(cl->local->fd);
  cl->local->fd = fcntl(outer->local->fd, F_DUPFD_CLOEXEC, 3);
  if (cl->local->fd < 0)
    end_waiting(cl, DIBS_ERR_SYSTEM, "no descriptor left");
  else
    grant(cl, atomic_load(&outer->hold->fence), atomic_load(&outer->hold->depth) + 1);
}

/* DIBS_OK: the file is open. */
static dibs_status file_open(claim *cl, dibs_error *ret_error)
{
  char digest[65];

  if (cl->local->fd >= 0)
    return DIBS_OK;
  if (!digest_write(cl, digest))
    return DIBS_ERR_SYSTEM;
  return local_lock_open(digest, &cl->local->fd, ret_error);
}

/* Another process holds the file lock. */
static void go_on_waiting(claim *cl, instant now)
{
  local_claim *l = cl->local;

  if (l->spec.is_try) {
    end_waiting(cl, DIBS_BUSY, "");
  } else if (!instant_before(now, l->spec.give_up_at)) {
    end_waiting(cl, DIBS_TIMED_OUT, "");
  } else {
    l->next_try = instant_min(instant_add(now, l->pause), l->spec.give_up_at);
    l->pause = span_min((span){ 2 * l->pause.ns }, PAUSE_MOST);
  }
}

static void take(claim *cl, instant now)
{
  const claim *outer = outer_of(cl);
  dibs_error error = { .text = "" };
  uint64_t fence = 0;
  dibs_status status;

  if (outer != NULL) {
    grant_inner(cl, outer);
    return;
  }
  status = file_open(cl, &error);
  if (status != DIBS_OK) {
    end_waiting(cl, DIBS_ERR_UNREACHABLE, error.text);
    return;
  }
  status = is_held_by_server(cl) ? DIBS_BUSY : local_lock_try(cl->local->fd, &fence);
  if (status == DIBS_OK)
    grant(cl, fence, 1);
  else if (status == DIBS_BUSY)
    go_on_waiting(cl, now);
  else
    end_waiting(cl, DIBS_ERR_UNREACHABLE, "no server, and no lock of this machine either");
}

/* ---- the time ---- */

static void alarm_set(client_record *c)
{
  instant at = c->outage->is_on && !c->outage->is_asked ? c->outage->ask_at : INSTANT_NEVER;

  for (const claim *cl = c->first_claim; cl != NULL; cl = cl->next) {
    if (cl->local == NULL)
      continue;
    if (cl->local->state == LOCAL_WAITS)
      at = instant_min(at, cl->local->next_try);
    else if (is_held_here(cl))
      at = instant_min(at, cl->local->ends_at);
  }
  c->degrade_alarm_at = at;
  client_alarm_set(c);
}

static void lose(claim *cl, const char *words)
{
  effect e = { .status = DIBS_LOST, .text = words };

  claim_lost(cl, &e);
}

/* A fixed lease or the longest hold has ended: other processes may take the lock. */
static void time_is_over(claim *cl)
{
  lose(cl, "its time is over");
  for (const claim *other = cl->client->first_claim; other != NULL; other = other->next)
    if (other != cl && is_held_here(other) && same_name(cl, other)) {
      (void)close(cl->local->fd);        /* shared with an inner or outer hold, which continues */
      cl->local->fd = -1;
      return;
    }
  fd_end(cl);
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
      take(cl, now);
    else if (is_held_here(cl) && !instant_before(now, cl->local->ends_at))
      time_is_over(cl);
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

/* Passes it to the engine, with the rest of its time. */
static void hand_back(claim *cl)
{
  dibs_status status;

  cl->local->state = LOCAL_NOT;
  fd_end(cl);
  status = engine_lock(drive_engine(cl->client->drive), &cl->local->spec, drive_now(), &cl->id);
  if (status != DIBS_OK)
    claim_failed(cl, status, dibs_status_text(status));
}

static void outage_end(client_record *c)
{
  claim *next;

  c->outage->is_on = c->outage->was_reported = false;
  for (claim *cl = c->first_claim; cl != NULL; cl = next) {
    next = cl->next;
    if (cl->local != NULL && cl->local->state == LOCAL_WAITS)
      hand_back(cl);
    else if (is_held_here(cl))
      lose(cl, "a server answers again: this was a lock of this machine only");
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

bool degrade_begin(claim *cl)
{
  if (cl->local == NULL || !cl->client->outage->is_on)
    return false;
  begin_here(cl);
  return true;
}

bool degrade_takes_over(claim *cl, dibs_status status)
{
  if (cl->local == NULL || status != DIBS_ERR_UNREACHABLE || cl->client->is_closing)
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
  bool is_shared = false;

  for (const claim *other = c->first_claim; other != NULL; other = other->next)
    is_shared = is_shared || (other != cl && is_held_here(other) && same_name(cl, other));
  if (is_shared && cl->local->fd >= 0) {
    (void)close(cl->local->fd);
    cl->local->fd = -1;
  }
  fd_end(cl);
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
  if (c->outage->is_on && !c->outage->is_asked && !instant_before(now, c->outage->ask_at))
    outage_ask(c, now);
  alarm_set(c);
}
