/* SPDX-License-Identifier: MIT */
/* topo/server_url_show.c - writes URLs for people, without users and passwords; they can
 * be read again and lead to the same servers. */
#include "topo/server_url_parts.h"

#include <string.h>

void url_encoded_add(text *out, const char *words, char plain)
{
  static const char hex[] = "0123456789ABCDEF";

  for (; *words != 0; words++) {
    unsigned char c = (unsigned char)*words;
    char encoded[3] = { '%', hex[c >> 4], hex[c & 15] };
    if (url_is_word(*words) || *words == plain)
      text_add_bytes(out, words, 1);
    else
      text_add_bytes(out, encoded, sizeof(encoded));
  }
}

/* The host as in a URL: an IPv6 address in brackets, the % of its interface as %25. */
static void host_add(text *out, const char *host)
{
  bool is_ipv6 = strchr(host, ':') != NULL;

  text_add(out, is_ipv6 ? "[" : "");
  for (; *host != 0; host++)
    text_add_bytes(out, *host == '%' ? "%25" : host, *host == '%' ? 3 : 1);
  text_add(out, is_ipv6 ? "]" : "");
}

void url_place_add(text *out, const server_url *u)
{
  host_add(out, u->host);
  text_format(out, ":%d", u->port);
}

void server_url_show(const server_url *u, text *out)
{
  switch (u->transport) {
  case SERVER_LOCAL:
    text_add(out, "local:");
    return;
  case SERVER_UNIX:
    text_add(out, "unix://");
    url_encoded_add(out, u->path, '/');
    if (u->database != 0)
      text_format(out, "?db=%d", u->database);
    return;
  case SERVER_TLS:
  case SERVER_TCP:
    break;
  }
  text_add(out, u->transport == SERVER_TLS ? "rediss://" : "redis://");
  url_place_add(out, u);
  text_format(out, "/%d", u->database);
}

/* All hosts after one scheme. */
static void seeds_add(text *out, const deployment *d, const char *kind)
{
  text_format(out, "%s%s://", d->data.transport == SERVER_TLS ? "rediss" : "redis", kind);
  for (size_t i = 0; i < d->seed_count; i++) {
    text_add(out, i == 0 ? "" : ",");
    url_place_add(out, &d->seeds[i]);
  }
}

static void database_add(text *out, const deployment *d)
{
  text_format(out, "/%d", d->data.database);
}

static void sentinel_add(text *out, const deployment *d)
{
  seeds_add(out, d, "+sentinel");
  text_add(out, "/");
  url_encoded_add(out, d->service, '-');
  database_add(out, d);
  if (d->seeds[0].transport != d->data.transport)
    text_add(out, d->seeds[0].transport == SERVER_TLS ? "?sentinel_tls=yes"
                                                      : "?sentinel_tls=no");
}

void deployment_show(const deployment *d, text *out)
{
  switch (d->kind) {
  case DEPLOYMENT_REPLICATED:
    seeds_add(out, d, "");
    database_add(out, d);
    return;
  case DEPLOYMENT_SENTINEL:
    sentinel_add(out, d);
    return;
  case DEPLOYMENT_CLUSTER:
    seeds_add(out, d, "+cluster");
    return;
  case DEPLOYMENT_SINGLE:
  case DEPLOYMENT_QUORUM:
    break;
  }
  for (size_t i = 0; i < d->seed_count; i++) {
    text_add(out, i == 0 ? "" : " ");
    server_url_show(&d->seeds[i], out);
  }
}
