/* SPDX-License-Identifier: MIT */
/* api/private.c - what libdibs exports for libdibs-data. */
#include "api/private.h"

#include "api/call.h"
#include "api/question.h"
#include "api/value.h"
#include "sync/data.h"

/* ---- a call ---- */

dibs_status dibs_private_begin(dibs_client *client, client_record **ret_client)
{
  return client_begin(client, true, ret_client);
}

dibs_status dibs_private_end(client_record *c, dibs_status status)
{
  return client_end(c, status);
}

dibs_status dibs_private_refuse(client_record *c, dibs_status status, const char *message)
{
  return client_refuse(c, status, message);
}

dibs_status dibs_private_name_check(client_record *c, const void *name, size_t size)
{
  return name_check(c, name, size);
}

dibs_status dibs_private_one_place_check(client_record *c)
{
  return one_place_check(c);
}

int dibs_private_enter_callback(void)
{
  return drive_enter_callback();
}

void dibs_private_leave_callback(int before)
{
  drive_leave_callback(before);
}

/* ---- one request about data ---- */

dibs_status dibs_private_data_run(client_record *c, const data_call *call, instant limit,
                                  resp_reply **ret_reply)
{
  instant last = instant_add(instant_max(limit, drive_now()), span_ms(c->times.command_ms));
  bool is_read = data_is_read(call->verb);
  request k;
  question q;
  dibs_status status;

  request_init(&k, &c->memory);
  (void)data_encode(&c->names, &k, call);        /* an incomplete one is refused */
  status = question_run_by(c, &q, &k,
                           (sync_op){ .give_up_at = instant_min(client_give_up_at(c), last),
                                      .is_once = !is_read });
  request_deinit(&k);
  *ret_reply = status == DIBS_OK ? q.reply : NULL;
  if (status == DIBS_OK)
    q.reply = NULL;
  question_deinit(&q);
  return is_read ? question_read_only(status) : status;
}

dibs_status dibs_private_data_value(client_record *c, data_verb verb, const resp_reply *r,
                                    dibs_value **ret_value)
{
  data_value v;

  return data_value_answer(r, &v)
           ? value_out(c, &v, data_is_read(verb), ret_value)
           : client_refuse(c, DIBS_ERR_PROTOCOL, "unexpected reply to a data script");
}

/* ---- waiting for an element of a list ---- */

dibs_status dibs_private_wait_check(client_record *c, const char *name,
                                    const dibs_wait_options *options, wait_plan *ret_plan)
{
  dibs_status status = wait_check(c, name, options, ret_plan);

  return status == DIBS_OK && canceller_has_fired(ret_plan->cancel) ? DIBS_CANCELLED : status;
}

dibs_status dibs_private_list_await(client_record *c, resp_argument name, const wait_plan *plan)
{
  data_list_op l = { .op.row = &data_list_await_row, .name = name };

  return call_blocking(c, &l.op, plan);
}

bool dibs_private_has_server(client_record *c)
{
  bool has_one = false;

  if (client_enter(c, false) != DIBS_OK)
    return false;
  for (size_t i = 0; !has_one && i < engine_route_count(drive_engine(c->drive)); i++)
    has_one = engine_route_is_ready(drive_engine(c->drive), i);
  client_leave(c);
  return has_one;
}

instant dibs_private_now(void)
{
  return drive_now();
}
