/* SPDX-License-Identifier: MIT */
/* topo/server_url_show.c - a server URL for people, without user and password. */
#include "topo/server_url_parts.h"

#include <string.h>

static void path_add(text *out, const char *path)
{
  static const char hex[] = "0123456789ABCDEF";

  for (; *path != 0; path++) {
    unsigned char c = (unsigned char)*path;
    char escaped[3] = { '%', hex[c >> 4], hex[c & 15] };
    if (url_is_word(*path) || c == '/')
      text_add_bytes(out, path, 1);
    else
      text_add_bytes(out, escaped, sizeof(escaped));
  }
}

/* As it would be written: an IPv6 address in brackets, the % of its link as %25. */
static void host_add(text *out, const char *host)
{
  bool is_ipv6 = strchr(host, ':') != NULL;

  text_add(out, is_ipv6 ? "[" : "");
  for (; *host != 0; host++)
    text_add_bytes(out, *host == '%' ? "%25" : host, *host == '%' ? 3 : 1);
  text_add(out, is_ipv6 ? "]" : "");
}

void server_url_show(const server_url *u, text *out)
{
  switch (u->transport) {
  case SERVER_LOCAL:
    text_add(out, "local:");
    return;
  case SERVER_UNIX:
    text_add(out, "unix://");
    path_add(out, u->path);
    if (u->database != 0) {
      text_add(out, "?db=");
      text_add_int(out, u->database);
    }
    return;
  case SERVER_TLS:
  case SERVER_TCP:
    break;
  }
  text_add(out, u->transport == SERVER_TLS ? "rediss://" : "redis://");
  host_add(out, u->host);
  text_add(out, ":");
  text_add_int(out, u->port);
  text_add(out, "/");
  text_add_int(out, u->database);
}
