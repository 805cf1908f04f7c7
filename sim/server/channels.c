/* SPDX-License-Identifier: MIT */
/* Who listens to what. Messages go straight to the outputs of those who do, in the order
 * in which they came. */
#include "server/channels.h"

#include "server/table.h"

struct channel {
  UT_hash_handle hh;
  sim_connection **listeners;
  size_t count, capacity;
  size_t size;
  char name[];
};

/* A connection's side of a subscription. */
struct channel_entry {
  UT_hash_handle hh;
  channel *channel;
};

static channel *find(const sim_server *s, channel_kind kind, slice name)
{
  channel *found;

  HASH_FIND(hh, s->channels[kind], name.bytes, name.size, found);
  return found;
}

static channel *need(sim_server *s, channel_kind kind, slice name)
{
  channel *found = find(s, kind, name);

  if (found != NULL)
    return found;
  found = sim_zalloc(sizeof(*found) + name.size + 1);
  found->size = name.size;
  memcpy(found->name, name.bytes, name.size);
  HASH_ADD_KEYPTR(hh, s->channels[kind], found->name, found->size, found);
  return found;
}

static channel_entry *entry_of(const sim_connection *c, channel_kind kind, slice name)
{
  channel_entry *e;

  HASH_FIND(hh, c->channels[kind], name.bytes, name.size, e);
  return e;
}

void channels_join(sim_connection *c, channel_kind kind, slice name)
{
  channel *joined;
  channel_entry *e;

  if (entry_of(c, kind, name) != NULL)
    return;
  joined = need(c->server, kind, name);
  if (joined->count == joined->capacity) {
    joined->capacity = joined->capacity * 2 + 2;
    joined->listeners = sim_realloc(joined->listeners,
                                    joined->capacity * sizeof(sim_connection *));
  }
  joined->listeners[joined->count++] = c;
  e = sim_zalloc(sizeof(*e));
  e->channel = joined;
  HASH_ADD_KEYPTR(hh, c->channels[kind], joined->name, joined->size, e);
}

static void leave(sim_connection *c, channel_kind kind, channel_entry *e)
{
  channel *left = e->channel;
  size_t i = 0;

  HASH_DELETE(hh, c->channels[kind], e);
  sim_free(e);
  while (left->listeners[i] != c)
    i++;
  left->count--;
  memmove(left->listeners + i, left->listeners + i + 1,
          (left->count - i) * sizeof(sim_connection *));
  if (left->count > 0)
    return;
  HASH_DELETE(hh, c->server->channels[kind], left);
  sim_free(left->listeners);
  sim_free(left);
}

void channels_leave(sim_connection *c, channel_kind kind, slice name)
{
  channel_entry *e = entry_of(c, kind, name);

  if (e != NULL)
    leave(c, kind, e);
}

void channels_leave_all(sim_connection *c)
{
  for (int kind = 0; kind < CHANNEL_KINDS; kind++)
    while (c->channels[kind] != NULL)
      leave(c, (channel_kind)kind, c->channels[kind]);
}

bool channels_first(const sim_connection *c, channel_kind kind, slice *ret_name)
{
  const channel_entry *e = c->channels[kind];

  if (e != NULL)
    *ret_name = (slice){ e->channel->name, e->channel->size };
  return e != NULL;
}

size_t channels_of(const sim_connection *c, bool of_shards)
{
  if (of_shards)
    return HASH_COUNT(c->channels[CHANNEL_SHARD]);
  return HASH_COUNT(c->channels[CHANNEL_PLAIN]) + HASH_COUNT(c->channels[CHANNEL_PATTERN]);
}

bool channels_are_subscribed(const sim_connection *c)
{
  return channels_of(c, false) + channels_of(c, true) > 0;
}

/* The first that listens to a channel of this slot; NULL: nobody. */
static channel *channel_of_slot(const sim_server *s, uint16_t hash_slot)
{
  channel *h = s->channels[CHANNEL_SHARD];

  while (h != NULL && cluster_slot((slice){ h->name, h->size }) != hash_slot)
    h = h->hh.next;
  return h;
}

void channels_slot_leaves(sim_server *s, uint16_t hash_slot)
{
  channel *h;

  while ((h = channel_of_slot(s, hash_slot)) != NULL) {
    sim_connection *c = h->listeners[0];
    blob *kept = blob_new((slice){ h->name, h->size });
    reply r = reply_to_bytes(&c->output);

    channels_leave(c, CHANNEL_SHARD, blob_slice(kept));
    reply_array(&r, 3);
    reply_string(&r, SLICE("sunsubscribe"));
    reply_string(&r, blob_slice(kept));
    reply_integer(&r, (int64_t)channels_of(c, true));
    sim_free(kept);
  }
}

size_t channels_subscribers(const sim_server *s, channel_kind kind, slice name)
{
  const channel *found = find(s, kind, name);

  return found == NULL ? 0 : found->count;
}

size_t channels_count(const sim_server *s, channel_kind kind)
{
  return HASH_COUNT(s->channels[kind]);
}

void channels_list(const sim_server *s, channel_kind kind, const slice *pattern, reply *r)
{
  size_t count = 0;

  for (const channel *h = s->channels[kind]; h != NULL; h = h->hh.next)
    count += pattern == NULL || slice_matches(*pattern, (slice){ h->name, h->size });
  reply_array(r, count);
  for (const channel *h = s->channels[kind]; h != NULL; h = h->hh.next)
    if (pattern == NULL || slice_matches(*pattern, (slice){ h->name, h->size }))
      reply_string(r, (slice){ h->name, h->size });
}

/* ---- messages ---- */

static void send(const channel *to, const char *kind, const slice *name, slice message)
{
  for (size_t i = 0; i < to->count; i++) {
    reply r = reply_to_bytes(&to->listeners[i]->output);

    reply_array(&r, name == NULL ? 3 : 4);
    reply_string(&r, slice_of(kind));
    reply_string(&r, (slice){ to->name, to->size });
    if (name != NULL)
      reply_string(&r, *name);
    reply_string(&r, message);
  }
}

size_t channels_publish(sim_server *s, channel_kind kind, slice name, slice message)
{
  const channel *found = find(s, kind, name);
  size_t receivers = 0;

  if (found != NULL) {
    send(found, kind == CHANNEL_SHARD ? "smessage" : "message", NULL, message);
    receivers = found->count;
  }
  if (kind == CHANNEL_PLAIN)
    for (const channel *p = s->channels[CHANNEL_PATTERN]; p != NULL; p = p->hh.next)
      if (slice_matches((slice){ p->name, p->size }, name)) {
        send(p, "pmessage", &name, message);
        receivers += p->count;
      }
  s->counts.messages += receivers;
  return receivers;
}
