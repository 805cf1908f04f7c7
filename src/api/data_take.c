/* SPDX-License-Identifier: MIT */
/* api/data_take.c - takes elements from a list, and waits while it is empty.
 *
 * A command that blocks in the server would block the only connection, renewals too; and a
 * list to which Java adds has no channel. So an empty list is polled by its size, a
 * request that may be repeated; an element is popped once, only when there is one. */
#include <dibs/list.h>

#include "api/data.h"
#include "api/wait.h"

#define SOON_MS 10
#define LATE_MS 250

typedef struct take_wait {
  wait wait;
  int64_t pause_ms;
} take_wait;

/* Half of the pause is random, from the digits of the clock: callers that began together
 * separate. */
static instant look_again_at(take_wait *t)
{
  instant now = drive_now();
  int64_t half_ns = SPAN_MS(t->pause_ms).ns / 2;
  span pause = { half_ns + now.ns % half_ns };

  t->pause_ms = t->pause_ms * 2 < LATE_MS ? t->pause_ms * 2 : LATE_MS;
  return instant_add(now, pause);
}

static bool take_look(wait *w, const resp_reply *reply)
{
  take_wait *t = (take_wait *)(void *)w;
  int64_t size;

  if (!data_integer_answer(reply, &size)) {
    return wait_over(w, DIBS_ERR_PROTOCOL, "unexpected reply to LLEN");
  }
  if (size > 0)
    return true;
  wait_look_at(w, look_again_at(t));
  return false;
}

static const wait_kind take_kind = { .look = take_look };

/* Waits until the list has an element; client pinned. */
static dibs_status wait_for_size(client_record *c, const data_call *take, const wait_plan *plan)
{
  data_call call = { .verb = DATA_LIST_SIZE, .name = take->name };
  wait_question q = { .every = SPAN_MS(LATE_MS) };
  take_wait *t = (take_wait *)(void *)wait_new(c, &take_kind, sizeof(*t));
  dibs_status status = DIBS_ERR_NO_MEMORY;
  request command;

  if (t == NULL)
    return DIBS_ERR_NO_MEMORY;
  t->pause_ms = SOON_MS;
  request_init(&command, &c->memory);
  q.command = &command;
  if (data_encode(&c->names, &command, &call))
    status = wait_blocking(&t->wait, plan, &q);
  else
    (void)client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  request_deinit(&command);
  (void)wait_free(&t->wait);
  return status;
}

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
  bool is_once = plan.wait_ms == 0;
  dibs_status status = is_once || has_server(c) ? pop(c, call, limit, &element) : DIBS_OK;

  while (status == DIBS_OK && element == NULL) {
    instant now = drive_now();

    if (is_once || !instant_before(now, limit))
      return DIBS_TIMED_OUT;
    if (plan.wait_ms != DIBS_FOREVER)
      plan.wait_ms = (int32_t)(span_to_ms(instant_since(limit, now)) + 1);
    status = wait_for_size(c, call, &plan);
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
