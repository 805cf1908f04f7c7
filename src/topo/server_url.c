/* SPDX-License-Identifier: MIT */
/* topo/server_url.c - reads a server URL.
 *
 *   scheme://[user[:password]@]host[:port][/db][?option=value&...]
 *   unix://[user[:password]@]/path[?option=value&...]
 *   local:[?option=value&...]
 *
 * Strict: what is not understood is refused, because a misspelt option silently dropped
 * is found in production. Messages go to logs: they show no part of the URL that could
 * be a password put in the wrong place (a forgotten host, an unescaped '/' or '?'). */
#include "topo/server_url_parts.h"

#include <string.h>

#define URL_BYTES_MAX 4096

typedef struct scheme { const char *name; server_transport transport; } scheme;

static const scheme schemes[] = {
  { "redis", SERVER_TCP }, { "valkey", SERVER_TCP },
  { "rediss", SERVER_TLS }, { "valkeys", SERVER_TLS },
  { "unix", SERVER_UNIX }, { "local", SERVER_LOCAL },
};
#define SCHEME_COUNT (sizeof(schemes) / sizeof(schemes[0]))
#define SCHEMES_ALLOWED \
  "redis://, valkey://, rediss://, valkeys://, unix:// or local:"

static dibs_status scheme_unknown(url_reading *r, part name)
{
  const char *names[SCHEME_COUNT];
  const char *near;

  for (size_t i = 0; i < SCHEME_COUNT; i++)
    names[i] = schemes[i].name;
  near = words_nearest(name, names, SCHEME_COUNT);
  text_add(r->why, "the URL must begin with " SCHEMES_ALLOWED);
  if (near != NULL) {
    text_add(r->why, "; did you mean ");
    text_add(r->why, near);
    text_add(r->why, strcmp(near, "local") == 0 ? ":" : "://");
  }
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
  if (found->transport == SERVER_LOCAL)
    return DIBS_OK;
  if (rest->size < 2 || rest->at[0] != '/' || rest->at[1] != '/') {
    text_add(r->why, "after \"");
    text_add(r->why, found->name);
    return url_fault(r, ":\" the URL must go on with \"//\"");
  }
  part_skip(rest, 2);
  return DIBS_OK;
}

/* Takes "user:password@" off the front of `authority`. */
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

static bool is_hex_or(char c, const char *others)
{
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')
    || (c != 0 && strchr(others, c) != NULL);
}

/* An address in brackets: digits and colons, and maybe %25 and the name of a link. */
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

static dibs_status port_read(url_reading *r, part words)
{
  uint64_t port;

  if (words.size > 5 || !text_to_uint(words.at, words.size, &port)
      || port < 1 || port > 65535)
    return url_fault(r, "the port must be a number from 1 to 65535");
  r->url.port = (int)port;
  return DIBS_OK;
}

static dibs_status host_read(url_reading *r, part authority)
{
  part host;
  bool is_bracketed = authority.size > 0 && authority.at[0] == '[';
  bool has_port;
  dibs_status status;

  r->url.port = 6379;
  if (authority.size == 0)
    return url_fault(r, "the host is missing, as in redis://127.0.0.1:6379");
  if (is_bracketed) {
    part_skip(&authority, 1);
    if (!part_split(&authority, ']', &host))
      return url_fault(r, "the host begins with '[' and has no ']'");
    has_port = authority.size > 0;
    if (has_port && authority.at[0] != ':')
      return url_fault(r, "after the ']' of the host only a ':' and a port may follow");
    if (has_port)
      part_skip(&authority, 1);
  } else {
    has_port = part_split(&authority, ':', &host);
    if (!has_port)
      host = authority;
    if (has_port && part_has(authority, ':'))
      return url_fault(r, "an IPv6 address must be in brackets, as in redis://[::1]");
    if (host.size == 0)
      return url_fault(r, "the host is missing before the port");
  }
  status = url_decode(r, host, "the host", &r->url.host);
  if (status != DIBS_OK)
    return status;
  if (is_bracketed && !ipv6_is_fine(r->url.host))
    return url_fault(r, "the host in brackets is not an IPv6 address");
  if (!is_bracketed && !host_is_fine(r->url.host))
    return url_fault(r, "the host must be of letters, digits, '.', '-' and '_'");
  return has_port ? port_read(r, authority) : DIBS_OK;
}

/* "/3" behind the host; "" and "/" say nothing. */
static dibs_status database_path_read(url_reading *r, part path)
{
  if (path.size > 0)
    part_skip(&path, 1);
  if (path.size == 0)
    return DIBS_OK;
  return url_database_read(r, path);
}

static dibs_status socket_path_read(url_reading *r, part path)
{
  if (path.size < 2)
    return url_fault(r, "the socket's path is missing, as in unix:///run/redis.sock");
  return url_decode(r, path, "the socket's path", &r->url.path);
}

/* Everything between the scheme and the query. */
static dibs_status place_read(url_reading *r, part rest)
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
  status = host_read(r, authority);
  return status != DIBS_OK ? status : database_path_read(r, rest);
}

/* Characters that no part may carry as they are. */
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

static dibs_status url_read(url_reading *r, part url)
{
  part rest = url;
  part place;
  dibs_status status = characters_check(r, url);

  if (status == DIBS_OK)
    status = scheme_read(r, &rest);
  if (status != DIBS_OK)
    return status;
  if (!part_split(&rest, '?', &place)) {
    place = rest;
    rest.size = 0;
  } else if (part_has(rest, '@') && !part_has(place, '@')) {
    /* Perhaps an option, perhaps the tail of a password: it must not be shown. */
    r->may_show = false;
  }
  status = place_read(r, place);
  return status != DIBS_OK ? status : url_options_read(r, rest);
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
  if (status != DIBS_OK) {
    server_url_deinit(&r.url);
    return status;
  }
  *ret_url = r.url;
  return DIBS_OK;
}

void server_url_deinit(server_url *u)
{
  char **texts[] = { &u->host, &u->path, &u->user, &u->password, &u->prefix, &u->ca_file,
                     &u->cert_file, &u->key_file, &u->server_name, &u->note };

  /* All are wiped: in a URL that was refused, any of them may be a misplaced password. */
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
    mem_free_secret(&u->memory, *texts[i]);
    *texts[i] = NULL;
  }
}
