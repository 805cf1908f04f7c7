/* SPDX-License-Identifier: MIT */
/* topo/slot_map.c - reads which node serves which slot from a reply of a cluster node.
 *
 * CLUSTER SHARDS (7.0 and newer), maps written as flat lists of name and value:
 *   [ [ "slots", [0, 5460, ...],
 *       "nodes", [ [ "id", "...", "port", 6379, "ip", "10.0.0.1", "endpoint", "10.0.0.1",
 *                    "role", "master", "health", "online" ], ... ] ], ... ]
 * CLUSTER SLOTS (all):
 *   [ [0, 5460, ["10.0.0.1", 6379, "<id>", ["hostname", "..."]], <replicas> ...], ... ]
 *
 * Replies may be malicious, or have further fields of newer versions: unknown fields are
 * skipped; a known field of the wrong form invalidates the whole reply. */
#include "topo/topo.h"

#include "topo/server_url_parts.h"

#include <string.h>

typedef struct reading {
  const resp_reply *reply;
  slot_map map;
  size_t node_capacity;
} reading;

/* The reported address of a node. */
typedef struct reported {
  char host[HOST_REPORTED_SIZE];
  int port;
} reported;

static part part_of(const resp_node *node)
{
  return (part){ node->bytes, node->size };
}

static bool is_text(const resp_node *node)
{
  return node != NULL && (node->kind == RESP_STRING || node->kind == RESP_STATUS);
}

static bool is_list(const resp_node *node)
{
  return node != NULL && node->kind == RESP_ARRAY;
}

/* Iterates over the children of a list: NULL begins, NULL ends. resp_child() would count
 * from the first child each time. */
static const resp_node *next_of(const reading *r, const resp_node *list, const resp_node *before)
{
  const resp_node *root = resp_root(r->reply);

  if (before == NULL)
    return resp_child(r->reply, list, 0);
  return before->end < list->end ? root + before->end : NULL;
}

/* The value of `name` in a flat list of names and values; NULL: none. */
static const resp_node *value_of(const reading *r, const resp_node *list, const char *name)
{
  const resp_node *key = NULL;
  const resp_node *value = NULL;

  if (!is_list(list))
    return NULL;
  while ((key = next_of(r, list, value)) != NULL
         && (value = next_of(r, list, key)) != NULL)
    if (is_text(key) && part_is(part_of(key), name))
      return value;
  return NULL;
}

static bool port_of(const resp_node *node, int *ret_port)
{
  if (node == NULL || node->kind != RESP_INTEGER || node->integer < 1 || node->integer > 65535)
    return false;
  *ret_port = (int)node->integer;
  return true;
}

static bool nodes_grow(reading *r)
{
  size_t capacity = r->node_capacity == 0 ? 16 : r->node_capacity * 2;
  slot_node *nodes;

  if (r->map.node_count < r->node_capacity)
    return true;
  if (r->map.node_count >= NODES_MAX)
    return false;
  nodes = mem_realloc(&r->map.memory, r->map.nodes, capacity * sizeof(*nodes));
  if (nodes == NULL)
    return false;
  r->map.nodes = nodes;
  r->node_capacity = capacity;
  return true;
}

static bool is_node(const slot_node *node, const reported *t)
{
  return node->port == t->port && strcmp(node->host, t->host) == 0;
}

/* The index of the node in `nodes`; a new node is added. */
static bool node_find(reading *r, const reported *t, uint16_t *ret_index)
{
  slot_node *node;

  /* From the end: ranges of one node are mostly adjacent. */
  for (size_t i = r->map.node_count; i > 0; i--)
    if (is_node(&r->map.nodes[i - 1], t)) {
      *ret_index = (uint16_t)(i - 1);
      return true;
    }
  if (r->map.node_count >= NODES_MAX || !nodes_grow(r))
    return false;
  node = &r->map.nodes[r->map.node_count];
  node->host = mem_copy_text(&r->map.memory, t->host);
  node->port = t->port;
  if (node->host == NULL)
    return false;
  *ret_index = (uint16_t)r->map.node_count++;
  return true;
}

/* Assigns the slots first .. last to a node. */
static bool range_set(reading *r, const resp_node *first, const resp_node *last,
                      uint16_t index)
{
  if (first == NULL || first->kind != RESP_INTEGER || last == NULL
      || last->kind != RESP_INTEGER || first->integer < 0 || last->integer < first->integer
      || last->integer >= SLOT_COUNT)
    return false;
  for (int64_t i = first->integer; i <= last->integer; i++)
    if (index != SLOT_UNSERVED)
      r->map.node_of[i] = index;
  return true;
}

/* ---- CLUSTER SHARDS ---- */

/* `endpoint` is the preferred address of the node; NULL or "": the address that was asked.
 * `ip` is used if `endpoint` is missing or an unset hostname ("?"). */
static bool shard_host_read(const reading *r, const resp_node *node, reported *ret)
{
  const resp_node *host = value_of(r, node, "endpoint");

  if (host != NULL && host->kind == RESP_NIL)
    return host_reported_read((part){ "", 0 }, ret->host);
  if (host == NULL || (is_text(host) && part_is(part_of(host), "?")))
    host = value_of(r, node, "ip");
  return is_text(host) && host_reported_read(part_of(host), ret->host);
}

/* Whether `node` serves its shard's slots, and its address. */
static bool shard_node_serves(const reading *r, const resp_node *node, bool is_tls, reported *ret)
{
  const resp_node *role = value_of(r, node, "role");
  const resp_node *health = value_of(r, node, "health");
  const resp_node *port = value_of(r, node, is_tls ? "tls-port" : "port");

  if (!is_text(role) || !(part_is(part_of(role), "master") || part_is(part_of(role), "primary"))
      || !is_text(health) || !part_is(part_of(health), "online"))
    return false;
  /* Use the only reported port: a proxy may terminate TLS for the server. */
  if (port == NULL)
    port = value_of(r, node, is_tls ? "port" : "tls-port");
  return port_of(port, &ret->port) && shard_host_read(r, node, ret);
}

static bool shard_read(reading *r, const resp_node *shard, bool is_tls)
{
  const resp_node *ranges = value_of(r, shard, "slots");
  const resp_node *nodes = value_of(r, shard, "nodes");
  const resp_node *first, *last = NULL;
  const resp_node *node = NULL;
  uint16_t index = SLOT_UNSERVED;
  reported t;

  if (!is_list(ranges) || !is_list(nodes))
    return false;
  /* A former primary that has not rejoined can still be listed as one, with the health
   * "fail". */
  while (ranges->integer > 0 && index == SLOT_UNSERVED
         && (node = next_of(r, nodes, node)) != NULL)
    if (shard_node_serves(r, node, is_tls, &t) && !node_find(r, &t, &index))
      return false;
  while ((first = next_of(r, ranges, last)) != NULL) {
    last = next_of(r, ranges, first);
    if (!range_set(r, first, last, index))
      return false;
  }
  return true;
}

/* ---- CLUSTER SLOTS ---- */

static bool slots_node_read(const reading *r, const resp_node *node, reported *ret)
{
  const resp_node *host;

  if (!is_list(node) || !port_of(resp_child(r->reply, node, 1), &ret->port))
    return false;
  host = resp_child(r->reply, node, 0);
  if (host->kind == RESP_NIL)
    return host_reported_read((part){ "", 0 }, ret->host);
  if (is_text(host) && part_is(part_of(host), "?")) {
    const resp_node *ip = value_of(r, resp_child(r->reply, node, 3), "ip");
    host = ip != NULL ? ip : host;
  }
  return is_text(host) && host_reported_read(part_of(host), ret->host);
}

static bool range_read(reading *r, const resp_node *range)
{
  uint16_t index;
  reported t;

  return is_list(range) && slots_node_read(r, resp_child(r->reply, range, 2), &t)
    && node_find(r, &t, &index)
    && range_set(r, resp_child(r->reply, range, 0), resp_child(r->reply, range, 1), index);
}

/* ---- both ---- */

/* Not on the stack: a map has 32 KiB. NULL: no memory. */
static reading *reading_new(const memory *m, const resp_reply *reply)
{
  reading *r = mem_zalloc(m, sizeof(*r));

  if (r == NULL)
    return NULL;
  r->reply = reply;
  r->map.memory = *m;
  for (size_t i = 0; i < SLOT_COUNT; i++)
    r->map.node_of[i] = SLOT_UNSERVED;
  return r;
}

static bool reading_end(const memory *m, reading *r, bool is_fine, slot_map *ret)
{
  if (r == NULL)
    return false;
  if (is_fine)
    *ret = r->map;
  else
    slot_map_deinit(&r->map);
  mem_free(m, r);
  return is_fine;
}

bool slot_map_read_shards(const memory *m, const resp_reply *reply, bool is_tls, slot_map *ret)
{
  const resp_node *root = resp_root(reply);
  const resp_node *shard = NULL;
  reading *r = reading_new(m, reply);
  bool is_fine = r != NULL && is_list(root);

  while (is_fine && (shard = next_of(r, root, shard)) != NULL)
    is_fine = shard_read(r, shard, is_tls);
  if (is_fine)
    r->map.has_sharded_channels = true;
  return reading_end(m, r, is_fine, ret);
}

bool slot_map_read_slots(const memory *m, const resp_reply *reply, slot_map *ret)
{
  const resp_node *root = resp_root(reply);
  const resp_node *range = NULL;
  reading *r = reading_new(m, reply);
  bool is_fine = r != NULL && is_list(root);

  while (is_fine && (range = next_of(r, root, range)) != NULL)
    is_fine = range_read(r, range);
  return reading_end(m, r, is_fine, ret);
}

void slot_map_deinit(slot_map *map)
{
  for (size_t i = 0; i < map->node_count; i++)
    mem_free(&map->memory, map->nodes[i].host);
  mem_free(&map->memory, map->nodes);
  map->nodes = NULL;
  map->node_count = 0;
}
