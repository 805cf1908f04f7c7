/* SPDX-License-Identifier: MIT */
/* Commands: strings that are counted. */
#include "server/parts.h"


/* The number in the key; 0 where there is none. false: answered with an error. */
static bool number_of(call *c, int64_t *ret)
{
  bool is_wrong;
  key *entry = db_find_kind(c, c->words[1], VALUE_STRING, &is_wrong);

  *ret = 0;
  if (is_wrong)
    return false;
  if (entry != NULL && !slice_to_integer(blob_slice(key_value(entry)->as.string), ret)) {
    reply_not_integer(c->reply);
    return false;
  }
  return true;
}

static void add(call *c, int64_t by)
{
  char room[SLICE_FORMAT_MAX];
  int64_t n;
  key *entry;

  if (!number_of(c, &n))
    return;
  if ((by > 0 && n > INT64_MAX - by) || (by < 0 && n < INT64_MIN - by)) {
    reply_error(c->reply, "ERR increment or decrement would overflow");
    return;
  }
  entry = db_find(c->server, c->words[1]);
  db_set_string(c->server, c->words[1], slice_from_integer(n + by, room),
                entry == NULL ? NEVER_MS : key_expires_ms(entry));
  reply_integer(c->reply, n + by);
}

static void run_incr(call *c) { add(c, 1); }

static void run_decr(call *c) { add(c, -1); }

static void run_incrby(call *c)
{
  int64_t by;

  if (slice_to_integer(c->words[2], &by))
    add(c, by);
  else
    reply_not_integer(c->reply);
}

static void run_decrby(call *c)
{
  int64_t by;

  if (!slice_to_integer(c->words[2], &by))
    reply_not_integer(c->reply);
  else if (by == INT64_MIN)
    reply_error(c->reply, "ERR decrement would overflow");
  else
    add(c, -by);
}

#define COUNTS (COMMAND_WRITES | COMMAND_ALLOCATES)

const command commands_number[] = {
  { "incr", 2, COUNTS, run_incr },
  { "decr", 2, COUNTS, run_decr },
  { "incrby", 3, COUNTS, run_incrby },
  { "decrby", 3, COUNTS, run_decrby },
  { NULL, 0, 0, NULL }
};
