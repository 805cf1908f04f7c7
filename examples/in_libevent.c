/* SPDX-License-Identifier: MIT */
/* A libevent loop that holds a lock while a timer of the loop does the work, and learns there
 * if the lock is lost meanwhile. */
#include <dibs/adapters/libevent.h>
#include <dibs/dibs.h>

#include <stdio.h>

static struct event_base *loop;
static struct event *work;
static dibs_hold *held;
static int left = 5, is_done;

static void stop(const char *text, dibs_status status)
{
  if (text != NULL)
    fprintf(stderr, "%s: %s\n", text, dibs_status_name(status));
  is_done = text == NULL;
  (void)event_base_loopbreak(loop);
}

static void released(const dibs_error *error, void *data)
{
  (void)data;
  stop(error->status == DIBS_OK ? NULL : "not released", error->status);
}

static void lost(dibs_hold *hold, const dibs_loss *loss, void *data)
{
  (void)hold;
  (void)data;
  stop("lost in the middle of the work", loss->why);
}

static void step(evutil_socket_t fd, short events, void *data)
{
  (void)fd;
  (void)events;
  (void)data;
  if (--left > 0)
    return;
  (void)event_del(work);
  if (dibs_release_async(held, released, NULL) != DIBS_OK)
    stop("not released", DIBS_ERR_STALE);
}

static void got_it(const dibs_error *error, dibs_hold *hold, void *data)
{
  static const struct timeval every = { 0, 2000 };

  (void)data;
  if (error->status != DIBS_OK) {
    stop(error->text, error->status);
    return;
  }
  held = hold;
  (void)event_add(work, &every);
}

int main(void)
{
  dibs_options options = DIBS_OPTIONS_INIT;
  dibs_lock_options lock = DIBS_LOCK_OPTIONS_INIT;
  dibs_client *client = NULL;
  dibs_libevent adapter;

  options.flags = DIBS_CLIENT_NO_THREAD;
  lock.on_lost = lost;
  loop = event_base_new();
  if (loop == NULL || dibs_open(NULL, &options, &client, NULL) != DIBS_OK ||
      dibs_libevent_attach(&adapter, client, loop) != 0)
    return 1;
  work = event_new(loop, -1, EV_PERSIST, step, NULL);
  if (work != NULL && dibs_lock_async(client, "report", &lock, got_it, NULL, NULL) == DIBS_OK)
    (void)event_base_dispatch(loop);
  dibs_libevent_detach(&adapter);
  dibs_close(client);
  event_free(work);
  event_base_free(loop);
  printf("the report is written: %s\n", is_done ? "yes" : "no");
  return is_done ? 0 : 1;
}
