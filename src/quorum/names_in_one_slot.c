/* SPDX-License-Identifier: MIT */
/* quorum/names_in_one_slot.c - finds names that one command can take: those of one hash tag. */
#include "quorum/names_in_one_slot.h"

#include <stdlib.h>
#include <string.h>

static int bytes_order(const char *a, size_t a_size, const char *b, size_t b_size)
{
  int order = memcmp(a, b, a_size < b_size ? a_size : b_size);

  return order != 0 ? order : (a_size > b_size) - (a_size < b_size);
}

/* The prefix is common, and no part of the tag. */
static void key_of(const many_name *n, text *out)
{
  static const protocol plain = { .prefix = "" };

  native_key(&plain, n->name, n->size, out);
}

static int tags_order(const many_name *a, const many_name *b)
{
  char key_a[KEY_TEXT_SIZE], key_b[KEY_TEXT_SIZE];
  text ka = text_over(key_a, sizeof(key_a)), kb = text_over(key_b, sizeof(key_b));
  const char *tag_a, *tag_b;
  size_t size_a, size_b;
  int order;

  key_of(a, &ka);
  key_of(b, &kb);
  order = slot_of_key(key_a, ka.used) - slot_of_key(key_b, kb.used);
  tag_a = tag_of_key(key_a, ka.used, &size_a);
  tag_b = tag_of_key(key_b, kb.used, &size_b);
  return order != 0 ? order : bytes_order(tag_a, size_a, tag_b, size_b);
}

static int by_bytes(const void *left, const void *right)
{
  const many_name *a = left, *b = right;

  return bytes_order(a->name, a->size, b->name, b->size);
}

static int by_place(const void *left, const void *right)
{
  int order = tags_order(left, right);

  return order != 0 ? order : by_bytes(left, right);
}

void names_sort(many_name *names, size_t count, bool only_bytes)
{
  qsort(names, count, sizeof(names[0]), only_bytes ? by_bytes : by_place);
}

size_t names_in_one_slot(const many_name *names, size_t count)
{
  size_t end = 1;

  while (end < count && tags_order(&names[0], &names[end]) == 0)
    end++;
  return end;
}
