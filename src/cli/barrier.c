/* SPDX-License-Identifier: MIT */
/* cli/barrier.c - dibs barrier: programs that wait for each other. */
#include <dibs/barrier.h>

#include <inttypes.h>
#include <stdio.h>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/message.h"
#include "cli/session.h"
#include "cli/show.h"
#include "cli/verbs.h"

static void print_arrival(const session *s, const arguments *a,
                          const dibs_barrier_info *info)
{
  json_t *object = barrier_json(a->operands[0], info, s->is_private);

  json_object_set_new(object, "index", json_integer(info->index));
  json_print(object);
}

/* ---- verbs ---- */

static int tell_broken(const arguments *a, dibs_status status)
{
  char shown[600];

  printable(a->operands[0], shown, sizeof(shown));
  if (status == DIBS_TIMED_OUT)
    say_softly("not all %u came to %s in time: it is broken for the others too", a->parties,
               shown);
  else
    say_softly("%s is broken: somebody gave up or died (dibs barrier reset %s)", shown,
               shown);
  return code_of_status(status);
}

static int arrive(session *s, const arguments *a)
{
  dibs_wait_options options = DIBS_WAIT_OPTIONS_INIT;
  dibs_barrier_info info = { .size = sizeof(info) };
  dibs_status status;

  options.wait_ms = a->wait_ms;
  options.cancel = interrupt_begin();
  status = dibs_barrier_await(s->client, a->operands[0], a->parties, &options, &info);
  if (status == DIBS_CANCELLED)
    return interrupt_code();
  if ((status == DIBS_OK || status == DIBS_BROKEN) && a->wants_json)
    print_arrival(s, a, &info);
  else if (status == DIBS_OK && a->is_verbose)
    printf("%u\n", info.index);
  if (status == DIBS_BROKEN || status == DIBS_TIMED_OUT)
    return tell_broken(a, status);
  return status == DIBS_OK ? CODE_OK : session_fault(s, status, a->operands[0]);
}

static int barrier_wait(const arguments *a)
{
  session s;
  int code;

  if (a->parties == 0)
    return say_usage("barrier", "-n N: how many have to arrive at the barrier");
  if (a->is_nonblocking)
    return say_usage("barrier", "-w 0: a barrier is something to wait at");
  code = session_start(&s, a);
  if (code == 0)
    code = arrive(&s, a);
  session_close(&s);
  return code;
}

static int barrier_reset(const arguments *a)
{
  dibs_status status;
  session s;
  int code = session_start(&s, a);

  if (code == 0) {
    status = dibs_barrier_reset(s.client, a->operands[0]);
    code = status == DIBS_OK ? CODE_OK : session_fault(&s, status, a->operands[0]);
  }
  session_close(&s);
  return code;
}

static int show_one(session *s, const arguments *a, const char *name)
{
  dibs_barrier_info info = { .size = sizeof(info) };
  dibs_status status = dibs_barrier_get(s->client, name, &info);
  char shown[600];

  printable(name, shown, sizeof(shown));
  if (status == DIBS_ERR_NOT_SET) {
    say_softly("%s: nobody used it for an hour", shown);
    return CODE_NO;
  }
  if (status != DIBS_OK)
    return session_fault(s, status, name);
  if (a->wants_json)
    json_print(barrier_json(name, &info, s->is_private));
  else
    printf("%s  %u of %u arrived, generation %" PRIu64 "%s\n", shown, info.arrived,
           info.parties, info.generation, info.is_broken ? ", broken" : "");
  return CODE_OK;
}

static int barrier_ls(const arguments *a)
{
  arguments own = *a;
  session s;
  int code;

  if (a->operand_count == 0) {
    own.kind = KIND_BARRIER;
    return command_status(&own);
  }
  code = session_start(&s, a);
  for (int i = 0; i < a->operand_count && (code == CODE_OK || code == CODE_NO); i++) {
    int one = show_one(&s, a, a->operands[i]);

    code = one == CODE_OK ? code : one;
  }
  session_close(&s);
  return code;
}

int command_barrier(const arguments *a)
{
  static const verb verbs[] = {
    { "wait", "-n N NAME", 1, 1, barrier_wait },
    { "reset", "NAME", 1, 1, barrier_reset },
    { "ls", "[NAME...]", 0, 1000, barrier_ls },
  };

  return verb_run("barrier", verbs, sizeof(verbs) / sizeof(verbs[0]), a);
}
