/* SPDX-License-Identifier: MIT */
/* cli/run_release.c - gives the lock of dibs run back, and says what became of it. */
#include "cli/clock.h"
#include "cli/message.h"
#include "cli/run.h"

static void say_unconfirmed(const run *r, dibs_status status, const char *name)
{
  dibs_error error = DIBS_ERROR_INIT;
  char why[sizeof(error.text)];

  (void)dibs_client_error(NULL, 0, &error);         /* of this thread: the release */
  say_fault(&(message_facts) { .status = dibs_status_name(status), .name = r->name },
            "%s: the release is not confirmed: %s; the lease ends by itself, after up to its ttl",
            name, printable(error.status == status ? error.text : "", why, sizeof(why)));
}

static const char *when_lost(const run *r)
{
  if (r->command == NULL)
    return "";
  if (r->has_held_on)
    return " during --min-hold, after the command had ended";
  return r->has_overslept ? " while dibs was stopped, after the command had ended"
                          : " before the command ended";
}

/* `why`: of renewals that failed or of the loss, as run_why(). */
static void say_lost(const run *r, dibs_status status, const char *name, const char *why)
{
  const char *next = status == DIBS_TAKEN ? ", and another client has it now"
                     : why[0] == '\0'     ? ": the lease ended or was broken" : "";

  say_fault(&(message_facts) { .code = run_loss_code(r), .status = dibs_status_name(status),
                               .name = r->name },
            "%s was lost%s%s%s", name, when_lost(r), next, why);
  notify_send(&r->notify, "STATUS=lost %s", name);
}

void run_release(run *r)
{
  char name[600], why[600];
  const char *reason = run_why(r, why);
  dibs_status status = dibs_release(r->hold);

  r->held_ms = clock_ms() - r->granted_ms;
  r->hold = NULL;
  printable(r->name, name, sizeof(name));
  if (dibs_status_is_lost(status)) {
    r->is_lost = true;
    if (!r->was_stopped_by_us)
      say_lost(r, status, name, reason);
  } else if (status != DIBS_OK) {
    say_unconfirmed(r, status, name);
  }
}
