/* SPDX-License-Identifier: MIT */
/* What happened, line by line, for people; nothing is formatted when nobody listens. */
#include "world/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script/script.h"

#define WORDS_MAX 12
#define WORD_BYTES_MAX 60

void trace_list(dibs_sim *sim, const process *p, const char *format, va_list list)
{
  int used;

  if (!trace_is_on(sim))
    return;
  used = snprintf(sim->line, sizeof(sim->line), "%12.6f %-8s ", (double)sim->now / 1e9,
                  p == NULL ? "" : p->name);
  (void)vsnprintf(sim->line + used, sizeof(sim->line) - (size_t)used, format, list);
  sim->options.on_trace(sim->line, sim->options.on_trace_data);
}

void trace(dibs_sim *sim, const process *p, const char *format, ...)
{
  va_list list;

  va_start(list, format);
  trace_list(sim, p, format, list);
  va_end(list);
}

void dibs_sim_note(const char *format, ...)
{
  va_list list;

  if (sim_now == NULL)
    return;
  va_start(list, format);
  trace_list(sim_now, process_current(sim_now), format, list);
  va_end(list);
}

void dibs_sim_flaw(const char *format, ...)
{
  dibs_sim *sim = sim_now;
  char words[512];
  va_list list;

  if (sim == NULL)
    return;
  va_start(list, format);
  (void)vsnprintf(words, sizeof(words), format, list);
  va_end(list);
  trace(sim, process_current(sim), "FLAW %s", words);
  if (sim->first_flaw == NULL) {
    size_t size = strlen(words) + 40;

    sim->first_flaw = sim_zalloc(size);
    (void)snprintf(sim->first_flaw, size, "at %.6f s: %s", (double)sim->now / 1e9, words);
  }
}

/* ---- bytes ---- */

/* Our scripts go by their hash; people know them by name. */
static const char *verb_of(const char *sha, size_t size)
{
  for (size_t i = 0; size == 40 && i < script_count; i++)
    if (memcmp(script_table[i]->sha1, sha, 40) == 0)
      return script_table[i]->name;
  return NULL;
}

static void word_add(text *out, const char *at, size_t size)
{
  const char *verb = verb_of(at, size);
  char shown[WORD_BYTES_MAX + 1] = "";
  size_t used = size < WORD_BYTES_MAX ? size : WORD_BYTES_MAX;

  if (verb != NULL) {
    text_add(out, verb);
    return;
  }
  for (size_t i = 0; i < used; i++)
    shown[i] = at[i] >= ' ' && at[i] < 127 ? at[i] : '.';
  text_add_bytes(out, shown, used);
  if (used < size)
    text_add(out, "...");
}

/* Of commands and answers the first words, in one line; what a piece cuts is left out. */
static void words_add(text *out, const char *at, const char *end)
{
  for (int words = 0; at < end && words < WORDS_MAX; words++) {
    const char *line = memchr(at, '\n', (size_t)(end - at));
    long long size;

    if (line == NULL)
      return;
    size = *at == '$' ? strtoll(at + 1, NULL, 10) : 0;
    text_add(out, " ");
    if (*at == '*')
      text_add(out, "|");
    else if (*at == '$' && size >= 0 && size <= end - line - 3)
      word_add(out, line + 1, (size_t)size);
    else
      word_add(out, at, (size_t)(line - at) - 1);
    at = *at == '$' && size >= 0 ? line + 1 + size + 2 : line + 1;
  }
  if (at < end)
    text_add(out, " ...");
}

void trace_bytes(dibs_sim *sim, const wire *w, int direction, const char *bytes, size_t size)
{
  char words[700];
  text out = text_over(words, sizeof(words));

  if (!trace_is_on(sim))
    return;
  words_add(&out, bytes, bytes + size);
  if (sim->host_count == 1)
    trace(sim, w->process, "%s %llu:%s", direction == UP ? "=>" : "<=",
          (unsigned long long)w->number, words);
  else
    trace(sim, w->process, "%s %s %llu:%s", direction == UP ? "=>" : "<=", w->host->name,
          (unsigned long long)w->number, words);
}
