/* SPDX-License-Identifier: MIT */
/* data/data_map.c - maps. */
#include "data/data.h"

#include <dibs/map.h>

static data_wish wish(data_verb verb, const char *name, dibs_bytes key)
{
  data_wish w = data_wish_of(verb, name);

  data_take_key(&w, key);
  return w;
}

static data_wish wish_with_value(data_verb verb, const char *name, dibs_bytes key,
                                 dibs_bytes value)
{
  data_wish w = wish(verb, name, key);

  data_take_value(&w, value);
  return w;
}

dibs_status dibs_map_put(dibs_client *client, const char *name, dibs_bytes key,
                         dibs_bytes value, dibs_value **ret_old)
{
  data_wish w = wish_with_value(ret_old != NULL ? DATA_MAP_PUT : DATA_MAP_SET, name, key,
                                value);

  return ret_old != NULL ? data_ask_value(client, &w, ret_old)
                         : data_ask_bool(client, &w, NULL);
}

dibs_status dibs_map_put_if_absent(dibs_client *client, const char *name, dibs_bytes key,
                                   dibs_bytes value, bool *ret_done)
{
  data_wish w = wish_with_value(DATA_MAP_ADD, name, key, value);

  data_want(&w, ret_done);
  return data_ask_bool(client, &w, ret_done);
}

dibs_status dibs_map_replace(dibs_client *client, const char *name, dibs_bytes key,
                             dibs_bytes value, bool *ret_done)
{
  data_wish w = wish_with_value(DATA_MAP_REPLACE, name, key, value);

  data_want(&w, ret_done);
  return data_ask_bool(client, &w, ret_done);
}

dibs_status dibs_map_replace_if(dibs_client *client, const char *name, dibs_bytes key,
                                dibs_bytes expected, dibs_bytes value, bool *ret_done)
{
  data_wish w = wish_with_value(DATA_MAP_REPLACE_IF, name, key, value);

  data_take_expected(&w, expected);
  data_want(&w, ret_done);
  return data_ask_bool(client, &w, ret_done);
}

dibs_status dibs_map_get(dibs_client *client, const char *name, dibs_bytes key,
                         dibs_value **ret_value)
{
  data_wish w = wish(DATA_MAP_GET, name, key);

  return data_ask_value(client, &w, ret_value);
}

dibs_status dibs_map_contains(dibs_client *client, const char *name, dibs_bytes key,
                              bool *ret_is_there)
{
  data_wish w = wish(DATA_MAP_HAS, name, key);

  data_want(&w, ret_is_there);
  return data_ask_bool(client, &w, ret_is_there);
}

dibs_status dibs_map_size(dibs_client *client, const char *name, uint64_t *ret_size)
{
  data_wish w = data_wish_of(DATA_MAP_SIZE, name);

  data_want(&w, ret_size);
  return data_ask_size(client, &w, ret_size);
}

dibs_status dibs_map_remove(dibs_client *client, const char *name, dibs_bytes key,
                            dibs_value **ret_old)
{
  data_wish w = wish(ret_old != NULL ? DATA_MAP_TAKE : DATA_MAP_REMOVE, name, key);

  return ret_old != NULL ? data_ask_value(client, &w, ret_old)
                         : data_ask_bool(client, &w, NULL);
}

dibs_status dibs_map_remove_if(dibs_client *client, const char *name, dibs_bytes key,
                               dibs_bytes expected, bool *ret_done)
{
  data_wish w = wish(DATA_MAP_REMOVE_IF, name, key);

  data_take_expected(&w, expected);
  data_want(&w, ret_done);
  return data_ask_bool(client, &w, ret_done);
}

/* ---- all of it ---- */

typedef struct map_walk {
  resp_argument name;
  dibs_map_callback callback;
  void *data;
  dibs_status status;
} map_walk;

static bool tell(const map_walk *walk, const data_value *key, const data_value *value)
{
  int before = dibs_private_enter_callback();
  bool goes_on = walk->callback(data_bytes_of(key), data_bytes_of(value), walk->data);

  dibs_private_leave_callback(before);
  return goes_on;
}

/* A value that does not fit into the smallest page with others is requested alone. */
static bool visit_alone(client_record *c, map_walk *walk, const data_value *key)
{
  data_call call = { .verb = DATA_MAP_GET, .name = walk->name, .key = { key->bytes, key->size } };
  bool goes_on = true;
  data_value value;
  resp_reply *reply = NULL;

  walk->status = data_run(c, &call, &reply);
  if (walk->status == DIBS_OK && !data_value_answer(reply, &value))
    walk->status = data_answer_is_odd(c);
  if (walk->status == DIBS_OK && value.is_there)
    goes_on = tell(walk, key, &value);
  resp_reply_free(reply);
  return goes_on && walk->status == DIBS_OK;
}

static bool visit(client_record *c, const resp_reply *r, const data_page *page, void *data)
{
  map_walk *walk = data;
  data_value key, value;
  bool goes_on = true;

  for (size_t i = 0; goes_on && i + 1 < page->count; i += 2) {
    (void)data_value_read(resp_child(r, page->entries, i), &key);
    (void)data_value_read(resp_child(r, page->entries, i + 1), &value);
    if (key.bytes != NULL && value.bytes == NULL)
      goes_on = visit_alone(c, walk, &key);
    else
      goes_on = tell(walk, &key, &value);
  }
  return goes_on;
}

dibs_status dibs_map_each(dibs_client *client, const char *name, dibs_map_callback callback,
                          void *data)
{
  data_wish w = data_wish_of(DATA_MAP_PAGE, name);
  map_walk walk = { .name = w.call.name, .callback = callback, .data = data };
  dibs_status status;

  if (callback == NULL)
    w.fault = "callback is NULL";
  status = data_walk(client, &w, visit, &walk);
  return status == DIBS_OK ? walk.status : status;
}
