/* SPDX-License-Identifier: MIT */
/* api/quorum_break.c - break on a quorum: the leases of one client are ended at all servers at
 * once. One after the other does not suffice where messages do not come: the holder takes a lease
 * that it lost again after 20 to 200 ms (quorum/held.c), as long as it has a majority. */
#include "api/question.h"

#include <string.h>

#define REPAIR_TIME SPAN_MS(250)         /* after it a holder that still has a majority shows it */
#define ONE_BY_ONE \
  " at a majority, one server after the other within a minute: " \
  "dibs break --url SERVER NAME"

typedef struct quorum_view {
  inspect_answer *answer;                /* room for one */
  lease_id *leases;                      /* at each server; without a client: none of it */
  size_t servers, mine, others;          /* servers; with its lease; with that of another client */
  size_t silent;                         /* without an answer: they may have its lease */
  bool is_there;                         /* the very lease that was named */
  bool is_shared;
  size_t ended;                          /* by breaks, or perhaps: no server's refusal */
  bool is_kept;                          /* without those its client has a majority, perhaps */
  dibs_error refusal;                    /* of a break; DIBS_OK: none */
} quorum_view;

static void view_add(quorum_view *v, size_t i, const lease_id *named)
{
  const inspect_answer *a = v->answer;

  v->is_shared = v->is_shared || a->kind != NATIVE_MUTEX;
  if (a->shown_holders == 0)
    return;
  if (strcmp(a->holders[0].lease.client, named->client) != 0) {
    v->others++;
    return;
  }
  v->leases[i] = a->holders[0].lease;
  v->is_there = v->is_there || lease_id_equal(&v->leases[i], named);
  v->mine++;
}

static dibs_status view_read(client_record *c, const token_parts *p, instant until,
                             quorum_view *v)
{
  question *qs;
  size_t count;
  request k;
  dibs_status status;

  request_init(&k, &c->memory);
  (void)c->names.dialect->inspect(&c->names, &k, p->names[0].name, p->names[0].size);
  status = quorum_ask(c, &k, until, &qs, &count);
  v->mine = v->others = v->silent = 0;
  v->is_there = false;
  for (size_t i = 0; i < count && status == DIBS_OK; i++) {
    v->leases[i] = (lease_id){ .client = "" };
    if (qs[i].reply == NULL)
      v->silent++;
    else if (c->names.dialect->inspect_answer(qs[i].reply, v->answer))
      view_add(v, i, &p->lease);
    else
      status = client_refuse(c, DIBS_ERR_PROTOCOL, "unexpected reply to the script inspect");
  }
  v->servers = count;
  quorum_ask_end(c, qs, count);
  request_deinit(&k);
  return question_read_only(status);
}

/* To all servers that have a lease of it and have not ended it, before the first reply. Returns the
 * number of those that did not reply. Mutex held. */
static size_t break_missing(client_record *c, const token_parts *p, const quorum_view *v,
                            question *qs, bool is_brief, instant until)
{
  size_t missing = 0;

  for (size_t i = 0; i < v->servers; i++) {
    request k;

    if (v->leases[i].client[0] == 0 || qs[i].reply != NULL)
      continue;
    outcome_clear(&qs[i].end);
    request_init(&k, &c->memory);
    (void)c->names.dialect->break_lease(&c->names, &k, p->names[0].name, p->names[0].size,
                                        &v->leases[i], ESTIMATE_AT_SENDING);
    question_ask_by(c, &qs[i], &k, (sync_op){ .give_up_at = until, .is_brief = is_brief,
                                              .is_pinned = true, .server = i });
    request_deinit(&k);
  }
  for (size_t i = 0; i < v->servers; i++) {
    if (v->leases[i].client[0] == 0)
      continue;
    (void)drive_wait(c->drive, &qs[i].waiter, INSTANT_NEVER);
    missing += qs[i].reply == NULL;
  }
  return missing;
}

/* A server that refuses for now, or is down, is waited for only if the holder may have a majority
 * with it: the second look is part of the same time. Mutex held. */
static void break_all(client_record *c, const token_parts *p, const quorum_view *v, question *qs,
                      instant until)
{
  if (break_missing(c, p, v, qs, true, until) + v->silent > v->servers / 2)
    (void)break_missing(c, p, v, qs, false, until);
}

/* What the breaks did; of a server that has a lease and did not end it: its reason. Mutex held. */
static void keep_result(quorum_view *v, const question *qs)
{
  for (size_t i = 0; i < v->servers; i++) {
    dibs_status status = qs[i].end.status;

    if (v->leases[i].client[0] == 0)
      continue;
    if (qs[i].reply == NULL && status < 0 && status != DIBS_ERR_UNREACHABLE)
      v->refusal = *outcome_error(&qs[i].end, &v->refusal);
    else
      v->ended++;
  }
  v->is_kept = v->mine - v->ended + v->silent > v->servers / 2;
}

static dibs_status break_and_rest(client_record *c, const token_parts *p, quorum_view *v,
                                  instant until)
{
  dibs_status status = client_enter(c, true);
  drive_waiter rest;
  question *qs;

  if (status != DIBS_OK)
    return status;
  qs = mem_zalloc(&c->memory, v->servers * sizeof(*qs));
  if (qs == NULL) {
    status = client_fault(c, DIBS_ERR_NO_MEMORY, "");
  } else {
    break_all(c, p, v, qs, until);
    drive_waiter_init(&rest);
    (void)drive_wait(c->drive, &rest, instant_add(drive_now(), REPAIR_TIME));
    keep_result(v, qs);
  }
  client_leave(c);
  if (qs != NULL)
    quorum_ask_end(c, qs, v->servers);
  return status;
}

static dibs_status has_again(client_record *c, const quorum_view *v)
{
  if (v->is_kept && v->refusal.status != DIBS_OK) {
    fault_again(&v->refusal);
    return v->refusal.status;
  }
  return client_refuse_with(c, DIBS_UNKNOWN,
                            "the client has the lock at %zu of %zu servers, and %zu did not "
                            "answer: it kept or repaired it, or took it again; look at the name, "
                            "and repeat this if it is still held", v->mine, v->servers, v->silent);
}

static dibs_status break_seen(client_record *c, const token_parts *p, instant until,
                              quorum_view *v)
{
  dibs_status status = view_read(c, p, until, v);

  if (status != DIBS_OK)
    return status;
  if (v->is_shared)
    return client_refuse(c, DIBS_ERR_UNSUPPORTED, "of a quorum only exclusive locks are broken at "
                         "all servers; others" ONE_BY_ONE);
  if (!v->is_there)
    return v->mine + v->others > v->servers / 2 ? DIBS_TAKEN : DIBS_LOST;
  if (v->mine <= v->servers / 2 && v->others > 0)
    return client_refuse(c, DIBS_ERR_UNSUPPORTED, "other servers of the quorum name other holders, "
                         "as of a RedLock of Java; it is broken" ONE_BY_ONE);
  status = break_and_rest(c, p, v, until);
  if (status != DIBS_OK)
    return status;
  status = view_read(c, p, until, v);
  if (status == DIBS_ERR_UNREACHABLE || (status != DIBS_OK && v->ended > 0))
    return fault_as(DIBS_UNKNOWN);       /* servers may have ended leases */
  return status == DIBS_OK && v->mine + v->silent > v->servers / 2 ? has_again(c, v) : status;
}

dibs_status quorum_break(client_record *c, const token_parts *p, instant until)
{
  size_t count = engine_route_count(drive_engine(c->drive));    /* as in the URL */
  quorum_view v = { .answer = mem_alloc(&c->memory, sizeof(*v.answer)),
                    .leases = mem_zalloc(&c->memory, count * sizeof(*v.leases)) };
  dibs_status status;

  status = v.answer != NULL && v.leases != NULL
                         ? break_seen(c, p, until, &v)
                         : client_refuse(c, DIBS_ERR_NO_MEMORY, "");

  mem_free(&c->memory, v.answer);
  mem_free(&c->memory, v.leases);
  return status;
}
