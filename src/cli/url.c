/* SPDX-License-Identifier: MIT */
/* cli/url.c - small changes to a server's URL. */
#include "cli/url.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the parts of scheme://[user[:password]@]host[/path][?query] stand. */
typedef struct url_parts {
  const char *authority; /* after "://", or the start */
  const char *path;      /* the first '/', '?' or the end behind it */
  const char *query;     /* the '?' or the end */
  const char *password;  /* the ':' in the user part, or NULL */
  const char *at;        /* the '@', or NULL */
} url_parts;

static url_parts url_split(const char *url)
{
  const char *scheme_end = strstr(url, "://");
  url_parts p;

  p.authority = scheme_end == NULL ? url : scheme_end + 3;
  p.path = p.authority + strcspn(p.authority, "/?");
  p.query = p.path + strcspn(p.path, "?");
  p.at = memrchr(p.authority, '@', (size_t)(p.path - p.authority));
  p.password =
      p.at == NULL ? NULL : memchr(p.authority, ':', (size_t)(p.at - p.authority));
  return p;
}

/* Copies a query without the items called `key`; returns the end of what was written. */
static char *copy_query_without(char *to, const char *query, const char *key)
{
  size_t key_size = strlen(key);
  char separator = '?';

  while (*query != '\0') {
    size_t size = 1 + strcspn(query + 1, "&");

    if (strncmp(query + 1, key, key_size) != 0 || query[1 + key_size] != '=') {
      *to++ = separator;
      separator = '&';
      to = mempcpy(to, query + 1, size - 1);
    }
    query += size;
  }
  *to = '\0';
  return to;
}

char *url_without_password(const char *url)
{
  url_parts p = url_split(url);
  char *result = malloc(strlen(url) + 1), *to = result;
  const char *from = url;

  if (result == NULL)
    return NULL;
  if (p.password != NULL) {
    to = mempcpy(to, from, (size_t)(p.password - from));
    /* ":secret@host" has no user to keep the '@' for. */
    from = p.password == p.authority ? p.at + 1 : p.at;
  }
  to = mempcpy(to, from, (size_t)(p.query - from));
  copy_query_without(to, p.query, "password");
  return result;
}

char *url_with_database(const char *url, int database)
{
  url_parts p = url_split(url);
  char number[16];
  char *result, *to;

  snprintf(number, sizeof(number), "%d", database);
  if (strncmp(url, "unix:", 5) == 0)
    return url_with_query(url, "db", number);
  result = malloc(strlen(url) + sizeof(number) + 2);
  if (result == NULL)
    return NULL;
  to = mempcpy(result, url, (size_t)(p.path - url));
  to += snprintf(to, sizeof(number) + 1, "/%s", number);
  copy_query_without(to, p.query, "db");
  return result;
}

char *url_with_query(const char *url, const char *key, const char *value)
{
  url_parts p = url_split(url);
  char *result = malloc(strlen(url) + strlen(key) + 3 * strlen(value) + 3), *to, *query;

  if (result == NULL)
    return NULL;
  query = to = mempcpy(result, url, (size_t)(p.query - url));
  to = copy_query_without(to, p.query, key);
  to += snprintf(to, strlen(key) + 3, "%c%s=", to == query ? '?' : '&', key);
  for (; *value != '\0'; value++) {
    if (isalnum((unsigned char)*value) || strchr("-._~", *value) != NULL)
      *to++ = *value;
    else
      to += snprintf(to, 4, "%%%02X", (unsigned)(unsigned char)*value);
  }
  *to = '\0';
  return result;
}

static int hex_value(char digit)
{
  if (digit >= '0' && digit <= '9')
    return digit - '0';
  digit = (char)tolower((unsigned char)digit);
  return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

char *url_password(const char *url)
{
  url_parts p = url_split(url);
  char *result, *to;

  if (p.password == NULL)
    return NULL;
  to = result = malloc((size_t)(p.at - p.password));
  if (result == NULL)
    return NULL;
  for (const char *from = p.password + 1; from < p.at; from++) {
    if (*from == '%' && p.at - from > 2 && hex_value(from[1]) >= 0 &&
        hex_value(from[2]) >= 0) {
      *to++ = (char)(hex_value(from[1]) * 16 + hex_value(from[2]));
      from += 2;
    } else {
      *to++ = *from;
    }
  }
  *to = '\0';
  return result;
}
