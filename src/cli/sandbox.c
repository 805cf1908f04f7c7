/* SPDX-License-Identifier: MIT */
/* cli/sandbox.c - dibs sandbox: a command with servers that are stopped after it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <dibs/dibs.h>

#include "cli/child_run.h"
#include "cli/commands.h"
#include "cli/environment.h"
#include "cli/json.h"
#include "cli/local.h"
#include "cli/message.h"
#include "cli/options.h"

typedef struct sandbox_arguments {
  command_line line;
  int cluster, quorum;           /* servers; 0: none of these */
  bool wants_sentinel, keeps;
} sandbox_arguments;

static const option_row rows[] = {
  { "cluster", 0, "N", INT(sandbox_arguments, cluster, 1, 8),
    "a Redis Cluster of N primaries (1 to 8)" },
  { "sentinel", 0, NULL, FLAG(sandbox_arguments, wants_sentinel),
    "a primary, two replicas and three sentinels" },
  { "quorum", 0, "N", INT(sandbox_arguments, quorum, 1, 9),
    "N independent servers (an odd number from 1 to 9)" },
  { "keep", 0, NULL, FLAG(sandbox_arguments, keeps),
    "do not stop it at the end; says how to stop it" },
  { .name = NULL },
};

static int run_with_url(char *const *arguments, const char *url, signal_watch *signals,
                        int *ret_died_of)
{
  environment e;
  int code = CODE_INTERNAL;

  if (!signals_begin(signals)) {
    say("%s", strerror(errno));
    return CODE_INTERNAL;
  }
  environment_begin(&e);
  environment_set(&e, "DIBS_URL", url);
  environment_unset(&e, "DIBS_INHERITED_URL");
  environment_unset(&e, "DIBS_HELD");
  if (e.is_broken)
    say("not enough memory");
  else
    code = child_run(arguments, e.entries, signals, NULL, ret_died_of);
  environment_end(&e);
  return code;
}

/* False: said. */
static bool read_kind(const sandbox_arguments *a, dibs_sandbox_options *ret_options, int *ret_code)
{
  int kinds = (a->cluster > 0) + a->wants_sentinel + (a->quorum > 0);

  if (kinds > 1) {
    *ret_code = say_usage("sandbox", "--cluster, --sentinel and --quorum exclude each other");
    return false;
  }
  if (a->quorum > 0 && a->quorum % 2 == 0) {
    *ret_code = say_usage("sandbox", "--quorum: \"%d\" is not an odd number from 1 to 9",
                          a->quorum);
    return false;
  }
  if (a->line.operand_count == 0 && !a->keeps) {
    *ret_code = say_usage("sandbox", "missing CMD; without one, --keep is needed");
    return false;
  }
  ret_options->kind = a->cluster > 0      ? DIBS_SANDBOX_CLUSTER
                      : a->wants_sentinel ? DIBS_SANDBOX_SENTINEL
                      : a->quorum > 0     ? DIBS_SANDBOX_QUORUM
                                          : DIBS_SANDBOX_SERVER;
  ret_options->servers = (int32_t)(a->cluster > 0 ? a->cluster : a->quorum);
  return true;
}

/* It outlives this command, whatever happens to that. */
static int keep(const sandbox_arguments *a, dibs_sandbox **sandbox, const char *url)
{
  int64_t watcher = dibs_sandbox_keep(*sandbox);

  if (watcher == 0)
    return say_fault(&(message_facts) { .code = CODE_INTERNAL, .status = "DIBS_ERR_SYSTEM" },
                     "the sandbox cannot be kept: its process has ended");
  *sandbox = NULL;
  say("sandbox %s is kept; stop it with: kill %" PRId64, url, watcher);
  if (a->line.operand_count == 0 && a->line.wants_json)
    json_print(json_pack("{s:i s:o s:I}", "v", 1, "url", json_text(url), "pid",
                         (json_int_t)watcher));
  else if (a->line.operand_count == 0)
    puts(url);
  return CODE_OK;
}

static int sandbox_run(void *data)
{
  const sandbox_arguments *a = data;
  dibs_sandbox_options options = DIBS_SANDBOX_OPTIONS_INIT;
  dibs_sandbox *sandbox = NULL;
  dibs_error error = { .status = DIBS_OK };
  signal_watch signals;
  dibs_status status;
  char url[512];
  int code = CODE_OK, died_of = 0;

  if (!read_kind(a, &options, &code))
    return code;
  /* A signal ends this process in the meantime; its servers end with it. */
  status = dibs_sandbox_start_with(&options, &sandbox, url, sizeof(url), &error);
  if (status != DIBS_OK)
    return local_fault(status, &error);
  if (a->line.is_verbose && !a->keeps)
    say("sandbox: %s", url);
  if (a->keeps)
    code = keep(a, &sandbox, url);
  if (a->line.operand_count > 0 && code == CODE_OK)
    code = run_with_url(a->line.operands, url, &signals, &died_of);
  dibs_sandbox_stop(sandbox);
  return died_of == 0 ? code : signals_leave(died_of, signals.is_by_terminal);
}

const command sandbox_command = {
  .name = "sandbox", .operands = "[--] [CMD [ARG...]]",
  .summary = "run a command with throw-away servers",
  .operands_min = 0, .operands_max = -1,
  .examples = { "dibs sandbox -- make check", "dibs sandbox --cluster 3 -- make check",
                "dibs sandbox --sentinel -- bash", "dibs sandbox --quorum 5 --keep" },
  OPTIONS({ rows, 0 }, GROUP(options_common, sandbox_arguments, line)),
  ARGUMENTS(sandbox_arguments, .cluster = 0),
  .run = sandbox_run
};
