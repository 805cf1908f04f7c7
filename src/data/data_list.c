/* SPDX-License-Identifier: MIT */
/* data/data_list.c - lists; waiting for an element is in data_take.c. */
#include "data/data.h"

#include <dibs/list.h>

#define INDEX_MAX ((int64_t)1 << 53)   /* the largest exact integer of a script */

static data_wish wish(data_verb verb, const char *name, int64_t index)
{
  data_wish w = data_wish_of(verb, name);

  w.call.number = index;
  if (index < -INDEX_MAX || index > INDEX_MAX)
    w.fault = "an index must be within 2^53";
  return w;
}

static dibs_status add(dibs_client *client, data_verb verb, const char *name,
                       dibs_bytes element, uint64_t *ret_size)
{
  data_wish w = data_wish_of(verb, name);

  data_take_value(&w, element);
  return data_ask_size(client, &w, ret_size);
}

dibs_status dibs_list_add(dibs_client *client, const char *name, dibs_bytes element,
                          uint64_t *ret_size)
{
  return add(client, DATA_LIST_ADD, name, element, ret_size);
}

dibs_status dibs_list_add_first(dibs_client *client, const char *name, dibs_bytes element,
                                uint64_t *ret_size)
{
  return add(client, DATA_LIST_ADD_FIRST, name, element, ret_size);
}

dibs_status dibs_list_get(dibs_client *client, const char *name, int64_t index,
                          dibs_value **ret_element)
{
  data_wish w = wish(DATA_LIST_GET, name, index);

  return data_ask_value(client, &w, ret_element);
}

dibs_status dibs_list_set(dibs_client *client, const char *name, int64_t index,
                          dibs_bytes element, bool *ret_done)
{
  data_wish w = wish(DATA_LIST_SET, name, index);

  data_take_value(&w, element);
  data_want(&w, ret_done);
  return data_ask_bool(client, &w, ret_done);
}

dibs_status dibs_list_insert(dibs_client *client, const char *name, int64_t index,
                             dibs_bytes element, bool *ret_done)
{
  data_wish w = wish(DATA_LIST_INSERT, name, index);

  if (index < 0)
    w.fault = "the index must not be negative";
  data_take_value(&w, element);
  data_want(&w, ret_done);
  return data_ask_bool(client, &w, ret_done);
}

dibs_status dibs_list_remove(dibs_client *client, const char *name, dibs_bytes element,
                             int64_t count, uint64_t *ret_removed)
{
  data_wish w = data_wish_of(DATA_LIST_REMOVE, name);

  w.call.count = count;
  if (count < -INDEX_MAX || count > INDEX_MAX)
    w.fault = "the count must be within 2^53";
  data_take_value(&w, element);
  return data_ask_size(client, &w, ret_removed);
}

dibs_status dibs_list_remove_at(dibs_client *client, const char *name, int64_t index,
                                bool *ret_done)
{
  data_wish w = wish(DATA_LIST_REMOVE_AT, name, index);

  data_want(&w, ret_done);
  return data_ask_bool(client, &w, ret_done);
}

dibs_status dibs_list_size(dibs_client *client, const char *name, uint64_t *ret_size)
{
  data_wish w = data_wish_of(DATA_LIST_SIZE, name);

  data_want(&w, ret_size);
  return data_ask_size(client, &w, ret_size);
}

dibs_status dibs_list_pop_first(dibs_client *client, const char *name,
                                dibs_value **ret_element)
{
  data_wish w = wish(DATA_LIST_POP, name, 0);

  return data_ask_value(client, &w, ret_element);
}

dibs_status dibs_list_pop_last(dibs_client *client, const char *name,
                               dibs_value **ret_element)
{
  data_wish w = wish(DATA_LIST_POP, name, -1);

  return data_ask_value(client, &w, ret_element);
}

/* ---- many of them ---- */

typedef struct list_walk {
  dibs_list_element_callback callback;
  void *data;
  uint64_t index, left;
} list_walk;

static bool tell(const list_walk *walk, const data_value *element)
{
  int before = dibs_private_enter_callback();
  bool goes_on = walk->callback(walk->index, data_bytes_of(element), walk->data);

  dibs_private_leave_callback(before);
  return goes_on;
}

/* false: stop. */
static bool page_visit(list_walk *walk, const resp_reply *r, const data_page *page)
{
  data_value element;

  for (size_t i = 0; i < page->count; i++) {
    (void)data_value_read(resp_child(r, page->entries, i), &element);
    if (!tell(walk, &element))
      return false;
    walk->index++;
    walk->left--;
  }
  return page->count > 0 && walk->left > 0;
}

static dibs_status pages_walk(client_record *c, data_call *call, list_walk *walk)
{
  bool is_more = true;
  dibs_status status = DIBS_OK;

  while (status == DIBS_OK && is_more) {
    resp_reply *reply = NULL;
    data_page page;

    call->number = (int64_t)walk->index;
    call->count = walk->left < DATA_PAGE_COUNT ? (int64_t)walk->left : DATA_PAGE_COUNT;
    status = data_ask_page(c, call, &reply, &page);
    is_more = status == DIBS_OK && page_visit(walk, reply, &page);
    resp_reply_free(reply);
  }
  return status;
}

dibs_status dibs_list_range(dibs_client *client, const char *name, uint64_t index,
                            uint64_t count, dibs_list_element_callback callback, void *data)
{
  client_record *c;
  dibs_status status = dibs_private_begin(client, &c);
  data_wish w = data_wish_of(DATA_LIST_PAGE, name);
  list_walk walk = { .callback = callback, .data = data, .index = index,
                     .left = count > 0 ? count : UINT64_MAX };

  if (status != DIBS_OK)
    return status;
  if (callback == NULL)
    w.fault = "callback is NULL";
  else if (index > (uint64_t)INDEX_MAX)
    w.fault = "an index must be within 2^53";
  status = data_check(c, &w);
  if (status == DIBS_OK)
    status = pages_walk(c, &w.call, &walk);
  return dibs_private_end(c, status);
}
