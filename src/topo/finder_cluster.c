/* SPDX-License-Identifier: MIT */
/* topo/finder_cluster.c - finds the slot map of a cluster: the first that a node returns.
 *
 * CLUSTER SHARDS came with 7.0, as did sharded channels; a node that does not know it gets
 * CLUSTER SLOTS. A node that forbids SHARDS, or returns an unexpected form, does know it.
 * An outdated map corrects itself: MOVED begins another search. */
#include "topo/finder_parts.h"

enum { STEP_SHARDS, STEP_SLOTS, STEP_SLOTS_OF_NEW };

static size_t cluster_question(const finder *f, const probe *s,
                               resp_argument words[QUESTION_WORDS_MAX])
{
  (void)f;
  words[0] = RESP_TEXT("CLUSTER");
  words[1] = s->step == STEP_SHARDS ? RESP_TEXT("SHARDS") : RESP_TEXT("SLOTS");
  return 2;
}

/* ---- the map ---- */

static bool covers_a_slot(const slot_map *map)
{
  for (size_t i = 0; i < SLOT_COUNT; i++)
    if (map->node_of[i] != SLOT_UNSERVED)
      return true;
  return false;
}

/* A node without a name is the node that was asked. false: no memory. */
static bool names_fill(const finder *f, slot_map *map, const server_url *asked)
{
  for (size_t i = 0; i < map->node_count && asked->host != NULL; i++) {
    char *host;

    if (map->nodes[i].host[0] != 0)
      continue;
    host = mem_copy_text(&f->memory, asked->host);
    if (host == NULL)
      return false;
    mem_free(&map->memory, map->nodes[i].host);
    map->nodes[i].host = host;
  }
  return true;
}

/* Uses the map that was read into f->slots. */
static void map_take(finder *f, probe *s)
{
  if (!covers_a_slot(f->slots)) {
    slot_map_deinit(f->slots);
    finder_blame_probe(f, s, DIBS_ERR_UNREACHABLE, "the node has no server for any slot", NULL);
  } else if (!names_fill(f, f->slots, s->at->url)) {
    slot_map_deinit(f->slots);
    finder_blame_probe(f, s, DIBS_ERR_NO_MEMORY, "no memory for the slot map", NULL);
  } else {
    f->has_slots = true;
    finder_answered(f, s);
  }
}

/* ---- answers ---- */

static void shards_answer(finder *f, probe *s, const resp_reply *reply)
{
  const resp_node *said = resp_root(reply);
  bool is_tls = s->at->url->transport == SERVER_TLS;

  if (said->kind == RESP_ARRAY
      && slot_map_read_shards(&f->memory, reply, is_tls, f->slots))
    map_take(f, s);
  else if (said->kind == RESP_ARRAY || node_is_forbidden(said))
    s->step = STEP_SLOTS_OF_NEW;
  else if (node_is_unknown_command(said))
    s->step = STEP_SLOTS;
  else if (said->kind == RESP_ERROR)
    finder_refused_probe(f, s, "CLUSTER SHARDS is refused: ", said);
  else
    finder_blame_probe(f, s, DIBS_ERR_PROTOCOL, "an unexpected answer to CLUSTER SHARDS", NULL);
}

static void slots_answer(finder *f, probe *s, const resp_reply *reply)
{
  const resp_node *said = resp_root(reply);

  if (said->kind == RESP_ERROR) {
    finder_refused_probe(f, s, "CLUSTER SLOTS is refused: ", said);
  } else if (!slot_map_read_slots(&f->memory, reply, f->slots)) {
    finder_blame_probe(f, s, DIBS_ERR_PROTOCOL, "an answer to CLUSTER SLOTS that is no map, or "
                       "no memory for it", NULL);
  } else {
    f->slots->has_sharded_channels = s->step == STEP_SLOTS_OF_NEW;
    map_take(f, s);
  }
}

static void cluster_answer_read(finder *f, probe *s, const resp_reply *reply)
{
  if (node_error_begins(resp_root(reply), "ERR This instance has cluster support disabled"))
    finder_blame_probe(f, s, DIBS_ERR_CONFIG, "this server is no node of a cluster", NULL);
  else if (s->step == STEP_SHARDS)
    shards_answer(f, s, reply);
  else
    slots_answer(f, s, reply);
}

static finder_state cluster_judge(finder *f, bool is_over)
{
  if (f->has_slots)
    return FINDER_FOUND;
  return is_over ? FINDER_NONE : FINDER_LOOKING;
}

const finder_kind finder_cluster_kind = {
  cluster_question, cluster_answer_read, cluster_judge };
