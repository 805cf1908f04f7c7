/* SPDX-License-Identifier: MIT */
/* cli/local.c - dibs local: the private server of this machine. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <dibs/dibs.h>

#include "cli/commands.h"
#include "cli/json.h"
#include "cli/local.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/session.h"
#include "cli/show.h"
#include "cli/verbs.h"

typedef struct local_arguments {
  command_line line;
  int32_t idle_ms;
  bool wants_aof, is_forced, forgets;
} local_arguments;

static const option_row rows[] = {
  { "idle", 0, "DUR", DURATION(local_arguments, idle_ms, 1000),
    "start: stop when it was unused and empty for DUR (60s)" },
  { "aof", 0, NULL, FLAG(local_arguments, wants_aof),
    "start: keep the data on disk from now on" },
  { "force", 0, NULL, FLAG(local_arguments, is_forced), "stop: also while it is in use" },
  { "forget", 0, NULL, FLAG(local_arguments, forgets), "stop: remove what --aof kept" },
  { .name = NULL },
};

int local_fault(dibs_status status, const dibs_error *error)
{
  char shown[600];

  printable(error->text[0] != '\0' ? error->text : dibs_status_text(status), shown,
            sizeof(shown));
  /* A private server that does not come up is one that cannot be reached. */
  return say_fault(&(message_facts) { .code = code_of_status(status),
                                      .status = dibs_status_name(status) },
                   "%s", shown);
}

/* ---- output ---- */

static void print_local_json(const dibs_local_info *info)
{
  json_t *object = json_object();

  json_object_set_new(object, "v", json_integer(1));
  json_object_set_new(object, "running", json_boolean(info->is_running));
  json_object_set_new(object, "pid", json_pid(info->server_pid));
  json_object_set_new(object, "users", json_integer(info->users));
  json_object_set_new(object, "keys", json_integer(info->keys));
  json_object_set_new(object, "url", json_text(info->url));
  json_object_set_new(object, "directory", json_text(info->directory));
  json_object_set_new(object, "program", json_text(info->program));
  json_object_set_new(object, "scope", json_string("private"));
  json_print(object);
}

/* With --json the same as `status`. */
static int print_address(const local_arguments *a, const dibs_local_info *info, bool is_path)
{
  if (a->line.wants_json)
    print_local_json(info);
  else if (is_path)                    /* the URL has it encoded */
    printf("%s%s\n", info->directory, strrchr(info->url, '/'));
  else
    puts(info->url);
  return CODE_OK;
}

/* ---- verbs ---- */

typedef int local_verb(const local_arguments *a, dibs_local_info *info, dibs_error *error);

static int local_start(const local_arguments *a, dibs_local_info *info, dibs_error *error)
{
  dibs_status status = dibs_local_start(a->idle_ms, a->wants_aof, info, error);

  if (status != DIBS_OK)
    return local_fault(status, error);
  return print_address(a, info, false);
}

/* What a stop would lose, beside data. */
typedef struct loss {
  int64_t held;
  char name[100];          /* of one that is held */
} loss;

static bool count_held(const dibs_inspection *i, void *data)
{
  loss *l = data;

  if (!i->is_held)
    return true;
  if (l->held++ == 0)
    printable(i->name, l->name, sizeof(l->name));
  return true;
}

/* Of locks of the native protocol under the default prefix. */
static dibs_status look_for_held(const char *url, loss *ret_loss, dibs_error *error)
{
  dibs_options options = DIBS_OPTIONS_INIT;
  dibs_client *client = NULL;
  dibs_status status;

  options.connect_timeout_ms = 1000;
  status = dibs_open(url, &options, &client, error);
  if (status == DIBS_OK) {
    status = dibs_list(client, NULL, count_held, ret_loss);
    *error = session_error(client, status);
  }
  dibs_close(client);
  return status;
}

#define NOT_STOPPED "the private server was not stopped: "
#define ANYWAY "; --force stops the server anyway"

/* A process that uses it may hold a lock of another prefix or dialect. 0, or the code. */
static int refuse_to_stop(const dibs_local_info *info)
{
  const message_facts busy = { .code = CODE_BUSY, .status = "DIBS_BUSY" };
  dibs_error error = DIBS_ERROR_INIT;
  loss l = { .held = 0 };
  dibs_status status = look_for_held(info->url, &l, &error);
  char why[sizeof(error.text)];

  if (status != DIBS_OK)
    return say_fault(&(message_facts) { .code = code_of_status(status),
                                        .status = dibs_status_name(status) },
                     NOT_STOPPED "it is not known which locks are held: %s" ANYWAY,
                     printable(error.text, why, sizeof(why)));
  if (l.held > 0)
    return say_fault(&busy, NOT_STOPPED "%" PRId64 " lock%s held, such as %s" ANYWAY, l.held,
                     l.held == 1 ? " is" : "s are", l.name);
  if (info->users > 0)
    return say_fault(&busy, NOT_STOPPED "%" PRId64 " process%s it" ANYWAY, info->users,
                     info->users == 1 ? " uses" : "es use");
  return 0;
}

static int local_stop(const local_arguments *a, dibs_local_info *info, dibs_error *error)
{
  dibs_status status = dibs_local_status(info, error);
  int code = 0;

  if (status == DIBS_OK && info->is_running && !a->is_forced)
    code = refuse_to_stop(info);
  if (code != 0)
    return code;
  if (status == DIBS_OK)
    status = dibs_local_stop(a->forgets, error);
  return status == DIBS_OK ? CODE_OK : local_fault(status, error);
}

static void print_local(const dibs_local_info *info)
{
  if (!info->is_running)
    puts("not running");
  else if (info->server_pid > 0)
    printf("running    pid %" PRId64 "\n", info->server_pid);
  else
    puts("running    not in this pid name space");
  if (info->is_running && info->users >= 0)
    printf("users      %" PRId64 "\n", info->users);
  if (info->is_running && info->keys >= 0)
    printf("keys       %" PRId64 "%s\n", info->keys,
           info->keys > 0 ? " (it stays while there are any)" : "");
  printf("url        %s\ndirectory  %s\nprogram    %s\n", info->url, info->directory,
         info->program[0] == '\0' ? "none found" : info->program);
}

static int local_status(const local_arguments *a, dibs_local_info *info, dibs_error *error)
{
  dibs_status status = dibs_local_status(info, error);

  if (status != DIBS_OK)
    return local_fault(status, error);
  if (a->line.wants_json)
    print_local_json(info);
  else
    print_local(info);
  return info->is_running ? CODE_OK : CODE_UNREACHABLE;
}

static int local_address(const local_arguments *a, dibs_local_info *info, dibs_error *error,
                         bool is_path)
{
  dibs_status status = dibs_local_status(info, error);

  if (status != DIBS_OK)
    return local_fault(status, error);
  if (!info->is_running)
    return say_fault(&(message_facts) { .code = CODE_UNREACHABLE,
                                        .status = "DIBS_ERR_UNREACHABLE" },
                     "the private server is not running; dibs local start starts it");
  return print_address(a, info, is_path);
}

static int local_url(const local_arguments *a, dibs_local_info *info, dibs_error *error)
{
  return local_address(a, info, error, false);
}

/* For redis-cli, which has no URLs of unix sockets. */
static int local_socket(const local_arguments *a, dibs_local_info *info, dibs_error *error)
{
  return local_address(a, info, error, true);
}

static int with_info(const void *data, local_verb *run)
{
  dibs_local_info info = { .size = sizeof(info) };
  dibs_error error = DIBS_ERROR_INIT;

  return run(data, &info, &error);
}

#define VERB(word) \
  static int run_##word(const void *data) \
  { \
    return with_info(data, local_##word); \
  }

VERB(start)
VERB(stop)
VERB(status)
VERB(url)
VERB(socket)

static int local_run(void *data)
{
  static const verb verbs[] = {
    { "start", "", 0, 0, .run = run_start, .options = "idle aof" },
    { "stop", "", 0, 0, .run = run_stop, .options = "force forget" },
    { "status", "", 0, 0, .run = run_status, .options = "" },
    { "url", "", 0, 0, .run = run_url, .options = "" },
    { "socket", "", 0, 0, .run = run_socket, .options = "" },
  };

  return verb_run("local", verbs, sizeof(verbs) / sizeof(verbs[0]), data);
}

const command local_command = {
  .name = "local", .operands = "start | stop | status | url | socket",
  .summary = "the private server of this machine",
  .operands_min = 1, .operands_max = 1,
  .operand_words = "start stop status url socket",
  .examples = { "dibs local start", "dibs local start --idle 10m",
                "redis-cli -s \"$(dibs local socket)\"", "dibs local stop" },
  OPTIONS({ rows, 0 }, COMMON),
  ARGUMENTS(local_arguments, .idle_ms = 0),
  .run = local_run
};
