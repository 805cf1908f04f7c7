/* SPDX-License-Identifier: MIT */
/* dialect/data_answer.c - replies about maps, lists and sets. */
#include <string.h>

#include "dialect/data.h"

bool data_integer_answer(const resp_reply *r, int64_t *ret_value)
{
  const resp_node *root = resp_root(r);

  *ret_value = root->integer;
  return root->kind == RESP_INTEGER;
}

bool data_value_read(const resp_node *node, data_value *ret_value)
{
  *ret_value = (data_value){ .is_there = node->kind != RESP_NIL };
  if (node->kind == RESP_STRING) {
    ret_value->bytes = node->bytes;
    ret_value->size = node->size;
  } else if (node->kind == RESP_INTEGER && node->integer >= 0) {
    ret_value->size = (size_t)node->integer;
  } else {
    return node->kind == RESP_NIL;
  }
  return true;
}

bool data_value_answer(const resp_reply *r, data_value *ret_value)
{
  return data_value_read(resp_root(r), ret_value);
}

static bool entries_read(const resp_reply *r, const resp_node *entries, data_page *ret_page)
{
  data_value value;

  if (entries->kind != RESP_ARRAY)
    return false;
  ret_page->entries = entries;
  ret_page->count = (size_t)entries->integer;
  ret_page->bytes = 0;
  ret_page->has_gaps = false;
  for (size_t i = 0; i < ret_page->count; i++) {
    if (!data_value_read(resp_child(r, entries, i), &value) || !value.is_there)
      return false;
    ret_page->bytes += value.size;
    ret_page->has_gaps = ret_page->has_gaps || value.bytes == NULL;
  }
  return true;
}

bool data_page_answer(const resp_reply *r, data_page *ret_page)
{
  const resp_node *root = resp_root(r);
  const resp_node *cursor = resp_child(r, root, 0), *entries = resp_child(r, root, 1);
  text next = text_over(ret_page->cursor, sizeof(ret_page->cursor));

  if (cursor == NULL || entries == NULL || cursor->kind != RESP_STRING ||
      cursor->size >= DATA_CURSOR_SIZE)
    return false;
  text_add_bytes(&next, cursor->bytes, cursor->size);
  return entries_read(r, entries, ret_page);
}

bool data_list_page_answer(const resp_reply *r, data_page *ret_page)
{
  ret_page->cursor[0] = 0;
  return entries_read(r, resp_root(r), ret_page);
}
