/* SPDX-License-Identifier: MIT */
/* admin/doctor_ask.c - what the checks of all themes use: requests to one server, and findings. */
#include "admin/doctor.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/question.h"

#define WORDS_MAX 16

/* ---- findings ---- */

void doctor_add(examination *x, const char *check, dibs_finding_grade grade,
                const char *advice, const char *format, ...)
{
  char words[1024];
  dibs_finding finding = { sizeof(finding), grade, check, x->node, words, advice, x->numbers };
  va_list values;
  int before;

  if (x->is_stopped)
    return;
  va_start(values, format);
  (void)vsnprintf(words, sizeof(words), format, values);
  va_end(values);
  before = drive_enter_callback();
  x->is_stopped = !x->callback(&finding, x->data);
  drive_leave_callback(before);
}

void doctor_add_number(examination *x, const char *check, const char *setting, int64_t number,
                       bool is_fine, const char *advice, const char *result)
{
  if (is_fine)
    doctor_add(x, check, DIBS_FINDING_PASS, "", "%s=%" PRId64, setting, number);
  else
    doctor_add(x, check, DIBS_FINDING_WARN, advice, "%s=%" PRId64 ": %s", setting, number,
               result);
}

bool doctor_has_failover(const examination *x)
{
  return x->deployment == DEPLOYMENT_REPLICATED || x->deployment == DEPLOYMENT_SENTINEL ||
         x->deployment == DEPLOYMENT_CLUSTER;
}

bool doctor_is_unix(const examination *x)
{
  return strncmp(x->node, "unix:", 5) == 0;
}

/* ---- asking ---- */

bool doctor_has_replied(dibs_status status)
{
  return status == DIBS_OK || status == DIBS_ERR_REFUSED || status == DIBS_ERR_DENIED;
}

static instant limit_of(const examination *x)
{
  const client_record *c = x->client;

  return x->is_there ? instant_add(drive_now(), span_ms(c->times.command_ms))
                     : client_give_up_at(c);
}

static resp_reply *ask_until(examination *x, dibs_status *ret_status, const request *command,
                             instant until)
{
  client_record *c = x->client;
  resp_reply *reply = NULL;
  question q;
  dibs_status status = client_enter(c, true);

  *ret_status = status;
  if (status != DIBS_OK)
    return NULL;
  question_ask_by(c, &q, command,
                  (sync_op){ .give_up_at = until, .is_pinned = true, .server = x->route });
  *ret_status = question_read_only(question_wait(c, &q));
  client_leave(c);
  if (*ret_status == DIBS_OK) {
    reply = q.reply;
    q.reply = NULL;
  }
  question_deinit(&q);
  return reply;
}

/* A command that a server cannot execute now, such as that of a key of a Cluster that is down,
 * has no result in time, either; but that server answers PING. */
static bool has_gone_silent(examination *x)
{
  const resp_argument words[] = { RESP_TEXT("PING") };
  dibs_status status = DIBS_ERR_NO_MEMORY;
  request ping;

  request_init(&ping, &x->client->memory);
  if (request_command(&ping, words, 1))
    resp_reply_free(ask_until(x, &status, &ping, limit_of(x)));
  request_deinit(&ping);
  return status == DIBS_ERR_UNREACHABLE;
}

resp_reply *doctor_ask_request(examination *x, dibs_status *ret_status,
                               const request *command)
{
  instant until = limit_of(x);
  resp_reply *reply = NULL;

  *ret_status = DIBS_ERR_UNREACHABLE;
  if (x->is_silent)
    return NULL;
  reply = ask_until(x, ret_status, command, until);
  if (*ret_status == DIBS_ERR_UNREACHABLE && x->is_there && !instant_before(drive_now(), until))
    x->is_silent = has_gone_silent(x);
  return reply;
}

resp_reply *doctor_ask_once(const examination *x, const server_url *url,
                            const resp_argument *words, size_t count, dibs_status *ret_status)
{
  const client_record *c = x->client;
  resp_reply *reply = NULL;
  buffer command;

  buffer_init(&command, &c->memory);
  *ret_status = resp_command(&command, words, count)
                  ? drive_ask_once(&c->memory, url, &command, span_ms(c->times.command_ms), &reply)
                  : DIBS_ERR_NO_MEMORY;
  buffer_deinit(&command);
  return reply;
}

resp_reply *doctor_ask(examination *x, dibs_status *ret_status, ...)
{
  resp_argument words[WORDS_MAX];
  resp_reply *reply = NULL;
  const char *word;
  size_t count = 0;
  request command;
  va_list all;

  va_start(all, ret_status);
  while (count < WORDS_MAX && (word = va_arg(all, const char *)) != NULL)
    words[count++] = (resp_argument){ word, strlen(word) };
  va_end(all);
  request_init(&command, &x->client->memory);
  *ret_status = DIBS_ERR_NO_MEMORY;
  if (request_command(&command, words, count))
    reply = doctor_ask_request(x, ret_status, &command);
  request_deinit(&command);
  return reply;
}
