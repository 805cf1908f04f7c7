/* SPDX-License-Identifier: MIT */
/* cli/doctor.c - dibs doctor: whether the servers are set up as locks need it. */
#include <dibs/doctor.h>

#include <stdio.h>
#include <string.h>

#include "base/plural.h"
#include "cli/commands.h"
#include "cli/message.h"
#include "cli/session.h"
#include "cli/show.h"

typedef struct doctor_arguments {
  command_line line;
  bool is_strict;
} doctor_arguments;

static const option_row rows[] = {
  { "strict", 0, NULL, FLAG(doctor_arguments, is_strict), "exit 1 for warnings too" },
  { .name = NULL },
};

typedef struct visit {
  const doctor_arguments *a;
  char node[320];                /* the last that was shown */
  size_t warnings, failures, unknown;
} visit;

static const char *grade_sign(dibs_finding_grade grade)
{
  switch (grade) {
  case DIBS_FINDING_PASS: return "PASS";
  case DIBS_FINDING_WARN: return "WARN";
  case DIBS_FINDING_FAIL: return "FAIL";
  case DIBS_FINDING_UNKNOWN:
  default: return "??";
  }
}

static const char *grade_word(dibs_finding_grade grade)
{
  switch (grade) {
  case DIBS_FINDING_PASS: return "pass";
  case DIBS_FINDING_WARN: return "warn";
  case DIBS_FINDING_FAIL: return "fail";
  case DIBS_FINDING_UNKNOWN:
  default: return "unknown";
  }
}

static json_t *numbers_as_json(const dibs_server_numbers *n)
{
  return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "memory_bytes",
                   (json_int_t)n->memory_bytes, "memory_max_bytes",
                   (json_int_t)n->memory_max_bytes, "expired_keys", (json_int_t)n->expired_keys,
                   "evicted_keys", (json_int_t)n->evicted_keys, "script_calls",
                   (json_int_t)n->script_calls, "script_us", (json_int_t)n->script_us, "replicas",
                   (json_int_t)n->replicas, "replica_lag_bytes",
                   (json_int_t)n->replica_lag_bytes);
}

static void show_finding_as_json(const dibs_finding *f)
{
  json_t *object = json_object();

  json_object_set_new(object, "v", json_integer(1));
  json_object_set_new(object, "grade", json_string(grade_word(f->grade)));
  json_object_set_new(object, "check", json_text(f->check));
  json_object_set_new(object, "node", json_text(f->node));
  json_object_set_new(object, "text", json_text(f->text));
  json_object_set_new(object, "advice", json_text(f->advice));
  if (f->numbers != NULL)
    json_object_set_new(object, "numbers", numbers_as_json(f->numbers));
  json_print(object);
}

/* Each server has a line of its own, above what was found there. */
static void show_node(visit *v, const char *node)
{
  char shown[320];

  printable(node, shown, sizeof(shown));
  if (strcmp(shown, v->node) == 0)
    return;
  printf("%s%s\n", v->node[0] == '\0' ? "" : "\n", shown);
  snprintf(v->node, sizeof(v->node), "%s", shown);
}

static void show_finding(visit *v, const dibs_finding *f)
{
  char text[1100], advice[400];

  if (v->a->line.is_quiet && f->grade == DIBS_FINDING_PASS)
    return;
  show_node(v, f->node);
  printf("%-4s  %-13s %s\n", grade_sign(f->grade), f->check,
         printable(f->text, text, sizeof(text)));
  if (f->advice[0] != '\0')
    printf("%-4s  %-13s -> %s\n", "", "", printable(f->advice, advice, sizeof(advice)));
}

static bool found(const dibs_finding *f, void *data)
{
  visit *v = data;

  v->warnings += f->grade == DIBS_FINDING_WARN;
  v->failures += f->grade == DIBS_FINDING_FAIL;
  v->unknown += f->grade == DIBS_FINDING_UNKNOWN;
  if (v->a->line.wants_json)
    show_finding_as_json(f);
  else
    show_finding(v, f);
  fflush(stdout);
  return true;
}

static void show_sum(const visit *v)
{
  if (v->a->line.wants_json)
    return;
  printf("%zu warning%s, %zu failure%s", v->warnings, plural_s(v->warnings), v->failures,
         plural_s(v->failures));
  if (v->unknown > 0)
    printf(", %zu not known", v->unknown);
  putchar('\n');
}

static int examine(session *s, const void *data)
{
  const doctor_arguments *a = data;
  visit v = { .a = a };
  dibs_status status = dibs_examine(s->client, found, &v);

  if (status != DIBS_OK)
    return session_verb_fault(s, status, "doctor");
  show_sum(&v);
  return v.failures > 0 || (a->is_strict && v.warnings > 0) ? CODE_NO : CODE_OK;
}

const command doctor_command = {
  .name = "doctor", .operands = "",
  .summary = "check whether the servers are set up as locks need it",
  .examples = { "dibs doctor", "dibs doctor --strict || exit   # before a deployment",
                "dibs doctor --json | jq -r 'select(.grade == \"fail\") | .check'",
                "dibs doctor -u redis+sentinel://s1,s2,s3/main" },
  .notes = "Exit: 0 no check failed, 1 one failed (with --strict: or warned), 69 no server "
           "answered.",
  OPTIONS({ rows, 0 }, COMMON, SERVER),
  ARGUMENTS(doctor_arguments, .line = LINE_DEFAULTS),
  .ends_with_reader = true,
  .work = examine
};
