/* SPDX-License-Identifier: MIT */
/* cli/taking.h - the options of all subcommands that take something: what to take, and how. */
#ifndef CLI_TAKING_H
#define CLI_TAKING_H

#include "cli/options.h"

#define TTL_MS_DEFAULT 30000
#define TTL_MS_MIN 500         /* room for a renewal, a signal and a kill, one after another */

enum progress { PROGRESS_AUTO, PROGRESS_PLAIN, PROGRESS_JSON, PROGRESS_NONE };

/* -s and --write. */
enum sharing { SHARING_NONE, SHARING_READ, SHARING_WRITE };

typedef struct kind_options {
  enum sharing sharing;
  uint32_t permits;            /* of the semaphore; 0: not given */
  uint32_t take;               /* permits to take; 0: not given */
  bool is_plain;               /* DIBS_PERMITS_PLAIN */
  bool takes_all;              /* all permits that are free (dibs sem drain) */
  int32_t replicas;            /* that must have the grant; DIBS_REPLICAS_MAJORITY; 0: none */
  bool wants_fsync;            /* on disk there, too */
  const char *multi;           /* names with commas between; NULL: one name */
} kind_options;

typedef struct taking_options {
  wait_option wait;
  int32_t ttl_ms, max_hold_ms; /* 0: not given; taking_check() then sets ttl_ms */
  int conflict_code;
  bool busy_is_fine;
  const char *note;
  uint32_t kind_flag;           /* DIBS_LOCK_FAIR, _SPIN, _FENCED */
  enum progress progress;
} taking_options;

#define TAKING_DEFAULTS { .conflict_code = CODE_BUSY }

extern const option_row options_kind[], options_plain[], options_permits[], options_taking[];

/* Refuse values that contradict each other. The first also sets `ttl_ms` where it was not given,
 * and the note of the client. 0, or CODE_USAGE after saying what is wrong. */
int taking_check(const char *subcommand, taking_options *t, command_line *line);
int kind_check(const char *subcommand, const kind_options *k);

#endif
