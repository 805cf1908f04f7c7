/* SPDX-License-Identifier: MIT */
/* Commands: GET, SET and their kin. */
#include "server/expiry.h"
#include "server/parts.h"

static void get(call *c, slice name)
{
  bool is_wrong;
  key *entry = db_find_kind(c, name, VALUE_STRING, &is_wrong);

  if (entry != NULL)
    reply_string(c->reply, blob_slice(key_value(entry)->as.string));
  else if (!is_wrong)
    reply_nothing(c->reply);
}

static void run_get(call *c) { get(c, c->words[1]); }

static void run_mget(call *c)
{
  reply_array(c->reply, c->count - 1);
  for (size_t i = 1; i < c->count; i++) {
    key *entry = db_find(c->server, c->words[i]);

    if (entry == NULL || key_value(entry)->kind != VALUE_STRING)
      reply_nothing(c->reply);
    else
      reply_string(c->reply, blob_slice(key_value(entry)->as.string));
  }
}

typedef struct set_options {
  bool if_absent, if_there, keeps_ttl, gets;
  const slice *if_equal;        /* NULL: no IFEQ */
  int64_t expires_ms;
} set_options;

/* false: answered with an error. */
static bool set_options_read(call *c, set_options *o)
{
  expiry_unit unit = (expiry_unit)0;
  const slice *expiry = NULL;

  *o = (set_options){ .expires_ms = NEVER_MS };
  for (size_t i = 3; i < c->count; i++) {
    slice word = c->words[i];

    if (slice_is(word, "nx") && !o->if_there && o->if_equal == NULL)
      o->if_absent = true;
    else if (slice_is(word, "xx") && !o->if_absent && o->if_equal == NULL)
      o->if_there = true;
    else if (c->server->has_ifeq && slice_is(word, "ifeq") && !o->if_absent && !o->if_there &&
             o->if_equal == NULL && i + 1 < c->count)
      o->if_equal = &c->words[++i];
    else if (slice_is(word, "get"))
      o->gets = true;
    else if (slice_is(word, "keepttl") && expiry == NULL)
      o->keeps_ttl = true;
    else if (!o->keeps_ttl && expiry == NULL && i + 1 < c->count &&
             expiry_unit_of(word, &unit))
      expiry = &c->words[++i];
    else {
      reply_syntax_error(c->reply);
      return false;
    }
  }
  return expiry == NULL || expiry_read_positive(c, *expiry, unit, "set", &o->expires_ms);
}

static bool is_equal(key *entry, const slice *to)
{
  return entry != NULL && slice_equal(blob_slice(key_value(entry)->as.string), *to);
}

static void run_set(call *c)
{
  set_options o;
  key *entry;
  bool is_refused;

  if (!set_options_read(c, &o))
    return;
  entry = db_find(c->server, c->words[1]);
  if ((o.gets || o.if_equal != NULL) && entry != NULL && key_value(entry)->kind != VALUE_STRING) {
    reply_wrong_type(c->reply);
    return;
  }
  is_refused = (o.if_absent && entry != NULL) || (o.if_there && entry == NULL) ||
               (o.if_equal != NULL && !is_equal(entry, o.if_equal));
  if (o.gets)
    get(c, c->words[1]);
  else if (is_refused)
    reply_nothing(c->reply);
  else
    reply_ok(c->reply);
  if (is_refused)
    return;
  if (o.keeps_ttl && entry != NULL)
    o.expires_ms = key_expires_ms(entry);
  db_set_string(c->server, c->words[1], c->words[2], o.expires_ms);
}

static void run_setnx(call *c)
{
  bool is_there = db_find(c->server, c->words[1]) != NULL;

  if (!is_there)
    db_set_string(c->server, c->words[1], c->words[2], NEVER_MS);
  reply_integer(c->reply, !is_there);
}

static void set_for(call *c, expiry_unit unit, const char *name)
{
  int64_t expires_ms;

  if (!expiry_read_positive(c, c->words[2], unit, name, &expires_ms))
    return;
  db_set_string(c->server, c->words[1], c->words[3], expires_ms);
  reply_ok(c->reply);
}

static void run_setex(call *c) { set_for(c, EXPIRY_S, "setex"); }

static void run_psetex(call *c) { set_for(c, EXPIRY_MS, "psetex"); }

static void run_getset(call *c)
{
  bool is_wrong;
  key *entry = db_find_kind(c, c->words[1], VALUE_STRING, &is_wrong);

  if (is_wrong)
    return;
  if (entry != NULL)
    reply_string(c->reply, blob_slice(key_value(entry)->as.string));
  else
    reply_nothing(c->reply);
  db_set_string(c->server, c->words[1], c->words[2], NEVER_MS);
}

static void run_getdel(call *c)
{
  bool is_wrong;
  key *entry = db_find_kind(c, c->words[1], VALUE_STRING, &is_wrong);

  if (is_wrong)
    return;
  get(c, c->words[1]);
  if (entry != NULL)
    db_remove(c->server, entry);
}

static void set_many(call *c)
{
  for (size_t i = 1; i < c->count; i += 2)
    db_set_string(c->server, c->words[i], c->words[i + 1], NEVER_MS);
}

static bool pairs_are_whole(call *c, const char *name)
{
  if (c->count % 2 == 0)
    reply_wrong_count(c->reply, name);
  return c->count % 2 == 1;
}

static void run_mset(call *c)
{
  if (!pairs_are_whole(c, "mset"))
    return;
  set_many(c);
  reply_ok(c->reply);
}

static void run_msetnx(call *c)
{
  if (!pairs_are_whole(c, "msetnx"))
    return;
  for (size_t i = 1; i < c->count; i += 2)
    if (db_find(c->server, c->words[i]) != NULL) {
      reply_integer(c->reply, 0);
      return;
    }
  set_many(c);
  reply_integer(c->reply, 1);
}

static void run_append(call *c)
{
  key *entry = db_need(c, c->words[1], VALUE_STRING);
  slice more = c->words[2];
  blob *old, *longer;

  if (entry == NULL)
    return;
  old = key_value(entry)->as.string;
  longer = sim_alloc(sizeof(*longer) + old->size + more.size + 1);
  longer->size = old->size + more.size;
  for (size_t i = 0; i < longer->size; i++)
    longer->bytes[i] = i < old->size ? old->bytes[i] : more.bytes[i - old->size];
  longer->bytes[longer->size] = 0;
  sim_free(old);
  key_value(entry)->as.string = longer;
  db_changed(c->server, key_name(entry));
  reply_integer(c->reply, (int64_t)longer->size);
}

static void run_strlen(call *c)
{
  bool is_wrong;
  key *entry = db_find_kind(c, c->words[1], VALUE_STRING, &is_wrong);

  if (!is_wrong)
    reply_integer(c->reply,
                  entry == NULL ? 0 : (int64_t)key_value(entry)->as.string->size);
}

#define WRITE (COMMAND_WRITES | COMMAND_ALLOCATES)

const command commands_string[] = {
  { "get", 2, 0, run_get },
  { "mget", -2, 0, run_mget },
  { "set", -3, WRITE, run_set },
  { "setnx", 3, WRITE, run_setnx },
  { "setex", 4, WRITE, run_setex },
  { "psetex", 4, WRITE, run_psetex },
  { "getset", 3, WRITE, run_getset },
  { "getdel", 2, COMMAND_WRITES, run_getdel },
  { "mset", -3, WRITE, run_mset },
  { "msetnx", -3, WRITE, run_msetnx },
  { "append", 3, WRITE, run_append },
  { "strlen", 2, 0, run_strlen },
  { NULL, 0, 0, NULL }
};
