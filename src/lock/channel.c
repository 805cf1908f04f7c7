/* SPDX-License-Identifier: MIT */
/* lock/channel.c - whether messages about a name reach us: by the inbox of its route, or in
 * Cluster by a channel of its tag's own on that route (protocol.md 15). */
#include "lock/table.h"

#include <string.h>

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

static void name_channel_text(const name *n, text *out)
{
  const native *words = &n->table->native;

  if (n->kind == NAME_SET)
    dialect_channel(words, n->members[0].name, n->members[0].size, 0, n->flavour, n->ask, out);
  else
    dialect_channel(words, n->bytes, n->size, n->mode, n->flavour, n->ask, out);
}

/* Refused memory: the next poll tries again. */
static void channel_join(name *n, channel **place, const text *words)
{
  lock_table *t = n->table;
  channel *c;

  if (*place != NULL)
    return;
  c = channel_find(t, words->at, words->used);
  if (c == NULL)
    c = channel_new(t, n->route, words->at, words->used);
  if (c == NULL)
    return;
  c->uses++;
  *place = c;
  channel_due(c);
}

static void channels_join(name *n)
{
  char bytes[CHANNEL_TEXT_SIZE];
  text words = text_over(bytes, sizeof(bytes));

  name_channel_text(n, &words);
  channel_join(n, &n->channel, &words);
  words = text_over(bytes, sizeof(bytes));
  if (dialect_side_channel(&n->table->native, &words))
    channel_join(n, &n->side_channel, &words);
}

static bool is_on(const name *n, const channel *c)
{
  return n->channel == c || n->side_channel == c;
}

static void channel_free(lock_table *t, channel *c)
{
  HASH_DELETE(by_bytes, t->channels, c);
  mem_free(&t->memory, c);
}

/* One that is subscribed lives until that has been taken back. */
static void leave(name *n, channel **place)
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
    channel_free(n->table, c);
}

void channel_leave(name *n)
{
  leave(n, &n->channel);
  leave(n, &n->side_channel);
}

void channel_forget(name *n)
{
  if (n->flavour == FLAVOUR_FAIR)
    channel_leave(n);
}

/* Who spins is told nothing. */
void inbox_want(name *n)
{
  lock_table *t = n->table;

  if (t->only_polls || n->flavour == FLAVOUR_SPIN)
    return;
  n->route->wants_inbox = true;
  if (dialect_has_channels(&t->native))
    channels_join(n);
}

bool inbox_hears(const name *n)
{
  if (!n->route->inbox_is_up)
    return false;
  return !dialect_has_channels(&n->table->native) || (n->channel != NULL && n->channel->is_up);
}

/* The server counts nobody there: subscribe again, if the subscription is older than that. */
void inbox_found_deaf(name *n, instant sent_at)
{
  route *r = n->route;
  channel *c = n->channel;

  if (!dialect_has_channels(&n->table->native)) {
    if (instant_before(r->inbox_up_at, sent_at))
      r->inbox_is_deaf = true;
  } else if (c != NULL && instant_before(c->up_at, sent_at)) {
    c->is_up = c->is_asked = false;
    channel_due(c);
  }
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

/* ---- what it says ---- */

static bool is_key_of(const name *n, const char *bytes, size_t size)
{
  char key[KEY_TEXT_SIZE];
  text k = text_over(key, sizeof(key));

  dialect_key(&n->table->native, n->bytes, n->size, &k);
  return k.used == size && memcmp(key, bytes, size) == 0;
}

/* That it is free, and no more: who waits asks. A channel of many locks says which. Who has it
 * by then perhaps has it no more: a forced unlock says the same. */
static void channel_spoke(lock_table *t, const channel *c, const char *bytes, size_t size,
                          instant now)
{
  for (name *n = c != NULL ? t->first_name : NULL; n != NULL; n = n->next)
    if (n->state == NAME_QUEUED &&
        (n->channel == c || (n->side_channel == c && is_key_of(n, bytes, size))))
      way_told(n, now);
    else if (n->channel == c && n->state == NAME_HELD && !n->is_fixed)
      name_renewal_due(n);
}

void lock_message(lock_table *t, const char *where, size_t where_size, const char *bytes,
                  size_t size, instant now)
{
  if (dialect_traits_of(&t->native)->hands_over)
    inbox_speaks(t, bytes, size, now);
  else
    channel_spoke(t, channel_find(t, where, where_size), bytes, size, now);
}

/* ---- what becomes of a subscription ---- */

void name_hears(name *n)
{
  if ((n->state == NAME_ASKING && n->needs_inbox) || n->state == NAME_QUEUED) {
    n->needs_inbox = false;
    name_due(n);
  } else if (n->state == NAME_HELD && !n->is_fixed) {
    name_renewal_due(n);                /* a `want` may have been lost: the answer tells */
  }
}

void lock_channel_up(lock_table *t, size_t r, const char *bytes, size_t size, instant now)
{
  channel *c = channel_find(t, bytes, size);

  if (c == NULL || c->route != t->routes[r] || !c->is_asked)
    return;
  c->is_up = true;
  c->up_at = now;
  for (name *n = t->first_name; n != NULL; n = n->next)
    if (is_on(n, c))
      name_hears(n);
}

static void channel_lost(lock_table *t, channel *c, instant now)
{
  name *n, *next;

  c->is_up = c->is_asked = false;
  for (n = t->first_name; n != NULL; n = next) {
    next = n->next;
    if (is_on(n, c) && n->state == NAME_LINGERING)
      linger_end(n, now);
  }
}

/* Its slot has moved: the name's next poll finds out where to. */
void lock_channel_down(lock_table *t, size_t r, const char *bytes, size_t size, instant now)
{
  channel *c = channel_find(t, bytes, size);

  if (c == NULL || c->route != t->routes[r])
    return;
  channel_lost(t, c, now);
  for (name *n = t->first_name; n != NULL; n = n->next)
    if (is_on(n, c) && (n->state == NAME_QUEUED || n->state == NAME_ASKING)) {
      n->needs_inbox = false;
      name_due(n);
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
  t->native.has_sharded_channels = has_them;
}

bool lock_channels_are_sharded(const lock_table *t)
{
  return t->native.has_sharded_channels && dialect_traits_of(&t->native)->is_sharded;
}

void lock_channels_refused(lock_table *t, size_t number)
{
  for (channel *c = t->channels; c != NULL; c = c->by_bytes.next)
    if (c->route == t->routes[number] && c->is_asked && !c->is_up)
      c->is_asked = false;               /* the next poll that is answered `deaf` asks again */
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

/* Where the names of a channel live now, it must stand; the old node ends it by itself, or
 * is told nothing: a message that comes from there is a hint like any other. */
void channels_moved(lock_table *t)
{
  for (size_t i = 0; i < t->route_count; i++)
    channels_forget_due(t->routes[i]);
  channels_forget_due(t->nowhere);       /* where names were whose slot nobody served */
  for (name *n = t->first_name; n != NULL; n = n->next) {
    channel *c = n->channel;

    if (c == NULL || c->route == n->route)
      continue;
    c->route = n->route;
    c->is_up = c->is_asked = false;
    n->route->wants_inbox = true;
  }
  for (channel *c = t->channels, *next; c != NULL; c = next) {
    next = c->by_bytes.next;
    if (c->uses == 0 && !c->is_asked)
      channel_free(t, c);
    else if (c->uses == 0 || !c->is_asked)
      channel_due(c);
  }
}
