/* SPDX-License-Identifier: MIT */
/* test/live/loops/sd-event.c - the row of sd-event. */
#include "loop.h"

#define dibs_process counted_process
#include <dibs/adapters/sd-event.h>

#include <assert.h>
#include <string.h>

static sd_event *loop;
static dibs_sd_event adapter;

static void open_loop(void) { (void)sd_event_new(&loop); }

static int attach(dibs_client *client)
{
  memset(&adapter, 0xa5, sizeof(adapter));
  return dibs_sd_event_attach(&adapter, client, loop);
}

static void forked(void) {}
static dibs_status status(void) { return adapter.status; }
static void turn(int limit_ms) { (void)sd_event_run(loop, (uint64_t)limit_ms * 1000); }
static void detach(void) { dibs_sd_event_detach(&adapter); }

static void close_loop(void)
{
  assert(adapter.source == NULL);
  loop = sd_event_unref(loop);
}

const struct loop loop_sd_event = {
  .name = "sd-event", .open = open_loop, .attach = attach, .turn = turn,
  .forked = forked, .status = status, .detach = detach, .close = close_loop,
};
