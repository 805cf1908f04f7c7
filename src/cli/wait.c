/* SPDX-License-Identifier: MIT */
/* cli/wait.c - dibs wait: until a name is free, held or led, without taking it; a latch is
 * waited for in latch.c.
 *
 * Only the next waiter gets a message when a lock becomes free, and this one does not
 * queue; so it polls, at first often, then twice a second. */
#include <poll.h>

#include <dibs/election.h>

#include "cli/clock.h"
#include "cli/commands.h"
#include "cli/durations.h"
#include "cli/latch.h"
#include "cli/message.h"
#include "cli/session.h"
#include "cli/show.h"
#include "cli/take_before.h"
#include "cli/wait.h"

#define INTERVAL_MS_FIRST 20
#define INTERVAL_MS_MAX 500

enum wait_goal { UNTIL_FREE, UNTIL_HELD, UNTIL_ZERO, UNTIL_LEADER };

typedef struct wait_arguments {
  command_line line;
  wait_option wait;
  enum wait_goal goal;
} wait_arguments;

static const option_row rows[] = {
  { "free", 0, NULL, CONSTANT(wait_arguments, goal, UNTIL_FREE),
    "until it is free (the default)" },
  { "held", 0, NULL, CONSTANT(wait_arguments, goal, UNTIL_HELD), "until it is held" },
  { "zero", 0, NULL, CONSTANT(wait_arguments, goal, UNTIL_ZERO),
    "until the latch NAME is at zero" },
  { "leader", 0, NULL, CONSTANT(wait_arguments, goal, UNTIL_LEADER),
    "until the election NAME has a leader" },
  { "wait", 'w', "DUR", WAIT(wait_arguments, wait),
    "wait at most DUR (default: forever), then exit 75" },
  { .name = NULL },
};

static dibs_status ask_for_leader(session *s, const wait_arguments *a, bool *ret_is_so)
{
  dibs_leader *leader = NULL;
  dibs_status status = dibs_get_leader(s->client, a->line.operands[0], &leader);

  if (status == DIBS_OK)
    *ret_is_so = leader->is_led;
  dibs_leader_free(leader);
  return status;
}

/* `ret_is_vain`: it is held by the wrapper around, so it will not be free before this ends. */
static dibs_status ask(session *s, const wait_arguments *a, bool *ret_is_so, bool *ret_is_vain)
{
  dibs_inspection *inspection = NULL;
  dibs_status status;

  if (a->goal == UNTIL_LEADER)
    return ask_for_leader(s, a, ret_is_so);
  status = dibs_inspect(s->client, dibs_text(a->line.operands[0]), &inspection);
  if (status == DIBS_OK) {
    *ret_is_so = show_is_held(inspection) == (a->goal == UNTIL_HELD);
    *ret_is_vain = !*ret_is_so && a->goal == UNTIL_FREE && !a->wait.is_none &&
                   take_is_held_around(s, inspection);
  }
  dibs_inspection_free(inspection);
  return status;
}

int wait_timed_out(const char *name, const char *state, int32_t limit_ms)
{
  char shown[600], limit[DURATION_SIZE];

  duration_as_span(limit_ms, limit);
  return say_fault(&(message_facts) { .code = CODE_BUSY, .status = "DIBS_TIMED_OUT",
                                      .name = name },
                   "%s %s after %s", printable(name, shown, sizeof(shown)), state, limit);
}

/* `-w 0` asks once, and has the usual time for that. */
static bool limit_question(session *s, const wait_arguments *a, int64_t left_ms)
{
  int32_t ms = a->wait.is_none ? 0 : session_request_ms(s, left_ms);

  return dibs_client_set_call_timeout(s->client, ms) == DIBS_OK;
}

/* Without a server: as calls of the library that wait. */
static bool goes_on(int32_t degrade, dibs_status status, bool was_answered)
{
  if (!dibs_status_is_retriable(status) || degrade == DIBS_DEGRADE_FAIL)
    return false;
  return was_answered || degrade == DIBS_DEGRADE_WAIT;
}

/* The reply to the last question is at most as old as the pause between two. */
static int limit_reached(const wait_arguments *a)
{
  const char *state = a->goal == UNTIL_FREE   ? "is still held"
                      : a->goal == UNTIL_HELD ? "is still free"
                                              : "has no leader yet";

  if (a->wait.is_none)
    return CODE_BUSY;                  /* -w 0 only asks */
  return wait_timed_out(a->line.operands[0], state, a->wait.ms);
}

static int wait_until_so(session *s, const void *data)
{
  const wait_arguments *a = data;
  const int32_t degrade = session_info(s->client).degrade;   /* now: it replaces the last error */
  int64_t give_up_at = clock_ms() + a->wait.ms;
  bool is_endless = a->wait.ms == 0 && !a->wait.is_none;
  int64_t interval = INTERVAL_MS_FIRST;
  dibs_status before, status = DIBS_ERR_UNREACHABLE;
  bool was_answered = false;

  for (;;) {
    bool is_so = false, is_vain = false;
    int64_t left;

    if (!is_endless && !limit_question(s, a, give_up_at - clock_ms()))
      return CODE_INTERNAL;
    before = status;
    status = ask(s, a, &is_so, &is_vain);
    left = give_up_at - clock_ms();
    if (is_so)
      return CODE_OK;
    if (is_vain)
      return take_say_held_around(a->line.operands[0]);
    was_answered |= status == DIBS_OK;
    if (status != DIBS_OK && !goes_on(degrade, status, was_answered))
      return session_fault(s, status, a->line.operands[0]);
    /* The last question has what is left, a millisecond perhaps: without its reply, the reply
     * to the question before it stands. */
    if (!is_endless && left <= 0)
      return status == DIBS_OK || before == DIBS_OK ? limit_reached(a)
                                                   : session_fault(s, status, a->line.operands[0]);

    poll(NULL, 0, (int)(!is_endless && left < interval ? left : interval));
    interval = interval * 3 / 2 > INTERVAL_MS_MAX ? INTERVAL_MS_MAX : interval * 3 / 2;
  }
}

int wait_until_free(const command_line *line, const wait_option *wait)
{
  const wait_arguments a = { .line = *line, .wait = *wait };

  return session_with(&a, wait_until_so);
}

static int wait_run(void *data)
{
  const wait_arguments *a = data;

  if (a->goal == UNTIL_ZERO)
    return latch_wait_for_zero(&a->line, &a->wait);
  return session_with(a, wait_until_so);
}

const command wait_command = {
  .name = "wait", .operands = "NAME",
  .summary = "wait until a name is free, held, led or at zero",
  .operands_min = 1, .operands_max = 1,
  .examples = { "dibs wait -w 30s nightly || echo 'still running'",
                "dibs wait render           # until all jobs of the semaphore are done",
                "dibs wait --zero release-42", "dibs wait -w 0 nightly   # only ask" },
  OPTIONS({ rows, 0 }, COMMON, SERVER),
  ARGUMENTS(wait_arguments, .line = LINE_DEFAULTS),
  .run = wait_run
};
