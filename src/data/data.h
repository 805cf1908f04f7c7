/* SPDX-License-Identifier: MIT */
/* data/data.h - what the calls on maps, lists and sets share: checks, one request and its
 * reply, walks in pages.
 *
 * A request that changes data is sent once: the reply to a repeated HSETNX or LPOP would
 * not show whether the first copy or another client changed the data. */
#ifndef DATA_DATA_H
#define DATA_DATA_H

#include <dibs/data.h>

#include "api/private.h"

/* Arguments of a call; `fault`: NULL, or why they are refused; `long_one`: NULL, or which
 * of them has `size` bytes, more than `limit`. */
typedef struct data_wish {
  data_call call;
  const char *fault, *long_one;
  size_t size, limit;
} data_wish;

/* Start a data_wish; the key is of a map or set, the value of a map or list. */
data_wish data_wish_of(data_verb verb, const char *name);
void data_take_key(data_wish *w, dibs_bytes key);
void data_take_value(data_wish *w, dibs_bytes value);
void data_take_expected(data_wish *w, dibs_bytes expected);
/* `pointer`, the parameter that receives the result, must not be NULL. */
void data_want(data_wish *w, const void *pointer);

/* ---- one question, all checks included; outputs are set with DIBS_OK only; the
 * size and the bool may be NULL ---- */

dibs_status data_ask_integer(dibs_client *client, data_wish *w, int64_t *ret_value);
dibs_status data_ask_size(dibs_client *client, data_wish *w, uint64_t *ret_size);
dibs_status data_ask_bool(dibs_client *client, data_wish *w, bool *ret_is_so);
dibs_status data_ask_value(dibs_client *client, data_wish *w, dibs_value **ret_value);

/* ---- walks; in data_walk.c ---- */

/* Visits the entries of a page; false: stop. */
typedef bool (*data_visit)(client_record *c, const resp_reply *r, const data_page *page,
                           void *data);

/* Walks over a map or set by cursor. `w` is of a page. */
dibs_status data_walk(dibs_client *client, data_wish *w, data_visit visit, void *data);

/* Reads one page of a pinned client. The reply is to be freed in any case; it may be NULL. */
dibs_status data_ask_page(client_record *c, const data_call *call, resp_reply **ret_reply,
                          data_page *ret_page);

/* All checks, without a request; client pinned. */
dibs_status data_check(client_record *c, data_wish *w);
/* Client pinned, arguments checked. DIBS_OK: the reply, to be freed; otherwise NULL. */
dibs_status data_run(client_record *c, const data_call *call, resp_reply **ret_reply);
dibs_bytes data_bytes_of(const data_value *v);
dibs_status data_answer_is_odd(client_record *c);

#endif
