/* SPDX-License-Identifier: MIT */
/* topo/server_url_options.c - the query of a URL: option=value&option=value. */
#include "topo/server_url_parts.h"

#include <stddef.h>
#include <string.h>

#include "topo/url_options.h"

#define CLOCK_RATE_ERROR_PPM_MAX 500000
#define SHOWN_NAME_BYTES_MAX 40
#define REPORT_MIN_MS 1000
#define HISTORY_MOST 1000000

typedef enum option_kind {
  OPTION_TEXT, OPTION_SECRET, OPTION_DURATION, OPTION_PAUSE, OPTION_DATABASE, OPTION_PPM,
  OPTION_CHOICE, OPTION_DEGRADE, OPTION_DIALECT, OPTION_MAP, OPTION_REPORT, OPTION_HISTORY,
  OPTION_COUNT_OF
} option_kind;

/* Where an option has an effect. */
typedef enum option_need { FOR_ALL, FOR_TLS, FOR_SENTINEL, FOR_FOUND } option_need;

typedef struct option {
  const char *name;
  option_kind kind;
  size_t address;         /* of the field in url_reading */
  option_need need;
  bool is_of_client;      /* in a quorum: only in the first URL */
} option;

enum { OF_SERVER = false, OF_CLIENT = true };
#define OPTION_ROW(name, identity, kind, field, need, of) \
  { name, OPTION_##kind, offsetof(url_reading, field), need, of },
static const option options[] = { URL_OPTIONS(OPTION_ROW) };
#define OPTION_COUNT (sizeof(options) / sizeof(options[0]))

static void *field_of(url_reading *r, const option *o)
{
  return (char *)r + o->address;
}

static dibs_status option_fault(url_reading *r, const option *o, const char *words)
{
  text_add(r->why, "the option ");
  text_add(r->why, o->name);
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
    text_add(r->why, is_first ? "" : ", ");
    text_add(r->why, options[i].name);
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
  if (near != NULL) {
    text_add(r->why, "; did you mean ");
    text_add(r->why, near);
  } else {
    known_add(r);
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
    if (text_to_ms(words, &ms) && (ms > 0 || o->kind == OPTION_PAUSE)) {
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

static dibs_status report_read(url_reading *r, const option *o, part value)
{
  if (part_is(value, "off")) {
    r->url.report_ms = -1;
    return DIBS_OK;
  }
  if (duration_read(r, o, value) == DIBS_OK && r->url.report_ms >= REPORT_MIN_MS)
    return DIBS_OK;
  r->why->used = 0;
  return option_fault(r, o, " must be off, or a duration of 1s or more, such as 10s");
}

static dibs_status count_read(url_reading *r, const option *o, part value)
{
  uint64_t number;

  if (!text_to_uint(value.at, value.size, &number) || number < 1 || number > HISTORY_MOST)
    return option_fault(r, o, " must be a number from 1 to 1000000");
  *(int32_t *)field_of(r, o) = (int32_t)number;
  return DIBS_OK;
}

/* The number of the value in `words`, from 1; 0: unknown. */
static unsigned choice_of(part value, const char *const *words, unsigned count)
{
  for (unsigned i = 0; i < count; i++)
    if (part_is(value, words[i]))
      return i + 1;
  return 0;
}

static dibs_status choice_fault(url_reading *r, const option *o, part value,
                                const char *words)
{
  text_add(r->why, "the option ");
  text_add(r->why, o->name);
  if (r->may_show && looks_like_a_name(value)) {
    text_add(r->why, " is ");
    text_add_quoted(r->why, value.at, value.size);
    text_add(r->why, ", and");
  }
  return url_fault(r, words);
}

const char *const url_choice_words[2] = { "yes", "no" };
const char *const url_degrade_words[3] = { "fail", "wait", "local" };
const char *const url_history_words[3] = { "notable", "all", "off" };
#define DIALECT_WORD(number, NAME, word) #word,
const char *const url_dialect_words[DIALECT_COUNT] = { DIALECTS(DIALECT_WORD) };

static dibs_status choice_read(url_reading *r, const option *o, part value)
{
  unsigned choice = choice_of(value, url_choice_words, 2);

  if (choice == 0)
    return choice_fault(r, o, value, " must be yes or no");
  *(url_choice *)field_of(r, o) = (url_choice)choice;
  return DIBS_OK;
}

static dibs_status degrade_read(url_reading *r, const option *o, part value)
{
  unsigned choice = choice_of(value, url_degrade_words, 3);

  if (choice == 0)
    return choice_fault(r, o, value, " must be fail, wait or local");
  r->url.degrade = (url_degrade)choice;
  return DIBS_OK;
}

static dibs_status history_read(url_reading *r, const option *o, part value)
{
  unsigned choice = choice_of(value, url_history_words, 3);

  if (choice == 0)
    return choice_fault(r, o, value, " must be notable, all or off");
  r->url.history = (url_history)choice;
  return DIBS_OK;
}

url_dialect url_dialect_of(const char *words, size_t size)
{
  return (url_dialect)choice_of((part){ words, size }, url_dialect_words, DIALECT_COUNT);
}

static dibs_status dialect_read(url_reading *r, const option *o, part value)
{
  r->url.dialect = url_dialect_of(value.at, value.size);
  if (r->url.dialect == 0)
    return choice_fault(r, o, value, " must be " DIALECT_WORDS);
  return DIBS_OK;
}

static dibs_status option_read(url_reading *r, size_t which, part value)
{
  const option *o = &options[which];
  uint32_t bit = (uint32_t)1 << which;

  if ((r->options_seen & bit) != 0)
    return option_fault(r, o, " is given twice");
  r->options_seen |= bit;
  switch (o->kind) {
  case OPTION_DURATION:
  case OPTION_PAUSE: return duration_read(r, o, value);
  case OPTION_CHOICE: return choice_read(r, o, value);
  case OPTION_DEGRADE: return degrade_read(r, o, value);
  case OPTION_DIALECT: return dialect_read(r, o, value);
  case OPTION_REPORT: return report_read(r, o, value);
  case OPTION_HISTORY: return history_read(r, o, value);
  case OPTION_COUNT_OF: return count_read(r, o, value);
  case OPTION_MAP: return url_mappings_read(r, value);
  case OPTION_DATABASE: return url_database_read(r, value);
  case OPTION_PPM: return ppm_read(r, o, value);
  case OPTION_TEXT:
  case OPTION_SECRET: break;
  }
  return text_option_read(r, o, value);
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

static void word_add(text *out, unsigned choice, const char *const *words)
{
  text_add(out, words[choice - 1]);
}

static void ms_add(text *out, int32_t ms)
{
  text_add_int(out, ms);
  text_add(out, "ms");
}

static bool is_set(const url_reading *r, const option *o)
{
  const void *field = (const char *)r + o->address;

  switch (o->kind) {
  case OPTION_TEXT:
  case OPTION_SECRET: return *(char *const *)field != NULL;
  case OPTION_DURATION:
  case OPTION_PAUSE:
  case OPTION_REPORT:
  case OPTION_COUNT_OF:
  case OPTION_PPM: return *(const int32_t *)field != 0;
  case OPTION_HISTORY: return r->url.history != 0;
  case OPTION_CHOICE: return *(const url_choice *)field != 0;
  case OPTION_DEGRADE: return r->url.degrade != 0;
  case OPTION_DIALECT: return r->url.dialect != 0;
  case OPTION_DATABASE: return r->url.database != 0;
  case OPTION_MAP: return r->mapping_count > 0;
  }
  return false;
}

static void value_add(const url_reading *r, const option *o, text *out)
{
  const void *field = (const char *)r + o->address;

  switch (o->kind) {
  case OPTION_TEXT:
  case OPTION_SECRET: url_encoded_add(out, *(char *const *)field, '-'); return;
  case OPTION_DURATION:
  case OPTION_PAUSE: ms_add(out, *(const int32_t *)field); return;
  case OPTION_REPORT:
    if (r->url.report_ms < 0)
      text_add(out, "off");
    else
      ms_add(out, r->url.report_ms);
    return;
  case OPTION_HISTORY: word_add(out, r->url.history, url_history_words); return;
  case OPTION_COUNT_OF:
  case OPTION_PPM: text_add_int(out, *(const int32_t *)field); return;
  case OPTION_CHOICE: word_add(out, *(const url_choice *)field, url_choice_words); return;
  case OPTION_DEGRADE: word_add(out, r->url.degrade, url_degrade_words); return;
  case OPTION_DIALECT: word_add(out, r->url.dialect, url_dialect_words); return;
  case OPTION_DATABASE: text_add_int(out, r->url.database); return;
  case OPTION_MAP: url_mappings_write(r, out); return;
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
        || (o->kind == OPTION_SECRET && !with_passwords))
      continue;
    text_add(out, separator);
    text_add(out, o->name);
    text_add(out, "=");
    value_add(r, o, out);
    separator = "&";
  }
}
