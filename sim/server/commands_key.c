/* SPDX-License-Identifier: MIT */
/* Commands: keys of any kind, and how long they live. */
#include "server/expiry.h"
#include "server/parts.h"

static void run_del(call *c)
{
  int64_t gone = 0;

  for (size_t i = 1; i < c->count; i++) {
    key *entry = db_find(c->server, c->words[i]);

    if (entry == NULL)
      continue;
    db_remove(c->server, entry);
    gone++;
  }
  reply_integer(c->reply, gone);
}

static void run_exists(call *c)
{
  int64_t there = 0;

  for (size_t i = 1; i < c->count; i++)
    there += db_find(c->server, c->words[i]) != NULL;
  reply_integer(c->reply, there);
}

static void run_type(call *c)
{
  key *entry = db_find(c->server, c->words[1]);

  reply_status(c->reply,
               value_kind_name(entry == NULL ? VALUE_NONE : key_value(entry)->kind));
}

/* ---- EXPIRE and its kin ---- */

typedef struct expire_options { bool nx, xx, gt, lt; } expire_options;

static bool expire_options_read(call *c, expire_options *o)
{
  *o = (expire_options){ false, false, false, false };
  for (size_t i = 3; i < c->count; i++) {
    slice word = c->words[i];
    char bytes[160];
    text t = text_over(bytes, sizeof(bytes));

    o->nx = o->nx || slice_is(word, "nx");
    o->xx = o->xx || slice_is(word, "xx");
    o->gt = o->gt || slice_is(word, "gt");
    o->lt = o->lt || slice_is(word, "lt");
    if (slice_is(word, "nx") || slice_is(word, "xx") || slice_is(word, "gt") ||
        slice_is(word, "lt"))
      continue;
    text_add(&t, "ERR Unsupported option ");
    text_add_bytes(&t, word.bytes, word.size);
    reply_error(c->reply, bytes);
    return false;
  }
  if (o->nx && (o->xx || o->gt || o->lt)) {
    reply_error(c->reply, "ERR NX and XX, GT or LT options at the same time are not "
                          "compatible");
    return false;
  }
  if (o->gt && o->lt) {
    reply_error(c->reply, "ERR GT and LT options at the same time are not compatible");
    return false;
  }
  return true;
}

/* A key that never ends counts as one that ends last. */
static bool expire_is_wanted(const expire_options *o, int64_t old_ms, int64_t new_ms)
{
  return !(o->nx && old_ms != NEVER_MS) && !(o->xx && old_ms == NEVER_MS) &&
         !(o->gt && (old_ms == NEVER_MS || new_ms <= old_ms)) &&
         !(o->lt && old_ms != NEVER_MS && new_ms >= old_ms);
}

static void expire(call *c, expiry_unit unit)
{
  expire_options o;
  int64_t at_ms;
  key *entry;

  if (!expire_options_read(c, &o) ||
      !expiry_read(c, c->words[2], unit, c->command->name, &at_ms))
    return;
  entry = db_find(c->server, c->words[1]);
  if (entry == NULL || !expire_is_wanted(&o, key_expires_ms(entry), at_ms)) {
    reply_integer(c->reply, 0);
    return;
  }
  /* The past removes at once, and so does now, unlike a key that comes to its last ms. */
  if (at_ms <= server_now_ms(c->server) && !c->server->conditions[SIM_LOADING]) {
    db_remove(c->server, entry);
  } else {
    key_set_expires_ms(entry, at_ms);
    db_changed(c->server, key_name(entry));
  }
  reply_integer(c->reply, 1);
}

static void run_expire(call *c) { expire(c, EXPIRY_S); }

static void run_pexpire(call *c) { expire(c, EXPIRY_MS); }

static void run_expireat(call *c) { expire(c, EXPIRY_AT_S); }

static void run_pexpireat(call *c) { expire(c, EXPIRY_AT_MS); }

static void run_persist(call *c)
{
  key *entry = db_find(c->server, c->words[1]);
  bool is_done = entry != NULL && key_expires_ms(entry) != NEVER_MS;

  if (is_done) {
    key_set_expires_ms(entry, NEVER_MS);
    db_changed(c->server, key_name(entry));
  }
  reply_integer(c->reply, is_done);
}

/* -2: no key, -1: for ever; else what `c` asks for, of what is left or of the end. */
static void answer_ttl(call *c, bool is_left, bool in_seconds)
{
  const key *entry = db_find(c->server, c->words[1]);
  int64_t ms;

  if (entry == NULL || key_expires_ms(entry) == NEVER_MS) {
    reply_integer(c->reply, entry == NULL ? -2 : -1);
    return;
  }
  ms = key_expires_ms(entry);
  if (is_left)
    ms = ms > server_now_ms(c->server) ? ms - server_now_ms(c->server) : 0;
  reply_integer(c->reply, in_seconds ? (ms + 500) / 1000 : ms);
}

static void run_ttl(call *c) { answer_ttl(c, true, true); }

static void run_pttl(call *c) { answer_ttl(c, true, false); }

static void run_expiretime(call *c) { answer_ttl(c, false, true); }

static void run_pexpiretime(call *c) { answer_ttl(c, false, false); }

/* ---- RENAME, COPY ---- */

static bool rename_key(call *c, key *from, slice to)
{
  value moved = value_copy(key_value(from));
  int64_t expires_ms = key_expires_ms(from);
  key *entry = db_find(c->server, to);

  db_remove(c->server, from);
  if (entry != NULL)
    db_remove(c->server, entry);
  entry = db_add(c->server, to);
  *key_value(entry) = moved;
  key_set_expires_ms(entry, expires_ms);
  db_changed(c->server, key_name(entry));
  return true;
}

static void rename_if(call *c, bool only_if_free)
{
  key *from = db_find(c->server, c->words[1]);
  bool is_same = slice_equal(c->words[1], c->words[2]);
  bool is_refused;

  if (from == NULL) {
    reply_error(c->reply, "ERR no such key");
    return;                            /* the other one is not even looked at */
  }
  is_refused = only_if_free && db_find(c->server, c->words[2]) != NULL;
  if (!is_same && !is_refused)
    rename_key(c, from, c->words[2]);
  if (only_if_free)
    reply_integer(c->reply, !is_same && !is_refused);
  else
    reply_ok(c->reply);
}

static void run_rename(call *c) { rename_if(c, false); }

static void run_renamenx(call *c) { rename_if(c, true); }

const command commands_key[] = {
  { "del", -2, COMMAND_WRITES, run_del },
  { "unlink", -2, COMMAND_WRITES, run_del },
  { "exists", -2, 0, run_exists },
  { "touch", -2, 0, run_exists },
  { "type", 2, 0, run_type },
  { "expire", -3, COMMAND_WRITES, run_expire },
  { "pexpire", -3, COMMAND_WRITES, run_pexpire },
  { "expireat", -3, COMMAND_WRITES, run_expireat },
  { "pexpireat", -3, COMMAND_WRITES, run_pexpireat },
  { "persist", 2, COMMAND_WRITES, run_persist },
  { "ttl", 2, 0, run_ttl },
  { "pttl", 2, 0, run_pttl },
  { "expiretime", 2, 0, run_expiretime },
  { "pexpiretime", 2, 0, run_pexpiretime },
  { "rename", 3, COMMAND_WRITES, run_rename },
  { "renamenx", 3, COMMAND_WRITES, run_renamenx },
  { NULL, 0, 0, NULL }
};
