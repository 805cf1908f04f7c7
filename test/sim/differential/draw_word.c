/* SPDX-License-Identifier: MIT */
/* test/sim/differential/draw_word.c - words by their kind, and templates made of them. */
#include "draw.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- kinds ---- */

static const char *const any_keys[] = { "s1", "s2", "s1", "s2", "h1", "h2", "l1", "z1",
                                        "{s1}:a", "none" };
static const char *const values[] = { "", "a", "0", "1", "-1", "7", "10", "3.5", "-0", "007",
                                      "1e3", " 1", "abc def", "9223372036854775807",
                                      "-9223372036854775808", "9007199254740993",
                                      "owner-1", "owner-2", "\r\n\x01\xff" };
static const char *const integers[] = { "0", "1", "1", "-1", "2", "-3", "10", "100",
                                        "9223372036854775807", "-9223372036854775808",
                                        "9223372036854775808", "x", "", "1.0", "+1", "01" };
static const char *const indices[] = { "0", "1", "2", "-1", "-2", "5", "-100", "100", "x" };
static const char *const fields[] = { "f", "g", "owner-1", "owner-2", "", "n" };
static const char *const members[] = { "a", "b", "c", "owner-1", "" };
static const char *const scores[] = { "0", "1", "-1", "2", "3", "1.5", "0.1", "1e10", "inf",
                                      "-inf", "1700000000123456", "nan", "x", "", "-0" };
static const char *const bounds[] = { "-inf", "+inf", "0", "1", "(1", "2", "(0", "1.5", "3",
                                      "(3", "inf", "x" };
static const char *const channels[] = { "news", "dibs:inbox:x", "redisson_lock__channel:{s1}" };
static const char *const patterns[] = { "*", "s*", "h?", "[sl]1", "s[^2]", "*1", "\\s1", "none" };

#define ONE_OF(list) (list)[draw_below(d, sizeof(list) / sizeof((list)[0]))]

/* Mostly one of a type; the rest is for WRONGTYPE. */
static const char *key_of(draw *d, const char *first, const char *second)
{
  if (draw_once_in(d, 12))
    return ONE_OF(any_keys);
  return draw_once_in(d, 3) ? second : first;
}

static const char *some_ms(draw *d)
{
  static const struct { const char *words; int64_t ms; } all[] = {
    { "1", 1 }, { "499", 499 }, { "500", 500 }, { "500", 500 }, { "501", 501 },
    { "1000", 1000 }, { "30000", 30000 }, { "30000", 30000 }, { "0", 0 }, { "-1", -1 },
    { "9223372036854775807", 0 }, { "9223372036854770000", 0 }, { "x", 0 }, { "1.5", 0 },
  };
  size_t i = draw_below(d, draw_once_in(d, 4) ? sizeof(all) / sizeof(all[0]) : 8);

  draw_edge(d, all[i].ms);
  return all[i].words;
}

static const char *some_seconds(draw *d)
{
  static const char *const all[] = { "1", "1", "2", "30", "0", "-1", "9223372036854775807", "x" };
  size_t i = draw_below(d, draw_once_in(d, 4) ? 8 : 4);

  draw_edge(d, i < 2 ? 1000 : i == 2 ? 2000 : 30000);
  return all[i];
}

/* Absolute, in units of so many microseconds. */
static const char *some_moment(draw *d, int64_t unit_us)
{
  static char words[32];
  int64_t ahead_ms = (int64_t)draw_below(d, 4) * 500 - 500;

  draw_edge(d, ahead_ms);
  (void)snprintf(words, sizeof(words), "%lld",
                 (long long)((d->wall_us / 1000 + ahead_ms) * 1000 / unit_us));
  return words;
}

static const char *word_of(draw *d, char kind)
{
  switch (kind) {
  case 'k': return ONE_OF(any_keys);
  case 's': return key_of(d, "s1", "s2");
  case 'h': return key_of(d, "h1", "h2");
  case 'l': return key_of(d, "l1", "l2");
  case 'z': return key_of(d, "z1", "z2");
  case 'v': return ONE_OF(values);
  case 'n': return ONE_OF(integers);
  case 'i': return ONE_OF(indices);
  case 'f': return ONE_OF(fields);
  case 'm': return ONE_OF(members);
  case 'w': return ONE_OF(scores);
  case 'b': return ONE_OF(bounds);
  case 'c': return ONE_OF(channels);
  case 'p': return ONE_OF(patterns);
  case 't': return some_ms(d);
  case 'T': return some_seconds(d);
  case 'a': return some_moment(d, 1000);
  case 'A': return some_moment(d, 1000000);
  default:  assert(false); return "";
  }
}

/* ---- templates ---- */

void draw_words_init(draw_words *w)
{
  w->count = 0;
  w->used = text_over(w->bytes, sizeof(w->bytes));
}

void draw_add_word(draw_words *w, const char *bytes, size_t size)
{
  assert(w->count < DRAW_WORDS);
  w->all[w->count++] = (resp_argument){ w->bytes + w->used.used, size };
  text_add_bytes(&w->used, bytes, size);
  assert(!w->used.is_cut);
}

static void add_part(draw *d, const char *part, size_t size, draw_words *w)
{
  const char *word;

  if (part[0] != '$') {
    draw_add_word(w, part, size);
    return;
  }
  word = word_of(d, part[1]);
  draw_add_word(w, word, strlen(word));
}

/* The words between `part` and `end`. */
static void add_parts(draw *d, const char *part, const char *end, char separator,
                      draw_words *w)
{
  while (part < end) {
    const char *next = memchr(part, separator, (size_t)(end - part));

    next = next != NULL ? next : end;
    add_part(d, part, (size_t)(next - part), w);
    part = next + 1;
  }
}

/* `{a|b_c|}`, at its first character behind the brace. Returns what comes behind it. */
static const char *add_choice(draw *d, const char *form, draw_words *w)
{
  const char *end = strchr(form, '}'), *from = form, *to;
  size_t choices = 1, chosen;

  for (const char *at = form; at < end; at++)
    choices += *at == '|';
  for (chosen = draw_below(d, choices); chosen > 0; chosen--)
    from = strchr(from, '|') + 1;
  to = memchr(from, '|', (size_t)(end - from));
  add_parts(d, from, to != NULL ? to : end, '_', w);
  return end + 1;
}

void draw_template(draw *d, const char *form, draw_words *w)
{
  while (*form != '\0') {
    size_t size = strcspn(form, " ");

    if (*form == ' ')
      form++;
    else if (*form == '{')
      form = add_choice(d, form + 1, w);
    else {
      add_part(d, form, size, w);
      form += size;
    }
  }
}

void draw_to_command(draw *d, const draw_words *w)
{
  buffer_clear(&d->command);
  if (!resp_command(&d->command, w->all, w->count))
    assert(false);
}
