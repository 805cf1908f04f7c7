/* SPDX-License-Identifier: MIT */
/* cli/http.h - a small HTTP server for dibs metrics and dibs web, over libmicrohttpd. */
#ifndef CLI_HTTP_H
#define CLI_HTTP_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct http_server http_server;
typedef struct http_request http_request;

/* Answers one request by http_reply(), http_stream() or not at all (404). Thread: one of each
 * connection. */
typedef void (*http_handler)(http_request *r, const char *path, void *data);

typedef struct http_options {
  const char *listen;        /* HOST:PORT, an IP address; [::1]:8090 */
  const char *token;         /* NULL: none */
  const char *cert, *key;    /* files, PEM; NULL: no TLS */
  bool is_public_allowed;    /* without token or certificate, as for metrics */
  http_handler handle;
  void *data;
} http_options;

/* `verb` stands in messages. 0, or an exit code after saying why. */
int http_start(const char *verb, const http_options *o, http_server **ret_server);

/* "http://127.0.0.1:9464", with the port that was given by the system for 0. */
const char *http_address(const http_server *s);
/* Returns after a signal of `ends`, which the threads of the program block. Before that it ends
 * connections that are too slow. */
void http_wait(http_server *s, const sigset_t *ends);
void http_stop(http_server *s);

/* `body` is copied. */
void http_reply(http_request *r, unsigned code, const char *type, const char *body, size_t size);

/* The argument `key` of the query, decoded; NULL. Borrowed. */
const char *http_argument(http_request *r, const char *key);

/* Server-sent events: `next` writes the next piece into `ret_bytes` (waits for it) and returns its
 * size, or 0 when the stream is over; size is 16 KiB at least. */
typedef size_t (*http_next)(void *state, char *ret_bytes, size_t size);
void http_stream(http_request *r, http_next next, void *state, void (*state_free)(void *));

#endif
