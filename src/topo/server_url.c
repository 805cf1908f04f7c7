/* SPDX-License-Identifier: MIT */
/* topo/server_url.c - reads a URL.
 *
 *   scheme://[user[:password]@]host[:port][,host[:port]...][/db][?option=value&...]
 *   scheme+sentinel://[user[:password]@]host[:port][,...]/service[/db][?option=value&...]
 *   scheme+cluster://[user[:password]@]host[:port][,...][/0][?option=value&...]
 *   unix://[user[:password]@]/path[?option=value&...]
 *   local:[?option=value&...]
 *
 * Strict: unknown text is refused, because a misspelt option that is silently ignored is
 * found in production. Messages go to logs: they show no part of the URL that could be a
 * misplaced password (a forgotten host, an unescaped '/' or '?'). */
#include "topo/server_url_parts.h"

#include <string.h>

#define URL_BYTES_MAX 4096

typedef struct scheme {
  const char *name;
  server_transport transport;
  deployment_kind kind;
} scheme;

static const scheme schemes[] = {
  { "redis", SERVER_TCP, DEPLOYMENT_SINGLE },
  { "valkey", SERVER_TCP, DEPLOYMENT_SINGLE },
  { "rediss", SERVER_TLS, DEPLOYMENT_SINGLE },
  { "valkeys", SERVER_TLS, DEPLOYMENT_SINGLE },
  { "unix", SERVER_UNIX, DEPLOYMENT_SINGLE },
  { "local", SERVER_LOCAL, DEPLOYMENT_SINGLE },
  { "redis+sentinel", SERVER_TCP, DEPLOYMENT_SENTINEL },
  { "valkey+sentinel", SERVER_TCP, DEPLOYMENT_SENTINEL },
  { "rediss+sentinel", SERVER_TLS, DEPLOYMENT_SENTINEL },
  { "valkeys+sentinel", SERVER_TLS, DEPLOYMENT_SENTINEL },
  { "redis+cluster", SERVER_TCP, DEPLOYMENT_CLUSTER },
  { "valkey+cluster", SERVER_TCP, DEPLOYMENT_CLUSTER },
  { "rediss+cluster", SERVER_TLS, DEPLOYMENT_CLUSTER },
  { "valkeys+cluster", SERVER_TLS, DEPLOYMENT_CLUSTER },
};
#define SCHEME_COUNT (sizeof(schemes) / sizeof(schemes[0]))
#define SCHEMES_ALLOWED \
  "redis://, valkey://, rediss://, valkeys://, unix://, redis+sentinel://, " \
  "redis+cluster:// or local:"

static dibs_status scheme_unknown(url_reading *r, part name)
{
  const char *names[SCHEME_COUNT];
  const char *near;

  for (size_t i = 0; i < SCHEME_COUNT; i++)
    names[i] = schemes[i].name;
  near = words_nearest(name, names, SCHEME_COUNT);
  text_add(r->why, "the URL must begin with " SCHEMES_ALLOWED);
  if (near != NULL)
    text_format(r->why, "; did you mean %s%s", near, strcmp(near, "local") == 0 ? ":" : "://");
  return DIBS_ERR_CONFIG;
}

/* Reads "scheme:" and, unless it is local, the two slashes. */
static dibs_status scheme_read(url_reading *r, part *rest)
{
  part name;
  const scheme *found = NULL;

  if (!part_split(rest, ':', &name))
    return scheme_unknown(r, (part){ rest->at, 0 });
  for (size_t i = 0; i < SCHEME_COUNT; i++)
    if (part_is(name, schemes[i].name))
      found = &schemes[i];
  if (found == NULL)
    return scheme_unknown(r, name);
  r->url.transport = found->transport;
  r->kind = found->kind;
  if (found->transport == SERVER_LOCAL)
    return DIBS_OK;
  if (rest->size < 2 || rest->at[0] != '/' || rest->at[1] != '/') {
    text_format(r->why, "after \"%s", found->name);
    return url_fault(r, ":\" the URL must continue with \"//\"");
  }
  part_skip(rest, 2);
  return DIBS_OK;
}

/* Refuses characters that no part may contain unescaped. */
static dibs_status characters_check(url_reading *r, part url)
{
  if (url.size > URL_BYTES_MAX)
    return url_fault(r, "the URL is longer than 4096 bytes");
  for (size_t i = 0; i < url.size; i++) {
    unsigned char c = (unsigned char)url.at[i];
    if (c <= 0x20 || c == 0x7f)
      return url_fault(r, "the URL has a blank or control character; write it as %20 "
                          "and the like");
    if (c == '#')
      return url_fault(r, "a '#' in the URL must be written %23");
  }
  return DIBS_OK;
}

dibs_status url_read(url_reading *r, part url)
{
  part rest = url;
  part address;
  dibs_status status = characters_check(r, url);

  if (status == DIBS_OK)
    status = scheme_read(r, &rest);
  if (status != DIBS_OK)
    return status;
  if (!part_split(&rest, '?', &address)) {
    address = rest;
    rest.size = 0;
  } else if (part_has(rest, '@') && !part_has(address, '@')) {
    /* It may be an option or the end of a password: do not show it. */
    r->may_show = false;
  }
  status = url_place_read(r, address);
  if (status == DIBS_OK)
    status = url_options_read(r, rest);
  if (status == DIBS_OK && r->kind == DEPLOYMENT_CLUSTER && r->url.database != 0)
    return url_fault(r, "a cluster has database 0 only");
  return status;
}

/* ---- a URL of one server ---- */

/* Callers of a single server expect the host in `url`. */
static dibs_status single_take(url_reading *r)
{
  if (r->kind != DEPLOYMENT_SINGLE)
    return url_fault(r, "the URL names several servers; only one is allowed here");
  if (r->host_count == 1) {
    r->url.host = r->hosts[0].host;
    r->url.port = r->hosts[0].port;
    r->hosts[0].host = NULL;
  }
  return DIBS_OK;
}

dibs_status server_url_parse(const memory *m, const char *url, server_url *ret_url,
                             text *why)
{
  url_reading r = { .url = { .memory = *m }, .why = why, .may_show = true };
  size_t size = 0;
  dibs_status status;

  while (size <= URL_BYTES_MAX && url[size] != 0)
    size++;
  status = url_read(&r, (part){ url, size });
  if (status == DIBS_OK)
    status = single_take(&r);
  if (status == DIBS_OK) {
    *ret_url = r.url;
    r.url = (server_url){ .memory = *m };
  }
  url_reading_deinit(&r);
  return status;
}

void server_url_deinit(server_url *u)
{
  char **texts[] = { &u->host, &u->path, &u->user, &u->password, &u->password_file, &u->prefix,
                     &u->ca_file, &u->cert_file, &u->key_file, &u->server_name, &u->note,
                     &u->registry, &u->classes };

  /* All are wiped: in a refused URL, any of them may be a misplaced password. */
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
    mem_free_secret(&u->memory, *texts[i]);
    *texts[i] = NULL;
  }
}

void url_reading_deinit(url_reading *r)
{
  const memory *m = &r->url.memory;

  for (size_t i = 0; i < r->host_count; i++)
    mem_free_secret(m, r->hosts[i].host);
  mem_free(m, r->hosts);
  mem_free_secret(m, r->service);
  mem_free_secret(m, r->sentinel_user);
  mem_free_secret(m, r->sentinel_password);
  for (size_t i = 0; i < r->mapping_count; i++) {
    mem_free_secret(m, r->mappings[i].from_host);
    mem_free_secret(m, r->mappings[i].to_host);
  }
  mem_free(m, r->mappings);
  server_url_deinit(&r->url);
}
