/* SPDX-License-Identifier: MIT */
/* cli/option_types.c - the types of options: what a value may be, and how it is stored. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dibs/dibs.h>

#include "cli/durations.h"
#include "cli/message.h"
#include "cli/options.h"

/* ---- values ---- */

int option_bad_value(const option_given *g, const char *allowed)
{
  char shown[200];

  printable(g->value, shown, sizeof(shown));
  return say_usage(g->command->name, "--%s: \"%s\" is not %s", g->name, shown, allowed);
}

int option_read_duration(const option_given *g, int32_t least_ms, int32_t *ret_ms)
{
  char least[DURATION_SIZE], allowed[160];
  int32_t ms;

  if (duration_read(g->value, &ms) && ms >= least_ms) {
    *ret_ms = ms;
    return 0;
  }
  duration_as_span(least_ms, least);
  snprintf(allowed, sizeof(allowed),
           "a time from %s to 24d; write 500ms, 10s, 5m or 1h30m "
           "(a bare number is seconds)",
           least_ms == 0 ? "0" : least);
  return option_bad_value(g, allowed);
}

static int read_number(const option_given *g, uint64_t *ret_number)
{
  uint64_t least = g->row->least, most = g->row->most;
  char allowed[80];
  char *end;
  unsigned long long number;

  errno = 0;
  number = strtoull(g->value, &end, 10);
  if (*g->value >= '0' && *g->value <= '9' && *end == '\0' && errno == 0 && number >= least &&
      number <= most) {
    *ret_number = number;
    return 0;
  }
  snprintf(allowed, sizeof(allowed), "a number from %" PRIu64 " to %" PRIu64 "%s%s", least, most,
           g->row->choices != NULL ? ", or " : "",
           g->row->choices != NULL ? g->row->choices->word : "");
  return option_bad_value(g, allowed);
}

int option_read_choice(const option_given *g, const char *value, const option_choice *choices,
                       int *ret_meaning)
{
  char allowed[160] = "one of";

  for (const option_choice *w = choices; w->word != NULL; w++) {
    size_t used = strlen(allowed);

    if (strcmp(w->word, value) == 0) {
      *ret_meaning = w->meaning;
      return 0;
    }
    snprintf(allowed + used, sizeof(allowed) - used, " %s", w->word);
  }
  return option_bad_value(g, allowed);
}

/* ---- types ---- */

int option_flag(const option_given *g, void *options)
{
  *(bool *)option_field(g, options) = true;
  return 0;
}

int option_bit(const option_given *g, void *options)
{
  *(uint32_t *)option_field(g, options) |= (uint32_t)g->row->most;
  return 0;
}

/* An enum has the size of an int. */
static void store_enum(const option_given *g, void *options, int meaning)
{
  memcpy(option_field(g, options), &meaning, sizeof(meaning));
}

int option_constant(const option_given *g, void *options)
{
  store_enum(g, options, (int)g->row->most);
  return 0;
}

int option_one_of(const option_given *g, void *options)
{
  int meaning = 0, code = option_read_choice(g, g->value, g->row->choices, &meaning);

  if (code == 0)
    store_enum(g, options, meaning);
  return code;
}

int option_text(const option_given *g, void *options)
{
  if (strlen(g->value) < g->row->least)
    return say_usage(g->command->name, "--%s is empty: leave it out, or give it a value", g->name);
  if (g->row->most != 0 && strlen(g->value) > g->row->most)
    return say_usage(g->command->name, "--%s: longer than %d bytes", g->name, (int)g->row->most);
  *(const char **)option_field(g, options) = g->value;
  return 0;
}

/* A file that is written. Many programs take "-" for standard output, which has the results. */
int option_output(const option_given *g, void *options)
{
  if (strcmp(g->value, "-") == 0)
    return option_bad_value(g, "a file name here, and never standard output: write ./- for "
                               "such a file");
  return option_text(g, options);
}

int option_duration(const option_given *g, void *options)
{
  return option_read_duration(g, (int32_t)g->row->least, option_field(g, options));
}

int option_int(const option_given *g, void *options)
{
  uint64_t number = 0;
  int code = read_number(g, &number);

  if (code == 0)
    *(int *)option_field(g, options) = (int)number;
  return code;
}

int option_uint32(const option_given *g, void *options)
{
  uint64_t number = 0;
  int code = read_number(g, &number);

  if (code == 0)
    *(uint32_t *)option_field(g, options) = (uint32_t)number;
  return code;
}

int option_uint64(const option_given *g, void *options)
{
  return read_number(g, option_field(g, options));
}

int option_wait(const option_given *g, void *options)
{
  wait_option *wait = option_field(g, options);
  int code = option_read_duration(g, 0, &wait->ms);

  if (code == 0)
    wait->is_none = wait->ms == 0;
  return code;
}

int option_ignored(const option_given *g, void *options)
{
  (void)g;
  (void)options;
  return 0;
}

int option_refused(const option_given *g, void *options)
{
  (void)options;
  return say_usage(g->command->name, "--%s: %s", g->name, g->row->help);
}

int option_help(const option_given *g, void *options)
{
  (void)g;
  (void)options;
  return OPTION_WANTS_HELP;
}
