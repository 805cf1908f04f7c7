/* SPDX-License-Identifier: MIT */
/* api/config.c - the config file: its keys, and what they may hold. */
#include "api/config.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "topo/option_value.h"

typedef struct key { const char *name; value_kind kind; size_t place; } key;

#define FIELD(member) offsetof(config, member)

static const key keys[] = {
  { "url", VALUE_URL, FIELD(url) },
  { "prefix", VALUE_TEXT, FIELD(prefix) },
  { "user", VALUE_TEXT, FIELD(user) },
  { "password", VALUE_SECRET, FIELD(password) },
  { "password_file", VALUE_TEXT, FIELD(password_file) },
  { "cacert", VALUE_TEXT, FIELD(ca_file) },
  { "cert", VALUE_TEXT, FIELD(cert_file) },
  { "key", VALUE_TEXT, FIELD(key_file) },
  { "sni", VALUE_TEXT, FIELD(server_name) },
  { "note", VALUE_TEXT, FIELD(note) },
  { "connect_timeout", VALUE_DURATION, FIELD(connect_timeout_ms) },
  { "command_timeout", VALUE_DURATION, FIELD(command_timeout_ms) },
  { "close_timeout", VALUE_DURATION, FIELD(close_timeout_ms) },
  { "clock_rate_error_ppm", VALUE_PPM, FIELD(clock_rate_error_ppm) },
  { "quarantine", VALUE_PAUSE, FIELD(quarantine_ms) },
  { "degrade", VALUE_DEGRADE, FIELD(degrade) },
  { "dialect", VALUE_DIALECT, FIELD(dialect) },
  { "registry", VALUE_TEXT, FIELD(registry) },
  { "classes", VALUE_TEXT, FIELD(classes) },
  { "report", VALUE_REPORT, FIELD(report_ms) },
  { "history", VALUE_HISTORY, FIELD(history) },
  { "history_max", VALUE_COUNT_OF, FIELD(history_max) },
  { "history_over", VALUE_DURATION, FIELD(history_over_ms) },
  { "pubsub", VALUE_CHOICE, FIELD(pubsub) },
  { "functions", VALUE_CHOICE, FIELD(functions) },
  { "sharded", VALUE_CHOICE, FIELD(sharded) },
  { "sentinel_user", VALUE_TEXT, FIELD(sentinel_user) },
  { "sentinel_password", VALUE_SECRET, FIELD(sentinel_password) },
};
#define KEY_COUNT (sizeof(keys) / sizeof(keys[0]))

typedef struct reading {
  config *config;
  uint64_t line;
  uint32_t seen;            /* a bit for each key */
  dibs_status status;       /* of the first fault */
  const char *file;
  text *why;
} reading;

void config_init(config *c, const memory *m)
{
  *c = (config){ .memory = *m };
}

void config_deinit(config *c)
{
  for (size_t i = 0; i < KEY_COUNT; i++)
    if (keys[i].kind == VALUE_TEXT || keys[i].kind == VALUE_SECRET || keys[i].kind == VALUE_URL) {
      char **field = (char **)(void *)((char *)c + keys[i].place);

      mem_free_secret(&c->memory, *field);
      *field = NULL;
    }
  mem_free(&c->memory, c->file);
  c->file = NULL;
}

/* ---- faults ---- */

/* The first one counts. */
static void fault(reading *r, const char *name, const char *words)
{
  if (r->status != DIBS_OK)
    return;
  r->status = DIBS_ERR_CONFIG;
  text_format(r->why, "%s:%" PRIu64 ": %s%s", r->file, r->line, name, words);
}

static void unknown(reading *r, part name)
{
  const char *names[KEY_COUNT];
  const char *near;

  for (size_t i = 0; i < KEY_COUNT; i++)
    names[i] = keys[i].name;
  near = words_nearest(name, names, KEY_COUNT);
  fault(r, "unknown key ", "");
  text_add_quoted(r->why, name.at, name.size);
  if (near != NULL) {
    text_format(r->why, "; did you mean %s?", near);
    return;
  }
  for (size_t i = 0; i < KEY_COUNT; i++)
    text_format(r->why, "%s%s", i == 0 ? "; known are " : ", ", names[i]);
}

/* ---- values ---- */

static void text_set(reading *r, const key *k, char **field, part value)
{
  if (value.size == 0) {
    fault(r, k->name, " is empty");
    return;
  }
  *field = mem_copy(&r->config->memory, value.at, value.size);
  if (*field == NULL)
    r->status = DIBS_ERR_NO_MEMORY;
}

/* Adds a server of a quorum. */
static void url_add(reading *r, const key *k, char **field, part value)
{
  const memory *m = &r->config->memory;
  char *before = *field;
  size_t size;
  text joined;

  if (before == NULL || value.size == 0) {
    text_set(r, k, field, value);
    return;
  }
  size = strlen(before) + 1 + value.size + 1;
  *field = mem_alloc(m, size);
  if (*field == NULL) {
    *field = before;
    r->status = DIBS_ERR_NO_MEMORY;
    return;
  }
  joined = text_over(*field, size);
  text_format(&joined, "%s ", before);
  text_add_bytes(&joined, value.at, value.size);
  mem_free_secret(m, before);
}

static void value_set(reading *r, size_t which, part value)
{
  const key *k = &keys[which];
  void *field = (char *)r->config + k->place;
  const char *words;

  if ((r->seen & (uint32_t)1 << which) != 0 && k->kind != VALUE_URL) {
    fault(r, k->name, " is given twice");
    return;
  }
  r->seen |= (uint32_t)1 << which;
  switch (k->kind) {
  case VALUE_TEXT:
  case VALUE_SECRET: text_set(r, k, field, value); return;
  case VALUE_URL: url_add(r, k, field, value); return;
  default: break;
  }
  words = option_value_read(k->kind, value, field);
  if (words != NULL)
    fault(r, k->name, words);
}

/* ---- lines ---- */

static bool is_blank(char c)
{
  return c == ' ' || (c >= '\t' && c <= '\r');
}

static part trimmed(part p)
{
  while (p.size > 0 && is_blank(p.at[0]))
    part_skip(&p, 1);
  while (p.size > 0 && is_blank(p.at[p.size - 1]))
    p.size--;
  return p;
}

/* A value goes on to the end of its line: a password may have any character in it. */
static void line_read(reading *r, part line)
{
  size_t name_size = 0, which = 0;
  part name;

  if (line.size == 0 || line.at[0] == '#' || line.at[0] == ';')
    return;
  if (line.at[0] == '[') {
    fault(r, "", "sections are not known here; write key = value");
    return;
  }
  while (name_size < line.size && line.at[name_size] != '=' && line.at[name_size] != ':')
    name_size++;
  if (name_size == line.size) {
    fault(r, "", "write key = value");
    return;
  }
  name = trimmed((part){ line.at, name_size });
  part_skip(&line, name_size + 1);
  while (which < KEY_COUNT && !part_is(name, keys[which].name))
    which++;
  if (which == KEY_COUNT)
    unknown(r, name);
  else
    value_set(r, which, trimmed(line));
}

dibs_status config_parse(config *c, const char *bytes, size_t size, const char *file,
                         text *why)
{
  reading r = { .config = c, .file = file, .why = why };
  part rest = { bytes, size }, line;
  const char *zero = size > 0 ? memchr(bytes, 0, size) : NULL;

  if (zero != NULL) {
    r.line = 1;
    for (const char *at = bytes; at < zero; at++)
      r.line += *at == '\n' ? 1 : 0;
    fault(&r, "", "a zero byte; this is no text file");
  }
  if (size >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0)      /* a byte order mark */
    part_skip(&rest, 3);
  while (r.status == DIBS_OK && part_next(&rest, '\n', &line)) {
    r.line++;
    line_read(&r, trimmed(line));
  }
  return r.status;
}
