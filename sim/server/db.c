/* SPDX-License-Identifier: MIT */
/* Keys as commands see them: one that is over is not there. */
#include "server/parts.h"

/* How many keys one tick looks at. */
#define SAMPLE 20

bool db_is_over(const sim_server *s, const key *entry)
{
  return server_now_ms(s) > key_expires_ms(entry);
}

/* Replicas leave what is over to their primary; a paused server changes nothing. */
static bool may_remove(const sim_server *s)
{
  return !s->is_looking && !server_is_replica(s) && !server_is_paused(s);
}

static void expire(sim_server *s, key *entry)
{
  s->counts.expired++;
  db_remove(s, entry);
}

key *db_find(sim_server *s, slice name)
{
  key *entry = keyspace_find(&s->keys, name);

  if (entry == NULL || !db_is_over(s, entry))
    return entry;
  if (may_remove(s))
    expire(s, entry);
  return NULL;
}

key *db_find_kind(call *c, slice name, value_kind kind, bool *ret_is_wrong)
{
  key *entry = db_find(c->server, name);

  *ret_is_wrong = entry != NULL && key_value(entry)->kind != kind;
  if (!*ret_is_wrong)
    return entry;
  reply_wrong_type(c->reply);
  return NULL;
}

key *db_add(sim_server *s, slice name)
{
  key *old = keyspace_find(&s->keys, name);

  /* One that is over, and could not be removed when it was looked for. */
  if (old != NULL)
    keyspace_remove(&s->keys, old);
  return keyspace_add(&s->keys, name);
}

static void make_value(value *v, value_kind kind)
{
  v->kind = kind;
  switch (kind) {
  case VALUE_NONE: break;
  case VALUE_STRING: v->as.string = blob_new(SLICE("")); break;
  case VALUE_STREAM:
  case VALUE_LIST: v->as.list = list_new(); break;
  case VALUE_HASH: v->as.hash = hash_new(); break;
  case VALUE_ZSET: v->as.zset = zset_new(); break;
  }
}

key *db_need(call *c, slice name, value_kind kind)
{
  bool is_wrong;
  key *entry = db_find_kind(c, name, kind, &is_wrong);

  if (entry != NULL || is_wrong)
    return entry;
  entry = db_add(c->server, name);
  make_value(key_value(entry), kind);
  return entry;
}

void db_set_string(sim_server *s, slice name, slice bytes, int64_t expires_ms)
{
  key *entry = db_find(s, name);       /* one that is over is removed first: watchers see it */
  blob *fresh = blob_new(bytes);

  if (entry == NULL)
    entry = db_add(s, name);
  value_clear(key_value(entry));
  *key_value(entry) = (value){ .kind = VALUE_STRING, .as.string = fresh };
  key_set_expires_ms(entry, expires_ms);
  db_changed(s, key_name(entry));
}

void db_changed(sim_server *s, slice name)
{
  s->version++;
  if (s->watchers > 0)
    transaction_key_changed(s, name);
  if (s->replica != NULL)
    replica_note(s, name);
}

void db_remove(sim_server *s, key *entry)
{
  db_changed(s, key_name(entry));
  keyspace_remove(&s->keys, entry);
}

static bool is_empty(const value *v)
{
  return (v->kind == VALUE_LIST && v->as.list->count == 0) ||
         (v->kind == VALUE_HASH && hash_count(v->as.hash) == 0) ||
         (v->kind == VALUE_ZSET && zset_count(v->as.zset) == 0);
}

void db_remove_if_empty(sim_server *s, key *entry)
{
  if (is_empty(key_value(entry)))
    keyspace_remove(&s->keys, entry);
}

void db_flush(sim_server *s)
{
  if (s->watchers > 0)
    for (key *k = keyspace_next(&s->keys, NULL); k != NULL; k = keyspace_next(&s->keys, k))
      transaction_key_changed(s, key_name(k));
  keyspace_clear(&s->keys);
  s->version++;
  replica_note_flush(s);
}

void db_expire_some(sim_server *s)
{
  if (!may_remove(s))
    return;
  for (int i = 0; i < SAMPLE; i++) {
    key *entry = keyspace_draw(&s->keys, &s->random);

    if (entry != NULL && db_is_over(s, entry))
      expire(s, entry);
  }
  execute_end(s);
}

size_t db_count(const sim_server *s)
{
  size_t count = 0;

  for (const key *k = keyspace_next(&s->keys, NULL); k != NULL;
       k = keyspace_next(&s->keys, k))
    count += !db_is_over(s, k);
  return count;
}
