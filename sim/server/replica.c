/* SPDX-License-Identifier: MIT */
/* Replicas: keyspaces to which the new state of each changed key comes a while later. What a
 * script did comes as one. One is inside this server, for tests of a single machine; others
 * are servers of their own, to which their world carries the stream (roles.c). */
#include "server/parts.h"

/* The new state of one key; no name: everything is gone. */
typedef struct effect {
  int64_t due_us;
  uint64_t offset;
  blob *name;
  value value;                  /* VALUE_NONE: the key is gone */
  int64_t expires_ms;
} effect;

struct replica {
  replica *next;
  sim_server *follower;         /* NULL: inside */
  int64_t lag_us;               /* inside */
  bool is_cut;                  /* inside */
  keyspace keys;                /* inside */
  uint64_t offset;              /* what it has */
  uint64_t heard;               /* follower: what the primary has heard that it has */
  int64_t heard_at_s;           /* and when, by the primary's wall clock */
  effect *log;                  /* on its way: log[first .. count - 1] */
  size_t first, count, capacity;
};

void replica_note(sim_server *s, slice name)
{
  for (size_t i = 0; i < s->changed_count; i++)
    if (slice_equal(blob_slice(s->changed[i]), name))
      return;
  if (s->changed_count == s->changed_capacity) {
    s->changed_capacity = s->changed_capacity * 2 + 4;
    s->changed = sim_realloc(s->changed, s->changed_capacity * sizeof(blob *));
  }
  s->changed[s->changed_count++] = blob_new(name);
}

static void changed_forget(sim_server *s)
{
  for (size_t i = 0; i < s->changed_count; i++)
    sim_free(s->changed[i]);
  s->changed_count = 0;
}

static void log_add(replica *r, effect e)
{
  if (r->first > 0 && r->first == r->count)
    r->first = r->count = 0;
  if (r->count == r->capacity) {
    r->capacity = r->capacity * 2 + 16;
    r->log = sim_realloc(r->log, r->capacity * sizeof(effect));
  }
  r->log[r->count++] = e;
}

void replica_note_flush(sim_server *s)
{
  if (s->replica == NULL)
    return;
  changed_forget(s);
  s->offset++;
  for (replica *r = s->replica; r != NULL; r = r->next)
    log_add(r, (effect){ .due_us = s->wall_us + r->lag_us, .offset = s->offset });
}

static void apply_to(keyspace *keys, effect *e)
{
  key *entry;

  if (e->name == NULL) {
    keyspace_clear(keys);
    return;
  }
  entry = keyspace_find(keys, blob_slice(e->name));
  if (e->value.kind == VALUE_NONE && entry != NULL) {
    keyspace_remove(keys, entry);
  } else if (e->value.kind != VALUE_NONE) {
    if (entry == NULL)
      entry = keyspace_add(keys, blob_slice(e->name));
    value_clear(key_value(entry));
    *key_value(entry) = e->value;
    key_set_expires_ms(entry, e->expires_ms);
  }
}

static void apply(replica *r, effect *e)
{
  r->offset = e->offset;
  apply_to(r->follower == NULL ? &r->keys : &r->follower->keys, e);
  if (r->follower != NULL) {
    r->follower->offset = e->offset;
    r->follower->version++;
    if (r->follower->watchers > 0 && e->name != NULL)
      transaction_key_changed(r->follower, blob_slice(e->name));
  }
  sim_free(e->name);
}

void replica_catch_up(sim_server *s)
{
  for (replica *r = s->replica; r != NULL; r = r->next)
    while (r->follower == NULL && !r->is_cut && r->first < r->count &&
           r->log[r->first].due_us <= s->wall_us)
      apply(r, &r->log[r->first++]);
}

void replica_end_of_command(sim_server *s)
{
  for (size_t i = 0; i < s->changed_count; i++) {
    slice name = blob_slice(s->changed[i]);
    key *entry = keyspace_find(&s->keys, name);

    s->offset++;
    for (replica *r = s->replica; r != NULL; r = r->next) {
      effect e = { .due_us = s->wall_us + r->lag_us, .offset = s->offset,
                   .name = blob_new(name), .expires_ms = NEVER_MS };

      if (entry != NULL) {
        e.value = value_copy(key_value(entry));
        e.expires_ms = key_expires_ms(entry);
      }
      log_add(r, e);
    }
  }
  changed_forget(s);
  replica_catch_up(s);
}

/* The lag is a time that passes; a clock that is set back makes it no longer. */
void replica_clock_moved(sim_server *s, int64_t by_us)
{
  if (by_us >= 0)
    return;
  for (replica *r = s->replica; r != NULL; r = r->next)
    for (size_t i = r->first; i < r->count; i++)
      r->log[i].due_us += by_us;
}

int64_t replica_next_us(const sim_server *s)
{
  int64_t next = INT64_MAX;

  for (const replica *r = s->replica; r != NULL; r = r->next)
    if (r->follower == NULL && !r->is_cut && r->first < r->count &&
        r->log[r->first].due_us < next)
      next = r->log[r->first].due_us;
  return next;
}

int64_t replica_count(const sim_server *s, uint64_t offset)
{
  int64_t count = 0;

  for (const replica *r = s->replica; r != NULL; r = r->next)
    count += r->follower == NULL ? !r->is_cut && r->offset >= offset : r->heard >= offset;
  return count;
}

size_t replica_connected(const sim_server *s)
{
  size_t count = 0;

  for (const replica *r = s->replica; r != NULL; r = r->next)
    count++;
  return count;
}

int64_t replica_good_count(const sim_server *s)
{
  int64_t count = 0, now_s = s->wall_us / 1000000;

  for (const replica *r = s->replica; r != NULL; r = r->next)
    count += r->follower == NULL ? !r->is_cut : now_s - r->heard_at_s <= s->max_lag_s;
  return count;
}

bool replica_report(const sim_server *s, size_t i, replica_view *ret)
{
  const replica *r = s->replica;

  while (r != NULL && i-- > 0)
    r = r->next;
  if (r == NULL)
    return false;
  *ret = r->follower == NULL
    ? (replica_view){ "replica", 6379, 0, 0 }
    : (replica_view){ r->follower->host, r->follower->port, r->heard,
                      s->wall_us / 1000000 - r->heard_at_s };
  return true;
}

static replica *replica_free(replica *r)
{
  for (; r->first < r->count; r->first++) {
    value_clear(&r->log[r->first].value);
    sim_free(r->log[r->first].name);
  }
  keyspace_clear(&r->keys);
  sim_free(r->log);
  sim_free(r);
  return NULL;
}

sim_server *replica_first_follower(const sim_server *s)
{
  const replica *r = s->replica;

  while (r != NULL && r->follower == NULL)
    r = r->next;
  return r == NULL ? NULL : r->follower;
}

static replica **find(sim_server *s, const sim_server *follower)
{
  replica **at = &s->replica;

  while (*at != NULL && (*at)->follower != follower)
    at = &(*at)->next;
  return at;
}

static void leave(sim_server *s, replica **at)
{
  replica *r = *at;

  *at = r->next;
  (void)replica_free(r);
  if (s->replica == NULL)
    changed_forget(s);
}

void replica_leave(sim_server *s, const sim_server *follower)
{
  replica **at = find(s, follower);

  if (*at != NULL)
    leave(s, at);
}

void replica_leave_all(sim_server *s)
{
  while (s->replica != NULL)
    leave(s, &s->replica);
  sim_free(s->changed);
  s->changed = NULL;
  s->changed_capacity = 0;
}

/* Last in the list: they keep the order in which they came. */
static replica *join(sim_server *s, sim_server *follower)
{
  replica *r = sim_zalloc(sizeof(*r)), **at = &s->replica;

  if (s->replica == NULL)
    roles_first_replica(s);
  while (*at != NULL)
    at = &(*at)->next;
  *at = r;
  r->follower = follower;
  r->offset = r->heard = s->offset;
  r->heard_at_s = s->wall_us / 1000000;
  return r;
}

void replica_join(sim_server *s, sim_server *follower)
{
  (void)join(s, follower);
  keyspace_clear(&follower->keys);
  keyspace_copy(&follower->keys, &s->keys);
}

void replica_receive(sim_server *s, sim_server *follower, uint64_t offset)
{
  replica *r = *find(s, follower);

  while (r != NULL && r->first < r->count && r->log[r->first].offset <= offset)
    apply(r, &r->log[r->first++]);
}

void replica_hear(sim_server *s, const sim_server *follower, uint64_t offset)
{
  replica *r = *find(s, follower);

  if (r == NULL)
    return;
  if (offset > r->heard)
    r->heard = offset;
  r->heard_at_s = s->wall_us / 1000000;
}

/* ---- the one inside ---- */

void sim_server_replica(sim_server *s, int64_t lag_us)
{
  replica **at = find(s, NULL);

  if (lag_us < 0) {
    if (*at != NULL)
      leave(s, at);
    return;
  }
  if (*at == NULL)
    keyspace_copy(&join(s, NULL)->keys, &s->keys);
  (*find(s, NULL))->lag_us = lag_us;
}

void sim_server_replica_cut(sim_server *s, bool is_cut)
{
  replica *r = *find(s, NULL);

  if (r == NULL)
    return;
  r->is_cut = is_cut;
  replica_catch_up(s);
}

void sim_server_fail_over(sim_server *s)
{
  replica *r = *find(s, NULL);

  connections_end_all(s);
  replica_catch_up(s);
  keyspace_clear(&s->keys);
  if (r != NULL) {
    s->keys = r->keys;
    r->keys = (keyspace){ NULL, NULL, 0, 0, 0 };
    s->offset = r->offset;
  }
  replica_leave_all(s);
  roles_new_era(s, true);
  scripting_forget(s->scripting);
  s->pause_until_us = INT64_MIN;
  s->version++;
}
