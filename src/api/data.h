/* SPDX-License-Identifier: MIT */
/* api/data.h - what the calls on maps, lists and sets share: checks, one question and its
 * answer, walks in pages.
 *
 * A question that changes something is sent once: of HSETNX or LPOP nobody could tell its own
 * first sending from somebody else's change. */
#ifndef API_DATA_H
#define API_DATA_H

#include <dibs/data.h>

#include "api/api.h"
#include "dialect/data.h"

/* A call as the program makes it; `fault`: NULL, or why its arguments will not do; `long_one`:
 * NULL, or which of them has `size` bytes, more than `limit`. */
typedef struct data_wish {
  data_call call;
  const char *fault, *long_one;
  size_t size, limit;
} data_wish;

/* Beginnings of a wish; the key is of a map or set, the value of a map or list. */
data_wish data_wish_of(data_verb verb, const char *name);
void data_take_key(data_wish *w, dibs_bytes key);
void data_take_value(data_wish *w, dibs_bytes value);
void data_take_expected(data_wish *w, dibs_bytes expected);
/* `pointer`, the parameter that takes the answer, must not be NULL. */
void data_want(data_wish *w, const void *pointer);

/* ---- one question, all checks included; outputs are set with DIBS_OK only ---- */

dibs_status data_ask_integer(dibs_client *c, data_wish *w, int64_t *ret_value);
dibs_status data_ask_size(dibs_client *c, data_wish *w, uint64_t *ret_size);   /* may be NULL */
dibs_status data_ask_bool(dibs_client *c, data_wish *w, bool *ret_is_so);      /* may be NULL */
dibs_status data_ask_value(dibs_client *c, data_wish *w, dibs_value **ret_value);

/* ---- walks; in data_walk.c ---- */

/* Visits a page's entries; false: that is enough. */
typedef bool (*data_visit)(const resp_reply *r, const data_page *page, void *data);

/* By cursor over all of a map or set. `w` is of a page. */
dibs_status data_walk(dibs_client *c, data_wish *w, data_visit visit, void *data);

/* One page, inside a pin; question_deinit(q) must follow in any case. */
dibs_status data_ask_page(dibs_client *c, const data_call *call, question *q,
                          data_page *ret_page);

/* Client pinned: all checks, and nothing asked. */
dibs_status data_check(dibs_client *c, data_wish *w);
/* Client pinned, all checked; question_deinit(q) must follow in any case. */
dibs_status data_run(dibs_client *c, const data_call *call, question *q);
dibs_status data_run_until(dibs_client *c, const data_call *call, question *q,
                           instant give_up_at);
/* The value in an answer, as the program's own. */
dibs_status data_hand_out(dibs_client *c, data_verb verb, const resp_reply *r,
                          dibs_value **ret_value);
dibs_bytes data_bytes_of(const data_value *v);
dibs_status data_answer_is_odd(dibs_client *c);

#endif
