/* SPDX-License-Identifier: MIT */
/* topo/server_url_address.c - reads the text between scheme and query: log-in, hosts, path. */
#include "topo/server_url_parts.h"

#include <string.h>

#define PORT 6379
#define SENTINEL_PORT 26379
#define SERVICE_BYTES_MAX 255
#define SOCKET_PATH_BYTES_MAX 107      /* sun_path, without its zero */

/* Cuts "user:password@" from the beginning of `authority`. */
static dibs_status credentials_read(url_reading *r, part *authority)
{
  size_t at = authority->size;
  part credentials, user;
  dibs_status status;

  while (at > 0 && authority->at[at - 1] != '@')
    at--;
  if (at == 0)
    return DIBS_OK;
  credentials = (part){ authority->at, at - 1 };
  part_skip(authority, at);
  if (part_has(credentials, '@'))
    return url_fault(r, "an '@' in a user or password must be written %40");
  if (part_split(&credentials, ':', &user)) {
    status = url_decode(r, credentials, "the password", &r->url.password);
    if (status != DIBS_OK)
      return status;
  } else {
    user = credentials;
  }
  return user.size == 0 ? DIBS_OK : url_decode(r, user, "the user", &r->url.user);
}

/* ---- one host ---- */

static bool is_hex_or(char c, const char *others)
{
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')
    || (c != 0 && strchr(others, c) != NULL);
}

/* An address in brackets: digits and colons, optionally %25 and an interface name. */
static bool ipv6_is_fine(const char *host)
{
  size_t colons = 0;
  size_t used = 0;

  for (; is_hex_or(host[used], ":."); used++)
    colons += host[used] == ':';
  if (colons < 2 || used > 45)
    return false;
  if (host[used] == 0)
    return true;
  if (host[used] != '%' || host[used + 1] == 0)
    return false;
  for (used++; host[used] != 0; used++)
    if (!url_is_word(host[used]))
      return false;
  return true;
}

static bool host_is_fine(const char *host)
{
  size_t size = strlen(host);

  for (size_t i = 0; i < size; i++)
    if (!url_is_word(host[i]))
      return false;
  return size >= 1 && size <= 253 && host[0] != '-' && host[0] != '.';
}

static dibs_status port_read(url_reading *r, part words, int *ret_port)
{
  uint64_t port;

  if (words.size > 5 || !text_to_uint(words.at, words.size, &port)
      || port < 1 || port > 65535)
    return url_fault(r, "the port must be a number from 1 to 65535");
  *ret_port = (int)port;
  return DIBS_OK;
}

/* "[::1]:6379" */
static dibs_status bracketed_cut(url_reading *r, part words, address_parts *a)
{
  part_skip(&words, 1);
  if (!part_split(&words, ']', &a->host))
    return url_fault(r, "the host begins with '[' and has no ']'");
  a->is_bracketed = true;
  a->has_port = words.size > 0;
  if (a->has_port && words.at[0] != ':')
    return url_fault(r, "after the ']' of the host only a ':' and a port may follow");
  if (a->has_port)
    part_skip(&words, 1);
  a->port = words;
  return DIBS_OK;
}

dibs_status address_cut(url_reading *r, part words, address_parts *ret)
{
  address_parts a = { .host = words };
  dibs_status status = DIBS_OK;

  if (words.size > 0 && words.at[0] == '[') {
    status = bracketed_cut(r, words, &a);
  } else {
    a.has_port = part_split(&words, ':', &a.host);
    a.port = words;
    if (a.has_port && part_has(words, ':'))
      return url_fault(r, "an IPv6 address must be in brackets, as in redis://[::1]");
    if (a.host.size == 0)
      return url_fault(r, a.has_port ? "the host is missing before the port"
                                     : "a host is missing beside a comma");
  }
  if (status == DIBS_OK)
    *ret = a;
  return status;
}

dibs_status address_check(url_reading *r, const address_parts *a, const char *host,
                          int *ret_port)
{
  if (a->is_bracketed && !ipv6_is_fine(host))
    return url_fault(r, "the host in brackets is not an IPv6 address");
  if (!a->is_bracketed && !host_is_fine(host))
    return url_fault(r, "the host must be of letters, digits, '.', '-' and '_'");
  return a->has_port ? port_read(r, a->port, ret_port) : DIBS_OK;
}

/* ---- all hosts ---- */

static dibs_status host_read(url_reading *r, part words)
{
  url_host *h = &r->hosts[r->host_count];
  address_parts a = { .port = words };
  dibs_status status = address_cut(r, words, &a);

  if (status == DIBS_OK)
    status = url_decode(r, a.host, "the host", &h->host);
  if (status != DIBS_OK)
    return status;
  r->host_count++;
  h->port = r->kind == DEPLOYMENT_SENTINEL ? SENTINEL_PORT : PORT;
  return address_check(r, &a, h->host, &h->port);
}

/* Refuses a repeated host: a sentinel must not count twice. */
static dibs_status host_check_new(url_reading *r)
{
  const url_host *last = &r->hosts[r->host_count - 1];

  for (size_t i = 0; i + 1 < r->host_count; i++)
    if (r->hosts[i].port == last->port && host_is_same(r->hosts[i].host, last->host)) {
      text_format(r->why, "host %zu of the URL is host %zu", r->host_count, i + 1);
      return url_fault(r, " again");
    }
  return DIBS_OK;
}

static dibs_status hosts_read(url_reading *r, part authority)
{
  size_t count = part_count(authority, ',') + 1;

  if (authority.size == 0)
    return url_fault(r, "the host is missing, as in redis://127.0.0.1:6379");
  if (count > SEEDS_MAX)
    return url_fault(r, "the URL has more than 64 hosts");
  r->hosts = mem_zalloc(&r->url.memory, count * sizeof(*r->hosts));
  if (r->hosts == NULL)
    return DIBS_ERR_NO_MEMORY;
  for (size_t i = 0; i < count; i++) {
    part words = { authority.at, 0 };
    dibs_status status;

    (void)part_next(&authority, ',', &words);
    status = host_read(r, words);
    if (status == DIBS_OK)
      status = host_check_new(r);
    if (status != DIBS_OK)
      return status;
  }
  if (r->kind == DEPLOYMENT_SINGLE && count > 1)
    r->kind = DEPLOYMENT_REPLICATED;
  return DIBS_OK;
}

/* ---- the path ---- */

/* "/3" after the host; "" and "/" select no database. */
static dibs_status database_path_read(url_reading *r, part path)
{
  if (path.size > 0)
    part_skip(&path, 1);
  if (path.size == 0)
    return DIBS_OK;
  return url_database_read(r, path);
}

static bool service_is_fine(const char *name)
{
  size_t size = strlen(name);

  for (size_t i = 0; i < size; i++)
    if ((unsigned char)name[i] <= 0x20 || name[i] == 0x7f)
      return false;
  return size <= SERVICE_BYTES_MAX;
}

/* "/mymaster/0" */
static dibs_status service_path_read(url_reading *r, part path)
{
  part name = { path.at, 0 };
  dibs_status status;

  if (path.size > 0)
    part_skip(&path, 1);
  if (path.size > 0 && path.at[0] != '/')
    for (name.at = path.at; path.size > 0 && path.at[0] != '/'; part_skip(&path, 1))
      name.size++;
  if (name.size == 0)
    return url_fault(r, "the name of the service is missing, as in "
                        "redis+sentinel://h1,h2,h3/mymaster/0");
  status = url_decode(r, name, "the name of the service", &r->service);
  if (status != DIBS_OK)
    return status;
  if (!service_is_fine(r->service))
    return url_fault(r, "the name of the service must be of 1 to 255 bytes, without blank "
                        "or control character");
  return database_path_read(r, path);
}

static dibs_status socket_path_read(url_reading *r, part path)
{
  dibs_status status;

  if (path.size < 2)
    return url_fault(r, "the socket's path is missing, as in unix:///run/redis.sock");
  status = url_decode(r, path, "the socket's path", &r->url.path);
  if (status == DIBS_OK && strlen(r->url.path) > SOCKET_PATH_BYTES_MAX)
    return url_fault(r, "the socket's path is longer than 107 bytes");
  return status;
}

dibs_status url_place_read(url_reading *r, part rest)
{
  part authority = rest;
  dibs_status status;

  if (r->url.transport == SERVER_LOCAL) {
    if (rest.size > 0)
      return url_fault(r, "local: takes no host and no path");
    return DIBS_OK;
  }
  authority.size = 0;
  while (authority.size < rest.size && rest.at[authority.size] != '/')
    authority.size++;
  part_skip(&rest, authority.size);
  if (part_has(rest, '@') && !part_has(authority, '@'))
    return url_fault(r, "a '/' in a user or password must be written %2F");
  status = credentials_read(r, &authority);
  if (status != DIBS_OK)
    return status;
  if (r->url.transport == SERVER_UNIX) {
    if (authority.size > 0)
      return url_fault(r, "unix:// takes no host: three slashes, "
                          "as in unix:///run/redis.sock");
    return socket_path_read(r, rest);
  }
  status = hosts_read(r, authority);
  if (status != DIBS_OK)
    return status;
  return r->kind == DEPLOYMENT_SENTINEL ? service_path_read(r, rest)
                                        : database_path_read(r, rest);
}
