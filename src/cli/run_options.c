/* SPDX-License-Identifier: MIT */
/* cli/run_options.c - the options about a command that runs under a lock. */
#include "cli/run_options.h"

#include <string.h>

#include "cli/message.h"

static const option_choice signals[] = {
  { "TERM", SIGTERM }, { "HUP", SIGHUP }, { "INT", SIGINT }, { "USR1", SIGUSR1 },
  { "USR2", SIGUSR2 }, { "QUIT", SIGQUIT }, { "KILL", SIGKILL },
  { "ignore", LOST_SIGNAL_IGNORE }, { NULL, 0 },
};

/* The name of a signal, with or without SIG. */
static int option_signal(const option_given *g, void *options)
{
  const char *name = strncmp(g->value, "SIG", 3) == 0 ? g->value + 3 : g->value;

  return option_read_choice(g, name, g->row->choices, option_field(g, options));
}

const option_row options_run[] = {
  { "command", 'c', "TEXT", TEXT(run_options, shell_text), "run TEXT by the shell" },
  { "min-hold", 0, "DUR", DURATION(run_options, min_hold_ms, 0),
    "keep the lock at least DUR" },
  { "on-lost", 0, "SIGNAL", option_signal, OPTION_AT(int, run_options, lost_signal), 0, 0, signals,
    "sent when the lock is about to end (TERM); or ignore" },
  { "kill-after", 'k', "DUR", DURATION(run_options, kill_after_ms, 0),
    "from that signal to KILL (5s)" },
  { "foreground", 0, NULL, FLAG(run_options, is_foreground),
    "leave the command in our process group" },
  { "quiet-on-success", 0, NULL, FLAG(run_options, is_quiet_on_success),
    "show output only when it fails" },
  { "status-file", 0, "FILE", OUTPUT(run_options, status_file), "write the outcome as JSON" },
  /* 0 to 2 are the command's own, which would find them closed. */
  { "status-fd", 0, "N", INT(run_options, status_fd, 3, 1000000),
    "the same, to a descriptor from 3" },
  { "notify", 0, NULL, FLAG(run_options, wants_notify),
    "report to systemd: ready once acquired" },
  { "fg", 0, NULL, IGNORED, NULL },
  { "bg", 0, NULL, REFUSED, "dibs run waits for its command; put & after it" },
  { "id", 0, "NAME", REFUSED, "NAME comes before the command: dibs run -j 4 NAME -- CMD" },
  { .name = NULL },
};

const char *signal_name(int number)
{
  const option_choice *s = signals;

  while (s->word != NULL && s->meaning != number)
    s++;
  return s->word;
}

int run_options_check(const char *subcommand, const run_options *r, const taking_options *t)
{
  if (t->max_hold_ms != 0 && r->min_hold_ms > t->max_hold_ms)
    return say_usage(subcommand, "--min-hold must not be longer than --max-hold");
  return 0;
}
