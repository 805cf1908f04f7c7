/* SPDX-License-Identifier: MIT */
/* A libev loop that waits for a lock which another client has, and gives up when a timer of the
 * loop says so. */
#include <dibs/adapters/libev.h>
#include <dibs/dibs.h>

#include <stdio.h>

static dibs_request *request;
static dibs_status end = DIBS_OK;

static void answered(const dibs_error *error, dibs_hold *hold, void *data)
{
  end = error->status;
  if (error->status == DIBS_OK)
    (void)dibs_release(hold);                       /* in a callback it does not wait */
  ev_break(data, EVBREAK_ALL);
}

static void give_up(struct ev_loop *loop, ev_timer *timer, int events)
{
  (void)loop;
  (void)timer;
  (void)events;
  (void)dibs_request_cancel(request);               /* answered() runs, with DIBS_CANCELLED */
}

int main(void)
{
  struct ev_loop *loop = ev_default_loop(EVFLAG_AUTO);
  dibs_options options = DIBS_OPTIONS_INIT;
  dibs_client *client = NULL, *other = NULL;
  dibs_hold *theirs = NULL;
  dibs_libev adapter;
  ev_timer timer;

  options.flags = DIBS_CLIENT_NO_THREAD;
  if (loop == NULL || dibs_open(NULL, &options, &client, NULL) != DIBS_OK ||
      dibs_open(NULL, NULL, &other, NULL) != DIBS_OK ||
      dibs_lock(other, "printer", NULL, &theirs) != DIBS_OK ||
      dibs_libev_attach(&adapter, client, loop) != 0)
    return 1;
  ev_init(&timer, give_up);
  ev_timer_set(&timer, 0.05, 0);
  if (dibs_lock_async(client, "printer", NULL, answered, loop, &request) == DIBS_OK) {
    ev_timer_start(loop, &timer);
    (void)ev_run(loop, 0);
  }
  dibs_libev_detach(&adapter);
  dibs_close(client);
  (void)dibs_release(theirs);
  dibs_close(other);
  printf("gave up: %s\n", end == DIBS_CANCELLED ? "yes" : "no");
  return end == DIBS_CANCELLED ? 0 : 1;
}
