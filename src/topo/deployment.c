/* SPDX-License-Identifier: MIT */
/* topo/deployment.c - reads one or several URLs into a deployment.
 *
 * Several URLs are a quorum. Blanks separate them, or a comma before a scheme:
 * "redis://a,redis://b" names two servers, "redis://a,b" is one URL of two hosts. Options
 * of the client hold for all servers and must be in the first URL. */
#include "topo/server_url_parts.h"

#include <string.h>

#define URLS_BYTES_MAX 65536
#define QUORUM_MIN 3

/* ---- one URL ---- */

/* Sentinels have their own log-in and TLS setting. */
static bool seed_make_sentinel(url_reading *r, server_url *seed)
{
  const memory *m = &seed->memory;

  mem_free_secret(m, seed->user);
  mem_free_secret(m, seed->password);
  mem_free_secret(m, seed->password_file);
  seed->password_file = NULL;
  seed->user = mem_copy_text(m, r->sentinel_user);
  seed->password = mem_copy_text(m, r->sentinel_password);
  seed->database = 0;
  if (r->sentinel_tls != 0)
    seed->transport = r->sentinel_tls == CHOICE_YES ? SERVER_TLS : SERVER_TCP;
  return (r->sentinel_user == NULL || seed->user != NULL)
    && (r->sentinel_password == NULL || seed->password != NULL);
}

static bool seed_add(url_reading *r, deployment *d, size_t which)
{
  server_url *seed = &d->seeds[which];

  if (server_url_copy(&d->data, seed) != DIBS_OK)
    return false;
  d->seed_count++;
  if (which < r->host_count) {
    seed->host = r->hosts[which].host;
    seed->port = r->hosts[which].port;
    r->hosts[which].host = NULL;
  }
  return r->kind != DEPLOYMENT_SENTINEL || seed_make_sentinel(r, seed);
}

/* Moves what was read into a deployment; after a fault, `r` keeps the rest. */
static bool reading_take(url_reading *r, deployment *d)
{
  const memory *m = &d->memory;
  size_t count = r->host_count > 0 ? r->host_count : 1;

  d->kind = r->kind;
  d->data = r->url;
  r->url = (server_url){ .memory = *m };
  d->service = r->service;
  r->service = NULL;
  d->mappings = r->mappings;
  d->mapping_count = r->mapping_count;
  r->mappings = NULL;
  r->mapping_count = 0;
  d->seeds = mem_zalloc(m, count * sizeof(*d->seeds));
  if (d->seeds == NULL)
    return false;
  for (size_t i = 0; i < count; i++)
    if (!seed_add(r, d, i))
      return false;
  mem_free_secret(m, d->data.path);
  d->data.path = NULL;
  return true;
}

static dibs_status one_read(const memory *m, part url, bool is_first, deployment *ret,
                            text *why)
{
  url_reading r = { .url = { .memory = *m }, .why = why, .may_show = true };
  deployment d = { .memory = *m, .data = { .memory = *m } };
  dibs_status status = url_read(&r, url);

  if (status == DIBS_OK && !is_first && url_option_of_client(&r) != NULL) {
    text_format(why, "the option %s", url_option_of_client(&r));
    status = url_fault(&r, " holds for all servers of a quorum: it belongs to the first URL");
  }
  if (status == DIBS_OK && !reading_take(&r, &d))
    status = DIBS_ERR_NO_MEMORY;
  url_reading_deinit(&r);
  if (status == DIBS_OK)
    *ret = d;
  else
    deployment_deinit(&d);
  return status;
}

/* ---- several ---- */

static bool is_blank(char c)
{
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void blanks_skip(part *p)
{
  while (p->size > 0 && is_blank(p->at[0]))
    part_skip(p, 1);
}

static bool scheme_is_ahead(part p)
{
  static const char local[] = "local:";
  size_t used = 0;

  if (p.size >= sizeof(local) - 1 && memcmp(p.at, local, sizeof(local) - 1) == 0
      && (p.size == sizeof(local) - 1 || !url_is_word(p.at[sizeof(local) - 1])))
    return true;
  while (used < p.size && (url_is_word(p.at[used]) || p.at[used] == '+'))
    used++;
  return used > 0 && p.size - used >= 3 && memcmp(p.at + used, "://", 3) == 0;
}

/* Removes a comma before a scheme, and the blanks between the two. */
static bool comma_take(part *rest)
{
  part behind = *rest;

  if (rest->size == 0 || rest->at[0] != ',')
    return false;
  part_skip(&behind, 1);
  blanks_skip(&behind);
  if (!scheme_is_ahead(behind))
    return false;
  *rest = behind;
  return true;
}

/* Cuts the next URL from `rest`; false: none is left. */
static bool piece_next(part *rest, part *ret_piece)
{
  part piece;

  blanks_skip(rest);
  (void)comma_take(rest);
  piece = (part){ rest->at, 0 };
  while (rest->size > 0 && !is_blank(rest->at[0]) && !comma_take(rest)) {
    part_skip(rest, 1);
    piece.size++;
  }
  *ret_piece = piece;
  return piece.size > 0;
}

/* The number of URLs; 1 if text after a blank is no URL: then the blank is the fault. */
static size_t pieces_count(part urls)
{
  part piece;
  size_t count = 0;

  while (piece_next(&urls, &piece)) {
    if (count > 0 && !scheme_is_ahead(piece))
      return 1;
    count++;
  }
  return count == 0 ? 1 : count;
}

static dibs_status fault(text *why, const char *words)
{
  text_add(why, words);
  return DIBS_ERR_CONFIG;
}

static dibs_status member_check(const deployment *one, text *why)
{
  if (one->kind != DEPLOYMENT_SINGLE)
    return fault(why, "each URL of a quorum must name exactly one server");
  if (one->data.transport == SERVER_LOCAL)
    return fault(why, "local: is the private server of this machine; a quorum cannot contain it");
  return DIBS_OK;
}

/* Copies an option that the first URL sets for all servers. */
static bool text_inherit(const memory *m, char **field, const char *from)
{
  if (*field == NULL)
    *field = mem_copy_text(m, from);
  return from == NULL || *field != NULL;
}

static bool seed_inherit(server_url *seed, const server_url *data)
{
  const memory *m = &seed->memory;
  bool is_tls = seed->transport == SERVER_TLS;

  seed->connect_timeout_ms = data->connect_timeout_ms;
  seed->command_timeout_ms = data->command_timeout_ms;
  seed->close_timeout_ms = data->close_timeout_ms;
  seed->clock_rate_error_ppm = data->clock_rate_error_ppm;
  seed->quarantine_ms = data->quarantine_ms;
  seed->degrade = data->degrade;
  seed->dialect = data->dialect;
  seed->pubsub = data->pubsub;
  seed->sharded = data->sharded;
  seed->functions = data->functions;
  return text_inherit(m, &seed->prefix, data->prefix)
    && text_inherit(m, &seed->note, data->note)
    && text_inherit(m, &seed->registry, data->registry)
    && (!is_tls || (text_inherit(m, &seed->ca_file, data->ca_file)
                    && text_inherit(m, &seed->cert_file, data->cert_file)
                    && text_inherit(m, &seed->key_file, data->key_file)));
}

/* A server may have only one vote. */
static dibs_status member_check_new(const deployment *d, const server_url *seed, text *why)
{
  for (size_t i = 0; i < d->seed_count; i++)
    if (server_url_same_address(&d->seeds[i], seed)) {
      text_format(why, "the same server as server %zu", i + 1);
      return fault(why, "; the servers of a quorum must be different");
    }
  return DIBS_OK;
}

/* Reads one server of a quorum and adds it to `d`. */
static dibs_status member_read(deployment *d, part url, text *why)
{
  bool is_first = d->seed_count == 0;
  deployment one = { .memory = d->memory, .data = { .memory = d->memory } };
  dibs_status status = one_read(&d->memory, url, is_first, &one, why);

  if (status == DIBS_OK)
    status = member_check(&one, why);
  if (status == DIBS_OK)
    status = member_check_new(d, &one.seeds[0], why);
  if (status == DIBS_OK && is_first) {
    d->data = one.data;
    one.data = (server_url){ .memory = d->memory };
  }
  if (status == DIBS_OK && !seed_inherit(&one.seeds[0], &d->data))
    status = DIBS_ERR_NO_MEMORY;
  if (status == DIBS_OK) {
    d->seeds[d->seed_count++] = one.seeds[0];
    one.seed_count = 0;
  }
  deployment_deinit(&one);
  return status;
}

/* The log-in of the first server does not hold for the others. */
static void login_drop(server_url *u)
{
  mem_free_secret(&u->memory, u->user);
  mem_free_secret(&u->memory, u->password);
  mem_free_secret(&u->memory, u->password_file);
  mem_free_secret(&u->memory, u->server_name);
  u->user = u->password = u->password_file = u->server_name = NULL;
  u->database = 0;
}

static dibs_status quorum_read(part urls, size_t count, deployment *d, text *why)
{
  part piece;

  if (count < QUORUM_MIN || count > QUORUM_SERVERS_MAX || count % 2 == 0) {
    text_format(why, "a quorum has 3 to 15 servers, an odd number; the URLs name %zu", count);
    return DIBS_ERR_CONFIG;
  }
  d->kind = DEPLOYMENT_QUORUM;
  d->seeds = mem_zalloc(&d->memory, count * sizeof(*d->seeds));
  if (d->seeds == NULL)
    return DIBS_ERR_NO_MEMORY;
  while (piece_next(&urls, &piece)) {
    size_t said = why->used;
    dibs_status status;

    text_format(why, "server %zu: ", d->seed_count + 1);
    status = member_read(d, piece, why);
    if (status == DIBS_ERR_CONFIG)
      return status;
    why->used = said;
    why->at[said] = 0;
    if (status != DIBS_OK)
      return status;
  }
  login_drop(&d->data);
  return DIBS_OK;
}

/* ---- all ---- */

dibs_status deployment_parse(const memory *m, const char *url, deployment *ret, text *why)
{
  deployment d = { .memory = *m, .data = { .memory = *m } };
  part urls = { url, 0 };
  size_t count;
  dibs_status status;

  while (urls.size <= URLS_BYTES_MAX && url[urls.size] != 0)
    urls.size++;
  if (urls.size > URLS_BYTES_MAX)
    return fault(why, "the URLs are longer than 64 KiB");
  count = pieces_count(urls);
  status = count == 1 ? one_read(m, urls, true, &d, why) : quorum_read(urls, count, &d, why);
  if (status == DIBS_OK)
    *ret = d;
  else
    deployment_deinit(&d);
  return status;
}

void deployment_deinit(deployment *d)
{
  const memory *m = &d->memory;

  for (size_t i = 0; i < d->seed_count; i++)
    server_url_deinit(&d->seeds[i]);
  mem_free(m, d->seeds);
  mem_free_secret(m, d->service);
  for (size_t i = 0; i < d->mapping_count; i++) {
    mem_free_secret(m, d->mappings[i].from_host);
    mem_free_secret(m, d->mappings[i].to_host);
  }
  mem_free(m, d->mappings);
  server_url_deinit(&d->data);
  d->seeds = NULL;
  d->mappings = NULL;
  d->service = NULL;
  d->seed_count = d->mapping_count = 0;
}

bool server_url_same_address(const server_url *a, const server_url *b)
{
  if (a->path != NULL || b->path != NULL)
    return a->path != NULL && b->path != NULL && strcmp(a->path, b->path) == 0;
  return a->host != NULL && b->host != NULL && a->port == b->port
    && host_is_same(a->host, b->host);
}
