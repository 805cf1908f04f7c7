/* SPDX-License-Identifier: MIT */
/* cli/history.c - dibs history: which client had a name, when, for how long, and how it ended. */
#include <dibs/fleet.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/commands.h"
#include "cli/durations.h"
#include "cli/message.h"
#include "cli/session.h"
#include "cli/show.h"

typedef struct history_arguments {
  command_line line;
  int32_t since_ms;
  uint32_t limit;
  bool asks_by_code;
} history_arguments;

static const option_row rows[] = {
  { "since", 0, "DUR", DURATION(history_arguments, since_ms, 1),
    "what ended in the last DUR, such as 1h" },
  { "limit", 0, "N", UINT32(history_arguments, limit, 1, 10000),
    "the latest N entries; 50 (in JSON 1000) unless it is given" },
  { "exit-code", 0, NULL, FLAG(history_arguments, asks_by_code), "exit 1 if nothing is found" },
  { .name = NULL },
};

/* By the server's clock, in the time zone of this process. */
static void time_text(int64_t us, char *ret_text, size_t size)
{
  time_t seconds = (time_t)(us / 1000000);
  struct tm local;

  if (localtime_r(&seconds, &local) == NULL ||
      strftime(ret_text, size, "%Y-%m-%d %H:%M:%S", &local) == 0)
    snprintf(ret_text, size, "%" PRId64, us);
}

static void span_text(int64_t us, char ret_text[DURATION_SIZE])
{
  if (us > 0 && us < 1000)
    snprintf(ret_text, DURATION_SIZE, "<1ms");
  else
    duration_as_span(us / 1000, ret_text);
}

static const char *mode_text(const dibs_history_entry *e)
{
  if (e->kind == DIBS_KIND_RWLOCK)
    return e->mode == DIBS_MODE_READ ? "read" : "write";
  return show_kind(e->kind);
}

static void print_entry(const dibs_history_entry *e)
{
  char at[32], waited[DURATION_SIZE], held[DURATION_SIZE], name[600], host[256], program[256];
  char note[DIBS_NOTE_MAX + 1], end[64];

  time_text(e->end_us, at, sizeof(at));
  span_text(e->waited_us, waited);
  span_text(e->held_us, held);
  printf("%s  %-9s  %8s  %8s  %-9s  %s  %s (pid %" PRId64 " \"%s\")%s%s\n", at,
         printable(e->end, end, sizeof(end)), waited,
         e->fence != 0 ? held : "-", mode_text(e),
         printable_bytes(e->name, e->name_size, name, sizeof(name)),
         printable(e->host, host, sizeof(host)), e->pid,
         printable(e->program, program, sizeof(program)), e->note[0] != '\0' ? "  " : "",
         printable(e->note, note, sizeof(note)));
}

static void print_json(const dibs_history_entry *e)
{
  json_t *object = json_object();

  json_object_set_new(object, "v", json_integer(1));
  json_set_name(object, e->name, e->name_size);
  json_object_set_new(object, "class", json_text(e->class_name));
  json_object_set_new(object, "kind", json_string(mode_text(e)));
  json_object_set_new(object, "end", json_text(e->end));
  json_object_set_new(object, "end_us", json_integer(e->end_us));
  json_object_set_new(object, "ago_us", json_integer(e->ago_us));
  json_object_set_new(object, "waited_us", json_integer(e->waited_us));
  json_object_set_new(object, "held_us", json_integer(e->held_us));
  json_set_renamed(object, "ttl_ms", "lease_ms", json_integer(e->ttl_ms));
  json_set_fence(object, e->fence);
  json_object_set_new(object, "host", json_text(e->host));
  json_object_set_new(object, "pid", json_pid(e->pid));
  json_object_set_new(object, "program", json_text(e->program));
  json_object_set_new(object, "note", json_text(e->note));
  json_object_set_new(object, "client", json_text(e->client));
  json_print(object);
}

/* The latest last, where a terminal shows it. */
static void print_all(const history_arguments *a, const dibs_history *h)
{
  if (!a->line.wants_json && !a->line.is_quiet && h->count > 0)
    printf("%-19s  %-9s  %8s  %8s  %-9s  NAME  HOLDER\n", "ENDED", "HOW", "WAITED", "HELD",
           "KIND");
  for (size_t i = h->count; i > 0; i--) {
    if (a->line.wants_json)
      print_json(h->entries[i - 1]);
    else
      print_entry(h->entries[i - 1]);
  }
}

static int history(session *s, const void *data)
{
  const history_arguments *a = data;
  dibs_history_options o = DIBS_HISTORY_OPTIONS_INIT;
  dibs_history *h = NULL;
  dibs_status status;
  int code;

  o.pattern = a->line.operand_count > 0 ? a->line.operands[0] : NULL;
  o.since_ms = a->since_ms;
  o.limit = a->limit != 0 ? a->limit : a->line.wants_json ? 1000 : 50;
  status = dibs_history_read(s->client, &o, &h);
  if (status != DIBS_OK)
    return session_verb_fault(s, status, "history");
  print_all(a, h);
  if (h->count == 0)
    say_softly("nothing found");
  code = h->count == 0 && a->asks_by_code ? CODE_NO : CODE_OK;
  (void)dibs_history_free(h);
  return code;
}

const command history_command = {
  .name = "history", .operands = "[NAME|PATTERN]",
  .summary = "show which client had a name, when, and how it ended",
  .operands_max = 1,
  .examples = { "dibs history orders:17", "dibs history 'orders:*' --since 1h",
                "dibs history --json --since 1d | jq 'select(.end == \"lost\")'" },
  .notes = "Without history=all clients write only what was lost, taken, timed out, or lasted\n"
           "longer than a second, up to 10 seconds after it ended.",
  OPTIONS({ rows, 0 }, COMMON, SERVER),
  ARGUMENTS(history_arguments, .line = LINE_DEFAULTS),
  .ends_with_reader = true,
  .work = history
};
