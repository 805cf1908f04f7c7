/* SPDX-License-Identifier: MIT */
/* data/data_take.c - takes elements from a list, and waits while it is empty.
 *
 * A command that blocks in the server would block the only connection, renewals too. So an
 * empty list is polled by its size; an element is popped once, only when there is one. */
#include <dibs/list.h>

#include "data/data.h"

/* Returns within one command timeout after `limit`: a pop that was sent must be awaited. */
static dibs_status pop(client_record *c, const data_call *take, instant limit,
                       dibs_value **ret_element)
{
  resp_reply *reply = NULL;
  dibs_status status = dibs_private_data_run(c, take, limit, &reply);

  if (status == DIBS_OK)
    status = dibs_private_data_value(c, take->verb, reply, ret_element);
  resp_reply_free(reply);
  return status;
}

/* Without a connection the call polls instead of sending a pop: a poll can be cancelled.
 * Another client may pop the element first: then poll again. */
static dibs_status take(client_record *c, const data_call *call, wait_plan plan,
                        dibs_value **ret_element)
{
  instant limit = plan.wait_ms == DIBS_FOREVER
                    ? INSTANT_NEVER
                    : instant_add(dibs_private_now(), span_ms(plan.wait_ms));
  dibs_value *element = NULL;
  bool is_once = plan.wait_ms == 0;
  bool is_popped = is_once || dibs_private_has_server(c);
  dibs_status status = is_popped ? pop(c, call, limit, &element) : DIBS_OK;

  while (status == DIBS_OK && element == NULL) {
    instant now = dibs_private_now();

    if (is_once || !instant_before(now, limit))
      return DIBS_TIMED_OUT;
    if (plan.wait_ms != DIBS_FOREVER)
      plan.wait_ms = (int32_t)(span_to_ms(instant_since(limit, now)) + 1);
    status = dibs_private_list_await(c, call->name, &plan);
    if (status == DIBS_OK)
      status = pop(c, call, limit, &element);
  }
  if (status == DIBS_OK)
    *ret_element = element;
  return status;
}

dibs_status dibs_list_take(dibs_client *client, const char *name,
                           const dibs_wait_options *options, dibs_value **ret_element)
{
  data_wish w = data_wish_of(DATA_LIST_POP, name);
  wait_plan plan;
  client_record *c;
  dibs_status status = dibs_private_begin(client, &c);

  if (status != DIBS_OK)
    return status;
  data_want(&w, ret_element);
  status = data_check(c, &w);
  if (status == DIBS_OK)
    status = dibs_private_wait_check(c, name, options, &plan);
  if (status == DIBS_OK)
    status = take(c, &w.call, plan, ret_element);
  return dibs_private_end(c, status);
}
