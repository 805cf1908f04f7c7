/* SPDX-License-Identifier: MIT */
/* cli - the command `dibs`: a table of subcommands over the public headers.
 *
 * Includes only <dibs/...> and its own files. Data go to stdout, words for people to
 * stderr (message.h). Every subcommand is one row of the table in commands.c; its
 * options, help and completions come from that row, so that they cannot differ. */
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dibs/client.h>

/* What `dibs` exits with when it is not the child's own code. sysexits.h where it has a
 * word for it; 126 and 127 as every shell and timeout(1). */
enum exit_code {
  CODE_OK = 0,
  CODE_NO = 1,             /* who: free; status: nothing matches; barrier: broken */
  CODE_USAGE = 64,
  CODE_UNREACHABLE = 69,
  CODE_INTERNAL = 70,
  CODE_BUSY = 75,
  CODE_DENIED = 77,
  CODE_CONFIG = 78,
  CODE_LOST = 79,
  CODE_NOT_EXECUTABLE = 126,
  CODE_NOT_FOUND = 127
};

enum progress { PROGRESS_AUTO, PROGRESS_PLAIN, PROGRESS_JSON, PROGRESS_NONE };
enum status_order { ORDER_NAME, ORDER_HELD, ORDER_WAIT };

/* What `run` and `acquire` take a name as, when -s or -x say so. The last one counts. */
enum sharing { SHARING_NONE, SHARING_READ, SHARING_WRITE };

enum kind_filter {
  KIND_ANY, KIND_LOCK, KIND_RW, KIND_SEMAPHORE, KIND_LATCH, KIND_BARRIER, KIND_ELECTION
};
enum wait_goal { UNTIL_FREE, UNTIL_HELD, UNTIL_ZERO, UNTIL_LEADER };

#define LOST_SIGNAL_IGNORE 0   /* --on-lost ignore */

#define QUORUM_MAX 15          /* servers */

/* Everything the options of any subcommand can say, with defaults from
 * arguments_init(). Texts are borrowed from argv. */
typedef struct arguments {
  /* connection */
  const char *urls[QUORUM_MAX];  /* several: a quorum */
  size_t url_count;
  const char *user, *pass_file, *cacert, *cert, *key, *sni, *prefix, *config;
  dibs_dialect dialect;
  const char *dialect_word, *registry;   /* NULL: not given */
  int database;                  /* -1: not given */
  int32_t connect_timeout_ms;    /* 0: the library's default */
  bool wants_askpass, wants_local, refuses_local;
  bool is_quiet, is_verbose, wants_json;

  /* taking */
  bool is_nonblocking;
  int32_t wait_ms;               /* 0: for ever */
  int32_t ttl_ms, max_hold_ms;
  bool has_ttl;
  int conflict_code;
  bool busy_is_fine;
  const char *reason;
  uint32_t flavour;              /* DIBS_LOCK_FAIR, _SPIN, _FENCED */
  bool is_plain;                 /* DIBS_PERMITS_PLAIN */
  enum progress progress;

  /* what to take */
  enum sharing sharing;
  uint32_t permits;              /* of the semaphore; only where has_permits */
  uint32_t take;                 /* permits to take; 0: not given */
  bool has_permits;
  bool takes_all;                /* sem drain */
  const char *multi;             /* names with commas between; NULL: one name */

  /* run */
  int32_t min_hold_ms, kill_after_ms;
  int lost_signal;
  bool is_foreground, is_quiet_on_success, wants_notify;
  const char *status_file;
  int status_fd;                 /* -1: none */
  const char *shell_text;

  /* tokens */
  int64_t for_pid;               /* 0: none */
  bool is_not_renewed, wants_shell;
  bool is_forced, is_confirmed;
  uint64_t only_fence;           /* 0: any */

  /* looking */
  bool only_held, only_waiting;
  enum status_order order;
  enum kind_filter kind;
  bool wants_graph, wants_dot;
  int32_t watch_ms;              /* 0: once */
  enum wait_goal goal;
  int64_t count;                 /* 0: without end */
  int32_t interval_ms;

  /* election */
  const char *value, *on_elected, *on_deposed;
  bool only_observes, goes_on, resigns;

  /* rate */
  bool is_per_client;

  /* latch, barrier */
  const char *count_id;
  uint32_t parties;              /* 0: not given */

  /* acl, doctor */
  const char *modes, *latches, *guarded, *limiters, *data, *locks;
  bool wants_functions, wants_sentinel, is_strict;

  /* local */
  int32_t idle_ms;
  bool wants_aof;

  char **operands;               /* NULL at the end */
  int operand_count;
  char **inner;                  /* what stands behind "--"; only where the row says so */
  int inner_count;
} arguments;

typedef struct option_row option_row;

typedef struct command {
  const char *name;
  const char *alias;                    /* NULL: none */
  const char *operands;                 /* as shown in the usage line */
  const char *summary;                  /* one line */
  const option_row *const *options;     /* NULL at the end */
  int operands_min, operands_max;       /* -1: any number */
  const char *operand_words;            /* for completions; NULL: none */
  bool has_inner;                       /* options may follow NAME, and the command line
                                           of its own begins behind "--" */
  const char *examples[4];
  const char *notes;                    /* NULL: none; a few lines below the options */
  int (*run)(const arguments *a);
} command;

/* The table; its last row has no name. */
extern const command commands[];

/* The row called `word`, by name or alias; NULL. */
const command *command_find(const char *word);

#endif
