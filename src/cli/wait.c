/* SPDX-License-Identifier: MIT */
/* cli/wait.c - dibs wait: until a name is free, held or led, without taking it; a latch is
 * waited for in latch.c.
 *
 * Nobody is told when a lock becomes free but the next waiter, and this one does not
 * queue; so it asks, at first often, then twice a second. */
#include <poll.h>

#include <dibs/election.h>

#include "cli/clock.h"
#include "cli/commands.h"
#include "cli/message.h"
#include "cli/session.h"
#include "cli/show.h"

#define INTERVAL_MS_FIRST 20
#define INTERVAL_MS_MAX 500

static dibs_status ask_for_leader(session *s, const arguments *a, bool *ret_is_so)
{
  dibs_leader *leader = NULL;
  dibs_status status = dibs_get_leader(s->client, a->operands[0], &leader);

  if (status == DIBS_OK)
    *ret_is_so = leader->is_led;
  dibs_leader_free(leader);
  return status;
}

static dibs_status ask(session *s, const arguments *a, bool *ret_is_so)
{
  dibs_inspection *inspection = NULL;
  dibs_status status;

  if (a->goal == UNTIL_LEADER)
    return ask_for_leader(s, a, ret_is_so);
  status = dibs_inspect(s->client, a->operands[0], &inspection);
  if (status == DIBS_OK)
    *ret_is_so = show_is_held(inspection) == (a->goal == UNTIL_HELD);
  dibs_inspection_free(inspection);
  return status;
}

static int wait_until_so(session *s, const arguments *a)
{
  int64_t give_up_at = clock_ms() + a->wait_ms;
  bool is_endless = a->wait_ms == 0 && !a->is_nonblocking;
  int64_t interval = INTERVAL_MS_FIRST;

  for (;;) {
    bool is_so = false;
    dibs_status status = ask(s, a, &is_so);
    int64_t left = give_up_at - clock_ms();

    if (is_so)
      return CODE_OK;
    if (status != DIBS_OK && !dibs_status_is_retriable(status))
      return session_fault(s, status, a->operands[0]);
    if (!is_endless && left <= 0)
      return status == DIBS_OK ? CODE_BUSY : session_fault(s, status, a->operands[0]);

    poll(NULL, 0, (int)(!is_endless && left < interval ? left : interval));
    interval = interval * 3 / 2 > INTERVAL_MS_MAX ? INTERVAL_MS_MAX : interval * 3 / 2;
  }
}

int command_wait(const arguments *a)
{
  session s;
  int code;

  if (a->goal == UNTIL_ZERO)
    return latch_wait(a);
  code = session_start(&s, a);
  if (code == 0)
    code = wait_until_so(&s, a);
  session_close(&s);
  return code;
}
