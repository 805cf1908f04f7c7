/* SPDX-License-Identifier: MIT */
/* data/data_walk.c - walks over all entries of a map or set, by HSCAN and SSCAN. Pages grow
 * while they are small, because the server copies a whole page and other clients wait
 * meanwhile. A page without room for an entry is requested again with the same cursor,
 * smaller: no entry is left out. */
#include "data/data.h"

#include <string.h>

#define COUNT_FIRST 16
#define BYTES_FEW ((size_t)64 << 10)
#define BYTES_MANY ((size_t)512 << 10)

dibs_status data_ask_page(client_record *c, const data_call *call, resp_reply **ret_reply,
                          data_page *ret_page)
{
  dibs_status status = data_run(c, call, ret_reply);
  bool is_list = call->verb == DATA_LIST_PAGE;

  if (status == DIBS_OK && !(is_list ? data_list_page_answer(*ret_reply, ret_page)
                                     : data_page_answer(*ret_reply, ret_page)))
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
    resp_reply *reply = NULL;
    data_page page;

    status = data_ask_page(c, call, &reply, &page);
    if (status == DIBS_OK && (!page.has_gaps || call->count == 1)) {
      memcpy(cursor, page.cursor, sizeof(cursor));
      is_over = !visit(c, reply, &page, data) || strcmp(cursor, "0") == 0;
    }
    if (status == DIBS_OK)
      call->count = next_count(call->count, &page);
    resp_reply_free(reply);
  }
  return status;
}

dibs_status data_walk(dibs_client *client, data_wish *w, data_visit visit, void *data)
{
  client_record *c;
  dibs_status status = dibs_private_begin(client, &c);

  if (status != DIBS_OK)
    return status;
  status = data_check(c, w);
  if (status == DIBS_OK)
    status = pages_walk(c, &w->call, visit, data);
  return dibs_private_end(c, status);
}
