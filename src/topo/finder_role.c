/* SPDX-License-Identifier: MIT */
/* topo/finder_role.c - finds the primary of a replicated set.
 *
 *   ROLE -> ["master", offset, [[ip, port, offset], ...]]
 *           ["slave", host, port, state, offset]
 *
 * A primary that more than half of the set follows, itself included, is taken at once. Any
 * other primary may be outdated: the search waits a moment for further primaries. */
#include "topo/finder_parts.h"

#define PATIENCE SPAN_MS(100)
#define REPLICAS_MAX 1000

static size_t role_question(const finder *f, const probe *s,
                            resp_argument words[QUESTION_WORDS_MAX])
{
  (void)f;
  (void)s;
  words[0] = RESP_TEXT("ROLE");
  return 1;
}

/* ---- answers ---- */

/* Counts the replicas; tools that only read the replication stream have no port. */
static bool replicas_read(const resp_reply *reply, const resp_node *list, size_t *ret_count)
{
  const resp_node *replica = NULL;
  size_t count = 0;

  if (list == NULL || list->kind != RESP_ARRAY || list->integer > REPLICAS_MAX)
    return false;
  while ((replica = node_next(reply, list, replica)) != NULL) {
    const resp_node *host = resp_child(reply, replica, 0);
    const resp_node *port_reported = resp_child(reply, replica, 1);
    int port;

    if (host == NULL || host->kind != RESP_STRING || !node_port_read(port_reported, &port))
      return false;
    count += port > 0;
  }
  *ret_count = count;
  return true;
}

static bool primary_read(const resp_reply *reply, role_answer *ret)
{
  const resp_node *root = resp_root(reply);
  role_answer a = { .role = ROLE_PRIMARY };

  if (!node_uint_read(resp_child(reply, root, 1), &a.offset)
      || !replicas_read(reply, resp_child(reply, root, 2), &a.replicas))
    return false;
  *ret = a;
  return true;
}

/* The primary of a replica is asked, too. */
static bool replica_read(finder *f, const resp_reply *reply, role_answer *ret)
{
  const resp_node *root = resp_root(reply);
  char host[HOST_REPORTED_SIZE];
  int port;

  if (!node_host_read(resp_child(reply, root, 1), host)
      || !node_port_read(resp_child(reply, root, 2), &port) || port == 0)
    return false;
  finder_remember(f, host, port, false);
  *ret = (role_answer){ .role = ROLE_REPLICA };
  return true;
}

static void role_answer_read(finder *f, probe *s, const resp_reply *reply)
{
  const resp_node *said = resp_root(reply);
  const resp_node *word = resp_child(reply, said, 0);
  bool is_read = false;

  if (said->kind == RESP_ERROR) {
    is_read = node_is_forbidden(said) || node_is_unknown_command(said);
    if (!is_read) {
      finder_refused_probe(f, s, "ROLE is refused: ", said);
      return;
    }
    s->at->role.role = ROLE_SECRET;
  } else if (node_is(word, "master")) {
    is_read = primary_read(reply, &s->at->role);
  } else if (node_is(word, "slave")) {
    is_read = replica_read(f, reply, &s->at->role);
  } else if (node_is(word, "sentinel")) {
    finder_blame_probe(f, s, DIBS_ERR_CONFIG, "this is a sentinel: the URL must begin with "
                       "redis+sentinel:// and name the service", NULL);
    return;
  }
  if (!is_read) {
    finder_blame_probe(f, s, DIBS_ERR_PROTOCOL, "an unexpected answer to ROLE", NULL);
    return;
  }
  finder_answered(f, s);
  if (s->at->role.role >= ROLE_SECRET)
    finder_hurry(f, PATIENCE);
}

/* ---- verdict ---- */

static bool is_better(const role_answer *a, const role_answer *b)
{
  if (a->role != b->role)
    return a->role > b->role;
  if (a->replicas != b->replicas)
    return a->replicas > b->replicas;
  return a->offset > b->offset;
}

static const address *best_of(const finder *f)
{
  const address *best = NULL;

  for (size_t i = 0; i < f->address_count; i++) {
    const address *p = f->addresses[i];
    if (p->state == PLACE_ANSWERED && p->role.role >= ROLE_SECRET
        && (best == NULL || is_better(&p->role, &best->role)))
      best = p;
  }
  return best;
}

/* Servers that forbid ROLE are chosen in turns: a client that logs in there and gets
 * READONLY begins another search. */
static const address *secret_in_turn(const finder *f)
{
  size_t start = 0;

  for (size_t i = 0; i < f->address_count; i++)
    if (f->addresses[i] == f->last_secret)
      start = i + 1;
  for (size_t i = 0; i < f->address_count; i++) {
    const address *p = f->addresses[(start + i) % f->address_count];
    if (p->state == PLACE_ANSWERED && p->role.role == ROLE_SECRET)
      return p;
  }
  return NULL;
}

static bool is_followed_by_most(const finder *f, const address *p)
{
  return p->role.role == ROLE_PRIMARY
    && 2 * (1 + p->role.replicas) > f->deployment->seed_count;
}

static finder_state no_primary(finder *f)
{
  for (size_t i = 0; i < f->address_count; i++)
    if (f->addresses[i]->role.role == ROLE_REPLICA)
      finder_blame_all(f, DIBS_ERR_UNREACHABLE,
                       "the servers that answer are replicas, and none is the primary");
  return FINDER_NONE;
}

static finder_state role_judge(finder *f, bool is_over)
{
  const address *best = best_of(f);

  if (best == NULL)
    return is_over ? no_primary(f) : FINDER_LOOKING;
  if (!is_over && !f->is_time_to_decide && !is_followed_by_most(f, best))
    return FINDER_LOOKING;
  if (best->role.role == ROLE_SECRET)
    f->last_secret = best = secret_in_turn(f);
  f->primary_address = best;
  f->primary = best->url;
  return FINDER_FOUND;
}

const finder_kind finder_role_kind = { role_question, role_answer_read, role_judge };
