/* SPDX-License-Identifier: MIT */
/* What happened, line by line, for people; nothing is formatted when nobody listens. */
#include "world/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "script/script.h"

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

/* A script is shown by its name, whether its digest travels or its text: tools/wire-diff compares
 * what clients and servers say, and a script whose text changes is compared elsewhere. */
static const char *script_shown(const char *at, size_t size)
{
  for (size_t i = 0; i < script_count; i++) {
    const script *s = script_table[i];

    if ((size == 40 && memcmp(s->sha1, at, size) == 0) ||
        (size == s->size && memcmp(s->bytes, at, size) == 0))
      return s->name;
  }
  return NULL;
}

/* The script whose text is cut off after `here` bytes; `size` is that of the whole. */
static const char *cut_script(const char *at, size_t here, size_t size)
{
  for (size_t i = 0; i < script_count; i++)
    if (script_table[i]->size == size && memcmp(script_table[i]->bytes, at, here) == 0)
      return script_table[i]->name;
  return NULL;
}

static void bytes_add(text *out, const char *at, size_t size)
{
  static const char digits[] = "0123456789abcdef";

  for (size_t i = 0; i < size; i++) {
    unsigned char byte = (unsigned char)at[i];
    char hex[4] = { '\\', 'x', digits[byte >> 4], digits[byte & 15] };

    text_add_bytes(out, byte < ' ' || byte >= 127 ? hex : at + i,
                   byte < ' ' || byte >= 127 ? sizeof(hex) : 1);
  }
}

/* A string that ends in a later piece, or not at all; `size` is its whole size. */
static void cut_string_add(text *out, stream *of, const char *at, size_t here, size_t size)
{
  const char *name = cut_script(at, here < size ? here : size, size);

  if (name == NULL) {
    bytes_add(out, at, here);
  } else {
    text_add(out, name);
    of->untraced = size + 2 - here;     /* of its text, and the end of its line */
  }
}

/* Commands and replies in one line, whole. A string is shown without its size; the number of
 * elements of an array tells which spaces are part of a string. */
static void elements_add(text *out, stream *of, const char *at, const char *end)
{
  while (at < end) {
    const char *line = memchr(at, '\n', (size_t)(end - at));
    bool is_string = line != NULL && *at == '$' && at[1] != '-';
    size_t size = is_string ? (size_t)strtoull(at + 1, NULL, 10) : 0;

    text_add(out, " ");
    if (!is_string) {
      const char *until = line == NULL ? end : line > at && line[-1] == '\r' ? line - 1 : line;

      bytes_add(out, at, (size_t)(until - at));
      at = line == NULL ? end : line + 1;
    } else if (end - line < 3 || size > (size_t)(end - line) - 3) {
      cut_string_add(out, of, line + 1, (size_t)(end - line) - 1, size);
      at = end;
    } else {
      const char *name = script_shown(line + 1, size);

      if (name != NULL)
        text_add(out, name);
      else
        bytes_add(out, line + 1, size);
      at = line + 1 + size + 2;
    }
  }
}

void trace_bytes(dibs_sim *sim, wire *w, int direction, const char *bytes, size_t size)
{
  stream *of = &w->streams[direction];
  size_t skipped = of->untraced < size ? of->untraced : size;
  size_t room = 4 * size + 400;         /* a name in place of a digest is shorter than 4 * 40 */
  char *line;
  text out;

  if (!trace_is_on(sim))
    return;
  line = sim_zalloc(room);
  out = text_over(line, room);
  out.used = (size_t)snprintf(line, room, "%12.6f %-8s %s %s%s%llu:", (double)sim->now / 1e9,
                              w->process->name, direction == UP ? "=>" : "<=",
                              sim->host_count == 1 ? "" : w->host->name,
                              sim->host_count == 1 ? "" : " ", (unsigned long long)w->number);
  of->untraced -= skipped;
  elements_add(&out, of, bytes + skipped, bytes + size);
  sim->options.on_trace(line, sim->options.on_trace_data);
  free(line);
}
