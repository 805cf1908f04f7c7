/* SPDX-License-Identifier: MIT */
/* cli/elect.c - dibs elect: leads while a command runs, or until told to end.
 *
 * Leading is a hold like any other, so that all of dibs run holds here too: the command is
 * stopped before the lease can end. --on-deposed runs while the lease still stands, where
 * that is possible: what it stops is stopped before somebody else is elected. */
#include <dibs/election.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/aside.h"
#include "cli/commands.h"
#include "cli/force.h"
#include "cli/held.h"
#include "cli/message.h"
#include "cli/run.h"

/* Between two attempts while no server is there. */
#define PAUSE_MS 1000

/* ---- what --on-elected and --on-deposed run ---- */

static int run_hook(run *r, const char *text)
{
  static char dash_c[] = "-c", sh[] = "/bin/sh";
  const char *shell = getenv("SHELL");
  char *words[] = { shell != NULL && *shell != '\0' ? (char *)(uintptr_t)shell : sh, dash_c,
                    (char *)(uintptr_t)text, NULL };
  environment e;
  int code = CODE_INTERNAL;

  if (run_environment(r, &e))
    code = child_run(words, e.entries, &r->signals, &r->told_to_end);
  else
    say("not enough memory");
  environment_end(&e);
  return code;
}

static int tell_elected(run *r)
{
  char name[600];
  int code = r->a->on_elected == NULL ? 0 : run_hook(r, r->a->on_elected);

  if (code != 0 && r->told_to_end == 0)
    say("--on-elected ended with %d: %s is given up", code,
        printable(r->name, name, sizeof(name)));
  return code;
}

/* ---- leading ---- */

/* Without a command: until a signal, or until the lease is about to end. */
static int lead_alone(run *r)
{
  char name[600];

  if (run_hold_on(r, INT64_MAX, true) == 0 && r->was_stopped_by_us)
    say("%s could not be renewed: stepping down", printable(r->name, name, sizeof(name)));
  return CODE_OK;
}

/* Who was elected without waiting listens to nothing, and would learn at its next renewal
 * only that it was made to resign. An observer makes the client listen. */
static void listen(run *r)
{
  if (r->ears == NULL &&
      dibs_observe(r->session.client, r->name, NULL, NULL, &r->ears) != DIBS_OK)
    r->ears = NULL;
}

static int lead(run *r)
{
  int code;

  listen(r);
  code = tell_elected(r);
  if (r->told_to_end != 0)          /* while --on-elected ran */
    code = r->command == NULL ? CODE_OK : 128 + r->told_to_end;
  else if (code == 0)
    code = r->command == NULL ? lead_alone(r) : run_child(r);
  if (r->a->on_deposed != NULL && run_hook(r, r->a->on_deposed) != 0)
    say("--on-deposed did not end well");
  return code;
}

/* ---- again and again ---- */

static bool pause_before(run *r)
{
  struct pollfd fd = { .fd = r->signals.fd, .events = POLLIN };

  poll(&fd, 1, PAUSE_MS);
  aside_read_signals(&r->signals, &r->taken.signal);
  return r->taken.signal == 0;
}

/* Whether to stand again after a turn that ended with `code`. */
static bool stands_again(run *r, int code)
{
  if (!r->a->goes_on || r->told_to_end != 0 || r->taken.signal != 0 || r->taken.is_stuck)
    return false;
  if (code == CODE_UNREACHABLE)
    return pause_before(r) && take_again(&r->taken);
  return code == CODE_LOST && take_again(&r->taken);
}

/* As before the first turn; the client stays. */
static void forget_turn(run *r)
{
  char name[600];

  r->hold = NULL;
  r->child = (child) { .pid = 0 };
  r->capture = (capture) { -1, -1 };
  r->has_signalled = r->has_killed = r->has_told_loss = false;
  r->was_stopped_by_us = r->is_lost = r->wants_continue = r->has_child_status = false;
  if (r->a->is_verbose)
    say("standing again for %s", printable(r->name, name, sizeof(name)));
}

static int stand(run *r)
{
  int code = run_turn(r, lead);

  while (stands_again(r, code)) {
    forget_turn(r);
    code = run_turn(r, lead);
  }
  return r->taken.signal != 0 ? 128 + r->taken.signal : code;
}

/* ---- the command ---- */

/* From inside one's own leading nobody is asked. */
static bool is_own(const dibs_leader *leader, const char *name)
{
  return leader->is_led && held_has_fence(getenv("DIBS_HELD"), name, leader->epoch);
}

static int resign(const arguments *a)
{
  dibs_leader *leader = NULL;
  dibs_status status;
  session s;
  int code = session_start(&s, a);

  if (code == 0) {
    status = dibs_get_leader(s.client, a->operands[0], &leader);
    if (status == DIBS_OK)
      code = force_release(&s, a, a->is_confirmed || is_own(leader, a->operands[0]));
    else
      code = session_fault(&s, status, a->operands[0]);
  }
  dibs_leader_free(leader);
  session_close(&s);
  return code;
}

static int check(const arguments *a)
{
  bool stands = a->value != NULL || a->goes_on || a->on_elected != NULL ||
                a->on_deposed != NULL || a->inner_count > 0 || a->shell_text != NULL;

  if (a->only_observes && a->resigns)
    return say_usage("elect", "--observe and --resign: choose one");
  if ((a->only_observes || a->resigns) && stands)
    return say_usage("elect", "%s does not stand for election: leave out the command, "
                              "--value, --loop, --on-elected and --on-deposed",
                     a->resigns ? "--resign" : "--observe");
  if (a->is_confirmed && !a->resigns)
    return say_usage("elect", "--yes belongs to --resign");
  return 0;
}

int command_elect(const arguments *a)
{
  run r = { .a = a, .word = "elect", .status_fd = -1, .timer_fd = -1,
            .capture = { -1, -1 }, .notify.fd = -1 };
  int code = check(a);

  if (code != 0)
    return code;
  if (a->only_observes)
    return command_observe(a);
  if (a->resigns)
    return resign(a);
  if (a->inner_count > 0 || a->shell_text != NULL)
    code = run_find_command(&r, a->inner, a->inner_count);
  if (code == 0)
    code = target_read(&r.target, a, a->operands[0]);
  r.target.kind = TARGET_LEADER;
  r.name = r.target.shown;
  if (code == 0)
    code = run_prepare(&r);
  return code != 0 ? code : run_end(&r, stand(&r));
}
