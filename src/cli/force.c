/* SPDX-License-Identifier: MIT */
/* cli/force.c - taking something away from whoever holds it, for administrators. */
#include "cli/force.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>
#include <unistd.h>

#include "cli/message.h"
#include "cli/show.h"

/* Asks on the terminal; without one only --yes will do. */
static bool is_agreed(const char *name, const char *holder)
{
  char answer[16] = "";

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
static void log_break(const arguments *a, const char *name, const dibs_holder *h)
{
  char reason[DIBS_NOTE_MAX + 1], holder[220];
  const char *user = getenv("SUDO_USER");

  if (user == NULL)
    user = getenv("USER");
  printable(a->reason == NULL ? "no reason given" : a->reason, reason, sizeof(reason));
  show_party(&h->party, holder, sizeof(holder));
  openlog("dibs", LOG_PID, LOG_USER);
  syslog(LOG_NOTICE, "%s (uid %ld) broke the lock %s (fence %" PRIu64 ", held by %s): %s",
         user == NULL ? "somebody" : user, (long)getuid(), name, h->fence, holder, reason);
  closelog();
  say_softly("broke %s (fence %" PRIu64 "), which was held by %s: %s", name, h->fence,
             holder, reason);
}

static int break_one(session *s, const arguments *a, const char *name,
                     const dibs_holder *h)
{
  dibs_status status = dibs_break(s->client, a->operands[0], h->lease);

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
  log_break(a, name, h);
  return CODE_OK;
}

static bool is_meant(const arguments *a, const dibs_holder *h)
{
  return a->only_fence == 0 || a->only_fence == h->fence;
}

/* Leases that ran out count too: they stand on the server until somebody takes over. */
static int break_all(session *s, const arguments *a, const dibs_inspection *i,
                     bool is_confirmed)
{
  char name[600], holder[900];
  size_t meant = 0;
  int code = CODE_OK;

  printable(a->operands[0], name, sizeof(name));
  if (i->shown_holders == 0) {
    say_softly("%s is free already", name);
    return CODE_OK;
  }
  for (size_t n = 0; n < i->shown_holders; n++)
    meant += is_meant(a, &i->holders[n]);
  if (meant == 0) {
    say("%s is held with the fence %" PRIu64 ", not %" PRIu64 "; nothing was done", name,
        i->holders[0].fence, a->only_fence);
    return CODE_LOST;
  }
  show_holder(i, holder, sizeof(holder));
  if (!is_confirmed && !is_agreed(name, holder))
    return CODE_USAGE;
  for (size_t n = 0; n < i->shown_holders && code == CODE_OK; n++) {
    if (is_meant(a, &i->holders[n]))
      code = break_one(s, a, name, &i->holders[n]);
  }
  return code;
}

int force_release(session *s, const arguments *a, bool is_confirmed)
{
  dibs_inspection *inspection = NULL;
  dibs_status status = dibs_inspect(s->client, a->operands[0], &inspection);
  int code;

  if (status != DIBS_OK)
    return session_fault(s, status, a->operands[0]);
  code = break_all(s, a, inspection, is_confirmed);
  dibs_inspection_free(inspection);
  return code;
}
