/* SPDX-License-Identifier: MIT */
/* test/lib/live_view.c - what the server knows of a lock, read without the library. */
#include "live.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { KEYS = 8, KEY_SIZE = 600 };

struct test_server *live_server;

int live_server_setup(void **state)
{
  (void)state;
  live_server = test_server_start();
  return 0;
}

int live_server_teardown(void **state)
{
  (void)state;
  live_server = test_server_stop(live_server);
  return 0;
}

const char *live_key(const char *name)
{
  static _Thread_local char keys[KEYS][KEY_SIZE];
  static _Thread_local unsigned turn;
  char *key = keys[turn++ % KEYS];

  (void)snprintf(key, KEY_SIZE, "dibs:m:{%s}", name);
  return key;
}

/* The stored value of a lock, be it thin (a string) or fat (a hash). */
static const char *value_of(const struct test_server *s, const char *key)
{
  if (strcmp(test_server_command(s, "TYPE %s", key), "string") == 0)
    return test_server_command(s, "GET %s", key);
  return test_server_command(s, "HGET %s s", key);
}

int64_t live_lease_end_us(const struct test_server *s, const char *name)
{
  char client[32];
  long long ask, token, ahead;

  if (sscanf(value_of(s, live_key(name)), "%31[^:]:%lld:%lld %lld", client, &ask, &token,
             &ahead) != 4 || client[0] == '=')
    return 0;
  return token + ahead * 1000;
}

struct crowd {
  const struct test_server *server;
  const char *name;
  int count;
};

/* Three fields are the queue's own, each waiter has two. */
static bool is_as_many(void *data)
{
  const struct crowd *c = data;
  const char *fields = test_server_command(c->server, "HLEN %s", live_key(c->name));

  return c->count == 0 ? atoi(fields) <= 3 : atoi(fields) == 3 + 2 * c->count;
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
  return strcmp(test_server_command(data, "PUBSUB CHANNELS"), "[]") == 0;
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

/* The first key, from `list` "[a, b]", that is not to be there; NULL: none. */
static const char *odd_key(const struct test_server *s, char *list)
{
  char *rest = list;

  for (char *key = strtok_r(list + 1, ",] ", &rest); key != NULL;
       key = strtok_r(NULL, ",] ", &rest)) {
    if (strncmp(key, "dibs:m:", 7) != 0 || !is_free(s, key) ||
        test_server_integer(s, "PTTL %s", key) <= 0)
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

void live_expect_clean(const struct test_server *s)
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

void live_expect_clean_but_presence(const struct test_server *s)
{
  const char *script = "for _, k in ipairs(redis.call('KEYS', 'dibs:client:*')) do "
                       "local left = redis.call('PTTL', k) "
                       "if left > 0 and left <= 180000 then redis.call('DEL', k) end end";

  (void)test_server_command(s, "EVAL %s 0", script);
  live_expect_clean(s);
}
