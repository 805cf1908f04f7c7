/* SPDX-License-Identifier: MIT */
/* cli/latch.c - dibs latch: wait until so many things have happened. */
#include <dibs/latch.h>

#include <inttypes.h>
#include <stdio.h>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/message.h"
#include "cli/session.h"
#include "cli/show.h"
#include "cli/verbs.h"

#define COUNT_MAX ((int64_t)1 << 53)

static void print_left(const session *s, const arguments *a, const char *name, int64_t left)
{
  if (a->wants_json)
    json_print(latch_json(name, left, s->is_private));
  else
    printf("%" PRId64 "\n", left);
}

static int fault(session *s, dibs_status status, const char *name)
{
  char shown[600];

  printable(name, shown, sizeof(shown));
  if (status == DIBS_ERR_NOT_SET)
    say("%s is not armed: dibs latch init %s N", shown, shown);
  else if (status == DIBS_ERR_WRONG_TYPE)
    say("%s: the key of this name holds something that is no latch", shown);
  else
    return session_fault(s, status, name);
  return CODE_CONFIG;
}

/* ---- verbs ---- */

static int init(session *s, const arguments *a, int64_t count)
{
  dibs_status status = dibs_latch_set(s->client, a->operands[0], count);
  int64_t left = 0;
  char shown[600];

  if (status == DIBS_OK) {
    print_left(s, a, a->operands[0], count);
    return CODE_OK;
  }
  if (status != DIBS_BUSY)
    return fault(s, status, a->operands[0]);
  printable(a->operands[0], shown, sizeof(shown));
  if (dibs_latch_count(s->client, a->operands[0], &left) == DIBS_OK)
    say("%s is armed already, with %" PRId64 " left", shown, left);
  else
    say("%s is armed already", shown);
  return CODE_BUSY;
}

static int down(session *s, const arguments *a, int64_t count)
{
  int64_t left = 0;
  dibs_status status =
      dibs_latch_down(s->client, a->operands[0], count, a->count_id, &left);

  if (status != DIBS_OK)
    return fault(s, status, a->operands[0]);
  print_left(s, a, a->operands[0], left);
  return CODE_OK;
}

static int with_count(const arguments *a,
                      int (*work)(session *s, const arguments *a, int64_t count))
{
  int64_t count = 1;
  session s;
  int code = 0;

  if (a->operand_count > 1)
    code = operand_number("latch", a->operands[1], 1, COUNT_MAX, &count);
  if (code != 0)
    return code;
  code = session_start(&s, a);
  if (code == 0)
    code = work(&s, a, count);
  session_close(&s);
  return code;
}

static int latch_init(const arguments *a)
{
  return with_count(a, init);
}

static int latch_down(const arguments *a)
{
  return with_count(a, down);
}

/* Waits at most --wait; `a->is_nonblocking`: only looks. */
static int wait_for_zero(session *s, const arguments *a)
{
  dibs_wait_options options = DIBS_WAIT_OPTIONS_INIT;
  dibs_status status;
  int64_t left = 0;

  if (a->is_nonblocking) {
    status = dibs_latch_count(s->client, a->operands[0], &left);
    if (status == DIBS_OK)
      return left == 0 ? CODE_OK : CODE_BUSY;
  } else {
    options.wait_ms = a->wait_ms;
    options.cancel = interrupt_begin();
    status = dibs_latch_await(s->client, a->operands[0], &options);
  }
  if (status == DIBS_CANCELLED)
    return interrupt_code();
  if (status == DIBS_OK || status == DIBS_TIMED_OUT)
    return code_of_status(status);
  return fault(s, status, a->operands[0]);
}

int latch_wait(const arguments *a)
{
  session s;
  int code = session_start(&s, a);

  if (code == 0)
    code = wait_for_zero(&s, a);
  session_close(&s);
  return code;
}

static int latch_rm(const arguments *a)
{
  dibs_status status;
  session s;
  int code = session_start(&s, a);

  if (code == 0) {
    status = dibs_latch_delete(s.client, a->operands[0]);
    code = status == DIBS_OK ? CODE_OK : fault(&s, status, a->operands[0]);
  }
  session_close(&s);
  return code;
}

static int show_one(session *s, const arguments *a, const char *name)
{
  int64_t left = 0;
  dibs_status status = dibs_latch_count(s->client, name, &left);
  char shown[600];

  if (status != DIBS_OK)
    return fault(s, status, name);
  if (a->wants_json)
    print_left(s, a, name, left);
  else
    printf("%s  %" PRId64 " left\n", printable(name, shown, sizeof(shown)), left);
  return CODE_OK;
}

/* Without names: those that left a trace under the prefix. */
static int latch_ls(const arguments *a)
{
  arguments own = *a;
  session s;
  int code;

  if (a->operand_count == 0) {
    own.kind = KIND_LATCH;
    return command_status(&own);
  }
  code = session_start(&s, a);
  for (int i = 0; i < a->operand_count && code == CODE_OK; i++)
    code = show_one(&s, a, a->operands[i]);
  session_close(&s);
  return code;
}

int command_latch(const arguments *a)
{
  static const verb verbs[] = {
    { "init", "NAME N", 2, 2, latch_init }, { "down", "NAME [K]", 1, 2, latch_down },
    { "wait", "NAME", 1, 1, latch_wait },   { "ls", "[NAME...]", 0, 1000, latch_ls },
    { "rm", "NAME", 1, 1, latch_rm },
  };

  return verb_run("latch", verbs, sizeof(verbs) / sizeof(verbs[0]), a);
}
