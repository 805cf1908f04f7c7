/* SPDX-License-Identifier: MIT */
/* topo/finder_sentinel.c - finds the primary that sentinels agree on.
 *
 *   SENTINEL MASTER name                   flat list: ip, port, config-epoch, ...
 *   SENTINEL GET-MASTER-ADDR-BY-NAME name  [ip, port], nil: it does not know the service
 *   SENTINEL MASTER name                   repeated when those two differ
 *   SENTINEL SENTINELS name                [flat list: ip, port, ...] of all the others
 *
 * GET-MASTER-ADDR-BY-NAME returns the new address earlier than MASTER, which returns the
 * old primary's until the failover is complete; only its epoch is new then. This order,
 * and the repetition after a difference, never pair an epoch with an older address.
 *
 * A sentinel may be cut off together with an old primary, or restart without memory. So
 * the highest epoch of a majority counts, and epochs never decrease, with one exception:
 * as many different sentinels as they know of, and as reported the last epoch, all report
 * that none is higher, as after a new setup. A sentinel that is reached by two names must
 * count once: see `view`. */
#include "topo/finder_parts.h"

#include <string.h>

#define PATIENCE SPAN_MS(300)
#define SENTINELS_MAX 64

enum { STEP_MASTER, STEP_ADDRESS, STEP_MASTER_AGAIN, STEP_SENTINELS };

static size_t sentinel_question(const finder *f, const probe *s,
                                resp_argument words[QUESTION_WORDS_MAX])
{
  const char *service = f->deployment->service;

  words[0] = RESP_TEXT("SENTINEL");
  words[1] = RESP_TEXT("MASTER");
  if (s->step == STEP_ADDRESS)
    words[1] = RESP_TEXT("GET-MASTER-ADDR-BY-NAME");
  else if (s->step == STEP_SENTINELS)
    words[1] = RESP_TEXT("SENTINELS");
  words[2] = (resp_argument){ service, strlen(service) };
  return 3;
}

/* ---- answers ---- */

static void unexpected(finder *f, probe *s, const char *words)
{
  finder_blame_probe(f, s, DIBS_ERR_PROTOCOL, words, NULL);
}

static void is_unknown_service(finder *f, probe *s)
{
  finder_blame_probe(f, s, DIBS_ERR_CONFIG, "the sentinel does not know the service ",
                     &(resp_node){ .kind = RESP_STRING, .bytes = f->deployment->service,
                                   .size = strlen(f->deployment->service) });
}

/* Old sentinels report no epoch. */
static bool master_read(const resp_reply *reply, sentinel_answer *a)
{
  const resp_node *root = resp_root(reply);
  const resp_node *epoch = node_value(reply, root, "config-epoch");

  a->epoch = 0;
  return root->kind == RESP_ARRAY && (epoch == NULL || node_uint_read(epoch, &a->epoch))
    && node_host_read(node_value(reply, root, "ip"), a->first_host)
    && node_port_read(node_value(reply, root, "port"), &a->first_port) && a->first_port > 0;
}

static void master_answer(finder *f, probe *s, const resp_reply *reply)
{
  const resp_node *said = resp_root(reply);

  if (node_error_begins(said, "ERR No such master")) {
    is_unknown_service(f, s);
  } else if (said->kind == RESP_ERROR && !node_is_forbidden(said)) {
    finder_refused_probe(f, s, "SENTINEL MASTER is refused: ", said);
  } else if (said->kind != RESP_ERROR && !master_read(reply, &s->at->sentinel)) {
    unexpected(f, s, "an unexpected answer to SENTINEL MASTER");
  } else {
    s->step = s->step == STEP_MASTER ? STEP_ADDRESS : STEP_SENTINELS;
  }
}

static bool address_read(const resp_reply *reply, sentinel_answer *a)
{
  const resp_node *root = resp_root(reply);

  return root->kind == RESP_ARRAY && root->integer == 2
    && node_host_read(resp_child(reply, root, 0), a->host)
    && node_port_read(resp_child(reply, root, 1), &a->port) && a->port > 0;
}

static bool is_same_address(const sentinel_answer *a)
{
  return a->port == a->first_port && strcmp(a->host, a->first_host) == 0;
}

static void address_answer(finder *f, probe *s, const resp_reply *reply)
{
  sentinel_answer *a = &s->at->sentinel;
  const resp_node *said = resp_root(reply);

  if (said->kind == RESP_NIL)
    is_unknown_service(f, s);
  else if (said->kind == RESP_ERROR)
    finder_refused_probe(f, s, "SENTINEL GET-MASTER-ADDR-BY-NAME is refused: ", said);
  else if (!address_read(reply, a))
    unexpected(f, s, "an unexpected answer to SENTINEL GET-MASTER-ADDR-BY-NAME");
  else
    s->step = a->first_port == 0 || is_same_address(a) ? STEP_SENTINELS : STEP_MASTER_AGAIN;
}

static uint64_t address_hash(const char *host, int port)
{
  uint64_t hash = fnv1a(FNV1A_START ^ (uint64_t)port, host, strlen(host));

  return (hash ^ (uint64_t)port) * FNV1A_PRIME;
}

static bool other_read(const resp_reply *reply, const resp_node *other,
                       char host[HOST_REPORTED_SIZE], int *port)
{
  return node_host_read(node_value(reply, other, "ip"), host)
    && node_port_read(node_value(reply, other, "port"), port) && *port > 0;
}

/* Sums up the other sentinels, independent of their order. */
static bool others_read(const resp_reply *reply, sentinel_answer *a)
{
  const resp_node *root = resp_root(reply);
  const resp_node *other = NULL;
  char host[HOST_REPORTED_SIZE];
  int port;

  if (root->kind != RESP_ARRAY || root->integer > SENTINELS_MAX)
    return false;
  a->view = 0;
  a->voters = 1 + (size_t)root->integer;
  while ((other = node_next(reply, root, other)) != NULL) {
    if (!other_read(reply, other, host, &port))
      return false;
    a->view += address_hash(host, port);
  }
  return true;
}

static void others_remember(finder *f, const resp_reply *reply)
{
  const resp_node *other = NULL;
  char host[HOST_REPORTED_SIZE];
  int port;

  while ((other = node_next(reply, resp_root(reply), other)) != NULL)
    if (other_read(reply, other, host, &port))
      finder_remember(f, host, port, true);
}

static void others_answer(finder *f, probe *s, const resp_reply *reply)
{
  sentinel_answer *a = &s->at->sentinel;
  const resp_node *said = resp_root(reply);

  if (said->kind == RESP_ERROR && node_is_forbidden(said)) {
    a->voters = 1;
    a->view = address_hash(s->at->url->host == NULL ? "" : s->at->url->host, s->at->url->port);
  } else if (said->kind == RESP_ERROR) {
    finder_refused_probe(f, s, "SENTINEL SENTINELS is refused: ", said);
    return;
  } else if (!others_read(reply, a)) {
    unexpected(f, s, "an unexpected answer to SENTINEL SENTINELS");
    return;
  }
  others_remember(f, reply);
  s->at->hears = true;
  finder_ear_renew(f);
  finder_answered(f, s);
  finder_hurry(f, PATIENCE);
}

static void sentinel_answer_read(finder *f, probe *s, const resp_reply *reply)
{
  if (s->step == STEP_ADDRESS)
    address_answer(f, s, reply);
  else if (s->step == STEP_SENTINELS)
    others_answer(f, s, reply);
  else
    master_answer(f, s, reply);
}

/* ---- verdict ---- */

typedef struct poll {
  const sentinel_answer *best;
  size_t best_votes;
  size_t sentinels;       /* with an answer, each counted once */
  size_t voters;          /* the number of sentinels that they report */
} poll;

static bool has_answered(const address *p)
{
  return p->state == PLACE_ANSWERED;
}

/* Whether an earlier address of the list is the same sentinel. */
static bool is_counted(const finder *f, size_t index)
{
  for (size_t i = 0; i < index; i++)
    if (has_answered(f->addresses[i])
        && f->addresses[i]->sentinel.view == f->addresses[index]->sentinel.view)
      return true;
  return false;
}

/* The number of equal answers. */
static size_t votes_for(const finder *f, const sentinel_answer *a)
{
  size_t votes = 0;

  for (size_t i = 0; i < f->address_count; i++) {
    const sentinel_answer *b = &f->addresses[i]->sentinel;
    votes += has_answered(f->addresses[i]) && !is_counted(f, i) && a->epoch == b->epoch
      && a->port == b->port && strcmp(a->host, b->host) == 0;
  }
  return votes;
}

static poll poll_count(const finder *f)
{
  poll p = { .best = NULL };

  for (size_t i = 0; i < f->address_count; i++) {
    const sentinel_answer *a = &f->addresses[i]->sentinel;
    size_t votes;

    if (!has_answered(f->addresses[i]))
      continue;
    votes = votes_for(f, a);
    p.sentinels += !is_counted(f, i);
    p.voters = a->voters > p.voters ? a->voters : p.voters;
    if (p.best == NULL || a->epoch > p.best->epoch
        || (a->epoch == p.best->epoch && votes > p.best_votes)) {
      p.best = a;
      p.best_votes = votes;
    }
  }
  return p;
}

static bool is_majority(const finder *f, const poll *p)
{
  size_t seeds = f->deployment->seed_count;

  return 2 * p->sentinels > (p->voters > seeds ? p->voters : seeds);
}

static finder_state believe(finder *f, const poll *p)
{
  dibs_status status =
    deployment_url(f->deployment, p->best->host, p->best->port, &f->found);

  if (status != DIBS_OK) {
    finder_blame_all(f, status, "the address of the primary cannot be kept");
    return FINDER_NONE;
  }
  f->has_found = true;
  f->primary = &f->found;
  f->believed_epoch = p->best->epoch;
  f->believed_voters = p->sentinels;
  return FINDER_FOUND;
}

static finder_state sentinel_judge(finder *f, bool is_over)
{
  poll p = poll_count(f);
  bool is_unanimous = p.sentinels >= p.voters && p.sentinels >= f->believed_voters;

  if (p.best == NULL)
    return is_over ? FINDER_NONE : FINDER_LOOKING;
  if (!is_over && !f->is_time_to_decide && !is_majority(f, &p))
    return FINDER_LOOKING;
  if (p.best->epoch >= f->believed_epoch || is_unanimous)
    return believe(f, &p);
  if (!is_over)
    return FINDER_LOOKING;
  finder_blame_all(f, DIBS_ERR_UNREACHABLE, "the sentinels that answer know only a primary "
                   "from before the last failover");
  return FINDER_NONE;
}

const finder_kind finder_sentinel_kind = {
  sentinel_question, sentinel_answer_read, sentinel_judge };
