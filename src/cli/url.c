/* SPDX-License-Identifier: MIT */
/* cli/url.c - small changes to the URLs of servers: of one, or of several with blanks or
 * commas between them. */
#include "cli/url.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- which URLs there are ---- */

static bool is_url_start(const char *text)
{
  size_t scheme = strspn(text, "abcdefghijklmnopqrstuvwxyz+");

  return scheme > 0 && strncmp(text + scheme, "://", 3) == 0;
}

/* How long the URL at `text` is. A comma parts it from the next where that is a URL, and not
 * only a host. */
static size_t url_size(const char *text)
{
  size_t size = 0;

  while (text[size] != '\0' && !isspace((unsigned char)text[size])) {
    if (text[size] == ',' && is_url_start(text + size + 1 + strspn(text + size + 1, " \t\r\n")))
      break;
    size++;
  }
  return size;
}

/* Goes to the next one; false: there is none. */
static bool url_next(const char **text)
{
  *text += url_size(*text);
  *text += strspn(*text, " \t\r\n,");
  return **text != '\0';
}

size_t url_count(const char *urls)
{
  size_t count = 1;

  while (url_next(&urls))
    count++;
  return count;
}

/* Writes one URL anew, with a zero behind; answers where that is. */
typedef char *url_writer(char *to, const char *url, const void *data);

/* All URLs written anew, with one blank between them. */
static char *url_each(const char *urls, size_t more, url_writer *write, const void *data)
{
  char *result = malloc(strlen(urls) + url_count(urls) * (more + 2) + 1), *to = result;
  bool is_first = true;

  if (result == NULL)
    return NULL;
  do {
    char *url = strndup(urls, url_size(urls));

    if (url == NULL) {
      free(result);
      return NULL;
    }
    if (!is_first)
      *to++ = ' ';
    is_first = false;
    to = write(to, url, data);
    free(url);
  } while (url_next(&urls));
  return result;
}

/* ---- one URL ---- */

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

static char *write_without_password(char *to, const char *url, const void *data)
{
  url_parts p = url_split(url);
  char *query, *copy;
  const char *from = url;

  (void)data;
  if (p.password != NULL) {
    to = mempcpy(to, from, (size_t)(p.password - from));
    /* ":secret@host" has no user to keep the '@' for. */
    from = p.password == p.authority ? p.at + 1 : p.at;
  }
  query = to = mempcpy(to, from, (size_t)(p.query - from));
  to = copy_query_without(to, p.query, "password");
  copy = strdup(query);
  if (copy != NULL)
    to = copy_query_without(query, copy, "sentinel_password");
  else
    *(to = query) = '\0';      /* rather too little than a password */
  free(copy);
  return to;
}

char *url_without_password(const char *url)
{
  return url_each(url, 0, write_without_password, NULL);
}

/* Behind the host; of Sentinel, behind the name of the service. */
static const char *database_place(const char *url, const url_parts *p)
{
  const char *place = p->path;
  const char *sentinel = strstr(url, "+sentinel://");

  if (sentinel != NULL && sentinel < p->authority && *place == '/')
    place += 1 + strcspn(place + 1, "/?");
  return place;
}

static char *write_with_query(char *to, const char *url, const void *data)
{
  const char *const *item = data;
  url_parts p = url_split(url);
  char *query;

  query = to = mempcpy(to, url, (size_t)(p.query - url));
  to = copy_query_without(to, p.query, item[0]);
  to = stpcpy(stpcpy(stpcpy(to, to == query ? "?" : "&"), item[0]), "=");
  for (const char *value = item[1]; *value != '\0'; value++) {
    if (isalnum((unsigned char)*value) || strchr("-._~", *value) != NULL)
      *to++ = *value;
    else
      to += snprintf(to, 4, "%%%02X", (unsigned)(unsigned char)*value);
  }
  *to = '\0';
  return to;
}

static char *write_with_database(char *to, const char *url, const void *data)
{
  url_parts p = url_split(url);
  const char *place = database_place(url, &p);
  const char *item[] = { "db", data };

  if (strncmp(url, "unix:", 5) == 0)
    return write_with_query(to, url, item);
  to = mempcpy(to, url, (size_t)(place - url));
  *to++ = '/';
  to = stpcpy(to, data);
  return copy_query_without(to, p.query, "db");
}

char *url_with_database(const char *url, int database)
{
  char number[16];

  snprintf(number, sizeof(number), "%d", database);
  return url_each(url, sizeof(number) + 4, write_with_database, number);
}

char *url_with_query(const char *url, const char *key, const char *value)
{
  const char *item[] = { key, value };
  size_t first = url_size(url);
  char *only = strndup(url, first), *result;

  if (only == NULL)
    return NULL;
  /* The first of several speaks for all. */
  result = malloc(strlen(url) + strlen(key) + 3 * strlen(value) + 3);
  if (result != NULL)
    stpcpy(write_with_query(result, only, item), url + first);
  free(only);
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
