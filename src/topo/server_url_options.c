/* SPDX-License-Identifier: MIT */
/* topo/server_url_options.c - the query of a server URL: option=value&option=value. */
#include "topo/server_url_parts.h"

#include <stddef.h>
#include <string.h>

#define CLOCK_RATE_ERROR_PPM_MAX 500000
#define SHOWN_NAME_BYTES_MAX 40

typedef enum option_kind {
  OPTION_TEXT, OPTION_SECRET, OPTION_DURATION, OPTION_DATABASE, OPTION_PPM
} option_kind;

typedef struct option {
  const char *name;
  option_kind kind;
  size_t place;           /* of the field in server_url */
  bool needs_tls;
} option;

#define FIELD(member) offsetof(server_url, member)

static const option options[] = {
  { "db", OPTION_DATABASE, FIELD(database), false },
  { "prefix", OPTION_TEXT, FIELD(prefix), false },
  { "user", OPTION_TEXT, FIELD(user), false },
  { "password", OPTION_SECRET, FIELD(password), false },
  { "connect_timeout", OPTION_DURATION, FIELD(connect_timeout_ms), false },
  { "command_timeout", OPTION_DURATION, FIELD(command_timeout_ms), false },
  { "close_timeout", OPTION_DURATION, FIELD(close_timeout_ms), false },
  { "clock_rate_error_ppm", OPTION_PPM, FIELD(clock_rate_error_ppm), false },
  { "cacert", OPTION_TEXT, FIELD(ca_file), true },
  { "cert", OPTION_TEXT, FIELD(cert_file), true },
  { "key", OPTION_TEXT, FIELD(key_file), true },
  { "sni", OPTION_TEXT, FIELD(server_name), true },
  { "note", OPTION_TEXT, FIELD(note), false },
};
#define OPTION_COUNT (sizeof(options) / sizeof(options[0]))

static void *field_of(url_reading *r, const option *o)
{
  return (char *)&r->url + o->place;
}

static dibs_status option_fault(url_reading *r, const option *o, const char *words)
{
  text_add(r->why, "the option ");
  text_add(r->why, o->name);
  return url_fault(r, words);
}

/* What does not is not shown: it is no slip of the pen, and would not fit `why`. */
static bool looks_like_a_name(part name)
{
  for (size_t i = 0; i < name.size; i++)
    if (!url_is_word(name.at[i]))
      return false;
  return name.size >= 1 && name.size <= SHOWN_NAME_BYTES_MAX;
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
  if (near != NULL) {
    text_add(r->why, "; did you mean ");
    text_add(r->why, near);
  } else {
    text_add(r->why, "; known are");
    for (size_t i = 0; i < OPTION_COUNT; i++) {
      text_add(r->why, i == 0 ? " " : ", ");
      text_add(r->why, names[i]);
    }
  }
  return DIBS_ERR_CONFIG;
}

static dibs_status text_option_read(url_reading *r, const option *o, part value)
{
  char **field = field_of(r, o);

  if (*field != NULL)
    return option_fault(r, o, " is also given before the '@'; write it once");
  if (value.size == 0 && o->kind == OPTION_TEXT)
    return option_fault(r, o, " is empty");
  return url_decode(r, value, o->name, field);
}

static dibs_status duration_read(url_reading *r, const option *o, part value)
{
  char words[24];
  int32_t ms;

  if (value.size < sizeof(words)) {
    memcpy(words, value.at, value.size);
    words[value.size] = 0;
    if (text_to_ms(words, &ms) && ms > 0) {
      *(int32_t *)field_of(r, o) = ms;
      return DIBS_OK;
    }
  }
  return option_fault(r, o, " must be a duration such as 500ms, 10s or 5m");
}

static dibs_status ppm_read(url_reading *r, const option *o, part value)
{
  uint64_t number;

  if (!text_to_uint(value.at, value.size, &number)
      || number < 1 || number > CLOCK_RATE_ERROR_PPM_MAX)
    return option_fault(r, o, " must be a number from 1 to 500000");
  *(int32_t *)field_of(r, o) = (int32_t)number;
  return DIBS_OK;
}

static dibs_status option_read(url_reading *r, size_t which, part value)
{
  const option *o = &options[which];
  uint32_t bit = (uint32_t)1 << which;

  if ((r->options_seen & bit) != 0)
    return option_fault(r, o, " is given twice");
  r->options_seen |= bit;
  if (o->needs_tls && r->url.transport != SERVER_TLS)
    return option_fault(r, o, " needs TLS: rediss:// or valkeys://");
  switch (o->kind) {
  case OPTION_DURATION: return duration_read(r, o, value);
  case OPTION_DATABASE: return url_database_read(r, value);
  case OPTION_PPM: return ppm_read(r, o, value);
  case OPTION_TEXT:
  case OPTION_SECRET: break;
  }
  return text_option_read(r, o, value);
}

dibs_status url_options_read(url_reading *r, part query)
{
  while (query.size > 0) {
    part item, name;
    size_t which = 0;
    dibs_status status;

    if (!part_split(&query, '&', &item)) {
      item = query;
      query.size = 0;
    }
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
  return DIBS_OK;
}
