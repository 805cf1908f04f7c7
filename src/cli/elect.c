/* SPDX-License-Identifier: MIT */
/* cli/elect.c - dibs elect: leads while a command runs, or until a signal ends it.
 *
 * Leading is a hold like any other, so that all of dibs run holds here too: the command is
 * stopped before the lease can end. --on-elected does the work of a leader, and is stopped as
 * the command is. --on-deposed ends that work. It starts while the lease still stands, where that
 * is possible, and no end of the lease stops it: what it has half stopped would work on beside the
 * next leader for ever. */
#include <dibs/election.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/aside.h"
#include "cli/clock.h"
#include "cli/commands.h"
#include "cli/durations.h"
#include "cli/elect.h"
#include "cli/force.h"
#include "cli/held.h"
#include "cli/message.h"
#include "cli/old_spellings.h"
#include "cli/run.h"
#include "cli/verbs.h"

/* Between two attempts while no server is there. */
#define PAUSE_MS 1000

/* ---- options ---- */

static const option_row rows[] = {
  { "value", 0, "TEXT", SHORT_TEXT(elect_arguments, value, DIBS_LEADER_VALUE_MAX),
    "the value that observers get while this client leads" },
  { "loop", 0, NULL, FLAG(elect_arguments, goes_on), "stand for election again after a loss" },
  { "on-elected", 0, "TEXT", TEXT(elect_arguments, on_elected),
    "run TEXT by the shell when elected" },
  { "on-deposed", 0, "TEXT", TEXT(elect_arguments, on_deposed),
    "run TEXT by the shell when leading ends" },
  { "yes", 'y', NULL, FLAG(elect_arguments, is_confirmed), "break: do not ask" },
  /* Of 0.5, which had no verbs. */
  { "observe", 0, NULL, FLAG(elect_arguments, only_observes), NULL },
  { "resign", 0, NULL, FLAG(elect_arguments, resigns), NULL },
  { .name = NULL },
};

/* ---- what --on-elected and --on-deposed run ---- */

/* A hook that has the terminal gets its keys alone. */
static void note_key(run *r, int wait_status)
{
  if (r->child.ended_with_terminal && WIFSIGNALED(wait_status) &&
      signals_is_key(WTERMSIG(wait_status)))
    r->end_signal = WTERMSIG(wait_status);
}

static int run_hook(run *r, const char *what, const char *text, int lost_signal, environment *e)
{
  static char dash_c[] = "-c", sh[] = "/bin/sh";
  const char *shell = getenv("SHELL");
  char *arguments[] = { shell != NULL && *shell != '\0' ? (char *)(uintptr_t)shell : sh, dash_c,
                    (char *)(uintptr_t)text, NULL };
  const run_job job = { .what = what, .arguments = arguments, .lost_signal = lost_signal,
                        .output = -1, .error = -1 };
  int status = 0, code = run_job_under_lock(r, &job, e, &status);

  if (code != 0)
    return code;
  note_key(r, status);
  return child_code(status);
}

static int run_on_elected(run *r)
{
  static const char what[] = "--on-elected";
  char name[600];
  environment e;
  int code;

  if (r->elect->on_elected == NULL)
    return 0;
  if (!run_may_start(r))
    return run_not_started(r, what);
  run_environment(r, &e);
  code = run_hook(r, what, r->elect->on_elected, r->options->lost_signal, &e);
  environment_end(&e);
  if (code != 0 && r->end_signal == 0 && !r->was_stopped_by_us)
    say("%s exited with %d: resigning %s", what, code,
        printable(r->name, name, sizeof(name)));
  return code;
}

/* ---- leading ---- */

static void say_stops_leading(const run *r)
{
  const message_facts facts = { .code = run_loss_code(r), .name = r->name };
  char name[600], why[600], limit[DURATION_SIZE];

  printable(r->name, name, sizeof(name));
  if (run_is_max_hold(r)) {
    duration_as_span(r->taking->max_hold_ms, limit);
    say_fault(&facts, "%s: --max-hold reached: %s; this client stops leading", name, limit);
  } else {
    say_fault(&facts, "the lease of %s could not be renewed%s: this client stops leading", name,
              run_why(r, why));
  }
  notify_send(&r->notify, "STATUS=losing %s, this client stops leading", name);
}

/* Without a command: until a signal, or until the lease is about to end. */
static int lead_alone(run *r)
{
  if (run_hold_on(r, INT64_MAX, true) == 0 && r->was_stopped_by_us)
    say_stops_leading(r);
  return CODE_OK;
}

/* A client that was elected without waiting has no subscription, and would notice a forced
 * resignation only at its next renewal. An observer makes it subscribe. */
static void listen(run *r)
{
  if (r->observer == NULL &&
      dibs_observe(r->session.client, r->name, NULL, NULL, NULL, &r->observer) != DIBS_OK)
    r->observer = NULL;
}

/* What the hook exits with is reported only. */
static void run_on_deposed(run *r)
{
  const bool was_stopped_by_us = r->was_stopped_by_us;
  const child former = r->child;
  int64_t valid_ms = dibs_hold_valid_ms(r->hold);
  char name[600];
  environment e;
  int code;

  if (r->elect->on_deposed == NULL)
    return;
  run_environment(r, &e);
  environment_set_number(&e, "DIBS_VALID_MS", valid_ms);
  r->was_stopped_by_us = false;        /* or what the hook leaves running would be killed */
  r->has_reported_loss = r->has_reported_loss || valid_ms <= 0;
  code = run_hook(r, "--on-deposed", r->elect->on_deposed, LOST_SIGNAL_IGNORE, &e);
  environment_end(&e);
  r->was_stopped_by_us = r->was_stopped_by_us || was_stopped_by_us;
  r->child = former;
  if (code != 0)
    say("%s: --on-deposed exited with %d", printable(r->name, name, sizeof(name)), code);
}

static int lead(run *r)
{
  int code;

  listen(r);
  code = run_on_elected(r);
  if (r->end_signal != 0)          /* while --on-elected ran */
    code = r->command == NULL ? CODE_OK : 128 + r->end_signal;
  else if (r->was_stopped_by_us || dibs_hold_state(r->hold) == DIBS_HOLD_GONE)
    code = CODE_LOST;
  else if (code == 0)
    code = r->command == NULL ? lead_alone(r) : run_child(r);
  run_on_deposed(r);
  return code;
}

/* ---- standing again (--loop) ---- */

/* Signals that end nothing do not shorten it, such as that of a guardian that ended late. */
static bool pause_before(run *r)
{
  struct pollfd fd = { .fd = r->signals.fd, .events = POLLIN };
  const int64_t until_ms = clock_ms() + PAUSE_MS;
  int64_t left_ms = PAUSE_MS;

  while (r->taken.signal == 0 && left_ms > 0) {
    poll(&fd, 1, (int)left_ms);
    aside_read_signals(&r->signals, &r->taken.signal);
    left_ms = until_ms - clock_ms();
  }
  return r->taken.signal == 0;
}

/* The view of the wait may still ask a server that is not there. false: a signal came. */
static bool end_turn(run *r)
{
  while (!take_again(&r->taken))
    if (!pause_before(r))
      return false;
  return true;
}

/* Whether to stand again after a turn that ended with `code`. The command may have any code. */
static bool stands_again(run *r, int code)
{
  if (!r->elect->goes_on || r->end_signal != 0 || r->taken.signal != 0 || r->taken.is_stuck)
    return false;
  if (r->taken.hold == NULL)
    return code == CODE_UNREACHABLE && pause_before(r) && end_turn(r);
  return (r->is_lost || (r->was_stopped_by_us && !r->outlived_signal)) && end_turn(r);
}

/* As before the first turn; the client stays. */
static void forget_turn(run *r)
{
  char name[600];

  r->hold = NULL;
  r->fence = 0;
  r->held_ms = 0;
  r->child = (child) { .pid = 0 };
  r->capture = (capture) { -1, -1 };
  r->has_signalled = r->has_killed = r->has_reported_loss = false;
  r->was_stopped_by_us = r->is_lost = r->wants_continue = r->has_child_status = false;
  r->has_held_on = r->came_to_own_end = r->outlived_signal = false;
  if (r->line->is_verbose)
    say("campaigning for %s again", printable(r->name, name, sizeof(name)));
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

/* Inside the command of the leader a break needs no confirmation. */
static bool is_own(const dibs_leader *leader, const char *name)
{
  return leader->is_led && held_has_fence(getenv("DIBS_HELD"), name, leader->epoch);
}

static int break_leader(session *s, const void *data)
{
  const elect_arguments *a = data;
  const char *name = a->line.operands[0];
  dibs_leader *leader = NULL;
  dibs_status status = dibs_get_leader(s->client, name, &leader);
  bool is_confirmed;

  if (status != DIBS_OK)
    return session_fault(s, status, name);
  is_confirmed = a->is_confirmed || is_own(leader, name);
  dibs_leader_free(leader);
  return force_release(s, &(force_order) { .name = name, .reason = a->taking.note,
                                           .is_confirmed = is_confirmed });
}

/* The verbs that do not stand for election. */
static int check_use(const elect_arguments *a, const char *word)
{
  bool stands = a->value != NULL || a->goes_on || a->on_elected != NULL ||
                a->on_deposed != NULL || a->line.inner_count > 0 || a->run.shell_text != NULL;

  if (!stands)
    return 0;
  return say_usage("elect", "%s does not stand for election: leave out the command, --value, "
                            "--loop, --on-elected and --on-deposed", word);
}

static int elect_check(void *data)
{
  elect_arguments *a = data;
  int code = taking_check("elect", &a->taking, &a->line);

  return code != 0 ? code : run_options_check("elect", &a->run, &a->taking);
}

/* ---- verbs ---- */

static int elect_run(const void *data)
{
  const elect_arguments *a = data;
  run r = { .line = &a->line, .taking = &a->taking,
            .options = &a->run, .elect = a, .word = "elect", RUN_NOTHING_OPEN };
  int code = 0;

  if (a->is_confirmed)
    return say_usage("elect", "--yes belongs to break");
  if (a->line.inner != NULL && a->line.inner_count == 0 && a->run.shell_text == NULL)
    return say_usage("elect", "no command after --: dibs elect run NAME -- CMD; without a command "
                              "and without -- it leads until a signal");
  if (a->line.inner_count > 0 || a->run.shell_text != NULL)
    code = run_find_command(&r, a->line.inner, a->line.inner_count);
  target_lead(&r.target, a->line.operands[0], a->value);
  r.name = r.target.shown;
  if (code == 0)
    code = run_prepare(&r);
  return code != 0 ? code : run_end(&r, stand(&r));
}

static int elect_observe(const void *data)
{
  const elect_arguments *a = data;
  int code = check_use(a, "observe");

  if (code == 0 && a->is_confirmed)
    return say_usage("elect", "--yes belongs to break");
  return code != 0 ? code : observe_leaders(a);
}

static int elect_break(const void *data)
{
  const elect_arguments *a = data;
  int code = check_use(a, "break");

  return code != 0 ? code : session_with(a, break_leader);
}

static const verb verbs[] = {
  { "run", "NAME [-- CMD [ARG...]]", 1, 1, .run = elect_run },
  { "observe", "NAME", 1, 1, .run = elect_observe, .options = "wait nonblock" },
  { "break", "NAME", 1, 1, .run = elect_break, .options = "yes note" },
};

#define VERB_COUNT (sizeof(verbs) / sizeof(verbs[0]))

/* 0.5 had NAME alone, and two options. */
static int elect_without_verb(const elect_arguments *a)
{
  if (a->only_observes && a->resigns)
    return say_usage("elect", "observe and break: choose one");
  if (a->only_observes)
    return elect_observe(a);
  if (a->resigns)
    return elect_break(a);
  old_spelling_say("elect", "NAME");
  return elect_run(a);
}

/* Only run has a command: of observe and break "--" ends the options, as elsewhere. */
static void take_name_after_dashes(command_line *line)
{
  if (line->operand_count != 1 || strcmp(line->operands[0], "run") == 0 ||
      verb_find(verbs, VERB_COUNT, line->operands[0]) == NULL)
    return;
  while (line->inner_count > 0) {
    line->operands[line->operand_count++] = *line->inner++;
    line->inner_count--;
  }
  line->operands[line->operand_count] = NULL;
}

static int elect_start(void *data)
{
  elect_arguments *a = data;

  take_name_after_dashes(&a->line);
  if (a->line.operand_count == 1 && verb_find(verbs, VERB_COUNT, a->line.operands[0]) == NULL)
    return elect_without_verb(a);
  if (a->only_observes || a->resigns)
    return say_usage("elect", a->only_observes ? "observe is a verb: dibs elect observe NAME"
                                               : "break is a verb: dibs elect break NAME");
  return verb_run("elect", verbs, VERB_COUNT, data);
}

const command elect_command = {
  .name = "elect", .operands = "VERB NAME [-- CMD [ARG...]]",
  .summary = "lead while a command runs, or show the leader",
  .operands_min = 1, .operands_max = 2, .operand_words = "run observe break", .has_inner = true,
  .notes =
      "  run NAME          lead, while the command runs or until a signal\n"
      "  observe NAME      print EPOCH VALUE HOST:PID at each change; with -n once\n"
      "  break NAME        make the present leader stop leading\n\n"
      "Exit of run: the command's own code; 79 leading was lost and the command stopped; 0\n"
      "without a command, after INT or TERM. Exit of observe -n: 1 there is no leader.",
  .examples = { "dibs elect run billing --value \"$HOSTNAME\" --loop -- billing-daemon",
                "dibs elect run vip --on-elected ./take-address --on-deposed ./drop-address",
                "dibs elect observe billing", "dibs elect observe -n billing" },
  OPTIONS({ rows, 0 }, GROUP(options_taking, elect_arguments, taking),
          GROUP(options_run, elect_arguments, run),
          COMMON, SERVER),
  ARGUMENTS(elect_arguments, .line = LINE_DEFAULTS,
            .taking = TAKING_DEFAULTS,
            .run = RUN_DEFAULTS),
  .check = elect_check,
  .run = elect_start
};
