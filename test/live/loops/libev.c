/* SPDX-License-Identifier: MIT */
/* test/live/loops/libev.c - the row of libev. */
#include "loop.h"

#define dibs_process counted_process
#include <dibs/adapters/libev.h>

#include <assert.h>
#include <string.h>

static struct ev_loop *loop;
static ev_timer timer;
static dibs_libev adapter;

static void over(struct ev_loop *l, ev_timer *t, int events)
{
  (void)l;
  (void)t;
  (void)events;
}

static void open_loop(void)
{
  loop = ev_loop_new(EVFLAG_AUTO);
  ev_init(&timer, over);
}


static int attach(dibs_client *client)
{
  memset(&adapter, 0xa5, sizeof(adapter));
  return dibs_libev_attach(&adapter, client, loop);
}

static void forked(void) { ev_loop_fork(loop); }
static dibs_status status(void) { return adapter.status; }

static void turn(int limit_ms)
{
  ev_timer_set(&timer, limit_ms / 1e3, 0);
  ev_now_update(loop);
  ev_timer_start(loop, &timer);
  (void)ev_run(loop, EVRUN_ONCE);
  ev_timer_stop(loop, &timer);
}

static void detach(void) { dibs_libev_detach(&adapter); }

static void close_loop(void)
{
  assert(!ev_is_active(&adapter.io));
  ev_loop_destroy(loop);
}

const struct loop loop_libev = {
  .name = "libev", .open = open_loop, .attach = attach, .turn = turn,
  .forked = forked, .status = status, .detach = detach, .close = close_loop,
};
