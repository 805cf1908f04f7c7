/* SPDX-License-Identifier: MIT */
/* api/data_take.c - taking from a list that may be empty still.
 *
 * A command that blocks in the server would block our one connection, renewals too; and a
 * list that Java adds to has no channel. So an empty list is observed by its size, which may
 * be asked for again and again; only when there is something an element is popped, once. */
#include <dibs/list.h>

#include "api/data.h"
#include "api/wait.h"

#define SOON_MS 10
#define LATE_MS 250

typedef struct take_wait {
  wait wait;
  int64_t pause_ms;
} take_wait;

/* Half of it is chance, from the digits of the clock: who began together parts. */
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
    w->status = client_fault(w->client, DIBS_ERR_PROTOCOL,
                             "an answer about data of no known form");
    return true;
  }
  if (size > 0)
    return true;
  wait_look_at(w, look_again_at(t));
  return false;
}

static const wait_kind take_kind = { .look = take_look };

/* Until the list is seen to have something; client pinned. */
static dibs_status wait_for_size(dibs_client *c, const data_call *take, const wait_plan *plan)
{
  data_call call = { .verb = DATA_LIST_SIZE, .name = take->name };
  wait_question q = { .every = SPAN_MS(LATE_MS) };
  take_wait *t = (take_wait *)(void *)wait_new(c, &take_kind, sizeof(*t));
  dibs_status status = DIBS_ERR_NO_MEMORY;
  buffer command;

  if (t == NULL)
    return DIBS_ERR_NO_MEMORY;
  t->pause_ms = SOON_MS;
  buffer_init(&command, &c->memory);
  q.by_digest = &command;
  if (data_encode(&c->names, &command, false, &call))
    status = wait_blocking(&t->wait, plan, &q);
  else
    (void)client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  buffer_deinit(&command);
  (void)wait_free(&t->wait);
  return status;
}

/* Answers within one command timeout behind `limit`: once it is sent it has to be waited for. */
static dibs_status pop(dibs_client *c, const data_call *take, instant limit,
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

/* Where no connection stands the observation is the better one to wait: it can be cancelled. */
static bool has_server(dibs_client *c)
{
  bool has_one = false;

  if (client_enter(c, false) != DIBS_OK)
    return false;
  for (size_t i = 0; !has_one && i < engine_route_count(drive_engine(c->drive)); i++)
    has_one = engine_route_is_ready(drive_engine(c->drive), i);
  client_leave(c);
  return has_one;
}

/* Somebody else may be quicker, again and again. */
static dibs_status take(dibs_client *c, const data_call *call, wait_plan plan,
                        dibs_value **ret_element)
{
  instant limit = plan.wait_ms > 0 ? instant_add(drive_now(), span_ms(plan.wait_ms))
                                   : INSTANT_NEVER;
  dibs_value *element = NULL;
  dibs_status status = has_server(c) ? pop(c, call, limit, &element) : DIBS_OK;

  while (status == DIBS_OK && element == NULL) {
    instant now = drive_now();

    if (!instant_before(now, limit))
      return DIBS_TIMED_OUT;
    if (plan.wait_ms > 0)
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
  dibs_status status = wait_check(client, name, options, true, &plan);

  if (status != DIBS_OK)
    return status;
  status = client_pin(client);
  if (status != DIBS_OK)
    return status;
  data_want(&w, ret_element);
  status = data_check(client, &w);
  if (status == DIBS_OK && canceller_has_fired(plan.cancel))
    status = DIBS_CANCELLED;
  if (status == DIBS_OK)
    status = take(client, &w.call, plan, ret_element);
  client_unpin(client);
  return status;
}
