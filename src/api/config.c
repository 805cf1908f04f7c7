/* SPDX-License-Identifier: MIT */
/* api/config.c - the config file: its keys, and what they may hold. */
#include "api/config.h"

#include <ini.h>
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
  { "quarantine", VALUE_DURATION, FIELD(quarantine_ms) },
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
  const char *at, *end;
  uint64_t line;
  bool is_too_long;
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
  mem_free(&c->memory, c->own_file);
  c->own_file = NULL;
}

/* ---- faults ---- */

static int fault(reading *r, const char *name, const char *words)
{
  if (r->status != DIBS_OK)
    return 0;
  r->status = DIBS_ERR_CONFIG;
  text_format(r->why, "%s:%" PRIu64 ": %s%s", r->file, r->line, name, words);
  return 0;
}

static int unknown(reading *r, const char *name)
{
  const char *names[KEY_COUNT];
  const char *near;

  for (size_t i = 0; i < KEY_COUNT; i++)
    names[i] = keys[i].name;
  near = words_nearest((part){ name, strlen(name) }, names, KEY_COUNT);
  (void)fault(r, "unknown key ", "");
  text_add_quoted(r->why, name, strlen(name));
  if (near != NULL) {
    text_format(r->why, "; did you mean %s?", near);
    return 0;
  }
  for (size_t i = 0; i < KEY_COUNT; i++)
    text_format(r->why, "%s%s", i == 0 ? "; known are " : ", ", names[i]);
  return 0;
}

/* ---- values ---- */

static int text_set(reading *r, const key *k, void *field, const char *value)
{
  char *copy;

  if (value[0] == 0)
    return fault(r, k->name, " is empty");
  copy = mem_copy_text(&r->config->memory, value);
  if (copy == NULL) {
    r->status = DIBS_ERR_NO_MEMORY;
    return 0;
  }
  *(char **)field = copy;
  return 1;
}

/* Adds a server of a quorum. */
static int url_add(reading *r, const key *k, char **field, const char *value)
{
  const memory *m = &r->config->memory;
  size_t size = strlen(value) + (*field == NULL ? 0 : strlen(*field) + 1);
  char *before = *field;
  text joined;

  if (before == NULL || value[0] == 0)
    return text_set(r, k, field, value);
  *field = mem_alloc(m, size + 1);
  if (*field == NULL) {
    *field = before;
    r->status = DIBS_ERR_NO_MEMORY;
    return 0;
  }
  joined = text_over(*field, size + 1);
  text_format(&joined, "%s %s", before, value);
  mem_free_secret(m, before);
  return 1;
}

static int value_set(reading *r, size_t which, const char *value)
{
  const key *k = &keys[which];
  void *field = (char *)r->config + k->place;
  const char *words;

  if ((r->seen & (uint32_t)1 << which) != 0 && k->kind != VALUE_URL)
    return fault(r, k->name, " is given twice");
  r->seen |= (uint32_t)1 << which;
  switch (k->kind) {
  case VALUE_TEXT:
  case VALUE_SECRET: return text_set(r, k, field, value);
  case VALUE_URL: return url_add(r, k, field, value);
  default: break;
  }
  words = option_value_read(k->kind, (part){ value, strlen(value) }, field);
  return words == NULL ? 1 : fault(r, k->name, words);
}

/* ---- lines, as inih wants them ---- */

static int line_read(void *user, const char *section, const char *name, const char *value)
{
  reading *r = user;
  size_t which = 0;

  if (r->status != DIBS_OK)
    return 0;
  if (section[0] != 0)
    return fault(r, "", "sections are not known here; write key = value");
  if (value == NULL)
    return fault(r, "", "write key = value");
  while (which < KEY_COUNT && strcmp(name, keys[which].name) != 0)
    which++;
  return which == KEY_COUNT ? unknown(r, name) : value_set(r, which, value);
}

/* Reads a line of at most `room` bytes with its zero, as fgets(). A longer line ends the
 * reading: its pieces would look like lines. */
static char *line_next(char *to, int room, void *stream)
{
  reading *r = stream;
  const char *end;
  size_t size;

  if (r->at == r->end || r->is_too_long || r->status != DIBS_OK || room < 2)
    return NULL;
  r->line++;
  end = memchr(r->at, '\n', (size_t)(r->end - r->at));
  size = (size_t)((end == NULL ? r->end : end + 1) - r->at);
  if (size > (size_t)room - 1) {
    r->is_too_long = true;
    return NULL;
  }
  memcpy(to, r->at, size);
  to[size] = 0;
  r->at += size;
  return to;
}

dibs_status config_parse(config *c, const char *bytes, size_t size, const char *file,
                         text *why)
{
  reading r = { .config = c, .at = bytes, .end = bytes + size, .file = file, .why = why };
  int line;

  if (size > 0 && memchr(bytes, 0, size) != NULL) {
    (void)fault(&r, "", "a zero byte; this is no text file");
    return r.status;
  }
  line = ini_parse_stream(line_next, &r, line_read, &r);
  if (r.is_too_long)
    (void)fault(&r, "", "the line is too long");
  if (line > 0 && r.status == DIBS_OK) {
    r.line = (uint64_t)line;
    (void)fault(&r, "", "write key = value");
  }
  if (line < 0 && r.status == DIBS_OK)
    r.status = DIBS_ERR_NO_MEMORY;
  return r.status;
}
