/* SPDX-License-Identifier: MIT */
/* The stock in Redis: four keys, one script for the fenced write. */
#include "shop.h"

#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct shop {
  redisContext *link;
};

/* The resource guards itself: a write with a smaller fence than one it has seen comes
 * from somebody who lost the lock and does not know it yet. Fences are 64 bits wide, and
 * Lua's numbers are not: so they are compared as digits, the longer one is the greater. */
static const char sell_fenced[] =
  "local mine, seen = ARGV[1], redis.call('GET', KEYS[2]) or '0'\n"
  "if #mine < #seen or (#mine == #seen and mine < seen) then return 0 end\n"
  "redis.call('SET', KEYS[2], mine)\n"
  "redis.call('DECR', KEYS[1])\n"
  "redis.call('INCR', KEYS[3])\n"
  "return 1\n";

static _Noreturn void give_up(const char *what, const char *why)
{
  fprintf(stderr, "flash_sale: %s: %s\n", what, why);
  exit(1);
}

/* host:port of redis://host:port/db; IPv6 does not occur on a private server. */
static redisContext *connect_tcp(const char *address)
{
  char host[256];
  int port = 6379;
  size_t length = strcspn(address, ":/");

  if (length >= sizeof(host))
    give_up(address, "too long an address");
  memcpy(host, address, length);
  host[length] = 0;
  if (address[length] == ':' && sscanf(address + length + 1, "%d", &port) != 1)
    give_up(address, "no port number");
  return redisConnect(host, port);
}

shop *shop_open(const char *url)
{
  static const char unix_scheme[] = "unix://";
  shop *s = malloc(sizeof(*s));
  const char *rest = strstr(url, "://");

  if (s == NULL || rest == NULL)
    give_up(url, "not an address");
  if (strncmp(url, unix_scheme, strlen(unix_scheme)) == 0) {
    char path[256];
    size_t length = strcspn(rest + 3, "?");

    if (length >= sizeof(path))
      give_up(url, "too long a path");
    memcpy(path, rest + 3, length);
    path[length] = 0;
    s->link = redisConnectUnix(path);
  } else {
    s->link = connect_tcp(rest + 3);
  }
  if (s->link == NULL || s->link->err != 0)
    give_up(url, s->link == NULL ? "no memory" : s->link->errstr);
  return s;
}

shop *shop_close(shop *s)
{
  if (s != NULL) {
    redisFree(s->link);
    free(s);
  }
  return NULL;
}

/* Runs one command and returns its number; a missing key counts as 0. */
static long long ask(shop *s, int count, const char **words)
{
  redisReply *reply = redisCommandArgv(s->link, count, words, NULL);
  long long answer;

  if (reply == NULL)
    give_up("the server hung up", s->link->errstr);
  if (reply->type == REDIS_REPLY_ERROR)
    give_up("the server refused", reply->str);
  answer = reply->type == REDIS_REPLY_STRING ? strtoll(reply->str, NULL, 10)
                                             : reply->integer;
  freeReplyObject(reply);
  return answer;
}

void shop_fill(shop *s, long items)
{
  char number[32];

  snprintf(number, sizeof(number), "%ld", items);
  (void)ask(s, 9, (const char *[]){ "MSET", "shop:{lamp}:stock", number,
                                    "shop:{lamp}:fence", "0", "shop:{lamp}:orders", "0",
                                    "shop:{lamp}:turns", "0" });
}

long shop_stock(shop *s)
{
  return (long)ask(s, 2, (const char *[]){ "GET", "shop:{lamp}:stock" });
}

long shop_orders(shop *s)
{
  return (long)ask(s, 2, (const char *[]){ "GET", "shop:{lamp}:orders" });
}

long shop_turn(shop *s)
{
  return (long)ask(s, 2, (const char *[]){ "INCR", "shop:{lamp}:turns" });
}

uint64_t shop_fence(shop *s)
{
  return (uint64_t)ask(s, 2, (const char *[]){ "GET", "shop:{lamp}:fence" });
}

void shop_sell(shop *s)
{
  (void)ask(s, 2, (const char *[]){ "DECR", "shop:{lamp}:stock" });
  (void)ask(s, 2, (const char *[]){ "INCR", "shop:{lamp}:orders" });
}

bool shop_sell_fenced(shop *s, uint64_t fence)
{
  char number[32];

  snprintf(number, sizeof(number), "%" PRIu64, fence);
  return ask(s, 7, (const char *[]){ "EVAL", sell_fenced, "3", "shop:{lamp}:stock",
                                     "shop:{lamp}:fence", "shop:{lamp}:orders",
                                     number }) == 1;
}
