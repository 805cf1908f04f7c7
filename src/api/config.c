/* SPDX-License-Identifier: MIT */
/* api/config.c - the config file: its keys, and what they may hold. */
#include "api/config.h"

#include <ini.h>
#include <stddef.h>
#include <string.h>

#include "topo/server_url_parts.h"      /* words_nearest(), dialects */

#define PPM_MAX 500000
#define REPORT_MIN_MS 1000
#define HISTORY_MOST 1000000

typedef enum key_kind {
  KEY_TEXT, KEY_SECRET, KEY_URL, KEY_DURATION, KEY_PPM, KEY_CHOICE, KEY_DEGRADE, KEY_DIALECT,
  KEY_REPORT, KEY_HISTORY, KEY_COUNT_OF
} key_kind;

typedef struct key { const char *name; key_kind kind; size_t place; } key;

#define FIELD(member) offsetof(config, member)

static const key keys[] = {
  { "url", KEY_URL, FIELD(url) },
  { "prefix", KEY_TEXT, FIELD(prefix) },
  { "user", KEY_TEXT, FIELD(user) },
  { "password", KEY_SECRET, FIELD(password) },
  { "password_file", KEY_TEXT, FIELD(password_file) },
  { "cacert", KEY_TEXT, FIELD(ca_file) },
  { "cert", KEY_TEXT, FIELD(cert_file) },
  { "key", KEY_TEXT, FIELD(key_file) },
  { "sni", KEY_TEXT, FIELD(server_name) },
  { "note", KEY_TEXT, FIELD(note) },
  { "connect_timeout", KEY_DURATION, FIELD(connect_timeout_ms) },
  { "command_timeout", KEY_DURATION, FIELD(command_timeout_ms) },
  { "close_timeout", KEY_DURATION, FIELD(close_timeout_ms) },
  { "clock_rate_error_ppm", KEY_PPM, FIELD(clock_rate_error_ppm) },
  { "quarantine", KEY_DURATION, FIELD(quarantine_ms) },
  { "degrade", KEY_DEGRADE, FIELD(degrade) },
  { "dialect", KEY_DIALECT, FIELD(dialect) },
  { "registry", KEY_TEXT, FIELD(registry) },
  { "classes", KEY_TEXT, FIELD(classes) },
  { "report", KEY_REPORT, FIELD(report_ms) },
  { "history", KEY_HISTORY, FIELD(history) },
  { "history_max", KEY_COUNT_OF, FIELD(history_max) },
  { "history_over", KEY_DURATION, FIELD(history_over_ms) },
  { "pubsub", KEY_CHOICE, FIELD(pubsub) },
  { "functions", KEY_CHOICE, FIELD(functions) },
  { "sharded", KEY_CHOICE, FIELD(sharded) },
  { "sentinel_user", KEY_TEXT, FIELD(sentinel_user) },
  { "sentinel_password", KEY_SECRET, FIELD(sentinel_password) },
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
    if (keys[i].kind == KEY_TEXT || keys[i].kind == KEY_SECRET || keys[i].kind == KEY_URL) {
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
  text_add(r->why, r->file);
  text_add(r->why, ":");
  text_add_uint(r->why, r->line);
  text_add(r->why, ": ");
  text_add(r->why, name);
  text_add(r->why, words);
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
    text_add(r->why, "; did you mean ");
    text_add(r->why, near);
    text_add(r->why, "?");
    return 0;
  }
  for (size_t i = 0; i < KEY_COUNT; i++) {
    text_add(r->why, i == 0 ? "; known are " : ", ");
    text_add(r->why, names[i]);
  }
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
  text_add(&joined, before);
  text_add(&joined, " ");
  text_add(&joined, value);
  mem_free_secret(m, before);
  return 1;
}

static int choice_set(reading *r, const key *k, void *field, const char *value)
{
  if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
    return fault(r, k->name, " must be yes or no");
  *(url_choice *)field = value[0] == 'y' ? CHOICE_YES : CHOICE_NO;
  return 1;
}

static int degrade_set(reading *r, const key *k, void *field, const char *value)
{
  static const char *const words[] = { "fail", "wait", "local" };

  for (unsigned i = 0; i < 3; i++)
    if (strcmp(value, words[i]) == 0) {
      *(url_degrade *)field = (url_degrade)(DEGRADE_FAIL + i);
      return 1;
    }
  return fault(r, k->name, " must be fail, wait or local");
}

static int dialect_set(reading *r, const key *k, void *field, const char *value)
{
  url_dialect dialect = url_dialect_of(value, strlen(value));

  if (dialect == 0)
    return fault(r, k->name, " must be " DIALECT_WORDS);
  *(url_dialect *)field = dialect;
  return 1;
}

static int duration_set(reading *r, const key *k, void *field, const char *value)
{
  int32_t ms;

  if (!text_to_ms(value, &ms) || ms < 1)
    return fault(r, k->name, " must be a duration such as 500ms, 10s or 5m");
  *(int32_t *)field = ms;
  return 1;
}

static int ppm_set(reading *r, const key *k, void *field, const char *value)
{
  uint64_t number;

  if (!text_to_uint(value, strlen(value), &number) || number < 1 || number > PPM_MAX)
    return fault(r, k->name, " must be a number from 1 to 500000");
  *(int32_t *)field = (int32_t)number;
  return 1;
}

static int report_set(reading *r, const key *k, void *field, const char *value)
{
  int32_t ms = -1;

  if (strcmp(value, "off") != 0 && (!text_to_ms(value, &ms) || ms < REPORT_MIN_MS))
    return fault(r, k->name, " must be off, or a duration of 1s or more, such as 10s");
  *(int32_t *)field = ms;
  return 1;
}

static int history_set(reading *r, const key *k, void *field, const char *value)
{
  static const char *const words[] = { "notable", "all", "off" };

  for (unsigned i = 0; i < 3; i++)
    if (strcmp(value, words[i]) == 0) {
      *(url_history *)field = (url_history)(URL_HISTORY_NOTABLE + i);
      return 1;
    }
  return fault(r, k->name, " must be notable, all or off");
}

static int count_set(reading *r, const key *k, void *field, const char *value)
{
  uint64_t number;

  if (!text_to_uint(value, strlen(value), &number) || number < 1 || number > HISTORY_MOST)
    return fault(r, k->name, " must be a number from 1 to 1000000");
  *(int32_t *)field = (int32_t)number;
  return 1;
}

static int value_set(reading *r, size_t which, const char *value)
{
  const key *k = &keys[which];
  void *field = (char *)r->config + k->place;

  if ((r->seen & (uint32_t)1 << which) != 0 && k->kind != KEY_URL)
    return fault(r, k->name, " is given twice");
  r->seen |= (uint32_t)1 << which;
  switch (k->kind) {
  case KEY_DURATION: return duration_set(r, k, field, value);
  case KEY_PPM: return ppm_set(r, k, field, value);
  case KEY_CHOICE: return choice_set(r, k, field, value);
  case KEY_DEGRADE: return degrade_set(r, k, field, value);
  case KEY_DIALECT: return dialect_set(r, k, field, value);
  case KEY_REPORT: return report_set(r, k, field, value);
  case KEY_HISTORY: return history_set(r, k, field, value);
  case KEY_COUNT_OF: return count_set(r, k, field, value);
  case KEY_URL: return url_add(r, k, field, value);
  case KEY_TEXT:
  case KEY_SECRET: break;
  }
  return text_set(r, k, field, value);
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
