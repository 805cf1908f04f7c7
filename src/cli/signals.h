/* SPDX-License-Identifier: MIT */
/* cli/signals.h - signals as bytes to read, and as the child found them.
 *
 * Begun before the client is opened: its threads then have the signals blocked, and all
 * of them come to the one descriptor that the main thread polls. A signal that was
 * ignored when we started (nohup, a background job) stays ignored. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>

typedef struct signal_watch {
  int fd;
  sigset_t before;             /* the mask to give back to a child */
  struct sigaction child_before;
  bool was_interrupted;        /* INT or QUIT came to this process */
  bool is_by_terminal;         /* and a key of the terminal sent it, to its whole group */
} signal_watch;

/* Ignores SIGPIPE: a holder, or a process that waits, must not die because the reader of its
 * messages is gone. main() does it for all subcommands but those whose row says otherwise. */
void signals_outlive_readers(void);

/* Ignores SIGXFSZ: a write beyond the limit of the file size (ulimit -f) fails with EFBIG and does
 * not end this process, which would leave the lock and kill its command. Before any write. */
void signals_outlive_file_limit(void);

/* SIGPIPE as the caller had it: for a list, which ends when its reader has seen enough. */
void signals_end_with_reader(void);

/* false when the system refuses. */
bool signals_begin(signal_watch *w);

/* The next signal that came; false when there is none. Never blocks. Leaves out WINCH
 * of a terminal, which its foreground group has anyway. */
bool signals_next(signal_watch *w, struct signalfd_siginfo *ret_signal);

/* Whether the terminal sent it, to all of our process group. An alarm(2) that the caller set before
 * it executed this program comes from the kernel as well, but to this process only. */
bool signals_came_to_group(const struct signalfd_siginfo *info);

/* INT, TERM, HUP, QUIT: signals that ask a process to end. */
static inline bool signals_is_end(int number)
{
  return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

/* In a child, before exec: everything as it was. Async-signal-safe. */
void signals_restore(const signal_watch *w);

/* Stops this process, after a SIGTSTP to it; returns once continued, or at once where no shell
 * is left to continue it. What the terminal sends has come to the whole group already. */
void signals_stop_self(void);

/* The same with the whole process group, after a Ctrl-Z that only the command's group got: a
 * shell counts a pipeline as stopped when all of it is. */
void signals_stop_group(void);

/* Stops the group while it is in the background of its controlling terminal. The kernel looks
 * and stops in one step, as for a process that writes there: an `fg` cannot come between the
 * two. Returns when continued in the foreground, or continued with one of INT, TERM, HUP or QUIT
 * to read. False: no shell is left that could bring it to the foreground, so it did not stop. */
bool signals_stop_in_background(int terminal);

/* Signals that end a process which does not handle them, but for USR1 and USR2, faults, PIPE and
 * XFSZ; and WINCH from the init of a container, whose image may have it as STOPSIGNAL. */
bool signals_is_fatal(int number);

/* INT and QUIT: those that Ctrl-C and Ctrl-\ send. */
static inline bool signals_is_key(int number)
{
  return number == SIGINT || number == SIGQUIT;
}

/* Sends `number`, of Ctrl-C or Ctrl-\, to the process group of this process: for a command in a
 * group of its own that got it alone. A shell ends its script only if it got the signal as well
 * (bash), or because it did (dash), as it does where the command shares its group. */
void signals_share_key(int number);

/* Ends this process by `number`, so that a shell sees a command that was interrupted and ends
 * its loop or script, too. Only for a key of a terminal: `is_by_terminal`, or stdin or stderr is
 * one; else returns 128 + number. */
int signals_leave(int number, bool is_by_terminal);

#endif
