/* SPDX-License-Identifier: MIT */
/* topo/deployment_write.c - writes a deployment as URL, for programs that this one starts:
 * the inverse of deployment_parse(). */
#include "topo/server_url_parts.h"

#include <string.h>

/* The result of reading a URL of this deployment. It borrows; do not free it. */
static url_reading reading_of(const deployment *d, const server_url *server)
{
  url_reading r = { .url = *server, .kind = d->kind, .mapping_count = d->mapping_count,
                    .mappings = d->mappings };

  if (d->kind == DEPLOYMENT_QUORUM)
    r.kind = DEPLOYMENT_SINGLE;
  if (r.url.prefix != NULL && strcmp(r.url.prefix, PREFIX_DEFAULT) == 0)
    r.url.prefix = NULL;
  if (r.url.transport != SERVER_UNIX)
    r.url.database = 0;           /* the path has it */
  /* Each program has its own note, and reads its own configuration file. */
  r.url.note = NULL;
  if (r.url.password_in != PASSWORD_LINE)
    r.url.password_file = NULL;
  return r;
}

/* Sentinels have their own log-in and TLS setting; one set of TLS files serves both. */
static void sentinel_set(url_reading *r, const server_url *sentinel)
{
  r->sentinel_user = sentinel->user;
  r->sentinel_password = sentinel->password;
  if (sentinel->transport != r->url.transport)
    r->sentinel_tls = sentinel->transport == SERVER_TLS ? CHOICE_YES : CHOICE_NO;
  if (sentinel->transport != SERVER_TLS)
    return;
  r->url.ca_file = sentinel->ca_file;
  r->url.cert_file = sentinel->cert_file;
  r->url.key_file = sentinel->key_file;
  r->url.server_name = sentinel->server_name;
}

static const char *scheme_of(const deployment *d, const server_url *u)
{
  bool is_tls = u->transport == SERVER_TLS;

  switch (d->kind) {
  case DEPLOYMENT_SENTINEL: return is_tls ? "rediss+sentinel://" : "redis+sentinel://";
  case DEPLOYMENT_CLUSTER: return is_tls ? "rediss+cluster://" : "redis+cluster://";
  case DEPLOYMENT_SINGLE:
  case DEPLOYMENT_REPLICATED:
  case DEPLOYMENT_QUORUM: break;
  }
  return is_tls ? "rediss://" : "redis://";
}

/* Scheme, hosts, sentinel service, database. */
static void hosts_add(const deployment *d, const server_url *u, const server_url *seeds,
                      size_t seed_count, text *out)
{
  if (u->transport == SERVER_LOCAL) {
    text_add(out, "local:");
    return;
  }
  if (u->transport == SERVER_UNIX) {
    text_add(out, "unix://");
    url_encoded_add(out, seeds[0].path, '/');
    return;
  }
  text_add(out, scheme_of(d, u));
  for (size_t i = 0; i < seed_count; i++) {
    text_add(out, i == 0 ? "" : ",");
    url_place_add(out, &seeds[i]);
  }
  if (d->kind == DEPLOYMENT_SENTINEL) {
    text_add(out, "/");
    url_encoded_add(out, d->service, '-');
  }
  if (u->database != 0)
    text_format(out, "/%d", u->database);
}

static void quorum_write(const deployment *d, bool with_passwords, text *out)
{
  url_reading client = reading_of(d, &d->data);

  for (size_t i = 0; i < d->seed_count; i++) {
    url_reading server = reading_of(d, &d->seeds[i]);

    text_add(out, i == 0 ? "" : " ");
    hosts_add(d, &d->seeds[i], &d->seeds[i], 1, out);
    url_options_write(&server, i == 0 ? &client : NULL, with_passwords, out);
  }
}

void deployment_write(const deployment *d, bool with_passwords, text *out)
{
  url_reading r = reading_of(d, &d->data);

  if (d->kind == DEPLOYMENT_QUORUM) {
    quorum_write(d, with_passwords, out);
    return;
  }
  hosts_add(d, &d->data, d->seeds, d->seed_count, out);
  if (d->kind == DEPLOYMENT_SENTINEL)
    sentinel_set(&r, &d->seeds[0]);
  url_options_write(&r, &r, with_passwords, out);
}
