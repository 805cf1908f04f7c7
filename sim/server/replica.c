/* SPDX-License-Identifier: MIT */
/* A replica: a second keyspace, to which the new state of each changed key comes a while
 * later. What a script did comes as one. */
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
  int64_t lag_us;
  bool is_cut;
  keyspace keys;
  uint64_t offset;              /* what it has */
  effect *log;                  /* on its way: log[first .. count - 1] */
  size_t first, count, capacity;
  blob **changed;               /* by the command that runs */
  size_t changed_count, changed_capacity;
};

void replica_note(sim_server *s, slice name)
{
  replica *r = s->replica;

  for (size_t i = 0; i < r->changed_count; i++)
    if (slice_equal(blob_slice(r->changed[i]), name))
      return;
  if (r->changed_count == r->changed_capacity) {
    r->changed_capacity = r->changed_capacity * 2 + 4;
    r->changed = sim_realloc(r->changed, r->changed_capacity * sizeof(blob *));
  }
  r->changed[r->changed_count++] = blob_new(name);
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
  replica *r = s->replica;

  if (r == NULL)
    return;
  for (size_t i = 0; i < r->changed_count; i++)
    sim_free(r->changed[i]);
  r->changed_count = 0;
  log_add(r, (effect){ .due_us = s->wall_us + r->lag_us, .offset = ++s->offset });
}

static void apply(replica *r, effect *e)
{
  key *entry;

  r->offset = e->offset;
  if (e->name == NULL) {
    keyspace_clear(&r->keys);
    return;
  }
  entry = keyspace_find(&r->keys, blob_slice(e->name));
  if (e->value.kind == VALUE_NONE && entry != NULL) {
    keyspace_remove(&r->keys, entry);
  } else if (e->value.kind != VALUE_NONE) {
    if (entry == NULL)
      entry = keyspace_add(&r->keys, blob_slice(e->name));
    value_clear(key_value(entry));
    *key_value(entry) = e->value;
    key_set_expires_ms(entry, e->expires_ms);
  }
  sim_free(e->name);
}

void replica_catch_up(sim_server *s)
{
  replica *r = s->replica;

  while (r != NULL && !r->is_cut && r->first < r->count &&
         r->log[r->first].due_us <= s->wall_us)
    apply(r, &r->log[r->first++]);
}

void replica_end_of_command(sim_server *s)
{
  replica *r = s->replica;

  for (size_t i = 0; i < r->changed_count; i++) {
    key *entry = keyspace_find(&s->keys, blob_slice(r->changed[i]));
    effect e = { .due_us = s->wall_us + r->lag_us, .offset = ++s->offset,
                 .name = r->changed[i], .expires_ms = NEVER_MS };

    if (entry != NULL) {
      e.value = value_copy(key_value(entry));
      e.expires_ms = key_expires_ms(entry);
    }
    log_add(r, e);
  }
  r->changed_count = 0;
  replica_catch_up(s);
}

/* The lag is a time that passes; a clock that is set back makes it no longer. */
void replica_clock_moved(sim_server *s, int64_t by_us)
{
  replica *r = s->replica;

  for (size_t i = r == NULL || by_us >= 0 ? SIZE_MAX : r->first; i < SIZE_MAX && i < r->count;
       i++)
    r->log[i].due_us += by_us;
}

int64_t replica_next_us(const sim_server *s)
{
  const replica *r = s->replica;

  return r == NULL || r->is_cut || r->first == r->count ? INT64_MAX
    : r->log[r->first].due_us;
}

int64_t replica_count(const sim_server *s, uint64_t offset)
{
  return s->replica != NULL && !s->replica->is_cut && s->replica->offset >= offset;
}

static void forget_log(replica *r)
{
  for (; r->first < r->count; r->first++) {
    value_clear(&r->log[r->first].value);
    sim_free(r->log[r->first].name);
  }
  for (size_t i = 0; i < r->changed_count; i++)
    sim_free(r->changed[i]);
}

replica *replica_free(replica *r)
{
  if (r == NULL)
    return NULL;
  forget_log(r);
  keyspace_clear(&r->keys);
  sim_free(r->changed);
  sim_free(r->log);
  sim_free(r);
  return NULL;
}

void sim_server_replica(sim_server *s, int64_t lag_us)
{
  if (lag_us < 0) {
    s->replica = replica_free(s->replica);
    return;
  }
  if (s->replica == NULL) {
    s->replica = sim_zalloc(sizeof(*s->replica));
    keyspace_copy(&s->replica->keys, &s->keys);
    s->replica->offset = s->offset;
  }
  s->replica->lag_us = lag_us;
}

void sim_server_replica_cut(sim_server *s, bool is_cut)
{
  if (s->replica == NULL)
    return;
  s->replica->is_cut = is_cut;
  replica_catch_up(s);
}

void sim_server_fail_over(sim_server *s)
{
  replica *r = s->replica;

  for (sim_connection *c = s->first; c != NULL; c = c->next) {
    connection_end(c);
    buffer_clear(&c->output);
  }
  replica_catch_up(s);
  keyspace_clear(&s->keys);
  if (r != NULL) {
    s->keys = r->keys;
    r->keys = (keyspace){ NULL, NULL, 0, 0, 0 };
    s->offset = r->offset;
  }
  s->replica = replica_free(r);
  scripting_forget(s->scripting);
  s->pause_until_us = INT64_MIN;
  s->version++;
}
