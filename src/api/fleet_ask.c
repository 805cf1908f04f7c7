/* SPDX-License-Identifier: MIT */
/* api/fleet_ask.c - see fleet_ask.h. */
#include "api/fleet_ask.h"

static dibs_status ask_quorum(client_record *c, const request *command, fleet_visit visit,
                              void *data)
{
  question *qs;
  size_t count;
  dibs_status status = quorum_ask(c, command, client_give_up_at(c), &qs, &count);

  for (size_t i = 0; status == DIBS_OK && i < count; i++)
    if (qs[i].reply != NULL && !visit(data, qs[i].reply))
      status = client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  if (qs != NULL)
    quorum_ask_end(c, qs, count);
  return status;
}

dibs_status fleet_ask(client_record *c, const resp_argument *words, size_t count,
                      fleet_visit visit, void *data)
{
  request command;
  dibs_status status;
  question q;

  request_init(&command, &c->memory);
  (void)request_command(&command, words, count);
  if (c->servers.kind == DEPLOYMENT_QUORUM) {
    status = ask_quorum(c, &command, visit, data);
  } else {
    status = question_run(c, &q, &command);
    if (status == DIBS_OK && !visit(data, q.reply))
      status = client_refuse(c, DIBS_ERR_NO_MEMORY, "");
    question_deinit(&q);
  }
  request_deinit(&command);
  return question_read_only(status);
}

/* Of a quorum, the time of one server: they are compared with the names of a history only. */
static bool time_read(void *data, const resp_reply *reply)
{
  const resp_node *seconds = resp_child(reply, resp_root(reply), 0);
  const resp_node *us = resp_child(reply, resp_root(reply), 1);
  uint64_t s, u;

  if (seconds != NULL && us != NULL && seconds->kind == RESP_STRING && us->kind == RESP_STRING &&
      text_to_uint(seconds->bytes, seconds->size, &s) && text_to_uint(us->bytes, us->size, &u) &&
      s < INT64_MAX / 1000000 - 1)
    *(int64_t *)data = (int64_t)(s * 1000000 + u);
  return true;
}

dibs_status fleet_server_time(client_record *c, int64_t *ret_us)
{
  const resp_argument words[] = { RESP_TEXT("TIME") };

  return fleet_ask(c, words, 1, time_read, ret_us);
}
