/* SPDX-License-Identifier: MIT */
/* test/script/ear.c - see ear.h. */
#include "tests.h"
#include "ear.h"

#include <hiredis/hiredis.h>
#include <string.h>

#include "mode.h"
#include "server.h"
#include "stage.h"

static redisContext *ear;

void ear_open(const char *channel)
{
  redisReply *r;

  ear = redisConnectUnix(test_server_socket(world_server(w)));
  r = redisCommand(ear, mode_get().sharded ? "SSUBSCRIBE %s" : "SUBSCRIBE %s", channel);
  assert_non_null(r);
  freeReplyObject(r);
}

void ear_close(void) { redisFree(ear); }

int ear_count(void)
{
  redisReply *r = NULL;
  int count = 0;

  assert_int_equal(redisAppendCommand(ear, "PING"), REDIS_OK);
  for (;;) {
    assert_int_equal(redisGetReply(ear, (void **)&r), REDIS_OK);
    if (strstr(r->element[0]->str, "message") == NULL)
      break;
    freeReplyObject(r);
    count++;
  }
  freeReplyObject(r);
  return count;
}
