/* SPDX-License-Identifier: MIT */
/* api/question.c - one command and its answer, for a caller that blocks. The engine ends
 * each by its own deadline or at close, so that waiting needs none. */
#include "api/api.h"

static void question_asked(dibs_client *c, question *q, dibs_status status)
{
  if (status != DIBS_OK) {
    q->status = client_fault(c, status, "");
    q->waiter.is_done = true;
  }
}

void question_ask(dibs_client *c, question *q, const buffer *command,
                  const buffer *with_text, instant give_up_at)
{
  *q = (question){ .status = DIBS_ERR_NO_MEMORY };
  drive_waiter_init(&q->waiter);
  question_asked(c, q, buffer_size(command) == 0           /* it could not be encoded */
                         ? DIBS_ERR_NO_MEMORY
                         : engine_ask(drive_engine(c->drive), command, with_text, q,
                                      give_up_at, drive_now()));
}

void question_ask_once(dibs_client *c, question *q, const buffer *command,
                       const buffer *with_text, instant give_up_at)
{
  *q = (question){ .status = DIBS_ERR_NO_MEMORY };
  drive_waiter_init(&q->waiter);
  question_asked(c, q, buffer_size(command) == 0
                         ? DIBS_ERR_NO_MEMORY
                         : engine_ask_once(drive_engine(c->drive), command, with_text, q,
                                           give_up_at, drive_now()));
}

void question_ask_at(dibs_client *c, question *q, size_t route, const buffer *command,
                     const buffer *with_text, instant give_up_at)
{
  *q = (question){ .status = DIBS_ERR_NO_MEMORY };
  drive_waiter_init(&q->waiter);
  question_asked(c, q, buffer_size(command) == 0
                         ? DIBS_ERR_NO_MEMORY
                         : engine_ask_at(drive_engine(c->drive), route, command, with_text, q,
                                         give_up_at, drive_now()));
}

dibs_status question_wait(dibs_client *c, question *q)
{
  (void)drive_wait(c->drive, &q->waiter, INSTANT_NEVER);
  return q->status;
}

void question_deinit(question *q)
{
  q->reply = resp_reply_free(q->reply);
}

void question_answered(dibs_client *c, question *q, const effect *e)
{
  if (q == NULL) {                       /* nobody wants to know */
    resp_reply_free(e->reply);
    return;
  }
  q->status = client_fault(c, e->status, e->text);
  q->reply = e->reply;
  if (q->then != NULL)
    q->then(c, q);
  else
    drive_waiter_done(c->drive, &q->waiter);
}

#define ANY_ROUTE SIZE_MAX

static dibs_status run(dibs_client *c, question *q, size_t route, const buffer *command,
                       const buffer *with_text)
{
  dibs_status status = client_enter(c, true);

  *q = (question){ .status = status };
  drive_waiter_init(&q->waiter);
  if (status != DIBS_OK)
    return status;
  if (route == ANY_ROUTE)
    question_ask(c, q, command, with_text, client_give_up_at(c));
  else
    question_ask_at(c, q, route, command, with_text, client_give_up_at(c));
  status = question_wait(c, q);
  client_leave(c);
  return status;
}

dibs_status question_run(dibs_client *c, question *q, const buffer *command,
                         const buffer *with_text)
{
  return run(c, q, ANY_ROUTE, command, with_text);
}

dibs_status question_run_at(dibs_client *c, question *q, size_t route, const buffer *command,
                            const buffer *with_text)
{
  return run(c, q, route, command, with_text);
}

size_t quorum_route_next(dibs_client *c, size_t from)
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

void script_command_init(script_command *k, const dibs_client *c)
{
  buffer_init(&k->by_digest, &c->memory);
  buffer_init(&k->by_text, &c->memory);
}

void script_command_deinit(script_command *k)
{
  buffer_deinit(&k->by_digest);
  buffer_deinit(&k->by_text);
}

dibs_status script_command_run(dibs_client *c, question *q, const script_command *k, bool is_made)
{
  if (!is_made) {
    *q = (question){ .status = DIBS_ERR_NO_MEMORY };
    drive_waiter_init(&q->waiter);
    return client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  }
  return question_run(c, q, &k->by_digest, &k->by_text);
}

dibs_status question_read_only(dibs_status status)
{
  return status == DIBS_UNKNOWN ? DIBS_ERR_UNREACHABLE : status;
}
