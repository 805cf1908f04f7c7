/* SPDX-License-Identifier: MIT */
/* api/log_line.c - see log_line.h. */
#include "api/log_line.h"

#include <inttypes.h>
#include <string.h>

static const char *level_word(dibs_log_level level)
{
  static const char *const words[] = { "error", "warning", "info", "debug" };

  return words[level - DIBS_LOG_ERROR];
}

void log_line_begin(log_line *l, dibs_log_level level, const char *event)
{
  l->shown = (dibs_log_line){ .size = sizeof(l->shown), .level = (int32_t)level, .event = event,
                              .text = l->line_bytes, .fields = l->listed };
  l->values = text_over(l->value_bytes, sizeof(l->value_bytes));
  l->line = text_over(l->line_bytes, sizeof(l->line_bytes));
  text_format(&l->line, "level=%s event=%s", level_word(level), event);
}

/* As `key=value` after the others. */
static void show(log_line *l, const char *key, const char *value)
{
  const char *quote = strpbrk(value, " =\"\\") != NULL ? "\"" : "";

  text_format(&l->line, " %s=%s%s%s", key, quote, value, quote);
}

void log_line_add_bytes(log_line *l, const char *key, const void *value, size_t size)
{
  char *at = l->value_bytes + l->values.used;
  size_t room = l->values.size - l->values.used, number = l->shown.field_count;
  text shown;

  if (size == 0 || room < 8 || number == LOG_FIELDS_MAX)
    return;
  shown = text_over(at, room);
  text_add_escaped(&shown, value, size);
  l->values.used += shown.used + 1;      /* a zero follows each */
  l->fields[number] = (dibs_log_field){ key, at };
  l->listed[number] = &l->fields[number];
  l->shown.field_count++;
  show(l, key, at);
}

void log_line_add(log_line *l, const char *key, const char *value)
{
  log_line_add_bytes(l, key, value, strlen(value));
}

void log_line_add_uint(log_line *l, const char *key, uint64_t value)
{
  char bytes[24];
  text shown = text_over(bytes, sizeof(bytes));

  text_add_uint(&shown, value);
  log_line_add(l, key, bytes);
}

void log_line_add_ms(log_line *l, const char *key, span value)
{
  uint64_t us = value.ns > 0 ? (uint64_t)span_to_us(value) : 0;
  char bytes[32];
  text shown = text_over(bytes, sizeof(bytes));

  text_format(&shown, "%" PRIu64 "%s%" PRIu64, us / 1000,
              us % 1000 < 10 ? ".00" : us % 1000 < 100 ? ".0" : ".", us % 1000);
  log_line_add(l, key, bytes);
}
