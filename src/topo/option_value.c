/* SPDX-License-Identifier: MIT */
/* topo/option_value.c - reads and writes the values of options: keywords, durations, numbers. */
#include "topo/option_value.h"

#include <string.h>

typedef struct value_rule {
  const char *const *words;
  int32_t word_count, first_word;       /* the number of the first word */
  const char *unit;                     /* of a number: "ms", ""; NULL: no number is allowed */
  int32_t least, most;
  const char *fault;
} value_rule;

#define DIALECT_WORD(number, NAME, word) #word,
static const char *const choices[] = { "yes", "no" };
static const char *const degrades[] = { "fail", "wait", "local" };
static const char *const dialects[] = { DIALECTS(DIALECT_WORD) };
static const char *const histories[] = { "notable", "all", "off" };
static const char *const off[] = { "off" };
#define WORDS(words) (words), sizeof(words) / sizeof((words)[0])
#define DURATION_FAULT(least) \
  " must be a duration from " least " to 24d, such as 500ms, 10s or 5m"

static const value_rule rules[] = {
  [VALUE_CHOICE] = { WORDS(choices), 1, .fault = " must be yes or no" },
  [VALUE_DEGRADE] = { WORDS(degrades), DEGRADE_FAIL, .fault = " must be fail, wait or local" },
  [VALUE_DIALECT] = { WORDS(dialects), 1, .fault = " must be " DIALECT_WORDS },
  [VALUE_HISTORY] = { WORDS(histories), 1, .fault = " must be notable, all or off" },
  [VALUE_DURATION] = { .unit = "ms", .least = 1, .most = INT32_MAX,
                       .fault = DURATION_FAULT("1ms") },
  [VALUE_PAUSE] = { .unit = "ms", .least = 0, .most = INT32_MAX, .fault = DURATION_FAULT("0ms") },
  [VALUE_REPORT] = { WORDS(off), -1, "ms", 1000, INT32_MAX,
                     " must be off, or a duration from 1s to 24d, such as 10s" },
  [VALUE_PPM] = { .unit = "", .least = 1, .most = 500000,
                  .fault = " must be a number from 1 to 500000" },
  [VALUE_COUNT_OF] = { .unit = "", .least = 1, .most = 1000000,
                       .fault = " must be a number from 1 to 1000000" },
};

_Static_assert(sizeof(url_choice) == sizeof(int32_t), "the number of a word is an int32_t");

static bool number_read(const value_rule *rule, part value, int32_t *ret_number)
{
  char words[24];
  uint64_t count;

  if (rule->unit == NULL)
    return false;
  if (rule->unit[0] == 0) {
    if (!text_to_uint(value.at, value.size, &count) || count > INT32_MAX)
      return false;
    *ret_number = (int32_t)count;
  } else {
    if (value.size >= sizeof(words))
      return false;
    memcpy(words, value.at, value.size);
    words[value.size] = 0;
    if (!text_to_ms(words, ret_number))
      return false;
  }
  return *ret_number >= rule->least && *ret_number <= rule->most;
}

const char *option_value_read(value_kind kind, part value, int32_t *ret_value)
{
  const value_rule *rule = &rules[kind];

  for (int32_t i = 0; i < rule->word_count; i++)
    if (part_is(value, rule->words[i])) {
      *ret_value = rule->first_word + i;
      return NULL;
    }
  return number_read(rule, value, ret_value) ? NULL : rule->fault;
}

void option_value_add(value_kind kind, int32_t value, text *out)
{
  const value_rule *rule = &rules[kind];
  int32_t word = value - rule->first_word;

  if (word >= 0 && word < rule->word_count)
    text_add(out, rule->words[word]);
  else
    text_format(out, "%d%s", value, rule->unit);
}

bool option_value_is_word(value_kind kind)
{
  return rules[kind].unit == NULL;
}
