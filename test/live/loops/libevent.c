/* SPDX-License-Identifier: MIT */
/* test/live/loops/libevent.c - the row of libevent. */
#include "loop.h"

#define dibs_process counted_process
#include <dibs/adapters/libevent.h>

#include <assert.h>
#include <string.h>

static struct event_base *loop;
static struct event *timer;
static dibs_libevent adapter;

static void over(evutil_socket_t fd, short events, void *data)
{
  (void)fd;
  (void)events;
  (void)data;
}

static void open_loop(void)
{
  loop = event_base_new();
  timer = event_new(loop, -1, 0, over, NULL);
}


static int attach(dibs_client *client)
{
  memset(&adapter, 0xa5, sizeof(adapter));
  return dibs_libevent_attach(&adapter, client, loop);
}

static void forked(void) { (void)event_reinit(loop); }
static dibs_status status(void) { return adapter.status; }

static void turn(int limit_ms)
{
  struct timeval limit = { limit_ms / 1000, limit_ms % 1000 * 1000 };

  (void)event_add(timer, &limit);
  (void)event_base_loop(loop, EVLOOP_ONCE);
  (void)event_del(timer);
}

static void detach(void) { dibs_libevent_detach(&adapter); }

static void close_loop(void)
{
  assert(event_base_get_num_events(loop, EVENT_BASE_COUNT_ADDED) == 0);
  event_free(timer);
  event_base_free(loop);
}

const struct loop loop_libevent = {
  .name = "libevent", .open = open_loop, .attach = attach, .turn = turn,
  .forked = forked, .status = status, .detach = detach, .close = close_loop,
};
