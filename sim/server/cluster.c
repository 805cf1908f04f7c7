/* SPDX-License-Identifier: MIT */
/* Cluster: which commands this node runs, and where it sends the others. */
#include "server/cluster.h"

#include <string.h>

/* ---- slots ---- */

/* CRC16 as XMODEM has it: polynomial 1021, nothing reflected. */
static uint16_t crc16(slice s)
{
  uint16_t crc = 0;

  for (size_t i = 0; i < s.size; i++) {
    crc = (uint16_t)(crc ^ (uint16_t)((unsigned char)s.bytes[i] << 8));
    for (int bit = 0; bit < 8; bit++)
      crc = (uint16_t)(crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1);
  }
  return crc;
}

uint16_t cluster_slot(slice name)
{
  const char *open = memchr(name.bytes, '{', name.size), *close = NULL;

  if (open != NULL)
    close = memchr(open, '}', (size_t)(name.bytes + name.size - open));
  if (close != NULL && close > open + 1)
    name = (slice){ open + 1, (size_t)(close - open) - 1 };
  return crc16(name) % SLOTS;
}

uint16_t cluster_node(const cluster *k, slice id)
{
  for (size_t i = 0; i < k->count; i++)
    if (slice_equal(slice_of(k->nodes[i].id), id))
      return (uint16_t)i;
  return NODE_NONE;
}

key *cluster_key(const sim_server *s, uint16_t hash_slot, const key *after)
{
  key *k = keyspace_next(&s->keys, after);

  while (k != NULL && cluster_slot(key_name(k)) != hash_slot)
    k = keyspace_next(&s->keys, k);
  return k;
}

void cluster_set_owner(sim_server *s, uint16_t hash_slot, uint16_t to)
{
  cluster *k = s->cluster;
  bool leaves = k->owner[hash_slot] == k->self && to != k->self;

  k->owner[hash_slot] = to;
  if (leaves)
    channels_slot_leaves(s, hash_slot);
}

/* ---- which words of a command are keys ---- */

typedef struct key_words { size_t first, last, step; } key_words;   /* first 0: none */

/* Commands whose keys are not the first word alone, or that have none. */
static const struct { const char *name; size_t first; int last; size_t step; } specs[] = {
  { "del", 1, -1, 1 }, { "exists", 1, -1, 1 }, { "mget", 1, -1, 1 }, { "touch", 1, -1, 1 },
  { "unlink", 1, -1, 1 }, { "watch", 1, -1, 1 }, { "ssubscribe", 1, -1, 1 },
  { "sunsubscribe", 1, -1, 1 }, { "mset", 1, -1, 2 }, { "msetnx", 1, -1, 2 },
  { "lmove", 1, 2, 1 }, { "rename", 1, 2, 1 }, { "renamenx", 1, 2, 1 },
  { "rpoplpush", 1, 2, 1 }, { "spublish", 1, 1, 1 }
};

static bool is_of(const command *const group, const command *cmd)
{
  for (const command *c = group; c->name != NULL; c++)
    if (c == cmd)
      return true;
  return false;
}

static bool is_channel_of_shard(const command *cmd)
{
  return strcmp(cmd->name, "ssubscribe") == 0 || strcmp(cmd->name, "sunsubscribe") == 0 ||
         strcmp(cmd->name, "spublish") == 0;
}

static key_words of_script(const slice *words, size_t count)
{
  int64_t n;

  if (count < 3 || !slice_to_integer(words[2], &n) || n <= 0 || n > (int64_t)count - 3)
    return (key_words){ 0, 0, 1 };
  return (key_words){ 3, 2 + (size_t)n, 1 };
}

static key_words keys_of(const command *cmd, const slice *words, size_t count)
{
  for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++)
    if (strcmp(cmd->name, specs[i].name) == 0) {
      size_t last = specs[i].last < 0 ? count - 1 : (size_t)specs[i].last;

      return (key_words){ last >= specs[i].first ? specs[i].first : 0, last, specs[i].step };
    }
  if (is_of(commands_script, cmd) && strncmp(cmd->name, "eval", 4) == 0)
    return of_script(words, count);
  if (is_of(commands_string, cmd) || is_of(commands_number, cmd) || is_of(commands_hash, cmd) ||
      is_of(commands_list, cmd) || is_of(commands_stream, cmd) || is_of(commands_zset, cmd) ||
      is_of(commands_zset_range, cmd) ||
      (is_of(commands_key, cmd) && strcmp(cmd->name, "keys") != 0 &&
       strcmp(cmd->name, "randomkey") != 0) || strcmp(cmd->name, "hscan") == 0 ||
      strcmp(cmd->name, "zscan") == 0)
    return (key_words){ count > 1, 1, 1 };
  return (key_words){ 0, 0, 1 };
}

/* ---- where a command belongs ---- */

typedef enum place {
  PLACE_HERE, PLACE_CROSS, PLACE_NOBODY, PLACE_DOWN, PLACE_UNSTABLE, PLACE_ASK, PLACE_MOVED
} place;

static place place_of(const sim_connection *c, const command *cmd, const slice *words,
                      size_t count, uint16_t *ret_slot, uint16_t *ret_node)
{
  const sim_server *s = c->server;
  const cluster *k = s->cluster;
  key_words at = keys_of(cmd, words, count);
  bool is_of_shard = is_channel_of_shard(cmd), is_moving, is_coming;
  size_t missing = 0, total = 0;
  uint16_t hash_slot;

  if (at.first == 0)
    return PLACE_HERE;
  hash_slot = *ret_slot = cluster_slot(words[at.first]);
  *ret_node = k->owner[hash_slot];
  if (k->owner[hash_slot] == NODE_NONE)
    return PLACE_NOBODY;
  is_moving = k->owner[hash_slot] == k->self && k->migrating[hash_slot] != NODE_NONE;
  is_coming = k->owner[hash_slot] != k->self && k->importing[hash_slot] != NODE_NONE;
  for (size_t i = at.first; i <= at.last; i += at.step, total++) {
    const key *entry;

    if (cluster_slot(words[i]) != hash_slot)
      return PLACE_CROSS;
    entry = is_of_shard ? NULL : keyspace_find(&s->keys, words[i]);
    missing += !is_of_shard && (entry == NULL || db_is_over(s, entry));
  }
  if (k->is_down && !is_of_shard)
    return PLACE_DOWN;
  if (is_moving && missing > 0) {
    *ret_node = k->migrating[hash_slot];
    return missing < total ? PLACE_UNSTABLE : PLACE_ASK;
  }
  if (is_coming && c->is_asking)
    return total > 1 && missing > 0 ? PLACE_UNSTABLE : PLACE_HERE;
  return k->owner[hash_slot] == k->self ? PLACE_HERE : PLACE_MOVED;
}

const char *cluster_refusal(const sim_connection *c, const command *cmd, const slice *words,
                            size_t count, text *room)
{
  const cluster *k = c->server->cluster;
  uint16_t hash_slot, to;
  place p = place_of(c, cmd, words, count, &hash_slot, &to);

  switch (p) {
  case PLACE_HERE: return NULL;
  case PLACE_CROSS: return "CROSSSLOT Keys in request don't hash to the same slot";
  case PLACE_NOBODY: return "CLUSTERDOWN Hash slot not served";
  case PLACE_DOWN: return "CLUSTERDOWN The cluster is down";
  case PLACE_UNSTABLE: return "TRYAGAIN Multiple keys request during rehashing of slot";
  case PLACE_ASK:
  case PLACE_MOVED: break;
  }
  text_add(room, p == PLACE_ASK ? "ASK " : "MOVED ");
  text_add_int(room, hash_slot);
  text_add(room, " ");
  text_add(room, k->nodes[to].host);
  text_add(room, ":");
  text_add_int(room, k->nodes[to].port);
  return room->at;
}

const char *cluster_refusal_in_script(const sim_connection *c, const command *cmd,
                                      const slice *words, size_t count)
{
  uint16_t hash_slot, to;
  place p = place_of(c, cmd, words, count, &hash_slot, &to);

  if (p == PLACE_HERE)
    return NULL;
  if (p == PLACE_DOWN)
    return "ERR Script attempted to execute a command while the cluster is down";
  return "ERR Script attempted to access a non local key in a cluster node";
}

/* ---- life ---- */

cluster *cluster_free(cluster *k)
{
  if (k == NULL)
    return NULL;
  for (size_t i = 0; i < k->count; i++)
    sim_free(k->nodes[i].host);
  sim_free(k->nodes);
  sim_free(k);
  return NULL;
}

void sim_server_cluster(sim_server *s, const sim_node *nodes, size_t count, size_t self)
{
  cluster *k = sim_zalloc(sizeof(*k));

  k->nodes = sim_zalloc(count * sizeof(node));
  k->count = count;
  k->self = self;
  for (size_t i = 0; i < count; i++) {
    char room[SLICE_FORMAT_MAX * 4];
    text t = text_over(room, sizeof(room));

    text_add(&t, nodes[i].host);
    text_add(&t, ":");
    text_add_int(&t, nodes[i].port);
    slice_sha1(slice_of(room), k->nodes[i].id);
    k->nodes[i].host = mem_copy_text(sim_memory(), nodes[i].host);
    k->nodes[i].port = nodes[i].port;
    k->nodes[i].primary = nodes[i].primary;
  }
  for (size_t i = 0; i < SLOTS; i++)
    k->owner[i] = k->migrating[i] = k->importing[i] = NODE_NONE;
  s->cluster = cluster_free(s->cluster);
  s->cluster = k;
}

void sim_server_own_slots(sim_server *s, int first, int last, int to)
{
  for (int hash_slot = first; hash_slot <= last; hash_slot++) {
    cluster_set_owner(s, (uint16_t)hash_slot, to < 0 ? NODE_NONE : (uint16_t)to);
    s->cluster->migrating[hash_slot] = s->cluster->importing[hash_slot] = NODE_NONE;
  }
}

void sim_server_move_slot(sim_server *s, int hash_slot, int from, int to)
{
  cluster *k = s->cluster;

  if ((size_t)from == k->self)
    k->migrating[hash_slot] = (uint16_t)to;
  if ((size_t)to == k->self)
    k->importing[hash_slot] = (uint16_t)from;
}

void sim_server_node_follows(sim_server *s, int of, int primary)
{
  s->cluster->nodes[of].primary = primary;
}

void sim_server_cluster_down(sim_server *s, bool is_down) { s->cluster->is_down = is_down; }

bool sim_server_migrate_key(sim_server *from, sim_server *to, int hash_slot)
{
  key *entry = cluster_key(from, (uint16_t)hash_slot, NULL), *made;

  if (entry == NULL)
    return false;
  made = db_add(to, key_name(entry));
  *key_value(made) = value_copy(key_value(entry));
  key_set_expires_ms(made, key_expires_ms(entry));
  db_changed(to, key_name(made));
  execute_end(to);
  db_remove(from, entry);
  execute_end(from);
  return true;
}
