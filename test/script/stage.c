/* SPDX-License-Identifier: MIT */
/* test/script/stage.c - see stage.h. */

#include "tests.h"

#include <stdio.h>

#include "mode.h"
#include "server.h"
#include "stage.h"

struct world *w;

bool stage_is_skipped(void)
{
  const char *why_not = mode_why_not();

  if (why_not != NULL)
    (void)printf("1..0 # SKIP %s\n", why_not);
  return why_not != NULL;
}

int stage_start(void **state)
{
  (void)state;
  w = world_new(NULL);
  return 0;
}

int stage_start_with_debug(void **state)
{
  static const char *const arguments[] = { "--enable-debug-command", "yes", NULL };

  (void)state;
  w = world_new(arguments);
  return 0;
}

int stage_stop(void **state)
{
  (void)state;
  w = world_free(w);
  return 0;
}

int stage_clear(void **state)
{
  (void)state;
  stage_empty_memory();
  world_clear(w);
  return 0;
}

int stage_check_errors(void **state)
{
  (void)state;
  assert_int_equal(world_errors(w), 0);
  return 0;
}

void stage_fill_memory(void)
{
  assert_string_equal(test_server_command(world_server(w), "CONFIG SET maxmemory 1"), "OK");
}

void stage_empty_memory(void)
{
  assert_string_equal(test_server_command(world_server(w), "CONFIG SET maxmemory 0"), "OK");
}

long long stage_commands(int own, int looks)
{
  long long count = test_server_integer(world_server(w), "EVAL %s 0",
    "local count, own = 0, ' config config|resetstat eval evalsha fcall info ' "
    "for name, calls in string.gmatch(redis.call('INFO', 'commandstats'), "
    "'cmdstat_([%w|]+):calls=(%d+)') do if not string.find(own, ' ' .. name .. ' ', 1, true) then "
    "count = count + calls end end return count");

  test_server_command(world_server(w), "CONFIG RESETSTAT");
  return count - own - (mode_get().guard ? looks : 0);
}

const resp_reply *stage_send(void)
{
  const resp_reply *r = world_raw(w, world_buffer(w));

  buffer_clear(world_buffer(w));
  return r;
}

const resp_reply *stage_send_kept(const char *key)
{
  const resp_reply *r = stage_send();
  long long left = test_server_integer(world_server(w), "PTTL %s", key);

  if (resp_root(r)->kind == RESP_ERROR)
    fail_msg("%s", resp_root(r)->bytes);
  if (left != -2)
    assert_in_range(left, HOUR_MS - 60000, HOUR_MS);
  return r;
}
