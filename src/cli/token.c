/* SPDX-License-Identifier: MIT */
/* cli/token.c - dibs renew and dibs release. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/commands.h"
#include "cli/force.h"
#include "cli/message.h"
#include "cli/session.h"

static bool is_gone(dibs_status status)
{
  return status == DIBS_LOST || status == DIBS_EXPIRED || status == DIBS_TAKEN;
}

static int tell_gone(dibs_status status)
{
  say_softly("the lease was lost%s", status == DIBS_TAKEN ? ": somebody else has it now"
                                     : status == DIBS_EXPIRED ? ": it had run out"
                                                              : "");
  return CODE_LOST;
}

int command_renew(const arguments *a)
{
  session s;
  int64_t remaining_ms = 0;
  dibs_status status;
  int code = session_start(&s, a);

  if (code == 0) {
    status = dibs_token_renew(s.client, a->operands[0], a->ttl_ms, &remaining_ms);
    if (is_gone(status))
      code = tell_gone(status);
    else if (status != DIBS_OK)
      code = session_fault(&s, status, "renew");
    else if (a->is_verbose)
      printf("%" PRId64 "\n", remaining_ms);
  }
  session_close(&s);
  return code;
}

static int release_token(session *s, const arguments *a)
{
  dibs_status status = dibs_token_release(s->client, a->operands[0]);

  if (is_gone(status))
    return tell_gone(status);
  return status == DIBS_OK ? CODE_OK : session_fault(s, status, "release");
}

int command_release(const arguments *a)
{
  session s;
  int code;

  if (!a->is_forced && (a->is_confirmed || a->only_fence != 0 || a->reason != NULL))
    return say_usage("release", "--yes, --fence and --reason belong to --force NAME");
  code = session_start(&s, a);
  if (code == 0)
    code = a->is_forced ? force_release(&s, a, a->is_confirmed) : release_token(&s, a);
  session_close(&s);
  return code;
}
