/* SPDX-License-Identifier: MIT */
/* Commands: CLUSTER and what belongs to it. */
#include "server/cluster.h"

#include <string.h>

static bool is_enabled(call *c)
{
  if (c->server->cluster == NULL)
    reply_error(c->reply, "ERR This instance has cluster support disabled");
  return c->server->cluster != NULL;
}

static void run_asking(call *c)
{
  if (!is_enabled(c))
    return;
  if (c->connection != NULL)
    c->connection->is_asking = true;
  reply_ok(c->reply);
}

/* Replicas answer MOVED all the same here: nobody of ours reads from them. */
static void run_readonly(call *c)
{
  if (!is_enabled(c))
    return;
  server_note_unknown(c->server, "reading from replicas,", c->words[0]);
  reply_ok(c->reply);
}

static void run_myid(call *c)
{
  const cluster *k = c->server->cluster;

  if (is_enabled(c))
    reply_string(c->reply, slice_of(k->nodes[k->self].id));
}

static void run_keyslot(call *c)
{
  if (is_enabled(c))
    reply_integer(c->reply, cluster_slot(c->words[2]));
}

static bool slot_read(call *c, slice word, uint16_t *ret)
{
  int64_t n;

  if (slice_to_integer(word, &n) && n >= 0 && n < SLOTS) {
    *ret = (uint16_t)n;
    return true;
  }
  reply_error(c->reply, "ERR Invalid or out of range slot");
  return false;
}

static int64_t keys_in(const sim_server *s, uint16_t hash_slot)
{
  int64_t count = 0;

  for (key *k = cluster_key(s, hash_slot, NULL); k != NULL; k = cluster_key(s, hash_slot, k))
    count++;
  return count;
}

static void run_countkeys(call *c)
{
  uint16_t hash_slot;

  if (is_enabled(c) && slot_read(c, c->words[2], &hash_slot))
    reply_integer(c->reply, keys_in(c->server, hash_slot));
}

static void run_getkeys(call *c)
{
  int64_t most, count;
  uint16_t hash_slot;

  if (!is_enabled(c) || !slot_read(c, c->words[2], &hash_slot))
    return;
  if (!slice_to_integer(c->words[3], &most) || most < 0) {
    reply_error(c->reply, "ERR Invalid number of keys");
    return;
  }
  count = keys_in(c->server, hash_slot);
  count = count < most ? count : most;
  reply_array(c->reply, (size_t)count);
  for (key *k = NULL; count > 0; count--) {
    k = cluster_key(c->server, hash_slot, k);
    reply_string(c->reply, key_name(k));
  }
}

/* ---- CLUSTER SETSLOT ---- */

static void set_moving(call *c, uint16_t hash_slot, uint16_t to)
{
  cluster *k = c->server->cluster;
  bool leaves = slice_is(c->words[3], "migrating");
  char bytes[96];
  text t = text_over(bytes, sizeof(bytes));

  if (leaves == (k->owner[hash_slot] == k->self)) {
    (leaves ? k->migrating : k->importing)[hash_slot] = to;
    reply_ok(c->reply);
    return;
  }
  text_add(&t, leaves ? "ERR I'm not the owner of hash slot "
                      : "ERR I'm already the owner of hash slot ");
  text_add_int(&t, hash_slot);
  reply_error(c->reply, bytes);
}

static void set_node(call *c, uint16_t hash_slot, uint16_t to)
{
  cluster *k = c->server->cluster;
  char bytes[128];
  text t = text_over(bytes, sizeof(bytes));

  if (k->owner[hash_slot] == k->self && to != k->self && keys_in(c->server, hash_slot) > 0) {
    text_add(&t, "ERR Can't assign hashslot ");
    text_add_int(&t, hash_slot);
    text_add(&t, " to a different node while I still hold keys for this hash slot.");
    reply_error(c->reply, bytes);
    return;
  }
  k->migrating[hash_slot] = NODE_NONE;
  if (to == k->self)
    k->importing[hash_slot] = NODE_NONE;
  cluster_set_owner(c->server, hash_slot, to);
  reply_ok(c->reply);
}

static void run_setslot(call *c)
{
  cluster *k = c->server->cluster;
  uint16_t hash_slot, to = NODE_NONE;
  bool is_node;

  if (!is_enabled(c) || !slot_read(c, c->words[2], &hash_slot))
    return;
  is_node = slice_is(c->words[3], "node");
  if (c->count == 4 && slice_is(c->words[3], "stable")) {
    k->migrating[hash_slot] = k->importing[hash_slot] = NODE_NONE;
    reply_ok(c->reply);
    return;
  }
  if (c->count != 5 || !(is_node || slice_is(c->words[3], "migrating") ||
                         slice_is(c->words[3], "importing"))) {
    reply_error(c->reply, "ERR Invalid CLUSTER SETSLOT action or number of arguments. Try "
                          "CLUSTER HELP");
    return;
  }
  to = cluster_node(k, c->words[4]);
  if (to == NODE_NONE) {
    char bytes[160];
    text t = text_over(bytes, sizeof(bytes));

    text_add(&t, is_node ? "ERR Unknown node " : "ERR I don't know about node ");
    text_add_bytes(&t, c->words[4].bytes, c->words[4].size);
    reply_error(c->reply, bytes);
  } else if (is_node) {
    set_node(c, hash_slot, to);
  } else {
    set_moving(c, hash_slot, to);
  }
}

/* ---- who has which slots ---- */

/* The next range at or behind `from` of one owner; false: there is none. */
static bool range_next(const cluster *k, int from, uint16_t of, int *ret_first, int *ret_last)
{
  int i = from;

  while (i < SLOTS && (k->owner[i] == NODE_NONE || (of != NODE_NONE && k->owner[i] != of)))
    i++;
  *ret_first = *ret_last = i;
  while (i < SLOTS && k->owner[i] == k->owner[*ret_first])
    *ret_last = i++;
  return *ret_first < SLOTS;
}

static size_t range_count(const cluster *k, uint16_t of)
{
  size_t count = 0;

  for (int first = 0, last; range_next(k, first, of, &first, &last); first = last + 1)
    count++;
  return count;
}

static size_t replicas_of(const cluster *k, size_t primary)
{
  size_t count = 0;

  for (size_t i = 0; i < k->count; i++)
    count += k->nodes[i].primary == (int)primary;
  return count;
}

static void answer_node(call *c, const node *n)
{
  reply_array(c->reply, 4);
  reply_string(c->reply, slice_of(n->host));
  reply_integer(c->reply, n->port);
  reply_string(c->reply, slice_of(n->id));
  reply_array(c->reply, 0);
}

static void run_slots(call *c)
{
  const cluster *k = c->server->cluster;

  if (!is_enabled(c))
    return;
  reply_array(c->reply, range_count(k, NODE_NONE));
  for (int first = 0, last; range_next(k, first, NODE_NONE, &first, &last); first = last + 1) {
    size_t of = k->owner[first];

    reply_array(c->reply, 3 + replicas_of(k, of));
    reply_integer(c->reply, first);
    reply_integer(c->reply, last);
    answer_node(c, &k->nodes[of]);
    for (size_t i = 0; i < k->count; i++)
      if (k->nodes[i].primary == (int)of)
        answer_node(c, &k->nodes[i]);
  }
}

static void answer_shard_node(call *c, const node *n)
{
  const char *const texts[][2] = {
    { "ip", n->host }, { "endpoint", n->host }, { "role", n->primary < 0 ? "master" : "replica" }
  };

  reply_array(c->reply, 14);
  reply_string(c->reply, SLICE("id"));
  reply_string(c->reply, slice_of(n->id));
  reply_string(c->reply, SLICE("port"));
  reply_integer(c->reply, n->port);
  for (size_t i = 0; i < 3; i++) {
    reply_string(c->reply, slice_of(texts[i][0]));
    reply_string(c->reply, slice_of(texts[i][1]));
  }
  reply_string(c->reply, SLICE("replication-offset"));
  reply_integer(c->reply, (int64_t)c->server->offset);
  reply_string(c->reply, SLICE("health"));
  reply_string(c->reply, SLICE("online"));
}

static void run_shards(call *c)
{
  const cluster *k = c->server->cluster;
  size_t shards = 0;

  if (!is_enabled(c))
    return;
  for (size_t i = 0; i < k->count; i++)
    shards += k->nodes[i].primary < 0;
  reply_array(c->reply, shards);
  for (size_t i = 0; i < k->count; i++) {
    if (k->nodes[i].primary >= 0)
      continue;
    reply_array(c->reply, 4);
    reply_string(c->reply, SLICE("slots"));
    reply_array(c->reply, 2 * range_count(k, (uint16_t)i));
    for (int first = 0, last; range_next(k, first, (uint16_t)i, &first, &last); first = last + 1) {
      reply_integer(c->reply, first);
      reply_integer(c->reply, last);
    }
    reply_string(c->reply, SLICE("nodes"));
    reply_array(c->reply, 1 + replicas_of(k, i));
    answer_shard_node(c, &k->nodes[i]);
    for (size_t r = 0; r < k->count; r++)
      if (k->nodes[r].primary == (int)i)
        answer_shard_node(c, &k->nodes[r]);
  }
}

#define ALONE (COMMAND_NOT_IN_SCRIPT | COMMAND_WHILE_LOADING)

const command commands_cluster[] = {
  { "asking", 1, COMMAND_NOT_IN_SCRIPT, run_asking },
  { "readonly", 1, ALONE, run_readonly },
  { "readwrite", 1, ALONE, run_readonly },
  { "cluster", -2, COMMAND_PARENT, NULL },
  { "cluster|myid", 2, ALONE, run_myid },
  { "cluster|slots", 2, ALONE, run_slots },
  { "cluster|shards", 2, ALONE, run_shards },
  { "cluster|keyslot", 3, ALONE, run_keyslot },
  { "cluster|countkeysinslot", 3, ALONE, run_countkeys },
  { "cluster|getkeysinslot", 4, ALONE, run_getkeys },
  { "cluster|setslot", -4, ALONE | COMMAND_MAY_SPREAD, run_setslot },
  { NULL, 0, 0, NULL }
};
