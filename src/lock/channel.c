/* SPDX-License-Identifier: MIT */
/* lock/channel.c - the channels on which messages about a name arrive: the client channel
 * of its route, or in a cluster a channel of its tag on that route (protocol.md 15). */
#include "lock/table.h"

#include <string.h>

#include "base/hash.h"

#define HASH_NONFATAL_OOM 1
#undef uthash_malloc
#undef uthash_free
#define uthash_malloc(bytes) mem_alloc(&t->memory, (bytes))
#define uthash_free(pointer, bytes) mem_free(&t->memory, (pointer))

static void channel_due(channel *c)
{
  route *r = c->route;

  if (c->is_due)
    return;
  c->is_due = true;
  c->next_due = NULL;
  if (r->last_channel != NULL)
    r->last_channel->next_due = c;
  else
    r->first_channel = c;
  r->last_channel = c;
}

static channel *channel_find(const lock_table *t, const char *bytes, size_t size)
{
  channel *c = NULL;

  HASH_FIND(by_bytes, t->channels, bytes, size, c);
  return c;
}

static channel *channel_new(lock_table *t, route *r, const char *bytes, size_t size)
{
  channel *c = mem_zalloc(&t->memory, sizeof(*c) + size);

  if (c == NULL)
    return NULL;
  c->route = r;
  c->size = size;
  memcpy(c->bytes, bytes, size);
  HASH_ADD(by_bytes, t->channels, bytes[0], c->size, c);
  if (c->by_bytes.tbl == NULL) {
    mem_free(&t->memory, c);
    return NULL;
  }
  return c;
}

static void lease_channel_text(const lease *l, text *out)
{
  const protocol *p = &l->table->protocol;

  if (l->kind == LEASE_SET)
    p->dialect->channel(p, l->many.names[0].name, l->many.names[0].size, 0, l->lock_kind,
                        l->ask.number, out);
  else
    p->dialect->channel(p, l->bytes, l->size, l->mode, l->lock_kind, l->ask.number, out);
}

/* Without memory the next poll tries again. */
static void channel_join(lease *l, channel **place, const text *words)
{
  lock_table *t = l->table;
  channel *c;

  if (*place != NULL)
    return;
  c = channel_find(t, words->at, words->used);
  if (c == NULL)
    c = channel_new(t, l->route, words->at, words->used);
  if (c == NULL)
    return;
  c->uses++;
  *place = c;
  channel_due(c);
}

static void channels_join(lease *l)
{
  const protocol *p = &l->table->protocol;
  char bytes[CHANNEL_TEXT_SIZE];
  text words = text_over(bytes, sizeof(bytes));

  lease_channel_text(l, &words);
  channel_join(l, &l->channel, &words);
  if (p->dialect->side_channel == NULL)
    return;
  words = text_over(bytes, sizeof(bytes));
  p->dialect->side_channel(p, &words);
  channel_join(l, &l->side_channel, &words);
}

static bool is_on(const lease *l, const channel *c)
{
  return l->channel == c || l->side_channel == c;
}

static void channel_free(lock_table *t, channel *c)
{
  HASH_DELETE(by_bytes, t->channels, c);
  mem_free(&t->memory, c);
}

/* A subscribed channel lives until its unsubscription is sent. */
static void leave(lease *l, channel **place)
{
  channel *c = *place;

  if (c == NULL)
    return;
  *place = NULL;
  if (--c->uses > 0)
    return;
  if (c->is_asked || c->is_due)
    channel_due(c);
  else
    channel_free(l->table, c);
}

void channel_leave(lease *l)
{
  leave(l, &l->channel);
  leave(l, &l->side_channel);
}

void channel_forget(lease *l)
{
  if (l->lock_kind == LOCK_FAIR)
    channel_leave(l);
}

/* Spin locks have no messages. */
void inbox_want(lease *l)
{
  lock_table *t = l->table;

  if (t->only_polls || l->lock_kind == LOCK_SPIN)
    return;
  l->route->wants_inbox = true;
  if (dialect_has_channels(&t->protocol))
    channels_join(l);
}

instant inbox_hears_since(const lease *l)
{
  if (!l->route->inbox_is_up)
    return INSTANT_NEVER;
  if (!dialect_has_channels(&l->table->protocol))
    return l->route->inbox_up_at;
  return l->channel != NULL && l->channel->is_up ? l->channel->up_at : INSTANT_NEVER;
}

bool inbox_hears(const lease *l)
{
  return !instant_is_never(inbox_hears_since(l));
}

/* PUBSUB NUMSUB found no subscriber. Subscribes again unless the subscription is newer
 * than the request. */
void inbox_found_no_subscriber(lease *l, instant sent_at)
{
  route *r = l->route;
  channel *c = l->channel;

  if (!dialect_has_channels(&l->table->protocol)) {
    if (instant_before(r->inbox_up_at, sent_at))
      r->inbox_has_no_subscriber = true;
  } else if (c != NULL && instant_before(c->up_at, sent_at)) {
    c->is_up = c->is_asked = false;
    channel_due(c);
  }
}

void channel_ask_again(lease *l)
{
  channel *c = l->channel;

  if (c != NULL && !c->is_up && !c->is_asked)
    channel_due(c);
}

bool lock_next_channel(lock_table *t, size_t number, text *ret_channel, bool *ret_leave)
{
  route *r = t->routes[number];
  channel *c;

  while (r->inbox_is_up && (c = r->first_channel) != NULL) {
    bool is_left = c->uses == 0, was_asked = c->is_asked;

    r->first_channel = c->next_due;
    if (r->first_channel == NULL)
      r->last_channel = NULL;
    c->is_due = false;
    if (is_left == was_asked) {
      text_add_bytes(ret_channel, c->bytes, c->size);
      *ret_leave = is_left;
      c->is_asked = !is_left;
      if (is_left)
        channel_free(t, c);
      return true;
    }
    if (is_left)
      channel_free(t, c);
  }
  return false;
}

/* ---- messages ---- */

static bool is_key_of(const lease *l, const char *bytes, size_t size)
{
  const protocol *p = &l->table->protocol;
  char key[KEY_TEXT_SIZE];
  text k = text_over(key, sizeof(key));

  p->dialect->key(p, l->bytes, l->size, &k);
  return k.used == size && memcmp(key, bytes, size) == 0;
}

/* The name is free: its waiters ask. A channel of several locks names the lock in the
 * message. A holder renews, because a forced unlock sends the same message. */
static void channel_spoke(lock_table *t, const channel *c, const char *bytes, size_t size,
                          instant now)
{
  for (lease *l = c != NULL ? t->first_lease : NULL; l != NULL; l = l->next)
    if (l->state == LEASE_QUEUED &&
        (l->channel == c || (l->side_channel == c && is_key_of(l, bytes, size)))) {
      if (hint_is_in_time(l, now))
        yield_reported(l, now);
    } else if (l->channel == c && l->state == LEASE_HELD && hints_take(t, HINT_ASK, now)) {
      hold_check(l);
    }
}

void lock_message(lock_table *t, const char *where, size_t where_size, const char *bytes,
                  size_t size, instant now)
{
  if (t->protocol.dialect->traits.hands_over)
    inbox_speaks(t, bytes, size, now);
  else
    channel_spoke(t, channel_find(t, where, where_size), bytes, size, now);
}

/* ---- subscriptions ---- */

void lease_hears(lease *l)
{
  if ((l->state == LEASE_ASKING && l->ask.needs_inbox) || l->state == LEASE_QUEUED) {
    l->ask.needs_inbox = false;
    lease_due(l);
  } else if (l->state == LEASE_HELD && !lease_never_ends(l)) {
    hold_check(l);                      /* a `lost` or `want` may be lost */
  }
}

void lock_channel_up(lock_table *t, size_t r, const char *bytes, size_t size, instant now)
{
  channel *c = channel_find(t, bytes, size);

  if (c == NULL || c->route != t->routes[r] || !c->is_asked)
    return;
  c->is_up = true;
  c->up_at = now;
  inbox_found(c->route, now);
  for (lease *l = t->first_lease; l != NULL; l = l->next)
    if (is_on(l, c))
      lease_hears(l);
}

static void channel_lost(lock_table *t, channel *c, instant now)
{
  lease *l, *next;

  c->is_up = c->is_asked = false;
  for (l = t->first_lease; l != NULL; l = next) {
    next = l->next;
    if (is_on(l, c) && l->state == LEASE_PARKED)
      lease_become(l, LEASE_RELEASING, now);
  }
}

/* The slot has moved: the name's next poll finds its new node. */
void lock_channel_down(lock_table *t, size_t r, const char *bytes, size_t size, instant now)
{
  channel *c = channel_find(t, bytes, size);

  if (c == NULL || c->route != t->routes[r])
    return;
  channel_lost(t, c, now);
  for (lease *l = t->first_lease; l != NULL; l = l->next)
    if (is_on(l, c) && lease_is_in(l, STATES_ASK)) {
      l->ask.needs_inbox = false;
      lease_due(l);
    }
}

void channels_down(route *r)
{
  channel *c, *next;

  HASH_ITER(by_bytes, r->table->channels, c, next)
    if (c->route == r) {
      c->is_up = c->is_asked = false;
      channel_due(c);
    }
}

void lock_sharded_channels(lock_table *t, bool has_them)
{
  t->protocol.has_sharded_channels = has_them;
}

bool lock_channels_are_sharded(const lock_table *t)
{
  return t->protocol.has_sharded_channels && t->protocol.dialect->traits.is_sharded;
}

void lock_channel_refused(lock_table *t, size_t number, uint64_t hash, bool is_forbidden,
                          const char *words, instant now)
{
  if (is_forbidden)
    polling_forbidden(t->routes[number], words, now);
  else
    inbox_refused(t->routes[number], words);
  for (channel *c = t->channels; c != NULL; c = c->by_bytes.next)
    if (c->route == t->routes[number] && c->is_asked && !c->is_up &&
        fnv1a(FNV1A_START, c->bytes, c->size) == hash)
      c->is_asked = false;               /* the next poll answered `deaf` subscribes again */
}

void channels_free(lock_table *t)
{
  while (t->channels != NULL)
    channel_free(t, t->channels);
}

static void channels_forget_due(route *r)
{
  while (r->first_channel != NULL) {
    channel *c = r->first_channel;

    r->first_channel = c->next_due;
    c->is_due = false;
  }
  r->last_channel = NULL;
}

/* Subscribes channels on the new routes of their names. The old node ends the
 * subscription, or keeps it: a message from there is a hint like any other. */
void channels_moved(lock_table *t)
{
  for (size_t i = 0; i < t->route_count; i++)
    channels_forget_due(t->routes[i]);
  channels_forget_due(t->nowhere);       /* of names whose slot no node served */
  for (lease *l = t->first_lease; l != NULL; l = l->next) {
    channel *c = l->channel;

    if (c == NULL || c->route == l->route)
      continue;
    c->route = l->route;
    c->is_up = c->is_asked = false;
    l->route->wants_inbox = true;
  }
  for (channel *c = t->channels, *next; c != NULL; c = next) {
    next = c->by_bytes.next;
    if (c->uses == 0 && !c->is_asked)
      channel_free(t, c);
    else if (c->uses == 0 || !c->is_asked)
      channel_due(c);
  }
}
