/* SPDX-License-Identifier: MIT */
/* cli/durations.c - time spans as people write and read them. */
#include "cli/durations.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <dibs/client.h>

/* Microseconds of one unit; 0 when `word` does not begin with one. The two-letter unit
 * comes first, so that "ms" is not taken for minutes. */
static int64_t unit_us(const char *word, size_t *ret_size)
{
  static const struct unit {
    const char *name;
    int64_t us;
  } units[] = {
    { "ms", 1000 },
    { "s", 1000000 },
    { "m", 60000000 },
    { "h", INT64_C(3600000000) },
    { "d", INT64_C(86400000000) },
  };

  for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
    *ret_size = strlen(units[i].name);
    if (strncmp(word, units[i].name, *ret_size) == 0)
      return units[i].us;
  }
  return 0;
}

/* Reads digits with an optional fraction into millionths. NULL when there are none, or
 * too many; else where the number ends. */
static const char *number_read(const char *text, int64_t *ret_millionths)
{
  int64_t whole = 0, fraction = 0, scale = 1000000;
  bool has_digit = false;

  for (; *text >= '0' && *text <= '9'; text++) {
    has_digit = true;
    whole = whole * 10 + (*text - '0');
    if (whole > DIBS_MS_MAX)
      return NULL;
  }
  if (*text == '.') {
    for (text++; *text >= '0' && *text <= '9'; text++) {
      has_digit = true;
      scale /= 10;
      fraction += scale * (*text - '0');
    }
  }
  *ret_millionths = whole * 1000000 + fraction;
  return has_digit ? text : NULL;
}

bool duration_read(const char *text, int32_t *ret_ms)
{
  const char *at = text;
  int64_t total_us = 0;

  do {
    int64_t millionths, us;
    size_t size;

    at = number_read(at, &millionths);
    if (at == NULL)
      return false;

    us = unit_us(at, &size);
    if (us == 0) {
      /* A number without a unit is seconds, when nothing else stands beside it. */
      if (*at != '\0' || total_us != 0)
        return false;
      us = 1000000;
      size = 0;
    }
    at += size;
    /* In thousandths of the unit, so that days in millionths do not overflow. */
    if (millionths / 1000 > INT64_MAX / us)
      return false;
    total_us += us >= 1000 ? millionths / 1000 * (us / 1000) : 0;
    if (total_us > (int64_t)DIBS_MS_MAX * 1000)
      return false;
  } while (*at != '\0');

  *ret_ms = (int32_t)(total_us / 1000);
  return true;
}

void duration_as_clock(int64_t ms, char ret_text[DURATION_SIZE])
{
  int64_t s = ms < 0 ? 0 : ms / 1000;
  int64_t days = s / 86400, hours = s / 3600 % 24, minutes = s / 60 % 60;

  s %= 60;
  if (days > 0)
    snprintf(ret_text, DURATION_SIZE, "%" PRId64 "d %" PRId64 ":%02d:%02d", days, hours,
             (int)minutes, (int)s);
  else if (hours > 0)
    snprintf(ret_text, DURATION_SIZE, "%" PRId64 ":%02d:%02d", hours, (int)minutes,
             (int)s);
  else
    snprintf(ret_text, DURATION_SIZE, "%d:%02d", (int)minutes, (int)s);
}

void duration_as_span(int64_t ms, char ret_text[DURATION_SIZE])
{
  if (ms < 0)
    ms = 0;
  if (ms < 1000)
    snprintf(ret_text, DURATION_SIZE, "%dms", (int)ms);
  else if (ms < 100000)
    snprintf(ret_text, DURATION_SIZE, "%d.%ds", (int)(ms / 1000),
             (int)(ms % 1000 / 100));
  else if (ms < 3600000)
    snprintf(ret_text, DURATION_SIZE, "%dm%02ds", (int)(ms / 60000),
             (int)(ms / 1000 % 60));
  else
    snprintf(ret_text, DURATION_SIZE, "%" PRId64 "h%02dm", ms / 3600000,
             (int)(ms / 60000 % 60));
}
