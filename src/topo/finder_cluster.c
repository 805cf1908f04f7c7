/* SPDX-License-Identifier: MIT */
/* topo/finder_cluster.c - finds the slot map of a cluster: the first that a node returns.
 *
 * CLUSTER SHARDS came with 7.0, as did sharded channels; a node that does not know it gets
 * CLUSTER SLOTS. A node that forbids SHARDS, or returns an unexpected form, does know it.
 * An outdated map corrects itself: MOVED begins another search. Not so that of nodes which are cut
 * off from the others: they answer CLUSTERDOWN, and may be the nearest in each search. So a map
 * that led there is taken again only if no other node has one. */
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

slot_map *finder_map_free(const finder *f, slot_map *map)
{
  if (map != NULL)
    slot_map_deinit(map);
  mem_free(&f->memory, map);
  return NULL;
}

/* NULL: it is no map, or no memory. */
static slot_map *map_read(const finder *f, const probe *s, const resp_reply *reply)
{
  bool is_tls = s->at->url->transport == SERVER_TLS, is_map;
  slot_map *map = mem_zalloc(&f->memory, sizeof(*map));

  if (map == NULL)
    return NULL;
  is_map = s->step == STEP_SHARDS ? slot_map_read_shards(&f->memory, reply, is_tls, map)
                                  : slot_map_read_slots(&f->memory, reply, map);
  if (s->step != STEP_SHARDS)
    map->has_sharded_channels = s->step == STEP_SLOTS_OF_NEW;
  return is_map ? map : finder_map_free(f, map);
}

/* Owns `map`, which may replace one that is doubted. */
static void map_take(finder *f, probe *s, slot_map *map)
{
  if (!covers_a_slot(map)) {
    finder_map_free(f, map);
    finder_blame_probe(f, s, DIBS_ERR_UNREACHABLE, "the node has no server for any slot", NULL);
  } else if (!names_fill(f, map, s->at->url)) {
    finder_map_free(f, map);
    finder_blame_probe(f, s, DIBS_ERR_NO_MEMORY, "no memory for the slot map", NULL);
  } else {
    finder_map_free(f, f->slots);
    f->slots = map;
    f->map_from = s->at;
    finder_answered(f, s);
  }
}

void finder_doubt(finder *f)
{
  if (f->map_from != NULL)
    f->map_from->is_doubted = true;
}

/* ---- answers ---- */

static void shards_answer(finder *f, probe *s, const resp_reply *reply)
{
  const resp_node *said = resp_root(reply);
  slot_map *map = map_read(f, s, reply);

  if (map != NULL)
    map_take(f, s, map);
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
  slot_map *map = map_read(f, s, reply);

  if (map != NULL)
    map_take(f, s, map);
  else if (said->kind == RESP_ERROR)
    finder_refused_probe(f, s, "CLUSTER SLOTS is refused: ", said);
  else
    finder_blame_probe(f, s, DIBS_ERR_PROTOCOL, "an answer to CLUSTER SLOTS that is no map, or "
                       "no memory for it", NULL);
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

/* ---- the verdict ---- */

static void trust_all(finder *f)
{
  for (size_t i = 0; i < f->address_count; i++)
    f->addresses[i]->is_doubted = false;
}

static finder_state cluster_judge(finder *f, bool is_over)
{
  if (f->slots == NULL)
    return is_over ? FINDER_NONE : FINDER_LOOKING;
  if (f->map_from->is_doubted && !is_over)
    return FINDER_LOOKING;
  if (f->map_from->is_doubted)               /* the others are no better */
    trust_all(f);
  return FINDER_FOUND;
}

const finder_kind finder_cluster_kind = {
  cluster_question, cluster_answer_read, cluster_judge };
