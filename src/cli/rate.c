/* SPDX-License-Identifier: MIT */
/* cli/rate.c - dibs rate: at most so many in so long. */
#include <dibs/rate.h>

#include <inttypes.h>
#include <stdio.h>

#include "cli/commands.h"
#include "cli/durations.h"
#include "cli/interrupt.h"
#include "cli/message.h"
#include "cli/session.h"
#include "cli/show.h"
#include "cli/verbs.h"

#define PERMITS_MAX 1000000000

static int fault(session *s, dibs_status status, const char *name)
{
  char shown[600];

  printable(name, shown, sizeof(shown));
  if (status == DIBS_ERR_NOT_SET)
    say("%s: nobody has said yet how many there may be: dibs rate set %s N TIME", shown, shown);
  else if (status == DIBS_ERR_WRONG_TYPE)
    say("%s: the key of this name holds something that is no rate limiter", shown);
  else
    return session_fault(s, status, name);
  return CODE_CONFIG;
}

static int with_session(const arguments *a, int (*work)(session *s, const arguments *a))
{
  session s;
  int code = session_start(&s, a);

  if (code == 0)
    code = work(&s, a);
  session_close(&s);
  return code;
}

/* ---- set ---- */

/* What was taken counts on where a rate is set already. */
static int set_rate(session *s, const arguments *a)
{
  dibs_rate rate = DIBS_RATE_INIT;
  dibs_status status;
  int32_t interval_ms = 0;
  char shown[200];
  int code = operand_number("rate", a->operands[1], 1, PERMITS_MAX, &rate.permits);

  if (code != 0)
    return code;
  if (!duration_read(a->operands[2], &interval_ms) || interval_ms < 1)
    return say_usage("rate", "\"%s\" is no time from 1ms to 24d; write 500ms, 10s or 1m",
                     printable(a->operands[2], shown, sizeof(shown)));
  rate.interval_ms = interval_ms;
  rate.type = a->is_per_client ? DIBS_RATE_PER_CLIENT : DIBS_RATE_OVERALL;
  status = dibs_rate_limiter_set(s->client, a->operands[0], &rate, DIBS_RATE_UPDATE);
  if (status == DIBS_ERR_NOT_SET)
    status = dibs_rate_limiter_set(s->client, a->operands[0], &rate, DIBS_RATE_IF_ABSENT);
  if (status == DIBS_BUSY)               /* somebody was faster, perhaps with another rate */
    status = dibs_rate_limiter_set(s->client, a->operands[0], &rate, DIBS_RATE_UPDATE);
  return status == DIBS_OK ? CODE_OK : fault(s, status, a->operands[0]);
}

static int rate_set(const arguments *a)
{
  return with_session(a, set_rate);
}

/* ---- take ---- */

static dibs_status take_now_or_wait(session *s, const arguments *a, uint32_t permits,
                                    int64_t *ret_wait_ms)
{
  dibs_wait_options options = DIBS_WAIT_OPTIONS_INIT;

  if (a->is_nonblocking)
    return dibs_rate_limiter_try_acquire(s->client, a->operands[0], permits, ret_wait_ms);
  options.wait_ms = a->wait_ms;
  options.cancel = interrupt_begin();
  return dibs_rate_limiter_acquire(s->client, a->operands[0], permits, &options);
}

static int take(session *s, const arguments *a)
{
  char shown[600], later[DURATION_SIZE];
  int64_t permits = 1, wait_ms = 0;
  dibs_status status;
  int code = 0;

  if (a->operand_count > 1)
    code = operand_number("rate", a->operands[1], 1, PERMITS_MAX, &permits);
  if (code != 0)
    return code;
  status = take_now_or_wait(s, a, (uint32_t)permits, &wait_ms);
  if (status == DIBS_CANCELLED)
    return interrupt_code();
  if (status == DIBS_BUSY) {
    duration_as_span(wait_ms, later);
    say_softly("%s has no room now; in %s, if nobody comes first",
               printable(a->operands[0], shown, sizeof(shown)), later);
  }
  if (status == DIBS_OK || status == DIBS_BUSY || status == DIBS_TIMED_OUT)
    return code_of_status(status);
  return fault(s, status, a->operands[0]);
}

static int rate_take(const arguments *a)
{
  return with_session(a, take);
}

/* ---- look, forget ---- */

static int show_one(session *s, const arguments *a, const char *name)
{
  dibs_rate rate = DIBS_RATE_INIT;
  int64_t left = 0;
  dibs_status status = dibs_rate_limiter_config(s->client, name, &rate);
  char shown[600], interval[DURATION_SIZE];

  if (status == DIBS_OK)
    status = dibs_rate_limiter_available(s->client, name, &left);
  if (status != DIBS_OK)
    return fault(s, status, name);
  if (a->wants_json) {
    json_print(rate_json(name, &rate, left, s->is_private));
    return CODE_OK;
  }
  duration_as_span(rate.interval_ms, interval);
  printf("%s  %" PRId64 " free of %" PRId64 " in %s%s\n", printable(name, shown, sizeof(shown)),
         left, rate.permits, interval,
         rate.type == DIBS_RATE_PER_CLIENT ? ", for each client" : "");
  return CODE_OK;
}

static int show_all(session *s, const arguments *a)
{
  int code = CODE_OK;

  for (int i = 0; i < a->operand_count && code == CODE_OK; i++)
    code = show_one(s, a, a->operands[i]);
  return code;
}

static int rate_show(const arguments *a)
{
  return with_session(a, show_all);
}

static int forget(session *s, const arguments *a)
{
  dibs_status status = dibs_rate_limiter_delete(s->client, a->operands[0]);

  return status == DIBS_OK ? CODE_OK : fault(s, status, a->operands[0]);
}

static int rate_rm(const arguments *a)
{
  return with_session(a, forget);
}

int command_rate(const arguments *a)
{
  static const verb verbs[] = {
    { "set", "NAME N TIME", 3, 3, rate_set },   { "take", "NAME [K]", 1, 2, rate_take },
    { "show", "NAME...", 1, 1000, rate_show },  { "rm", "NAME", 1, 1, rate_rm },
  };

  return verb_run("rate", verbs, sizeof(verbs) / sizeof(verbs[0]), a);
}
