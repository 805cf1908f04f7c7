/* SPDX-License-Identifier: MIT */
/* api/question.c - one request and its reply, for a call that blocks. The engine ends each
 * request by its deadline or at close, so the wait has no limit of its own. */
#include "api/question.h"

void question_ask_by(client_record *c, question *q, const request *command, sync_op how)
{
  dibs_status status;

  *q = (question){ .command = { .op = how, .command = command } };
  q->command.op.row = &command_row;
  q->command.op.context = q;
  drive_waiter_init(&q->waiter);
  status = engine_run(drive_engine(c->drive), &q->command.op, drive_now(), &q->id);
  if (status != DIBS_OK) {
    (void)outcome_set(&q->end, c, status, "");
    q->waiter.is_done = true;
  }
}

void question_ask(client_record *c, question *q, const request *command, instant give_up_at)
{
  question_ask_by(c, q, command, (sync_op){ .give_up_at = give_up_at });
}

dibs_status question_wait(client_record *c, question *q)
{
  (void)drive_wait(c->drive, &q->waiter, INSTANT_NEVER);
  return outcome_note(&q->end, c);
}

void question_deinit(question *q)
{
  q->reply = resp_reply_free(q->reply);
  outcome_clear(&q->end);
}

void question_answered(client_record *c, question *q, const effect *e)
{
  (void)outcome_set(&q->end, c, e->status, e->text);
  q->reply = e->reply;
  q->wall_us = drive_wall_us();
  q->was_lost = e->was_lost;
  if (q->then != NULL)
    q->then(c, q);
  else
    drive_waiter_done(c->drive, &q->waiter);
}

dibs_status question_run_by(client_record *c, question *q, const request *command, sync_op how)
{
  dibs_status status = client_enter(c, true);

  *q = (question){ .end.status = status };
  if (status != DIBS_OK)
    return status;
  question_ask_by(c, q, command, how);
  status = question_wait(c, q);
  client_leave(c);
  return status;
}

dibs_status question_run(client_record *c, question *q, const request *command)
{
  return question_run_until(c, q, command, client_give_up_at(c));
}

dibs_status question_run_until(client_record *c, question *q, const request *command,
                               instant until)
{
  return question_run_by(c, q, command, (sync_op){ .give_up_at = until });
}

size_t quorum_route_next(client_record *c, size_t from)
{
  size_t route = from, found = SIZE_MAX;

  if (c->servers.kind != DEPLOYMENT_QUORUM || client_enter(c, false) != DIBS_OK)
    return SIZE_MAX;
  for (; route < engine_route_count(drive_engine(c->drive)) && found == SIZE_MAX; route++)
    if (engine_route_is_ready(drive_engine(c->drive), route) &&
        (c->missing_reported >> route & 1) == 0)
      found = route;
  client_leave(c);
  return found;
}

dibs_status question_read_only(dibs_status status)
{
  return status == DIBS_UNKNOWN ? fault_as(DIBS_ERR_UNREACHABLE) : status;
}
