/* SPDX-License-Identifier: MIT */
/* cli/http_none.c - in place of http.c in a program without libmicrohttpd. */
#include "cli/cli.h"
#include "cli/http.h"
#include "cli/message.h"
#include "cli/view.h"

int http_start(const char *verb, const http_options *o, http_server **ret_server)
{
  (void)o, (void)ret_server;
  return say_fault(&(message_facts){ .code = CODE_UNSUPPORTED },
                   "%s: cannot listen: %s", verb,
                   view_hindrance("libmicrohttpd (libmicrohttpd-dev, -Dhttp=enabled)"));
}

const char *http_address(const http_server *s)
{
  (void)s;
  return "";
}

void http_wait(http_server *s, const sigset_t *ends)
{
  (void)s, (void)ends;
}

void http_stop(http_server *s)
{
  (void)s;
}

void http_reply(http_request *r, unsigned code, const char *type, const char *body, size_t size)
{
  (void)r, (void)code, (void)type, (void)body, (void)size;
}

const char *http_argument(http_request *r, const char *key)
{
  (void)r, (void)key;
  return NULL;
}

void http_stream(http_request *r, http_next next, void *state, void (*state_free)(void *))
{
  (void)r, (void)next;
  state_free(state);
}
