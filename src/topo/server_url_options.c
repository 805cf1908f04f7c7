/* SPDX-License-Identifier: MIT */
/* topo/server_url_options.c - the query of a URL: option=value&option=value. */
#include "topo/option_value.h"

#include <stddef.h>
#include <string.h>

#include "topo/url_options.h"

#define SHOWN_NAME_BYTES_MAX 40

/* Where an option has an effect. */
typedef enum option_need { FOR_ALL, FOR_TLS, FOR_SENTINEL, FOR_FOUND } option_need;

typedef struct option {
  const char *name;
  value_kind kind;
  size_t address;         /* of the field in url_reading */
  option_need need;
  bool is_of_client;      /* in a quorum: only in the first URL */
} option;

enum { OF_SERVER = false, OF_CLIENT = true };
#define OPTION_ROW(name, identity, kind, field, need, of) \
  { name, VALUE_##kind, offsetof(url_reading, field), need, of },
static const option options[] = { URL_OPTIONS(OPTION_ROW) };
#define OPTION_COUNT (sizeof(options) / sizeof(options[0]))

static void *field_of(url_reading *r, const option *o)
{
  return (char *)r + o->address;
}

static dibs_status option_fault(url_reading *r, const option *o, const char *words)
{
  text_format(r->why, "the option %s", o->name);
  return url_fault(r, words);
}

/* Other text is not shown: it is no misspelling, and may not fit into `why`. */
static bool looks_like_a_name(part name)
{
  for (size_t i = 0; i < name.size; i++)
    if (!url_is_word(name.at[i]))
      return false;
  return name.size >= 1 && name.size <= SHOWN_NAME_BYTES_MAX;
}

/* Whether any connection uses TLS; sentinels have their own setting. */
static bool speaks_tls(const url_reading *r)
{
  return r->url.transport == SERVER_TLS || r->sentinel_tls == CHOICE_YES;
}

static bool is_met(const url_reading *r, option_need need)
{
  switch (need) {
  case FOR_TLS: return speaks_tls(r);
  case FOR_SENTINEL: return r->kind == DEPLOYMENT_SENTINEL;
  case FOR_FOUND: return r->kind != DEPLOYMENT_SINGLE;
  case FOR_ALL: break;
  }
  return true;
}

static void known_add(const url_reading *r)
{
  bool is_first = true;

  text_add(r->why, "; known are ");
  for (size_t i = 0; i < OPTION_COUNT; i++) {
    bool may_be = is_met(r, options[i].need)
      || (options[i].need == FOR_TLS && r->kind == DEPLOYMENT_SENTINEL);
    if (!may_be)
      continue;
    text_format(r->why, "%s%s", is_first ? "" : ", ", options[i].name);
    is_first = false;
  }
}

static dibs_status option_unknown(url_reading *r, part name)
{
  const char *names[OPTION_COUNT];
  const char *near;

  for (size_t i = 0; i < OPTION_COUNT; i++)
    names[i] = options[i].name;
  if (!r->may_show)
    return url_fault(r, "the URL has an unknown option; a '?' or '/' in a user or "
                        "password must be written %3F or %2F");
  text_add(r->why, "the URL has an unknown option");
  if (looks_like_a_name(name)) {
    text_add(r->why, " ");
    text_add_quoted(r->why, name.at, name.size);
  }
  near = words_nearest(name, names, OPTION_COUNT);
  if (near != NULL)
    text_format(r->why, "; did you mean %s", near);
  else
    known_add(r);
  return DIBS_ERR_CONFIG;
}

static dibs_status text_option_read(url_reading *r, const option *o, part value)
{
  char **field = field_of(r, o);

  if (*field != NULL)
    return option_fault(r, o, " is also given before the '@'; write it once");
  if (value.size == 0 && o->kind == VALUE_TEXT)
    return option_fault(r, o, " is empty");
  return url_decode(r, value, o->name, field);
}

static dibs_status value_read(url_reading *r, const option *o, part value)
{
  const char *words = option_value_read(o->kind, value, field_of(r, o));

  if (words == NULL)
    return DIBS_OK;
  text_format(r->why, "the option %s", o->name);
  if (option_value_is_word(o->kind) && r->may_show && looks_like_a_name(value)) {
    text_add(r->why, " is ");
    text_add_quoted(r->why, value.at, value.size);
    text_add(r->why, ", and");
  }
  return url_fault(r, words);
}

static dibs_status option_read(url_reading *r, size_t which, part value)
{
  const option *o = &options[which];
  uint32_t bit = (uint32_t)1 << which;

  if ((r->options_seen & bit) != 0)
    return option_fault(r, o, " is given twice");
  r->options_seen |= bit;
  switch (o->kind) {
  case VALUE_TEXT:
  case VALUE_SECRET: return text_option_read(r, o, value);
  case VALUE_MAP: return url_mappings_read(r, value);
  case VALUE_DATABASE: return url_database_read(r, value);
  default: return value_read(r, o, value);
  }
}

/* Refuses options without effect. Checked last: sentinel_tls may follow cacert. */
static dibs_status needs_check(url_reading *r)
{
  for (size_t i = 0; i < OPTION_COUNT; i++) {
    const option *o = &options[i];
    if ((r->options_seen & (uint32_t)1 << i) == 0 || is_met(r, o->need))
      continue;
    switch (o->need) {
    case FOR_TLS: return option_fault(r, o, " needs TLS: rediss:// or valkeys://");
    case FOR_SENTINEL: return option_fault(r, o, " needs redis+sentinel:// or the like");
    case FOR_FOUND: return option_fault(r, o, " needs several hosts, redis+sentinel:// or "
                                              "redis+cluster://");
    case FOR_ALL: break;
    }
  }
  return DIBS_OK;
}

const char *url_option_of_client(const url_reading *r)
{
  for (size_t i = 0; i < OPTION_COUNT; i++)
    if (options[i].is_of_client && (r->options_seen & (uint32_t)1 << i) != 0)
      return options[i].name;
  return NULL;
}

dibs_status url_options_read(url_reading *r, part query)
{
  while (query.size > 0) {
    part item = query, name;
    size_t which = 0;
    dibs_status status;

    (void)part_next(&query, '&', &item);
    if (item.size == 0)
      continue;
    if (!part_split(&item, '=', &name))
      return url_fault(r, "each option of the URL is written name=value");
    while (which < OPTION_COUNT && !part_is(name, options[which].name))
      which++;
    if (which == OPTION_COUNT)
      return option_unknown(r, name);
    status = option_read(r, which, item);
    if (status != DIBS_OK)
      return status;
  }
  return needs_check(r);
}

/* ---- writing: the inverse of url_options_read() ---- */

static bool is_set(const url_reading *r, const option *o)
{
  const void *field = (const char *)r + o->address;

  switch (o->kind) {
  case VALUE_TEXT:
  case VALUE_SECRET: return *(char *const *)field != NULL;
  case VALUE_MAP: return r->mapping_count > 0;
  default: return *(const int32_t *)field != 0;
  }
}

static void value_add(const url_reading *r, const option *o, text *out)
{
  const void *field = (const char *)r + o->address;

  switch (o->kind) {
  case VALUE_TEXT:
  case VALUE_SECRET: url_encoded_add(out, *(char *const *)field, '-'); return;
  case VALUE_MAP: url_mappings_write(r, out); return;
  case VALUE_DATABASE: text_add_int(out, r->url.database); return;
  default: option_value_add(o->kind, *(const int32_t *)field, out);
  }
}

void url_options_write(const url_reading *server, const url_reading *client,
                       bool with_passwords, text *out)
{
  const char *separator = "?";

  for (size_t i = 0; i < OPTION_COUNT; i++) {
    const option *o = &options[i];
    const url_reading *r = o->is_of_client ? client : server;

    if ((o->is_of_client && client == NULL) || !is_set(r, o) || !is_met(server, o->need)
        || (o->kind == VALUE_SECRET && !with_passwords))
      continue;
    text_format(out, "%s%s=", separator, o->name);
    value_add(r, o, out);
    separator = "&";
  }
}
