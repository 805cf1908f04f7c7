/* SPDX-License-Identifier: MIT */
/* api/question.h - one request that a function of api/ makes itself, and its reply: for calls that
 * block, and for steps of the client whose reply nothing waits for.
 *
 * What waits for a message or repeats its request is an operation of sync/ (call.h) instead. */
#ifndef API_QUESTION_H
#define API_QUESTION_H

#include "api/api.h"
#include "sync/command.h"

/* One request and its reply; on the caller's stack if a call waits for it. */
typedef struct question {
  command_op command;
  drive_waiter waiter;
  outcome end;
  resp_reply *reply;               /* freed by question_deinit() */
  int64_t wall_us;                 /* this machine's clock when it came */
  bool was_lost;                   /* that to an earlier copy, which may have been executed */
  /* NULL: a call waits. Otherwise runs when the reply arrives, mutex held; set it after
   * question_ask() unless waiter.is_done is true: then the request failed at once. */
  void (*then)(client_record *c, struct question *q);
  void *context;                   /* of `then` */
  uint64_t id;                     /* for engine_stop(); 0: it failed at once */
} question;

/* Sends; mutex held. question_deinit() must follow in any case. */
void question_ask(client_record *c, question *q, const request *command, instant give_up_at);
/* The same; `how`: its limit, is_once, is_brief, and one server of several. */
void question_ask_by(client_record *c, question *q, const request *command, sync_op how);
/* Mutex held. The result is noted as this thread's fault. */
dibs_status question_wait(client_record *c, question *q);
void question_deinit(question *q);
void question_answered(client_record *c, question *q, const effect *e);
/* Sends one request and waits for it, outside the mutex. `until`: client_give_up_at() at
 * the start of a call, whose requests share one limit. */
dibs_status question_run(client_record *c, question *q, const request *command);
dibs_status question_run_until(client_record *c, question *q, const request *command,
                               instant until);
dibs_status question_run_by(client_record *c, question *q, const request *command, sync_op how);
/* Of a request that changes nothing: DIBS_UNKNOWN becomes UNREACHABLE. */
dibs_status question_read_only(dibs_status status);

/* ---- quorum_ask.c ---- */

/* The first connected server of a quorum from `from` on, but none for which the last quorum_ask()
 * has waited: another wait would take the time of the others. SIZE_MAX: none, or no quorum. */
size_t quorum_route_next(client_record *c, size_t from);
/* Sends one request to all servers of a quorum at once. DIBS_OK: a majority answered, the
 * others are named in a warning; UNREACHABLE names them. `*ret_questions`: one for each
 * server, with a reply or NULL; quorum_ask_end() must follow in any case. */
dibs_status quorum_ask(client_record *c, const request *k, instant until,
                       question **ret_questions, size_t *ret_count);
void quorum_ask_end(client_record *c, question *questions, size_t count);
/* The same without the replies, and no longer than a majority needs. */
dibs_status quorum_answers(client_record *c, const request *k, instant until);

#endif
