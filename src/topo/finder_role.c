/* SPDX-License-Identifier: MIT */
/* topo/finder_role.c - a replicated set: who of them is the primary.
 *
 *   ROLE -> ["master", offset, [[ip, port, offset], ...]]
 *           ["slave", host, port, state, offset]
 *
 * A primary that more than half of the set follows, itself included, is taken at once. Any
 * other might be a former one: those that are alive get a moment to say so. */
#include "topo/finder_parts.h"

#define PATIENCE SPAN_MS(100)
#define REPLICAS_MAX 1000

static size_t role_question(const finder *f, const scout *s,
                            resp_argument words[QUESTION_WORDS_MAX])
{
  (void)f;
  (void)s;
  words[0] = RESP_TEXT("ROLE");
  return 1;
}

/* ---- answers ---- */

/* How many replicas there are; tools that read along as one have no port. */
static bool replicas_read(const resp_reply *reply, const resp_node *list, size_t *ret_count)
{
  const resp_node *replica = NULL;
  size_t count = 0;

  if (list == NULL || list->kind != RESP_ARRAY || list->integer > REPLICAS_MAX)
    return false;
  while ((replica = node_next(reply, list, replica)) != NULL) {
    const resp_node *host = resp_child(reply, replica, 0);
    const resp_node *port_told = resp_child(reply, replica, 1);
    int port;

    if (host == NULL || host->kind != RESP_STRING || !node_port_read(port_told, &port))
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

/* Whom it follows is asked, too. */
static bool replica_read(finder *f, const resp_reply *reply, role_answer *ret)
{
  const resp_node *root = resp_root(reply);
  char host[HOST_TOLD_SIZE];
  int port;

  if (!node_host_read(resp_child(reply, root, 1), host)
      || !node_port_read(resp_child(reply, root, 2), &port) || port == 0)
    return false;
  finder_remember(f, host, port, false);
  *ret = (role_answer){ .role = ROLE_REPLICA };
  return true;
}

static void role_answer_read(finder *f, scout *s, const resp_reply *reply)
{
  const resp_node *said = resp_root(reply);
  const resp_node *word = resp_child(reply, said, 0);
  bool is_read = false;

  if (said->kind == RESP_ERROR) {
    is_read = node_is_forbidden(said) || node_is_unknown_command(said);
    if (!is_read) {
      finder_refused_scout(f, s, "ROLE is refused: ", said);
      return;
    }
    s->at->role.role = ROLE_SECRET;
  } else if (node_is(word, "master")) {
    is_read = primary_read(reply, &s->at->role);
  } else if (node_is(word, "slave")) {
    is_read = replica_read(f, reply, &s->at->role);
  } else if (node_is(word, "sentinel")) {
    finder_blame_scout(f, s, DIBS_ERR_CONFIG, "this is a sentinel: the URL must begin with "
                       "redis+sentinel:// and name the service", NULL);
    return;
  }
  if (!is_read) {
    finder_blame_scout(f, s, DIBS_ERR_PROTOCOL, "an unexpected answer to ROLE", NULL);
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

static const place *best_of(const finder *f)
{
  const place *best = NULL;

  for (size_t i = 0; i < f->place_count; i++) {
    const place *p = f->places[i];
    if (p->state == PLACE_ANSWERED && p->role.role >= ROLE_SECRET
        && (best == NULL || is_better(&p->role, &best->role)))
      best = p;
  }
  return best;
}

/* Those that do not tell their role take turns: whoever logs in there, and is told READONLY,
 * begins another search. */
static const place *secret_in_turn(const finder *f)
{
  size_t start = 0;

  for (size_t i = 0; i < f->place_count; i++)
    if (f->places[i] == f->last_secret)
      start = i + 1;
  for (size_t i = 0; i < f->place_count; i++) {
    const place *p = f->places[(start + i) % f->place_count];
    if (p->state == PLACE_ANSWERED && p->role.role == ROLE_SECRET)
      return p;
  }
  return NULL;
}

static bool is_followed_by_most(const finder *f, const place *p)
{
  return p->role.role == ROLE_PRIMARY
    && 2 * (1 + p->role.replicas) > f->deployment->seed_count;
}

static finder_state nobody(finder *f)
{
  for (size_t i = 0; i < f->place_count; i++)
    if (f->places[i]->role.role == ROLE_REPLICA)
      finder_blame_all(f, DIBS_ERR_UNREACHABLE,
                       "the servers that answer are replicas, and none is the primary");
  return FINDER_NONE;
}

static finder_state role_judge(finder *f, bool is_over)
{
  const place *best = best_of(f);

  if (best == NULL)
    return is_over ? nobody(f) : FINDER_LOOKING;
  if (!is_over && !f->is_time_to_decide && !is_followed_by_most(f, best))
    return FINDER_LOOKING;
  if (best->role.role == ROLE_SECRET)
    f->last_secret = best = secret_in_turn(f);
  f->primary_place = best;
  f->primary = best->url;
  return FINDER_FOUND;
}

const finder_kind finder_role_kind = { role_question, role_answer_read, role_judge };
