/* SPDX-License-Identifier: MIT */
/* cli/http_heads.c - ends connections whose request does not come in time. */
#include "cli/http_heads.h"

#include <sys/socket.h>

/* The place of `fd`, else a free one. -1: neither. */
static int place_of(const http_heads *h, int fd)
{
  int found = -1;

  for (int i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
    if (h->of[i].until_ms != 0 && h->of[i].fd == fd)
      return i;
    if (h->of[i].until_ms == 0)
      found = i;
  }
  return found;
}

void http_heads_set(http_heads *h, int fd, int64_t until_ms)
{
  int at;

  pthread_mutex_lock(&h->mutex);
  at = place_of(h, fd);
  if (at >= 0) {
    h->of[at].fd = fd;
    h->of[at].until_ms = until_ms;
  }
  pthread_mutex_unlock(&h->mutex);
}

void http_heads_end_late(http_heads *h, int64_t now_ms)
{
  pthread_mutex_lock(&h->mutex);
  for (int i = 0; i < HTTP_CONNECTIONS_MAX; i++)
    if (h->of[i].until_ms != 0 && h->of[i].until_ms <= now_ms) {
      (void)shutdown(h->of[i].fd, SHUT_RDWR);     /* its thread closes it */
      h->of[i].until_ms = 0;
    }
  pthread_mutex_unlock(&h->mutex);
}
