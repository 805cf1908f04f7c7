/* SPDX-License-Identifier: MIT */
/* cli/token.c - dibs renew and dibs release. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/message.h"
#include "cli/session.h"
#include "cli/show.h"

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

/* ---- by force ---- */

/* Asks on the terminal; without one only --yes will do. */
static bool is_confirmed(const arguments *a, const char *name, const char *holder)
{
  char answer[16] = "";

  if (a->is_confirmed)
    return true;
  if (isatty(STDIN_FILENO) != 1 || isatty(STDERR_FILENO) != 1) {
    say("there is no terminal to ask on; --yes breaks the lock without asking");
    return false;
  }
  fprintf(stderr,
          "%s is %s.\nTwo programs may believe for a moment that they hold it. "
          "Break it? [y/N] ",
          name, holder);
  if (fgets(answer, sizeof(answer), stdin) == NULL)
    return false;
  return answer[0] == 'y' || answer[0] == 'Y';
}

/* Who broke what, and why, belongs where administrators look. */
static void log_break(const arguments *a, const char *name, const char *holder,
                      uint64_t fence)
{
  char reason[DIBS_NOTE_MAX + 1];
  const char *user = getenv("SUDO_USER");

  if (user == NULL)
    user = getenv("USER");
  printable(a->reason == NULL ? "no reason given" : a->reason, reason, sizeof(reason));
  openlog("dibs", LOG_PID, LOG_USER);
  syslog(LOG_NOTICE, "%s (uid %ld) broke the lock %s (fence %" PRIu64 ", %s): %s",
         user == NULL ? "somebody" : user, (long)getuid(), name, fence, holder, reason);
  closelog();
  say_softly("broke %s (fence %" PRIu64 "), which was %s: %s", name, fence, holder,
             reason);
}

static int break_lease(session *s, const arguments *a, const dibs_inspection *i)
{
  char name[600], holder[500];
  dibs_status status;

  printable(a->operands[0], name, sizeof(name));
  if (!i->is_held) {
    say_softly("%s is free already", name);
    return CODE_OK;
  }
  if (a->only_fence != 0 && i->fence != a->only_fence) {
    say("%s is held with the fence %" PRIu64 ", not %" PRIu64 "; nothing was done", name,
        i->fence, a->only_fence);
    return CODE_LOST;
  }
  show_holder(i, holder, sizeof(holder));
  if (!is_confirmed(a, name, holder))
    return CODE_USAGE;

  status = dibs_break(s->client, a->operands[0], i->lease);
  if (status == DIBS_EXPIRED) {
    say_softly("%s became free meanwhile", name);
    return CODE_OK;
  }
  if (status == DIBS_TAKEN) {
    say("%s changed hands meanwhile; nothing was done", name);
    return CODE_LOST;
  }
  if (status != DIBS_OK)
    return session_fault(s, status, a->operands[0]);
  log_break(a, name, holder, i->fence);
  return CODE_OK;
}

static int release_by_force(session *s, const arguments *a)
{
  dibs_inspection *inspection = NULL;
  dibs_status status = dibs_inspect(s->client, a->operands[0], &inspection);
  int code;

  if (status != DIBS_OK)
    return session_fault(s, status, a->operands[0]);
  code = break_lease(s, a, inspection);
  dibs_inspection_free(inspection);
  return code;
}

int command_release(const arguments *a)
{
  session s;
  int code;

  if (!a->is_forced && (a->is_confirmed || a->only_fence != 0 || a->reason != NULL))
    return say_usage("release", "--yes, --fence and --reason belong to --force NAME");
  code = session_start(&s, a);
  if (code == 0)
    code = a->is_forced ? release_by_force(&s, a) : release_token(&s, a);
  session_close(&s);
  return code;
}
