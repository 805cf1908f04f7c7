/* SPDX-License-Identifier: MIT */
/* Commands: streams, as far as the history needs them. A stream is a list whose items are entries:
 * the id, then fields and values, each with its size before it. */
#include "server/parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct entry_id { uint64_t ms, number; } entry_id;

static void word_add(buffer *out, slice word)
{
  (void)buffer_append(out, &word.size, sizeof(word.size));
  (void)buffer_append(out, word.bytes, word.size);
}

static bool word_next(slice entry, size_t *offset, slice *ret_word)
{
  size_t size;

  if (*offset >= entry.size)
    return false;
  memcpy(&size, entry.bytes + *offset, sizeof(size));
  *ret_word = (slice){ entry.bytes + *offset + sizeof(size), size };
  *offset += sizeof(size) + size;
  return true;
}

/* Without a number: the least or the greatest of its millisecond. */
static bool id_read(slice s, bool is_end, entry_id *ret)
{
  const char *dash = s.size > 0 ? memchr(s.bytes, '-', s.size) : NULL;
  size_t first = dash == NULL ? s.size : (size_t)(dash - s.bytes);

  *ret = is_end ? (entry_id){ UINT64_MAX, UINT64_MAX } : (entry_id){ 0, 0 };
  if (s.size == 1 && (s.bytes[0] == '+' || s.bytes[0] == '-'))
    return true;
  return text_to_uint(s.bytes, first, &ret->ms) &&
         (dash == NULL || text_to_uint(dash + 1, s.size - first - 1, &ret->number));
}

static bool id_is_below(entry_id a, entry_id b)
{
  return a.ms < b.ms || (a.ms == b.ms && a.number < b.number);
}

static entry_id id_of(slice entry)
{
  size_t offset = 0;
  slice word;
  entry_id id = { 0, 0 };

  if (word_next(entry, &offset, &word))
    (void)id_read(word, false, &id);
  return id;
}

static list *stream_of(call *c, bool *ret_is_wrong)
{
  key *entry = db_find_kind(c, c->words[1], VALUE_STREAM, ret_is_wrong);

  return entry == NULL ? NULL : key_value(entry)->as.list;
}

static void id_write(const sim_server *s, const list *l, char room[48])
{
  entry_id id = { (uint64_t)(s->wall_us / 1000), 0 };
  entry_id last = l->count > 0 ? id_of(list_at(l, l->count - 1)) : (entry_id){ 0, 0 };

  if (l->count > 0 && !id_is_below(last, id))
    id = (entry_id){ last.ms, last.number + 1 };
  (void)snprintf(room, 48, "%" PRIu64 "-%" PRIu64, id.ms, id.number);
}

/* XADD key MAXLEN [~] n * field value ...: trimmed exactly. */
static void run_xadd(call *c)
{
  bool has_tilde = c->count > 3 && slice_is(c->words[3], "~"), is_wrong;
  size_t at = has_tilde ? 5 : 4;
  char room[48];
  int64_t most;
  buffer packed;
  key *entry;
  list *l;

  if (c->count < at + 3 || (c->count - at - 1) % 2 != 0 || !slice_is(c->words[2], "maxlen") ||
      !slice_to_integer(c->words[at - 1], &most) || most < 0 || !slice_is(c->words[at], "*")) {
    reply_syntax_error(c->reply);
    return;
  }
  (void)db_find_kind(c, c->words[1], VALUE_STREAM, &is_wrong);
  if (is_wrong)
    return;
  entry = db_need(c, c->words[1], VALUE_STREAM);
  l = key_value(entry)->as.list;
  id_write(c->server, l, room);
  buffer_init(&packed, sim_memory());
  word_add(&packed, slice_of(room));
  for (size_t i = at + 1; i < c->count; i++)
    word_add(&packed, c->words[i]);
  list_insert(l, l->count, (slice){ buffer_bytes(&packed), buffer_size(&packed) });
  buffer_deinit(&packed);
  while ((int64_t)l->count > most)
    list_remove(l, 0);
  db_changed(c->server, key_name(entry));
  reply_string(c->reply, slice_of(room));
}

static void run_xlen(call *c)
{
  bool is_wrong;
  const list *l = stream_of(c, &is_wrong);

  if (!is_wrong)
    reply_integer(c->reply, l == NULL ? 0 : (int64_t)l->count);
}

static void entry_reply(call *c, slice entry)
{
  size_t offset = 0, count = 0;
  slice id, word;

  (void)word_next(entry, &offset, &id);
  for (size_t at = offset; word_next(entry, &at, &word);)
    count++;
  reply_array(c->reply, 2);
  reply_string(c->reply, id);
  reply_array(c->reply, count);
  while (word_next(entry, &offset, &word))
    reply_string(c->reply, word);
}

/* XREVRANGE key end start [COUNT n] */
static void run_xrevrange(call *c)
{
  int64_t most = INT64_MAX;
  entry_id least, end;
  size_t from = 0, to, count;
  bool is_wrong;
  const list *l;

  if (!id_read(c->words[2], true, &end) || !id_read(c->words[3], false, &least) ||
      (c->count != 4 && (c->count != 6 || !slice_is(c->words[4], "count") ||
                         !slice_to_integer(c->words[5], &most)))) {
    reply_syntax_error(c->reply);
    return;
  }
  l = stream_of(c, &is_wrong);
  if (is_wrong)
    return;
  to = l == NULL ? 0 : l->count;
  while (from < to && id_is_below(id_of(list_at(l, from)), least))
    from++;
  while (to > from && id_is_below(end, id_of(list_at(l, to - 1))))
    to--;
  count = (int64_t)(to - from) > most ? (size_t)most : to - from;
  reply_array(c->reply, count);
  for (size_t i = 0; i < count; i++)
    entry_reply(c, list_at(l, to - 1 - i));
}

const command commands_stream[] = {
  { "xadd", -5, COMMAND_WRITES | COMMAND_ALLOCATES, run_xadd },
  { "xlen", 2, 0, run_xlen },
  { "xrevrange", -4, 0, run_xrevrange },
  { NULL, 0, 0, NULL }
};
