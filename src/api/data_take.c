/* SPDX-License-Identifier: MIT */
/* api/data_take.c - takes elements from a list, and waits while it is empty.
 *
 * A command that blocks in the server would block the only connection, renewals too. So an
 * empty list is polled by its size; an element is popped once, only when there is one. */
#include <dibs/list.h>

#include "api/call.h"
#include "api/data.h"
#include "sync/data.h"

/* Returns within one command timeout after `limit`: a pop that was sent must be awaited. */
static dibs_status pop(client_record *c, const data_call *take, instant limit,
                       dibs_value **ret_element)
{
  instant last = instant_add(instant_max(limit, drive_now()), span_ms(c->times.command_ms));
  question q;
  dibs_status status = data_run_until(c, take, &q, instant_min(client_give_up_at(c), last));

  if (status == DIBS_OK)
    status = data_hand_out(c, take->verb, q.reply, ret_element);
  question_deinit(&q);
  return status;
}

/* Without a connection the call polls instead of sending a pop: a poll can be cancelled. */
static bool has_server(client_record *c)
{
  bool has_one = false;

  if (client_enter(c, false) != DIBS_OK)
    return false;
  for (size_t i = 0; !has_one && i < engine_route_count(drive_engine(c->drive)); i++)
    has_one = engine_route_is_ready(drive_engine(c->drive), i);
  client_leave(c);
  return has_one;
}

/* Another client may pop the element first: then poll again. */
static dibs_status take(client_record *c, const data_call *call, wait_plan plan,
                        dibs_value **ret_element)
{
  instant limit = plan.wait_ms == DIBS_FOREVER
                    ? INSTANT_NEVER
                    : instant_add(drive_now(), span_ms(plan.wait_ms));
  dibs_value *element = NULL;
  data_list_op l;
  bool is_once = plan.wait_ms == 0;
  dibs_status status = is_once || has_server(c) ? pop(c, call, limit, &element) : DIBS_OK;

  while (status == DIBS_OK && element == NULL) {
    instant now = drive_now();

    if (is_once || !instant_before(now, limit))
      return DIBS_TIMED_OUT;
    if (plan.wait_ms != DIBS_FOREVER)
      plan.wait_ms = (int32_t)(span_to_ms(instant_since(limit, now)) + 1);
    l = (data_list_op){ .op.row = &data_list_await_row, .name = call->name };
    status = call_blocking(c, &l.op, &plan);
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
  dibs_status status = client_begin(client, true, &c);

  if (status != DIBS_OK)
    return status;
  data_want(&w, ret_element);
  status = wait_check(c, name, options, &plan);
  if (status == DIBS_OK)
    status = data_check(c, &w);
  if (status == DIBS_OK && canceller_has_fired(plan.cancel))
    status = DIBS_CANCELLED;
  if (status == DIBS_OK)
    status = take(c, &w.call, plan, ret_element);
  return client_end(c, status);
}
