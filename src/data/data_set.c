/* SPDX-License-Identifier: MIT */
/* data/data_set.c - sets. */
#include "data/data.h"

#include <dibs/set.h>

static data_wish wish(data_verb verb, const char *name, dibs_bytes member)
{
  data_wish w = data_wish_of(verb, name);

  data_take_key(&w, member);
  return w;
}

dibs_status dibs_set_add(dibs_client *client, const char *name, dibs_bytes member,
                         bool *ret_done)
{
  data_wish w = wish(DATA_SET_ADD, name, member);

  return data_ask_bool(client, &w, ret_done);
}

dibs_status dibs_set_remove(dibs_client *client, const char *name, dibs_bytes member,
                            bool *ret_done)
{
  data_wish w = wish(DATA_SET_REMOVE, name, member);

  return data_ask_bool(client, &w, ret_done);
}

dibs_status dibs_set_contains(dibs_client *client, const char *name, dibs_bytes member,
                              bool *ret_is_there)
{
  data_wish w = wish(DATA_SET_HAS, name, member);

  data_want(&w, ret_is_there);
  return data_ask_bool(client, &w, ret_is_there);
}

dibs_status dibs_set_size(dibs_client *client, const char *name, uint64_t *ret_size)
{
  data_wish w = data_wish_of(DATA_SET_SIZE, name);

  data_want(&w, ret_size);
  return data_ask_size(client, &w, ret_size);
}

dibs_status dibs_set_pop(dibs_client *client, const char *name, dibs_value **ret_member)
{
  data_wish w = data_wish_of(DATA_SET_POP, name);

  return data_ask_value(client, &w, ret_member);
}

/* ---- all of it ---- */

typedef struct set_walk {
  dibs_set_callback callback;
  void *data;
} set_walk;

static bool tell(const set_walk *walk, const data_value *member)
{
  int before = dibs_private_enter_callback();
  bool goes_on = walk->callback(data_bytes_of(member), walk->data);

  dibs_private_leave_callback(before);
  return goes_on;
}

static bool visit(client_record *c, const resp_reply *r, const data_page *page, void *data)
{
  const set_walk *walk = data;
  data_value member;

  (void)c;
  for (size_t i = 0; i < page->count; i++) {
    (void)data_value_read(resp_child(r, page->entries, i), &member);
    if (!tell(walk, &member))
      return false;
  }
  return true;
}

dibs_status dibs_set_each(dibs_client *client, const char *name, dibs_set_callback callback,
                          void *data)
{
  data_wish w = data_wish_of(DATA_SET_PAGE, name);
  set_walk walk = { .callback = callback, .data = data };

  if (callback == NULL)
    w.fault = "callback is NULL";
  return data_walk(client, &w, visit, &walk);
}
