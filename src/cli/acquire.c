/* SPDX-License-Identifier: MIT */
/* cli/acquire.c - dibs acquire: a lock for a script, named by a token. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/acquire.h"
#include "cli/commands.h"
#include "cli/durations.h"
#include "cli/message.h"

/* ---- options ---- */

const option_row options_token[] = {
  { "for-pid", 0, "PID", INT(token_options, for_pid, 1, INT32_MAX),
    "renew until that process ends, then release" },
  { "no-renew", 0, NULL, FLAG(token_options, is_not_renewed),
    "let the lease end after --ttl, without a hint" },
  { "sh", 0, NULL, FLAG(token_options, wants_shell),
    "print export DIBS_TOKEN=... DIBS_FENCE=..." },
  { .name = NULL },
};

/* ---- a failure ---- */

static bool is_for_eval;

/* Also where it is the value of another option, whose own was empty: -w $LIMIT --sh. */
void acquire_find_sh(char *const *words)
{
  for (; *words != NULL && strcmp(*words, "--") != 0; words++)
    if (strcmp(*words, "--sh") == 0 || strncmp(*words, "--sh=", 5) == 0)
      is_for_eval = true;
}

/* `eval ""` would be a success: the script would go on without the lock. */
void acquire_failed(int code)
{
  if (is_for_eval)
    printf("(exit %d)\n", code);
  is_for_eval = false;
}

/* Of a process that dies of SIGINT a script that traps it learns nothing. */
int acquire_interrupted(const signal_watch *signals)
{
  acquire_failed(128 + SIGINT);
  fflush(stdout);
  return signals_leave(SIGINT, signals->is_by_terminal);
}

/* ---- a lease that is not renewed ---- */

static void report_end(const acquire_arguments *a)
{
  char ttl[DURATION_SIZE];

  if (a->token.is_not_renewed)
    return;
  duration_as_span(a->taking.ttl_ms, ttl);
  say_softly("this lease is not renewed: it ends in %s unless \"dibs renew\" is called "
             "(--for-pid $$ keeps it, --no-renew hides this)",
             ttl);
}

static int hand_out(session *s, const acquire_arguments *a, const target *t,
                    const take_result *taken)
{
  token_grant grant;
  dibs_status status = token_grant_fill(&grant, s, taken);
  int code = CODE_INTERNAL;

  if (status == DIBS_OK && token_print(a, t, &grant)) {
    status = dibs_hold_detach(taken->hold);
    report_end(a);
    return status == DIBS_OK ? CODE_OK : session_fault(s, status, t->shown);
  }
  if (status != DIBS_OK)
    code = token_refused(s, status, t->shown);   /* the release replaces the reason */
  dibs_release(taken->hold);
  return code;
}

static int take_and_hand_out(session *s, const acquire_arguments *a, const target *t,
                             signal_watch *signals, take_result *taken)
{
  int code = session_open(s, NULL);

  if (code != 0)
    return code;
  take_lock(s, &(take_order) { .target = t, .options = &a->taking, .flags = DIBS_LOCK_FIXED },
            signals, taken);
  if (taken->signal != 0)
    return 128 + taken->signal;
  return taken->hold == NULL ? taken->code : hand_out(s, a, t, taken);
}

static int acquire(const acquire_arguments *a, const target *t)
{
  signal_watch signals;
  take_result taken;
  session s;
  bool is_closed;
  int code = session_prepare(&s, &a->line);

  if (code != 0)
    return code;
  if (!signals_begin(&signals))
    return say_system("receive signals");
  memset(&taken, 0, sizeof(taken));
  code = take_and_hand_out(&s, a, t, &signals, &taken);
  is_closed = take_end(&s, &taken);
  if (taken.signal == SIGINT)
    code = acquire_interrupted(&signals);
  if (!is_closed) {
    acquire_failed(code);    /* there is no token */
    fflush(stdout);
    _exit(code);
  }
  return code;
}

/* A command that does not run is skipped; a script would go on. */
static int refuse_success_without_token(const taking_options *t)
{
  if (!t->busy_is_fine && t->conflict_code != CODE_OK)
    return 0;
  return say_usage("acquire", "%s: there is no token when another client has the lock, and after "
                              "exit 0 a script goes on without the lock; dibs run has it",
                   t->busy_is_fine ? "--skip-ok" : "-E 0");
}

int acquire_run(const acquire_arguments *a)
{
  target t;
  int code = refuse_success_without_token(&a->taking);

  is_for_eval = is_for_eval || a->token.wants_shell;      /* --note -- --sh */
  if (code == 0)
    code = target_read(&t, "acquire", &a->what,
                       a->what.multi == NULL ? a->line.operands[0] : NULL);
  if (code != 0)
    return code;
  code = a->token.for_pid != 0 ? keeper_run(a, &t) : acquire(a, &t);
  target_free(&t);
  return code;
}

static int acquire_check(void *data)
{
  acquire_arguments *a = data;
  int code = taking_check("acquire", &a->taking, &a->line);

  if (code != 0)
    return code;
  if (a->taking.max_hold_ms != 0 && a->token.for_pid == 0)
    return say_usage("acquire", "--max-hold needs --for-pid: without it nothing renews the lease, "
                                "and it ends after --ttl");
  return kind_check("acquire", &a->what);
}

static int acquire_start(void *data)
{
  const acquire_arguments *a = data;

  return acquire_run(a);
}

static const option_row rows[] = {
  { "plain-permits", 0, NULL, REFUSED, "permits without a lease have no token: dibs run has it" },
  { .name = NULL },
};

const command acquire_command = {
  .name = "acquire", .operands = "NAME", .summary = "take a lock and print a token for it",
  .operands_min = 1, .operands_max = 1,
  .examples = { "token=$(dibs acquire -w 10s --for-pid $$ nightly) || exit",
                "lock=$(dibs acquire --sh --for-pid $$ nightly) || exit; eval \"$lock\"",
                "dibs acquire -n -t 5m --no-renew cooldown:mail   # one mail in 5 minutes",
                "dibs release \"$token\"" },
  OPTIONS({ rows, 0 }, GROUP(options_kind, acquire_arguments, what),
          GROUP(options_taking, acquire_arguments, taking),
          GROUP(options_token, acquire_arguments, token),
          COMMON, SERVER),
  ARGUMENTS(acquire_arguments, .line = LINE_DEFAULTS, .taking = TAKING_DEFAULTS),
  .check = acquire_check,
  .run = acquire_start,
  .failed = acquire_failed
};
