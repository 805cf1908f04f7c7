/* SPDX-License-Identifier: MIT */
/* cli/guardian.h - the processes between the wrapper and its command, which end the command and
 * all its descendants when the wrapper cannot.
 *
 *     wrapper --fork--> second guardian --fork--> guardian --fork--> command --> ... descendants
 *             ----------------orders------------>
 *             <---------------reports------------
 *
 * The guardian kills the tree of the command when the wrapper has died (the socket ends), when
 * the wrapper orders it, and at the last time that the wrapper named: a wrapper that is stopped
 * names no later one. As the parent of the command and a child subreaper it is the ancestor of
 * every descendant, also in new sessions and process groups and after its parent has died.
 *
 * When the guardian itself is killed, the kernel kills the command (PR_SET_PDEATHSIG), and makes
 * all other descendants children or descendants of the second guardian, which is a subreaper for
 * that reason: it kills them. Until then it only continues a guardian that was stopped.
 *
 * Both hold none of the descriptors of their caller but copies of its lock files, so that locks of
 * the machine that the wrapper had end after the tree of the command (lock_copies.h). They are in a
 * process group of their own, in the caller's session (so the command's group is not orphaned),
 * and block every signal that can be blocked. They are forked from a process with threads and
 * never execute a program: only async-signal-safe calls, no memory but their own stack. */
#ifndef CLI_GUARDIAN_H
#define CLI_GUARDIAN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What the wrapper says. Times are CLOCK_BOOTTIME in milliseconds. */
#define GUARDIAN_NEVER INT64_MAX

enum guardian_verb {
  GUARDIAN_WATCH = 1,      /* until these times, which replace the former ones */
  GUARDIAN_KILL,           /* kill the tree now */
  GUARDIAN_LEAVE           /* end, and leave alone what runs */
};

typedef struct guardian_order {
  enum guardian_verb verb;
  int64_t signal_at_ms;    /* send `signal` to the command's group, or GUARDIAN_NEVER */
  int64_t kill_at_ms;      /* kill the tree, or GUARDIAN_NEVER */
  bool is_ending;          /* the wrapper has sent the signal: also if the command has ended */
} guardian_order;

/* What the guardian says. */
enum guardian_event { GUARDIAN_STARTED = 1, GUARDIAN_FAILED, GUARDIAN_STOPPED, GUARDIAN_ENDED };

typedef struct guardian_report {
  enum guardian_event event;
  int number;              /* the pid; an errno; the signal that stopped it; its wait status */
  pid_t guardian;          /* the pid of the sender */
  bool is_by_guardian;     /* ENDED: after the guardian's own signal or kill */
  int64_t kill_at_ms;      /* ENDED: before this time of the last order; 0: perhaps not */
} guardian_report;

typedef struct guardian_plan {
  /* In the command's process, after fork; does not return. */
  void (*become)(const void *data, pid_t parent);
  const void *data;
  guardian_order first;
  int signal;                        /* of signal_at_ms */
  bool has_group;                    /* the command is to lead a process group */
  bool has_lock_files;               /* this process may have some: lock_copies.h */
} guardian_plan;

/* From main(), with the arguments as they came: they are overwritten in the guardian, so that
 * a pkill(1) of the wrapper by its name or arguments leaves the guardian. */
void guardian_keep_title(int argc, char **argv);

/* Forks the guardians. Returns the pid of the second one, which ends after the other, with the
 * wrapper's end of the socket (close-on-exec) in *ret_fd, or -1 and errno. The first report is
 * GUARDIAN_STARTED, or GUARDIAN_FAILED when something could not be forked, or with ETIME when
 * the command would be killed at once; the socket ends without one when the guardian is killed. */
pid_t guardian_start(const guardian_plan *plan, int *ret_fd);

#endif
