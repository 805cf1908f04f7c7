/* SPDX-License-Identifier: MIT */
/* cli/sandbox.c - dibs sandbox: a command with servers that are stopped after it. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <dibs/dibs.h>

#include "base/errno_text.h"
#include "cli/child_run.h"
#include "cli/commands.h"
#include "cli/environment.h"
#include "cli/json.h"
#include "cli/local.h"
#include "cli/message.h"
#include "cli/options.h"

enum { DESCRIPTION_PATH_MAX = 256 };

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

static json_t *server_as_json(const dibs_sandbox_server *server)
{
  json_t *object = json_object();

  json_object_set_new(object, "role", json_text(server->role));
  json_object_set_new(object, "url", json_text(server->url));
  json_object_set_new(object, "port", json_integer(server->port));
  json_object_set_new(object, "pid", json_integer(server->pid));
  json_object_set_new(object, "socket", json_text(server->socket));
  json_object_set_new(object, "directory", json_text(server->directory));
  json_object_set_new(object, "log", json_text(server->log));
  return object;
}

static json_t *describe(const dibs_sandbox *sandbox, dibs_sandbox_kind kind, const char *url)
{
  static const char *const kinds[] = { "server", "cluster", "sentinel", "quorum" };
  const dibs_sandbox_server *server;
  json_t *object = json_object(), *servers = json_array();

  json_object_set_new(object, "v", json_integer(1));
  json_object_set_new(object, "kind", json_text(kinds[kind]));
  json_object_set_new(object, "url", json_text(url));
  json_object_set_new(object, "directory", json_text(dibs_sandbox_directory(sandbox)));
  for (size_t i = 0; (server = dibs_sandbox_server_at(sandbox, i)) != NULL; i++)
    json_array_append_new(servers, server_as_json(server));
  json_object_set_new(object, "servers", servers);
  json_set_time(object);
  return object;
}

static bool write_line(const json_t *object, const char *path)
{
  FILE *file = fopen(path, "we");
  bool is_written = file != NULL && json_dumpf(object, file, JSON_COMPACT) == 0
                    && fputs("\n", file) >= 0;

  return file != NULL && fclose(file) == 0 && is_written;
}

/* Without the file, ret_path is "": the command can do without it. */
static void write_description(const json_t *description, char *ret_path, size_t size)
{
  (void)snprintf(ret_path, size, "%s/sandbox.json",
                 json_string_value(json_object_get(description, "directory")));
  if (write_line(description, ret_path))
    return;
  say("%s cannot be written: %s", ret_path, strerror(errno));
  (void)unlink(ret_path);
  ret_path[0] = '\0';
}

static int run_with_url(char *const *arguments, const char *url, const char *description,
                        signal_watch *signals, int *ret_died_of)
{
  environment e;
  int code;

  if (!signals_begin(signals))
    return say_system("receive signals");
  environment_begin(&e);
  environment_set(&e, "DIBS_URL", url);
  if (description[0] != '\0')
    environment_set(&e, "DIBS_SANDBOX", description);
  else
    environment_unset(&e, "DIBS_SANDBOX");
  environment_unset(&e, "DIBS_INHERITED_URL");
  environment_unset(&e, "DIBS_HELD");
  if (e.is_broken)
    code = say_no_memory();
  else
    code = child_run(arguments, e.entries, signals, ret_died_of);
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

/* It outlives this command, whatever happens to that. 0: said why not. */
static int64_t keep(dibs_sandbox **sandbox, json_t *description)
{
  int64_t watcher = dibs_sandbox_keep(*sandbox);

  if (watcher == 0) {
    say_fault(&(message_facts) { .code = CODE_INTERNAL, .status = "DIBS_ERR_SYSTEM" },
              "the sandbox cannot be kept: its process has ended");
    return 0;
  }
  *sandbox = NULL;
  json_object_set_new(description, "pid", json_integer(watcher));
  return watcher;
}

/* Nothing else says where it is: one whose URL cannot be written ends. */
static int print_url(const sandbox_arguments *a, json_t *description, int64_t watcher)
{
  int error;

  errno = 0;
  if (a->line.wants_json)
    json_print(json_incref(description));
  else
    puts(json_string_value(json_object_get(description, "url")));
  if (fflush(stdout) == 0 && !ferror(stdout) && json_is_complete())
    return CODE_OK;
  error = errno;
  clearerr(stdout);
  (void)kill((pid_t)watcher, SIGTERM);
  return say_fault(&(message_facts) { .code = CODE_INTERNAL, .status = "DIBS_ERR_SYSTEM" },
                   "the sandbox is stopped: cannot write to standard output%s%s",
                   error == 0 ? "" : ": ", error == 0 ? "" : errno_text(error));
}

/* Keeps the sandbox, or runs the command, or both. */
static int use(const sandbox_arguments *a, dibs_sandbox **sandbox, json_t *description,
               signal_watch *signals, int *ret_died_of)
{
  const char *url = json_string_value(json_object_get(description, "url"));
  char path[DESCRIPTION_PATH_MAX];
  int64_t watcher = 0;
  int code = CODE_OK;

  if (a->keeps && (watcher = keep(sandbox, description)) == 0)
    return CODE_INTERNAL;
  write_description(description, path, sizeof(path));
  if (a->line.operand_count == 0)
    code = print_url(a, description, watcher);
  if (a->keeps && code == CODE_OK)
    say("sandbox %s is kept; stop it with: kill %" PRId64, url, watcher);
  if (a->line.operand_count > 0)
    code = run_with_url(a->line.operands, url, path, signals, ret_died_of);
  return code;
}

static int sandbox_run(void *data)
{
  const sandbox_arguments *a = data;
  dibs_sandbox_options options = DIBS_SANDBOX_OPTIONS_INIT;
  dibs_sandbox *sandbox = NULL;
  dibs_error error = DIBS_ERROR_INIT;
  signal_watch signals;
  dibs_status status;
  json_t *description;
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
  description = describe(sandbox, options.kind, url);
  code = use(a, &sandbox, description, &signals, &died_of);
  json_decref(description);
  dibs_sandbox_stop(sandbox);
  return died_of == 0 ? code : signals_leave(died_of, signals.is_by_terminal);
}

const command sandbox_command = {
  .name = "sandbox", .operands = "[--] [CMD [ARG...]]",
  .summary = "run a command with throw-away servers",
  .operands_min = 0, .operands_max = -1,
  .examples = { "dibs sandbox -- make check", "dibs sandbox --cluster 3 -- make check",
                "dibs sandbox --quorum 3 -- sh -c 'cat \"$DIBS_SANDBOX\"'   # its servers",
                "dibs sandbox --sentinel --keep" },
  OPTIONS({ rows, 0 }, COMMON),
  ARGUMENTS(sandbox_arguments, .cluster = 0),
  .run = sandbox_run
};
