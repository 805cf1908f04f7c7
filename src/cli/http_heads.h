/* SPDX-License-Identifier: MIT */
/* cli/http_heads.h - ends connections whose request does not come in time: the timeout of
 * libmicrohttpd begins again with each byte.
 *
 * Thread: any. */
#ifndef CLI_HTTP_HEADS_H
#define CLI_HTTP_HEADS_H

#include <pthread.h>
#include <stdint.h>

#define HTTP_CONNECTIONS_MAX 64

/* Connections that wait for the head of a request. All zero, with a mutex: none. */
typedef struct http_heads {
  pthread_mutex_t mutex;
  struct {
    int fd;
    int64_t until_ms;          /* 0: no connection */
  } of[HTTP_CONNECTIONS_MAX];
} http_heads;

/* The head of the next request must be complete at `until_ms`; 0: it is, or the connection ends.
 * Its socket must not be closed before. */
void http_heads_set(http_heads *h, int fd, int64_t until_ms);

/* Shuts down the sockets whose time is over. */
void http_heads_end_late(http_heads *h, int64_t now_ms);

#endif
