/* SPDX-License-Identifier: MIT */
/* cli/local.c - dibs local and dibs sandbox: servers of one's own. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <dibs/local.h>

#include "cli/child_run.h"
#include "cli/commands.h"
#include "cli/environment.h"
#include "cli/message.h"
#include "cli/session.h"
#include "cli/show.h"

static int local_fault(dibs_status status, const dibs_error *error)
{
  char shown[600];

  printable(error->text[0] != '\0' ? error->text : dibs_status_text(status), shown,
            sizeof(shown));
  say("%s", shown);
  /* A private server that does not come up is one that cannot be reached. */
  return code_of_status(status);
}

/* ---- local ---- */

static int local_start(const arguments *a, dibs_local_info *info, dibs_error *error)
{
  dibs_status status = dibs_local_start(a->idle_ms, a->wants_aof, info, error);

  if (status != DIBS_OK)
    return local_fault(status, error);
  puts(info->url);
  return CODE_OK;
}

static int local_stop(const arguments *a, dibs_local_info *info, dibs_error *error)
{
  dibs_status status = dibs_local_stop(error);

  (void)a;
  (void)info;
  return status == DIBS_OK ? CODE_OK : local_fault(status, error);
}

static void print_local(const dibs_local_info *info)
{
  if (info->is_running)
    printf("running    pid %" PRId64 "\n", info->server_pid);
  else
    puts("not running");
  if (info->is_running && info->users >= 0)
    printf("users      %" PRId64 "\n", info->users);
  printf("url        %s\ndirectory  %s\nprogram    %s\n", info->url, info->directory,
         info->program[0] == '\0' ? "none found" : info->program);
}

static void print_local_json(const dibs_local_info *info)
{
  json_t *object = json_object();

  json_object_set_new(object, "v", json_integer(1));
  json_object_set_new(object, "running", json_boolean(info->is_running));
  json_object_set_new(object, "pid", json_integer(info->server_pid));
  json_object_set_new(object, "users", json_integer(info->users));
  json_object_set_new(object, "url", json_words(info->url));
  json_object_set_new(object, "directory", json_words(info->directory));
  json_object_set_new(object, "program", json_words(info->program));
  json_object_set_new(object, "scope", json_string("private"));
  json_print(object);
}

static int local_status(const arguments *a, dibs_local_info *info, dibs_error *error)
{
  dibs_status status = dibs_local_status(info, error);

  if (status != DIBS_OK)
    return local_fault(status, error);
  if (a->wants_json)
    print_local_json(info);
  else
    print_local(info);
  return info->is_running ? CODE_OK : CODE_UNREACHABLE;
}

static int local_url(const arguments *a, dibs_local_info *info, dibs_error *error)
{
  dibs_status status = dibs_local_status(info, error);

  (void)a;
  if (status != DIBS_OK)
    return local_fault(status, error);
  if (!info->is_running) {
    say("the private server is not running; dibs local start starts it");
    return CODE_UNREACHABLE;
  }
  puts(info->url);
  return CODE_OK;
}

int command_local(const arguments *a)
{
  static const struct verb {
    const char *word;
    int (*run)(const arguments *a, dibs_local_info *info, dibs_error *error);
  } verbs[] = { { "start", local_start },
                { "stop", local_stop },
                { "status", local_status },
                { "url", local_url } };
  dibs_local_info info = { .size = sizeof(info) };
  dibs_error error = { .status = DIBS_OK };
  char shown[100];

  for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
    if (strcmp(a->operands[0], verbs[i].word) == 0)
      return verbs[i].run(a, &info, &error);
  }
  return say_usage("local", "\"%s\" is not start, stop, status or url",
                   printable(a->operands[0], shown, sizeof(shown)));
}

/* ---- sandbox ---- */

static int run_with_url(char *const *words, const char *url, signal_watch *signals)
{
  environment e;
  int code = CODE_INTERNAL;

  environment_begin(&e);
  environment_set(&e, "DIBS_URL", url);
  environment_unset(&e, "DIBS_HELD");
  if (e.is_broken)
    say("not enough memory");
  else
    code = child_run(words, e.entries, signals, NULL);
  environment_end(&e);
  return code;
}

int command_sandbox(const arguments *a)
{
  dibs_sandbox *sandbox = NULL;
  dibs_error error = { .status = DIBS_OK };
  signal_watch signals;
  char url[320];
  dibs_status status;
  int code;

  if (!signals_begin(&signals)) {
    say("%s", strerror(errno));
    return CODE_INTERNAL;
  }
  status = dibs_sandbox_start(&sandbox, url, sizeof(url), &error);
  if (status != DIBS_OK)
    return local_fault(status, &error);
  if (a->is_verbose)
    say("sandbox: %s", url);
  code = run_with_url(a->operands, url, &signals);
  dibs_sandbox_stop(sandbox);
  return code;
}
