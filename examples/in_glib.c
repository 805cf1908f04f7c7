/* SPDX-License-Identifier: MIT */
/* A main loop of GLib, as of a program with windows, that takes a lock for each of three jobs; the
 * loop goes on meanwhile. */
#include <dibs/adapters/glib.h>
#include <dibs/dibs.h>

#include <stdio.h>

static GMainLoop *loop;
static dibs_client *client;
static int jobs_done, frames;

static void released(const dibs_error *error, void *data)
{
  (void)data;
  jobs_done += error->status == DIBS_OK;
  if (jobs_done == 3 || error->status != DIBS_OK)
    g_main_loop_quit(loop);
}

static void got_it(const dibs_error *error, dibs_hold *hold, void *data)
{
  if (error->status == DIBS_OK && dibs_release_async(hold, released, NULL) == DIBS_OK)
    return;
  fprintf(stderr, "%s: %s\n", (const char *)data, error->text);
  g_main_loop_quit(loop);
}

static gboolean draw(gpointer data)
{
  (void)data;
  frames++;
  return G_SOURCE_CONTINUE;
}

static gboolean begin(gpointer data)
{
  static char *const jobs[] = { "invoices", "mails", "backup" };

  (void)data;
  for (int i = 0; i < 3; i++)
    if (dibs_lock_async(client, jobs[i], NULL, got_it, jobs[i], NULL) != DIBS_OK)
      g_main_loop_quit(loop);
  return G_SOURCE_REMOVE;
}

int main(void)
{
  dibs_options options = DIBS_OPTIONS_INIT;
  dibs_glib adapter;
  guint frame;

  options.flags = DIBS_CLIENT_NO_THREAD;
  if (dibs_open(NULL, &options, &client, NULL) != DIBS_OK ||
      dibs_glib_attach(&adapter, client, NULL) != 0)
    return 1;
  loop = g_main_loop_new(NULL, FALSE);
  frame = g_idle_add(draw, NULL);
  (void)g_idle_add(begin, NULL);
  g_main_loop_run(loop);
  (void)g_source_remove(frame);
  dibs_glib_detach(&adapter);
  dibs_close(client);
  g_main_loop_unref(loop);
  printf("%d jobs done, the loop did other work meanwhile: %s\n", jobs_done,
         frames > 0 ? "yes" : "no");
  return jobs_done == 3 && frames > 0 ? 0 : 1;
}
