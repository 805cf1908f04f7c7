/* SPDX-License-Identifier: MIT */
/* Commands: walks over keys and fields. A cursor is the number of the next one to look at,
 * so that what is there all the time is told exactly once. */
#include "server/parts.h"

typedef struct scan_options {
  uint64_t cursor;
  int64_t count;
  const slice *pattern, *type;
} scan_options;

static bool cursor_read(call *c, slice word, scan_options *o)
{
  int64_t cursor;

  *o = (scan_options){ .count = 10 };
  if (!slice_to_integer(word, &cursor)) {
    reply_error(c->reply, "ERR invalid cursor");
    return false;
  }
  o->cursor = (uint64_t)cursor;          /* a negative one is behind everything */
  return true;
}

static bool options_read(call *c, size_t first, bool may_have_type, scan_options *o)
{
  for (size_t i = first; i < c->count; i += 2) {
    slice word = c->words[i];
    bool has_more = i + 1 < c->count;

    if (slice_is(word, "count") && has_more) {
      if (!slice_to_integer(c->words[i + 1], &o->count)) {
        reply_not_integer(c->reply);
        return false;
      }
      if (o->count < 1) {
        reply_syntax_error(c->reply);
        return false;
      }
    } else if (slice_is(word, "match") && has_more) {
      o->pattern = &c->words[i + 1];
    } else if (slice_is(word, "type") && has_more && may_have_type) {
      o->type = &c->words[i + 1];
    } else {
      reply_syntax_error(c->reply);
      return false;
    }
  }
  return true;
}

/* What a page has found, until its size is known. */
typedef struct page { slice *all; size_t count, capacity; } page;

static void page_add(page *p, slice s)
{
  if (p->count == p->capacity) {
    p->capacity = p->capacity * 2 + 16;
    p->all = sim_realloc(p->all, p->capacity * sizeof(slice));
  }
  p->all[p->count++] = s;
}

static void page_answer(page *p, uint64_t cursor, reply *r)
{
  char room[SLICE_FORMAT_MAX];

  reply_array(r, 2);
  reply_string(r, slice_from_integer((int64_t)cursor, room));
  reply_array(r, p->count);
  for (size_t i = 0; i < p->count; i++)
    reply_string(r, p->all[i]);
  sim_free(p->all);
}

static void run_scan(call *c)
{
  scan_options o;
  page found = { NULL, 0, 0 };
  uint64_t next = 0;

  if (!cursor_read(c, c->words[1], &o) || !options_read(c, 2, true, &o))
    return;
  for (key *k = keyspace_next(&c->server->keys, NULL), *after; k != NULL; k = after) {
    after = keyspace_next(&c->server->keys, k);
    if (key_number(k) < o.cursor)
      continue;
    if (o.count-- == 0) {
      next = key_number(k);
      break;
    }
    /* db_find() removes what is over, as each look at a key does. */
    if ((o.pattern == NULL || slice_matches(*o.pattern, key_name(k))) &&
        db_find(c->server, key_name(k)) != NULL &&
        (o.type == NULL || slice_is(*o.type, value_kind_name(key_value(k)->kind))))
      page_add(&found, key_name(k));
  }
  page_answer(&found, next, c->reply);
}

static void run_hscan(call *c)
{
  scan_options o;
  page found = { NULL, 0, 0 };
  uint64_t next = 0;
  bool is_wrong;
  key *entry;
  const hash *h;

  if (!cursor_read(c, c->words[2], &o))
    return;
  entry = db_find_kind(c, c->words[1], VALUE_HASH, &is_wrong);
  if (is_wrong)
    return;
  /* Where there is nothing the options are not looked at. */
  if (entry == NULL) {
    page_answer(&found, 0, c->reply);
    return;
  }
  if (!options_read(c, 3, false, &o))
    return;
  h = key_value(entry)->as.hash;
  if (hash_is_small(h)) {
    o.cursor = 0;
    o.count = INT64_MAX;
  }
  for (const hash_field *f = hash_next(h, NULL); f != NULL; f = hash_next(h, f)) {
    if (hash_field_number(f) < o.cursor)
      continue;
    if (o.count-- == 0) {
      next = hash_field_number(f);
      break;
    }
    if (o.pattern == NULL || slice_matches(*o.pattern, hash_field_name(f))) {
      page_add(&found, hash_field_name(f));
      page_add(&found, hash_field_value(f));
    }
  }
  page_answer(&found, next, c->reply);
}

static void run_keys(call *c)
{
  page found = { NULL, 0, 0 };

  for (key *k = keyspace_next(&c->server->keys, NULL); k != NULL;
       k = keyspace_next(&c->server->keys, k))
    if (!db_is_over(c->server, k) && slice_matches(c->words[1], key_name(k)))
      page_add(&found, key_name(k));
  reply_array(c->reply, found.count);
  for (size_t i = 0; i < found.count; i++)
    reply_string(c->reply, found.all[i]);
  sim_free(found.all);
}

static void run_randomkey(call *c)
{
  size_t living = db_count(c->server);
  key *k = NULL;

  while (living > 0 && (k == NULL || db_is_over(c->server, k)))
    k = keyspace_draw(&c->server->keys, &c->server->random);
  if (k == NULL)
    reply_nothing(c->reply);
  else
    reply_string(c->reply, key_name(k));
}

const command commands_scan[] = {
  { "scan", -2, 0, run_scan },
  { "hscan", -3, 0, run_hscan },
  { "keys", 2, 0, run_keys },
  { "randomkey", 1, 0, run_randomkey },
  { NULL, 0, 0, NULL }
};
