/* SPDX-License-Identifier: MIT */
/* A libuv loop that takes ten locks, one after the other, between its other work, and ends by
 * itself when nothing is left to do. */
#include <dibs/adapters/libuv.h>
#include <dibs/dibs.h>

#include <stdio.h>

static dibs_client *client;
static dibs_libuv adapter;
static uv_timer_t heartbeat;
static int done, beats;

static void next_order(void);

static void released(const dibs_error *error, void *data)
{
  (void)data;
  if (error->status != DIBS_OK)
    fprintf(stderr, "not released: %s\n", error->text);
  done++;
  next_order();
}

static void got_it(const dibs_error *error, dibs_hold *hold, void *data)
{
  (void)data;
  if (error->status != DIBS_OK || dibs_release_async(hold, released, NULL) != DIBS_OK) {
    fprintf(stderr, "order %d: %s: %s\n", done, dibs_status_name(error->status), error->text);
    uv_stop(uv_default_loop());
  }
}

static void next_order(void)
{
  char name[32];

  (void)snprintf(name, sizeof(name), "order:%d", done);
  if (done < 10 && dibs_lock_async(client, name, NULL, got_it, NULL, NULL) == DIBS_OK)
    return;
  dibs_libuv_detach(&adapter, NULL);
  uv_close((uv_handle_t *)&heartbeat, NULL);
}

static void beat(uv_timer_t *timer)
{
  (void)timer;
  beats++;
}

int main(void)
{
  dibs_options options = DIBS_OPTIONS_INIT;
  dibs_error error = DIBS_ERROR_INIT;

  options.flags = DIBS_CLIENT_NO_THREAD;
  if (dibs_open(NULL, &options, &client, NULL) != DIBS_OK ||
      dibs_libuv_attach(&adapter, client, uv_default_loop()) != 0) {
    (void)dibs_client_error(client, 0, &error);
    fprintf(stderr, "no client in the loop: %s\n", error.text);
    return 1;
  }
  (void)uv_timer_init(uv_default_loop(), &heartbeat);
  (void)uv_timer_start(&heartbeat, beat, 0, 1);
  next_order();
  (void)uv_run(uv_default_loop(), UV_RUN_DEFAULT);
  dibs_close(client);
  printf("%d orders done, the loop did other work meanwhile: %s\n", done,
         beats > 0 ? "yes" : "no");
  return done == 10 && beats > 0 ? 0 : 1;
}
