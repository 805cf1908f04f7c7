/* SPDX-License-Identifier: MIT */
/* api/question.c - one request and its reply, for a call that blocks. The engine ends each
 * request by its deadline or at close, so the wait has no limit of its own. */
#include "api/api.h"

static void question_asked(client_record *c, question *q, dibs_status status)
{
  if (status != DIBS_OK) {
    (void)outcome_set(&q->end, c, status, "");
    q->waiter.is_done = true;
  }
}

void question_ask(client_record *c, question *q, const request *command,
                  instant give_up_at)
{
  *q = (question){ .end.status = DIBS_ERR_NO_MEMORY };
  drive_waiter_init(&q->waiter);
  question_asked(c, q, command->is_incomplete
                         ? DIBS_ERR_NO_MEMORY
                         : engine_ask(drive_engine(c->drive), command, q, give_up_at,
                                      drive_now()));
}

void question_ask_once(client_record *c, question *q, const request *command,
                       instant give_up_at)
{
  *q = (question){ .end.status = DIBS_ERR_NO_MEMORY };
  drive_waiter_init(&q->waiter);
  question_asked(c, q, command->is_incomplete
                         ? DIBS_ERR_NO_MEMORY
                         : engine_ask_once(drive_engine(c->drive), command, q, give_up_at,
                                           drive_now()));
}

void question_ask_at(client_record *c, question *q, size_t route, const request *command,
                     instant give_up_at)
{
  *q = (question){ .end.status = DIBS_ERR_NO_MEMORY };
  drive_waiter_init(&q->waiter);
  question_asked(c, q, command->is_incomplete
                         ? DIBS_ERR_NO_MEMORY
                         : engine_ask_at(drive_engine(c->drive), route, command, q,
                                         give_up_at, drive_now()));
}

void question_ask_briefly_at(client_record *c, question *q, size_t route,
                             const request *command, instant give_up_at)
{
  *q = (question){ .end.status = DIBS_ERR_NO_MEMORY };
  drive_waiter_init(&q->waiter);
  question_asked(c, q, engine_ask_briefly_at(drive_engine(c->drive), route, command, q,
                                             give_up_at, drive_now()));
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
  if (q == NULL) {                       /* no call waits for it */
    resp_reply_free(e->reply);
    return;
  }
  (void)outcome_set(&q->end, c, e->status, e->text);
  q->reply = e->reply;
  if (q->then != NULL)
    q->then(c, q);
  else
    drive_waiter_done(c->drive, &q->waiter);
}

#define ANY_ROUTE SIZE_MAX

static dibs_status run(client_record *c, question *q, size_t route, const request *command,
                       instant until)
{
  dibs_status status = command->is_incomplete ? client_refuse(c, DIBS_ERR_NO_MEMORY, "")
                                              : client_enter(c, true);

  *q = (question){ .end.status = status };
  drive_waiter_init(&q->waiter);
  if (status != DIBS_OK)
    return status;
  if (route == ANY_ROUTE)
    question_ask(c, q, command, until);
  else
    question_ask_at(c, q, route, command, until);
  status = question_wait(c, q);
  client_leave(c);
  return status;
}

dibs_status question_run(client_record *c, question *q, const request *command)
{
  return run(c, q, ANY_ROUTE, command, client_give_up_at(c));
}

dibs_status question_run_until(client_record *c, question *q, const request *command,
                               instant until)
{
  return run(c, q, ANY_ROUTE, command, until);
}

dibs_status question_run_at(client_record *c, question *q, size_t route,
                            const request *command, instant until)
{
  return run(c, q, route, command, until);
}

size_t quorum_route_next(client_record *c, size_t from)
{
  size_t route = from, found = SIZE_MAX;

  if (c->servers.kind != DEPLOYMENT_QUORUM || client_enter(c, false) != DIBS_OK)
    return SIZE_MAX;
  for (; route < engine_route_count(drive_engine(c->drive)) && found == SIZE_MAX; route++)
    if (engine_route_is_ready(drive_engine(c->drive), route))
      found = route;
  client_leave(c);
  return found;
}

dibs_status question_read_only(dibs_status status)
{
  return status == DIBS_UNKNOWN ? fault_as(DIBS_ERR_UNREACHABLE) : status;
}
