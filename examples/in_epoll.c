/* SPDX-License-Identifier: MIT */
/* in_epoll - a lock in a loop of epoll, without a thread of the library: one descriptor. */
#include <dibs/dibs.h>

#include <stdbool.h>
#include <stdio.h>
#include <sys/epoll.h>

static void on_lock(const dibs_error *error, dibs_hold *hold, void *data)
{
  printf("%s\n", error->status == DIBS_OK ? "locked" : error->text);
  if (error->status == DIBS_OK)
    (void)dibs_release(hold);        /* in a callback it does not wait */
  *(bool *)data = true;
}

int main(void)
{
  dibs_options options = DIBS_OPTIONS_INIT;
  struct epoll_event readable = { .events = EPOLLIN };
  dibs_client *client = NULL;
  bool is_over = false;
  int loop = epoll_create1(EPOLL_CLOEXEC);

  options.flags = DIBS_CLIENT_NO_THREAD;
  if (loop < 0 || dibs_open(NULL, &options, &client, NULL) != DIBS_OK ||
      epoll_ctl(loop, EPOLL_CTL_ADD, dibs_fd(client), &readable) != 0)
    return 1;
  if (dibs_lock_async(client, "example:printer", NULL, on_lock, &is_over, NULL) != DIBS_OK)
    return 1;
  while (!is_over)                   /* it turns readable in time for timers, too: no timeout */
    if (epoll_wait(loop, &readable, 1, -1) != 1 || dibs_process(client, NULL) != DIBS_OK)
      return 1;
  client = dibs_close(client);       /* waits until the server has confirmed the release */
  return 0;
}
