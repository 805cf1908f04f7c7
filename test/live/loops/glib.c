/* SPDX-License-Identifier: MIT */
/* test/live/loops/glib.c - the row of glib. */
#include "loop.h"

#define dibs_process counted_process
#include <dibs/adapters/glib.h>

#include <assert.h>
#include <string.h>

static GMainContext *loop;
static dibs_glib adapter;

static void open_loop(void) { loop = g_main_context_new(); }

static int attach(dibs_client *client)
{
  memset(&adapter, 0xa5, sizeof(adapter));
  return dibs_glib_attach(&adapter, client, loop);
}

static void forked(void) {}
static dibs_status status(void) { return adapter.status; }
static gboolean over(gpointer data) { (void)data; return G_SOURCE_REMOVE; }

static void turn(int limit_ms)
{
  GSource *timer = g_timeout_source_new((guint)limit_ms);

  g_source_set_callback(timer, over, NULL, NULL);
  (void)g_source_attach(timer, loop);
  (void)g_main_context_iteration(loop, TRUE);
  g_source_destroy(timer);
  g_source_unref(timer);
}

static void detach(void) { dibs_glib_detach(&adapter); }

static void close_loop(void)
{
  assert(adapter.source == NULL);
  g_main_context_unref(loop);
}

const struct loop loop_glib = {
  .name = "glib", .open = open_loop, .attach = attach, .turn = turn,
  .forked = forked, .status = status, .detach = detach, .close = close_loop,
};
