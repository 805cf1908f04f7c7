/* SPDX-License-Identifier: MIT */
/* cli/force.c - ends leases of other clients, for administrators. */
#include "cli/force.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>
#include <unistd.h>

#include "cli/durations.h"
#include "cli/message.h"
#include "cli/show.h"

#define FENCE_SIZE 32

/* Asks on the terminal; without one --yes is needed. A program that reads JSON has none. */
static int ask_whether(const session *s, const char *name, const char *holder)
{
  char answer[16] = "";

  if (s->line->wants_json || isatty(STDIN_FILENO) != 1 || isatty(STDERR_FILENO) != 1) {
    say_fault(&(message_facts) { .code = CODE_USAGE, .status = "DIBS_ERR_ARGUMENT" },
              "there is no terminal to ask on; --yes breaks the lock without asking");
    return CODE_USAGE;
  }
  fprintf(stderr,
          "%s is %s.\nTwo programs may believe that they hold it, until the present holder learns "
          "of it. Break it? [y/N] ",
          name, holder);
  if (fgets(answer, sizeof(answer), stdin) != NULL && (answer[0] == 'y' || answer[0] == 'Y'))
    return CODE_OK;
  say("%s was not broken", name);
  return CODE_NO;
}

/* A lease of another dialect may have none: "". */
static void fence_write(const dibs_holder *h, char ret_text[FENCE_SIZE])
{
  ret_text[0] = '\0';
  if (h->fence != 0)
    (void)snprintf(ret_text, FENCE_SIZE, "fence %" PRIu64 ", ", h->fence);
}

/* The system log is where administrators look. */
static void log_break(const force_order *o, const char *name, const dibs_holder *h)
{
  char reason[DIBS_NOTE_MAX + 1], holder[220], left[DURATION_SIZE], fence[FENCE_SIZE];
  const char *user = getenv("SUDO_USER");

  if (user == NULL)
    user = getenv("USER");
  printable(o->reason == NULL ? "no reason given" : o->reason, reason, sizeof(reason));
  show_party(h->party, holder, sizeof(holder));
  fence_write(h, fence);
  openlog("dibs", LOG_PID, LOG_USER);
  syslog(LOG_NOTICE, "%s (uid %ld) broke the lock %s (%sheld by %s): %s",
         user == NULL ? "unknown user" : user, (long)getuid(), name, fence, holder, reason);
  closelog();
  duration_as_span(h->remaining_ms > 0 ? h->remaining_ms : 0, left);
  say_softly("broke %s (%sheld by %s): %s; the holder learns that at once, or, if no message "
             "reaches it, by its next renewal, within %s", name, fence, holder, reason, left);
}

static int break_one(session *s, const force_order *o, const char *name,
                     const dibs_holder *h)
{
  dibs_status status = dibs_break(s->client, dibs_text(o->name), h->lease);

  if (status == DIBS_EXPIRED || status == DIBS_LOST) {
    say_softly("%s became free meanwhile", name);
    return CODE_OK;
  }
  if (status == DIBS_TAKEN) {
    return say_fault(&(message_facts) { .code = CODE_LOST, .status = "DIBS_TAKEN",
                                        .name = o->name },
                     "another client has taken %s meanwhile; nothing was done", name);
  }
  if (status != DIBS_OK)
    return session_fault(s, status, o->name);
  log_break(o, name, h);
  return CODE_OK;
}

/* ---- which ones ---- */

/* Those that come next from the queue have later fences. */
static uint64_t newest_fence(const dibs_inspection *i)
{
  uint64_t newest = i->fence;

  for (size_t n = 0; n < i->shown_holders; n++)
    newest = i->holders[n]->fence > newest ? i->holders[n]->fence : newest;
  return newest;
}

static bool is_meant(const force_order *o, const dibs_holder *h, uint64_t newest)
{
  return o->only_fence != 0 ? h->fence == o->only_fence : h->fence <= newest;
}

static bool has_meant(const force_order *o, const dibs_inspection *i)
{
  bool has = false;

  for (size_t n = 0; n < i->shown_holders; n++)
    has = has || is_meant(o, i->holders[n], UINT64_MAX);
  return has;
}

static int say_no_such_fence(const force_order *o, const dibs_inspection *i, const char *name)
{
  if (i->holder_count > i->shown_holders) {
    return say_fault(&(message_facts) { .code = CODE_UNSUPPORTED,
                                        .status = "DIBS_ERR_UNSUPPORTED", .name = o->name },
                     "%s has %zu holders, of which only %zu are known here, and none of these has "
                     "the fence %" PRIu64 "; nothing was done",
                     name, i->holder_count, i->shown_holders, o->only_fence);
  }
  if (i->holders[0]->fence == 0) {
    return say_fault(&(message_facts) { .code = CODE_LOST, .status = "DIBS_TAKEN",
                                        .name = o->name },
                     "%s is held without a fence, not with %" PRIu64 "; nothing was done", name,
                     o->only_fence);
  }
  return say_fault(&(message_facts) { .code = CODE_LOST, .status = "DIBS_TAKEN",
                                      .name = o->name },
                   "%s is held with the fence %" PRIu64 ", not %" PRIu64 "; nothing was done",
                   name, i->holders[0]->fence, o->only_fence);
}

/* ---- all of them ---- */

static int break_shown(session *s, const force_order *o, const dibs_inspection *i, uint64_t newest)
{
  char name[600];
  int code = CODE_OK;

  printable(o->name, name, sizeof(name));
  for (size_t n = 0; n < i->shown_holders && code == CODE_OK; n++) {
    if (is_meant(o, i->holders[n], newest))
      code = break_one(s, o, name, i->holders[n]);
  }
  return code;
}

/* An inspection shows the oldest holders only: once these are gone, the next. The number of times
 * has a limit, as leases of Java have no fence, and may be new. */
static int break_others(session *s, const force_order *o, const dibs_inspection *first)
{
  size_t times = o->only_fence != 0 ? 0 : (first->holder_count - 1) / first->shown_holders;
  uint64_t newest = newest_fence(first);
  int code = CODE_OK;

  for (; times > 0 && code == CODE_OK; times--) {
    dibs_inspection *next = NULL;
    dibs_status status = dibs_inspect(s->client, dibs_text(o->name), &next);

    if (status != DIBS_OK)
      return session_fault(s, status, o->name);
    code = break_shown(s, o, next, newest);
    dibs_inspection_free(next);
  }
  return code;
}

static int break_all(session *s, const force_order *o, const dibs_inspection *i)
{
  char name[600], holder[900];
  int code = CODE_OK;

  printable(o->name, name, sizeof(name));
  if (i->shown_holders == 0) {
    say_softly("%s is free already", name);
    return CODE_OK;
  }
  if (!has_meant(o, i))
    return say_no_such_fence(o, i, name);
  show_holder(i, holder, sizeof(holder));
  if (!o->is_confirmed)
    code = ask_whether(s, name, holder);
  if (code == CODE_OK)
    code = break_shown(s, o, i, UINT64_MAX);
  return code == CODE_OK ? break_others(s, o, i) : code;
}

int force_release(session *s, const force_order *o)
{
  dibs_inspection *inspection = NULL;
  dibs_status status = dibs_inspect(s->client, dibs_text(o->name), &inspection);
  int code;

  if (status != DIBS_OK)
    return session_fault(s, status, o->name);
  code = break_all(s, o, inspection);
  dibs_inspection_free(inspection);
  return code;
}
