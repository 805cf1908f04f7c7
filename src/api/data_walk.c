/* SPDX-License-Identifier: MIT */
/* api/data_walk.c - walks over all entries of a map or set, by HSCAN and SSCAN. Pages grow
 * while they are small, because the server copies a whole page and other clients wait
 * meanwhile. A page without room for an entry is requested again with the same cursor,
 * smaller: no entry is left out. */
#include "api/data.h"

#include <string.h>

#define COUNT_FIRST 16
#define BYTES_FEW ((size_t)64 << 10)
#define BYTES_MANY ((size_t)512 << 10)

dibs_status data_ask_page(client_record *c, const data_call *call, question *q,
                          data_page *ret_page)
{
  dibs_status status = data_run(c, call, q);
  bool is_list = call->verb == DATA_LIST_PAGE;

  if (status == DIBS_OK && !(is_list ? data_list_page_answer(q->reply, ret_page)
                                     : data_page_answer(q->reply, ret_page)))
    status = data_answer_is_odd(c);
  if (status == DIBS_OK && call->verb == DATA_MAP_PAGE && ret_page->count % 2 != 0)
    status = data_answer_is_odd(c);
  return status;
}

static int64_t next_count(int64_t count, const data_page *page)
{
  if (page->has_gaps || page->bytes > BYTES_MANY)
    return count > 4 ? count / 4 : 1;
  return page->bytes < BYTES_FEW && count < DATA_PAGE_COUNT ? 2 * count : count;
}

static dibs_status pages_walk(client_record *c, data_call *call, data_visit visit, void *data)
{
  char cursor[DATA_CURSOR_SIZE] = "0";
  bool is_over = false;
  dibs_status status = DIBS_OK;

  call->cursor = cursor;
  call->count = COUNT_FIRST;
  while (status == DIBS_OK && !is_over) {
    question q;
    data_page page;

    status = data_ask_page(c, call, &q, &page);
    if (status == DIBS_OK && (!page.has_gaps || call->count == 1)) {
      memcpy(cursor, page.cursor, sizeof(cursor));
      is_over = !visit(c, q.reply, &page, data) || strcmp(cursor, "0") == 0;
    }
    if (status == DIBS_OK)
      call->count = next_count(call->count, &page);
    question_deinit(&q);
  }
  return status;
}

dibs_status data_walk(dibs_client *client, data_wish *w, data_visit visit, void *data)
{
  client_record *c;
  dibs_status status = client_begin(client, true, &c);

  if (status != DIBS_OK)
    return status;
  status = data_check(c, w);
  if (status == DIBS_OK)
    status = pages_walk(c, &w->call, visit, data);
  return client_end(c, status);
}
