/* SPDX-License-Identifier: MIT */
/* test/live/loops/libuv.c - the row of libuv. */
#include "loop.h"

#define dibs_process counted_process
#include <dibs/adapters/libuv.h>

#include <assert.h>
#include <string.h>

static uv_loop_t loop;
static uv_timer_t timer;
static dibs_libuv adapter;

static void open_loop(void)
{
  (void)uv_loop_init(&loop);
  (void)uv_timer_init(&loop, &timer);
}


static int attach(dibs_client *client)
{
  memset(&adapter, 0xa5, sizeof(adapter));
  return dibs_libuv_attach(&adapter, client, &loop);
}

static void forked(void) { (void)uv_loop_fork(&loop); }
static dibs_status status(void) { return adapter.status; }

static void over(uv_timer_t *t) { (void)t; }

static void turn(int limit_ms)
{
  (void)uv_timer_start(&timer, over, (uint64_t)limit_ms, 0);
  (void)uv_run(&loop, UV_RUN_ONCE);
  (void)uv_timer_stop(&timer);
}

static void detach(void) { dibs_libuv_detach(&adapter, NULL); }

static void close_loop(void)
{
  int fault;

  uv_close((uv_handle_t *)&timer, NULL);
  (void)uv_run(&loop, UV_RUN_DEFAULT);
  fault = uv_loop_close(&loop);
  assert(fault == 0);
  (void)fault;
}

const struct loop loop_libuv = {
  .name = "libuv", .open = open_loop, .attach = attach, .turn = turn,
  .forked = forked, .status = status, .detach = detach, .close = close_loop,
};
