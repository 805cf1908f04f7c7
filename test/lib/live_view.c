/* SPDX-License-Identifier: MIT */
/* test/lib/live_view.c - what the server knows of a lock, read without the library. */
#include "tests.h"
#include "live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 8, KEY_SIZE = 600 };

/* Server `which` of those that are meant by `s`; NULL: there are no more. */
static const struct test_server *one_of(const struct test_server *s, int which)
{
  if (s != live_server)
    return which == 0 ? s : NULL;
  return which < live_server_count() ? live_server_at(which) : NULL;
}

/* Its own, which is then that of the key */
static bool has_tag(const char *name)
{
  const char *open = strchr(name, '{');

  return open != NULL && open[1] != '}' && strchr(open, '}') != NULL;
}

const char *live_key(const char *name)
{
  static _Thread_local char keys[KEYS][KEY_SIZE];
  static _Thread_local unsigned turn;
  char *key = keys[turn++ % KEYS];

  (void)snprintf(key, KEY_SIZE, has_tag(name) ? "dibs:m:%s" : "dibs:m:{%s}", name);
  return key;
}

/* The stored value of a lock, be it thin (a string) or fat (a hash). */
static const char *value_of(const struct test_server *s, const char *key)
{
  if (strcmp(test_server_command(s, "TYPE %s", key), "string") == 0)
    return test_server_command(s, "GET %s", key);
  return test_server_command(s, "HGET %s s", key);
}

static int64_t lease_end_us(const struct test_server *s, const char *name)
{
  char client[32];
  long long ask, token, ahead;

  if (sscanf(value_of(s, live_key(name)), "%31[^:]:%lld:%lld %lld", client, &ask, &token,
             &ahead) != 4 || client[0] == '=')
    return 0;
  return token + ahead * 1000;
}

int64_t live_lease_end_us(const struct test_server *s, const char *name)
{
  const struct test_server *one;
  int64_t last = 0, end;

  for (int i = 0; (one = one_of(s, i)) != NULL; i++) {
    end = lease_end_us(one, name);
    last = end > last ? end : last;
  }
  return last;
}

struct crowd {
  const struct test_server *server;
  const char *name;
  int count;
};

/* Three fields are the queue's own, each waiter has two. */
static bool is_as_many_on(const struct test_server *s, const struct crowd *c)
{
  const char *fields = test_server_command(s, "HLEN %s", live_key(c->name));

  return c->count == 0 ? atoi(fields) <= 3 : atoi(fields) == 3 + 2 * c->count;
}

/* On one of them: a queue has one place. */
static bool is_as_many(void *data)
{
  const struct crowd *c = data;
  const struct test_server *one;

  for (int i = 0; (one = one_of(c->server, i)) != NULL; i++)
    if (is_as_many_on(one, c))
      return true;
  return false;
}

void live_expect_waiters(const struct test_server *s, const char *name, int count)
{
  struct crowd c = { s, name, count };

  if (!live_until(LIVE_LONG_MS, is_as_many, &c))
    fail_msg("not %d clients wait for \"%s\": HLEN is %s", count, name,
             test_server_command(s, "HLEN %s", live_key(name)));
}

/* ---- nothing is left ---- */

static bool nobody_listens(void *data)
{
  const char *shard = live_place() == LIVE_CLUSTER ?
    test_server_command(data, "PUBSUB SHARDCHANNELS") : "[]";

  /* Sentinels have a channel of their own. */
  return strcmp(test_server_command(data, "PUBSUB CHANNELS dibs*"), "[]") == 0 &&
         (strcmp(shard, "[]") == 0 || strncmp(shard, "ERR ", 4) == 0);
}

/* Of a free mutex, or of a shared name that nobody holds or waits for. */
static bool is_free(const struct test_server *s, const char *key)
{
  /* Tombstones of cancelled asks stay until somebody passes them. */
  const char *nobody =
    "local all = redis.call('HGETALL', KEYS[1]) "
    "for i = 1, #all, 2 do local f = string.sub(all[i], 1, 1) "
    "if f == 'k' or f == 'w' and string.sub(all[i + 1], 1, 2) ~= 'x ' then return 0 end end "
    "return 1";
  const char *value = value_of(s, key);
  long long token, used;

  if (value[0] == '=')
    return true;
  return sscanf(value, "%*[a-z] %lld %lld", &token, &used) == 2 && used == 0 &&
         test_server_integer(s, "EVAL %s 1 %s", nobody, key) == 1;
}

/* A client that has detached a lease is named by its registration until that lease ends. */
static bool has_detached;

dibs_status live_detach(dibs_hold *hold)
{
  has_detached = true;
  return dibs_hold_detach(hold);
}

static bool is_of_detached(const struct test_server *s, const char *key)
{
  return has_detached && strncmp(key, "dibs:client:", 12) == 0 &&
         test_server_integer(s, "PTTL %s", key) > 0;
}

/* Totals of the fleet and the history outlive the clients. */
static bool is_of_fleet(const struct test_server *s, const char *key)
{
  return (strncmp(key, "dibs:t:", 7) == 0 || strncmp(key, "dibs:{fleet}:", 13) == 0) &&
         test_server_integer(s, "PTTL %s", key) > 0;
}

/* The first key, from `list` "[a, b]", that is not to be there; NULL: none. */
static const char *odd_key(const struct test_server *s, char *list)
{
  char *rest = list;

  for (char *key = strtok_r(list + 1, ",] ", &rest); key != NULL;
       key = strtok_r(NULL, ",] ", &rest)) {
    if (!is_of_detached(s, key) && !is_of_fleet(s, key) &&
        (strncmp(key, "dibs:m:", 7) != 0 || !is_free(s, key) ||
         test_server_integer(s, "PTTL %s", key) <= 0))
      return key;
  }
  return NULL;
}

static bool is_clean(void *data)
{
  char list[8192];

  (void)snprintf(list, sizeof(list), "%s", test_server_command(data, "KEYS dibs:*"));
  return odd_key(data, list) == NULL;
}

static void expect_clean(const struct test_server *s)
{
  char list[8192];
  const char *odd;

  if (!live_until(LIVE_LONG_MS, is_clean, (void *)(uintptr_t)s)) {
    (void)snprintf(list, sizeof(list), "%s", test_server_command(s, "KEYS dibs:*"));
    odd = odd_key(s, list);
    fail_msg("%s is left: %s, PTTL %s", odd, odd == NULL ? "" : value_of(s, odd),
             odd == NULL ? "" : test_server_command(s, "PTTL %s", odd));
  }
  if (!live_until(LIVE_LONG_MS, nobody_listens, (void *)(uintptr_t)s))
    fail_msg("still subscribed: %s", test_server_command(s, "PUBSUB CHANNELS"));
}

void live_expect_clean(const struct test_server *s)
{
  const struct test_server *one;

  for (int i = 0; (one = one_of(s, i)) != NULL; i++)
    expect_clean(one);
  has_detached = false;
}

void live_expect_clean_but_presence(const struct test_server *s)
{
  const char *script = "for _, k in ipairs(redis.call('KEYS', 'dibs:client:*')) do "
                       "local left = redis.call('PTTL', k) "
                       "if left > 0 and left <= 180000 then redis.call('DEL', k) end end";
  const struct test_server *one;

  for (int i = 0; (one = one_of(s, i)) != NULL; i++)
    (void)test_server_command(one, "EVAL %s 0", script);
  live_expect_clean(s);
}

bool live_has_ifeq(void)
{
  return strcmp(test_server_command(live_server, "SET no:key 1 IFEQ 0"), "(nil)") == 0;
}
