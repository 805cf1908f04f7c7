/* SPDX-License-Identifier: MIT */
/* cli/rate.c - dibs rate: at most N in an interval. */
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

typedef struct rate_arguments {
  command_line line;
  wait_option wait;
  bool is_per_client;
} rate_arguments;

static const option_row rows[] = {
  { "wait", 'w', "DUR", WAIT(rate_arguments, wait),
    "take: wait at most DUR (default: forever), then 75" },
  { "nonblock", 'n', NULL, FLAG(rate_arguments, wait.is_none),
    "take: do not wait, exit 75" },
  { "per-client", 0, NULL, FLAG(rate_arguments, is_per_client),
    "set: each client has the whole rate for itself" },
  { .name = NULL },
};

static int fault(session *s, dibs_status status, const char *name)
{
  const message_facts facts = { .code = code_of_status(status),
                                .status = dibs_status_name(status), .name = name };
  char shown[600];

  printable(name, shown, sizeof(shown));
  if (status == DIBS_ERR_NOT_SET)
    say_fault(&facts, "%s: the limit is not set: dibs rate set %s N TIME", shown, shown);
  else if (status == DIBS_ERR_WRONG_TYPE)
    say_fault(&facts, "%s: the key of this name holds no rate limiter", shown);
  else
    return session_fault(s, status, name);
  return facts.code;
}

/* ---- set ---- */

/* What was taken counts on where a rate is set already. */
static int set_rate(session *s, const void *data)
{
  const rate_arguments *a = data;
  dibs_rate rate = DIBS_RATE_INIT;
  dibs_status status;
  int32_t interval_ms = 0;
  char shown[200];

  if (!duration_read(a->line.operands[2], &interval_ms) || interval_ms < 1)
    return say_usage("rate", "\"%s\" is no time from 1ms to 24d; write 500ms, 10s or 1m",
                     printable(a->line.operands[2], shown, sizeof(shown)));
  rate.permits = a->line.count;
  rate.interval_ms = interval_ms;
  rate.type = a->is_per_client ? DIBS_RATE_PER_CLIENT : DIBS_RATE_OVERALL;
  status = dibs_rate_limiter_set(s->client, a->line.operands[0], &rate, DIBS_RATE_UPDATE);
  if (status == DIBS_ERR_NOT_SET)
    status = dibs_rate_limiter_set(s->client, a->line.operands[0], &rate, DIBS_RATE_IF_ABSENT);
  if (status == DIBS_BUSY)               /* set meanwhile, perhaps to another rate */
    status = dibs_rate_limiter_set(s->client, a->line.operands[0], &rate, DIBS_RATE_UPDATE);
  return status == DIBS_OK ? CODE_OK : fault(s, status, a->line.operands[0]);
}

/* ---- take ---- */

static dibs_status take_now_or_wait(session *s, const rate_arguments *a, uint32_t permits,
                                    int64_t *ret_wait_ms)
{
  dibs_wait_options options = DIBS_WAIT_OPTIONS_INIT;

  options.wait_ms = wait_limit(&a->wait);
  options.cancel = interrupt_begin();
  return dibs_rate_limiter_acquire(s->client, a->line.operands[0], permits, &options,
                                   ret_wait_ms);
}

/* DIBS_TIMED_OUT also before the limit, when there cannot be room within it. */
static int no_room(const rate_arguments *a, dibs_status status, int64_t wait_ms)
{
  const message_facts facts = { .code = CODE_BUSY, .status = dibs_status_name(status),
                                .name = a->line.operands[0] };
  char shown[600], span[DURATION_SIZE];

  printable(a->line.operands[0], shown, sizeof(shown));
  duration_as_span(status == DIBS_BUSY ? wait_ms : a->wait.ms, span);
  if (status == DIBS_BUSY)
    return say_fault(&facts, "%s has no room now; in %s, unless another client takes it first",
                     shown, span);
  return say_fault(&facts, "%s has no room within %s", shown, span);
}

static int take(session *s, const void *data)
{
  const rate_arguments *a = data;
  int64_t wait_ms = 0;
  dibs_status status;

  status = take_now_or_wait(s, a, (uint32_t)a->line.count, &wait_ms);
  if (status == DIBS_CANCELLED)
    return interrupt_code();
  if (status == DIBS_BUSY || status == DIBS_TIMED_OUT)
    return no_room(a, status, wait_ms);
  return status == DIBS_OK ? CODE_OK : fault(s, status, a->line.operands[0]);
}

/* ---- look, forget ---- */

static int show_one(session *s, const void *data, const char *name)
{
  const rate_arguments *a = data;
  dibs_rate rate = DIBS_RATE_INIT;
  int64_t left = 0;
  dibs_status status = dibs_rate_limiter_get(s->client, name, &rate, &left);
  char shown[600], interval[DURATION_SIZE];

  if (status != DIBS_OK)
    return fault(s, status, name);
  if (a->line.wants_json) {
    json_print(object_json(name, "rate", s->is_private,
                           json_pack("{s:I s:I s:I s:b}", "free", (json_int_t)left, "permits",
                                     (json_int_t)rate.permits, "interval_ms",
                                     (json_int_t)rate.interval_ms, "per_client",
                                     rate.type == DIBS_RATE_PER_CLIENT)));
    return CODE_OK;
  }
  duration_as_span(rate.interval_ms, interval);
  printf("%s  %" PRId64 " free of %" PRId64 " in %s%s\n", printable(name, shown, sizeof(shown)),
         left, rate.permits, interval,
         rate.type == DIBS_RATE_PER_CLIENT ? ", for each client" : "");
  return CODE_OK;
}

static int forget(session *s, const void *data)
{
  const rate_arguments *a = data;
  dibs_status status = dibs_rate_limiter_delete(s->client, a->line.operands[0]);

  return status == DIBS_OK ? CODE_OK : fault(s, status, a->line.operands[0]);
}

static int rate_run(void *data)
{
  static const verb verbs[] = {
    { "set", "NAME N TIME", 3, 3, .work = set_rate, .count = { 1, PERMITS_MAX },
      .options = "per-client" },
    { "take", "NAME [K]", 1, 2, .work = take, .count = { 1, PERMITS_MAX },
      .options = "wait nonblock" },
    { "show", "NAME...", 1, 1000, .one = show_one, .options = "" },
    { "rm", "NAME", 1, 1, .work = forget, .options = "" },
  };

  return verb_run("rate", verbs, sizeof(verbs) / sizeof(verbs[0]), data);
}

const command rate_command = {
  .name = "rate", .operands = "VERB NAME [ARGUMENT...]",
  .summary = "limit a rate, shared with Redisson",
  .operands_min = 1, .operands_max = 1000, .operand_words = "set take show rm",
  .notes = "  set NAME N TIME   allow N in any TIME; permits taken before still count\n"
           "  take NAME [K]     take K (1) when the limit allows; 75: not within -w\n"
           "  show NAME...      how many are free now, and the limit\n"
           "  rm NAME           delete it",
  .examples = { "dibs rate set partner-api 10 1s",
                "dibs rate take partner-api && curl https://partner.example/",
                "dibs rate take -n partner-api || echo later" },
  OPTIONS({ rows, 0 }, COMMON, SERVER),
  ARGUMENTS(rate_arguments, .line = LINE_DEFAULTS),
  .run = rate_run
};
