/* SPDX-License-Identifier: MIT */
/* cli/run_report.c - what the command, the caller and people get to know of a run. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/bounded_write.h"
#include "cli/durations.h"
#include "cli/environment.h"
#include "cli/held.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/run.h"
#include "cli/show.h"

#define REPORT_PATIENCE_MS 1000

/* ---- the command ---- */

static void set_owned(environment *e, const char *name, char *value)
{
  environment_set(e, name, value);
  free(value);
}

/* The list with all of it; NULL when memory is refused. */
static char *held_list(const run *r)
{
  const char *client = dibs_client_id(r->session.client);
  char *list = held_add(getenv("DIBS_HELD"), r->target.names[0], r->fence, client);

  for (size_t i = 1; i < r->target.count && list != NULL; i++) {
    char *longer = held_add(list, r->target.names[i], r->fence, client);

    free(list);
    list = longer;
  }
  return list;
}

void run_environment(run *r, environment *e)
{
  char token[DIBS_TOKEN_SIZE] = "", host[65] = "", holder[90];
  char fence[24];

  if (dibs_hold_token(r->hold, token, sizeof(token)) != DIBS_OK)
    token[0] = '\0';
  gethostname(host, sizeof(host) - 1);
  snprintf(holder, sizeof(holder), "%s:%ld", host, (long)getpid());
  snprintf(fence, sizeof(fence), "%" PRIu64, r->fence);

  environment_begin(e);
  environment_set(e, "DIBS_NAME", r->name);
  environment_set(e, "DIBS_LOCK", r->name);   /* of 0.5; ends with 0.7 */
  environment_set(e, "DIBS_FENCE", fence);
  environment_set(e, "DIBS_TOKEN", token);
  environment_set(e, "DIBS_HOLDER", holder);
  environment_set_number(e, "DIBS_TTL_MS", r->taking->ttl_ms);
  environment_set_number(e, "DIBS_WAITED_MS", r->taken.waited_ms);
  e->is_broken = !session_hand_on(&r->session, e) || e->is_broken;
  if (r->target.kind == TARGET_PERMITS)
    environment_set_number(e, "DIBS_PERMITS", session_units(r->hold));
  set_owned(e, "DIBS_HELD", held_list(r));
  if (r->options->wants_notify) {
    /* This process is the service; the command must not report for it. */
    environment_unset(e, "NOTIFY_SOCKET");
    environment_unset(e, "WATCHDOG_USEC");
    environment_unset(e, "WATCHDOG_PID");
  }
}

/* ---- people ---- */

static json_t *event_begin(const run *r, const char *what)
{
  json_t *event = json_object();

  json_object_set_new(event, "v", json_integer(1));
  if (what != NULL)
    json_object_set_new(event, "event", json_string(what));
  json_set_name(event, r->name, strlen(r->name));
  if (r->session.is_private)
    json_object_set_new(event, "scope", json_string("private"));
  return event;
}

void run_report_acquired(const run *r)
{
  char name[600], waited[DURATION_SIZE];

  notify_send(&r->notify, "READY=1\nSTATUS=holding %s, fence %" PRIu64,
              printable(r->name, name, sizeof(name)), r->fence);
  if (r->progress == PROGRESS_JSON) {
    json_t *event = event_begin(r, "acquired");

    json_object_set_new(event, "waited_ms", json_integer(r->taken.waited_ms));
    json_set_fence(event, r->fence);
    if (r->target.kind == TARGET_PERMITS)
      json_object_set_new(event, "units", json_integer(session_units(r->hold)));
    json_say(event);
    return;
  }
  if (!r->taken.has_shown && !r->line->is_verbose)
    return;
  if (r->taken.waited_ms < 60000)
    duration_as_span(r->taken.waited_ms, waited);
  else
    duration_as_clock(r->taken.waited_ms, waited);
  if (r->target.kind == TARGET_LEADER)
    say("elected to lead %s after %s (epoch %" PRIu64 ")", name, waited, r->fence);
  else
    say("acquired %s after %s (fence %" PRIu64 ")", name, waited, r->fence);
}

/* ---- the caller ---- */

static json_t *child_json(const run *r)
{
  if (!r->has_child_status)
    return json_null();
  if (WIFSIGNALED(r->child_status))
    return json_pack("{s:i}", "signal", WTERMSIG(r->child_status));
  return json_pack("{s:i}", "exit", WEXITSTATUS(r->child_status));
}

static json_t *report_json(const run *r, const char *event_name, int code)
{
  json_t *report = event_begin(r, event_name);

  json_object_set_new(report, "acquired", json_boolean(r->fence != 0));
  json_object_set_new(report, "lost", json_boolean(r->is_lost || r->was_stopped_by_us));
  json_object_set_new(report, "waited_ms", json_integer(r->taken.waited_ms));
  json_object_set_new(report, "held_ms", json_integer(r->held_ms));
  if (r->fence != 0)
    json_set_fence(report, r->fence);
  json_object_set_new(report, "child", child_json(r));
  json_object_set_new(report, "code", json_integer(code));
  return report;
}

/* One line, by one write(). */
static void report_write(const run *r, const json_t *report)
{
  const char *path = r->options->status_file;
  char *line = json_line(report), place[64];
  size_t size = line == NULL ? 0 : strlen(line);

  if (line == NULL) {
    (void)say_no_memory();
    return;
  }
  line[size] = '\n';                     /* in place of the final zero */
  (void)snprintf(place, sizeof(place), "--status-fd %d", r->status_fd);
  if (!bounded_write(r->status_fd, line, size + 1, REPORT_PATIENCE_MS))
    say("cannot write the status to %s: %s", path != NULL ? path : place,
        errno == EAGAIN ? "its reader does not read" : strerror(errno));
  free(line);
}

void run_report(const run *r, int code)
{
  json_t *report;

  if (r->progress == PROGRESS_JSON)
    json_say(report_json(r, "ended", code));
  if (r->status_fd < 0)
    return;
  report = report_json(r, NULL, code);
  report_write(r, report);
  json_decref(report);
}
