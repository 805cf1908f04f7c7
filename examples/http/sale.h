/* SPDX-License-Identifier: MIT */
/* One process of the flash sale: an HTTP server on a port that it shares with its sisters. */
#ifndef HTTP_SALE_H
#define HTTP_SALE_H

#include <stdint.h>

#include <dibs/dibs.h>

typedef struct sale_options {
  const char *url;       /* of the server that has the locks and the stock */
  uint16_t port;
  int32_t ttl_ms;        /* of the lock; 0: the library's default */
  int think_us;          /* between looking at the stock and taking an item */
} sale_options;

typedef struct sale sale;

/* NULL, and a message on stderr, when it cannot be. */
sale *sale_open(const sale_options *options);
/* Answers whoever waits for the lock, and ends. */
sale *sale_close(sale *s);

#endif
