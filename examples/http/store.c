/* SPDX-License-Identifier: MIT */
/* Stock and orders in Redis: three keys in one slot. */
#include "store.h"

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS "sale:{lamp}:items"
#define STOCK "sale:{lamp}:stock"
#define ORDERS "sale:{lamp}:orders"

struct store {
  redisContext *link;
};

/* host:port of redis://host:port/db. */
static redisContext *connect_tcp(const char *address)
{
  char host[256];
  int port = 6379;
  size_t length = strcspn(address, ":/");

  if (length >= sizeof(host))
    return NULL;
  memcpy(host, address, length);
  host[length] = 0;
  if (address[length] == ':' && sscanf(address + length + 1, "%d", &port) != 1)
    return NULL;
  return redisConnect(host, port);
}

static redisContext *connect_to(const char *url)
{
  static const char unix_scheme[] = "unix://";
  const char *rest = strstr(url, "://");
  char path[256];
  size_t length;

  if (rest == NULL)
    return NULL;
  rest += 3;
  if (strncmp(url, unix_scheme, strlen(unix_scheme)) != 0)
    return connect_tcp(rest);
  length = strcspn(rest, "?");
  if (length >= sizeof(path))
    return NULL;
  memcpy(path, rest, length);
  path[length] = 0;
  return redisConnectUnix(path);
}

store *store_open(const char *url)
{
  store *s = calloc(1, sizeof(*s));

  if (s == NULL)
    return NULL;
  s->link = connect_to(url);
  return s->link == NULL || s->link->err != 0 ? store_close(s) : s;
}

store *store_close(store *s)
{
  if (s != NULL && s->link != NULL)
    redisFree(s->link);
  free(s);
  return NULL;
}

/* Takes the next reply; a missing key counts as 0. */
static bool next_number(store *s, long *ret_number)
{
  redisReply *reply = NULL;
  bool is_good;

  if (redisGetReply(s->link, (void **)&reply) != REDIS_OK || reply == NULL)
    return false;
  is_good = reply->type != REDIS_REPLY_ERROR;
  *ret_number = reply->type == REDIS_REPLY_STRING ? strtol(reply->str, NULL, 10)
                                                  : (long)reply->integer;
  freeReplyObject(reply);
  return is_good;
}

/* Sends what is queued; true when `count` answers came and none was an error. */
static bool all_went_well(store *s, int count)
{
  bool is_good = true;
  long ignored;

  while (count-- > 0)
    is_good = next_number(s, &ignored) && is_good;
  return is_good;
}

bool store_reset(store *s, long items)
{
  redisAppendCommand(s->link, "MSET " ITEMS " %ld " STOCK " %ld", items, items);
  redisAppendCommand(s->link, "DEL " ORDERS);
  return all_went_well(s, 2);
}

bool store_read(store *s, store_state *ret_state)
{
  redisAppendCommand(s->link, "GET " ITEMS);
  redisAppendCommand(s->link, "GET " STOCK);
  redisAppendCommand(s->link, "LLEN " ORDERS);
  return next_number(s, &ret_state->items) && next_number(s, &ret_state->stock) &&
         next_number(s, &ret_state->orders);
}

bool store_look(store *s, long *ret_stock)
{
  redisAppendCommand(s->link, "GET " STOCK);
  return next_number(s, ret_stock);
}

bool store_sell(store *s, long left, const char *order)
{
  redisAppendCommand(s->link, "MULTI");
  redisAppendCommand(s->link, "SET " STOCK " %ld", left);
  redisAppendCommand(s->link, "RPUSH " ORDERS " %s", order);
  redisAppendCommand(s->link, "EXEC");
  return all_went_well(s, 4);
}
