/* SPDX-License-Identifier: MIT */
/* cli/acl.c - dibs acl: the rights that a user needs, to be sent by an administrator. */
#include <dibs/acl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/session.h"

typedef struct acl_arguments {
  command_line line;
  const char *modes, *latches, *guarded, *limiters, *data, *locks;   /* NULL: not given */
  bool wants_functions, wants_sentinel;
} acl_arguments;

static const option_row rows[] = {
  { "mode", 0, "A,B,...", TEXT(acl_arguments, modes),
    "features used beyond those in the URL; see below" },
  { "latches", 0, "GLOB", TEXT(acl_arguments, latches), "and latches with such names" },
  { "guarded", 0, "GLOB", TEXT(acl_arguments, guarded), "and guarded writes on such keys" },
  { "limiters", 0, "GLOB", TEXT(acl_arguments, limiters), "and rate limiters with such names" },
  { "data", 0, "GLOB", TEXT(acl_arguments, data), "and maps, lists and sets with such names" },
  { "locks", 0, "GLOB", TEXT(acl_arguments, locks),
    "and locks of another --dialect with such names" },
  { "sentinel", 0, NULL, FLAG(acl_arguments, wants_sentinel),
    "the line for the sentinels instead" },
  { "functions", 0, NULL, FLAG(acl_arguments, wants_functions),
    "print the library for FUNCTION LOAD instead" },
  { .name = NULL },
};

typedef struct mode_word {
  const char *word;
  uint32_t uses;
} mode_word_row;

static const mode_word_row mode_words[] = {
  { "lock", 0 },
  { "quorum", 0 },
  { "replicated", DIBS_ACL_ROLES },
  { "sentinel", DIBS_ACL_ROLES },
  { "cluster", DIBS_ACL_CLUSTER },
  { "functions", DIBS_ACL_FUNCTIONS },
  { "poll", DIBS_ACL_POLL },
  { "quarantine", DIBS_ACL_QUARANTINE },
  { "replicas", DIBS_ACL_REPLICAS },
  { "fsync", DIBS_ACL_FSYNC },
  { "doctor", DIBS_ACL_DOCTOR },
  { "6.2", DIBS_ACL_BEFORE_7 },
};

#define MODE_COUNT (sizeof(mode_words) / sizeof(mode_words[0]))

static int mode_fault(const char *word, size_t size)
{
  char given[80], shown[80], allowed[200] = "";

  snprintf(given, sizeof(given), "%.*s", (int)(size < 60 ? size : 60), word);
  for (size_t i = 0; i < MODE_COUNT; i++) {
    size_t used = strlen(allowed);

    snprintf(allowed + used, sizeof(allowed) - used, " %s", mode_words[i].word);
  }
  return say_usage("acl", "--mode: \"%s\" is not one of%s",
                   printable(given, shown, sizeof(shown)), allowed);
}

/* A list with commas. */
static int modes_read(const char *list, uint32_t *ret_uses)
{
  while (list != NULL) {
    const char *comma = strchrnul(list, ',');
    size_t size = (size_t)(comma - list), i = 0;

    while (i < MODE_COUNT && (strlen(mode_words[i].word) != size ||
                              memcmp(mode_words[i].word, list, size) != 0))
      i++;
    if (i == MODE_COUNT)
      return mode_fault(list, size);
    *ret_uses |= mode_words[i].uses;
    list = *comma == '\0' ? NULL : comma + 1;
  }
  return 0;
}

/* No server is asked here, so that no client is opened that would look for one. */
static const char *environment_url(void)
{
  static const char *const variables[] = { "DIBS_URL", "VALKEY_URL", "REDIS_URL" };

  for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
    const char *url = getenv(variables[i]);

    if (url != NULL && *url != '\0')
      return url;
  }
  return NULL;
}

static void print_output(const acl_arguments *a, const char *key, const char *output,
                         const char *end)
{
  if (a->line.wants_json)
    json_print(json_pack("{s:i s:o}", "v", 1, key, json_text(output)));
  else
    printf("%s%s", output, end);
}

static int print_line(const session *s, const acl_arguments *a, uint32_t uses)
{
  dibs_acl_options o = DIBS_ACL_OPTIONS_INIT;
  dibs_error error = DIBS_ERROR_INIT;
  char line[DIBS_ACL_LINE_SIZE];
  char shown[600];
  dibs_status status;

  o.uses = uses | (a->wants_sentinel ? DIBS_ACL_SENTINEL : 0);
  o.user = a->line.operand_count > 0 ? a->line.operands[0] : a->line.connection.user;
  o.password = s->password;
  o.prefix = a->line.connection.prefix;
  o.latches = a->latches;
  o.guarded = a->guarded;
  o.limiters = a->limiters;
  o.data = a->data;
  o.locks = a->locks;
  o.dialect = a->line.connection.dialect;
  o.registry = a->line.connection.registry;
  status = dibs_acl_line(s->url != NULL ? s->url : environment_url(), &o, line, sizeof(line),
                         &error);
  if (status != DIBS_OK) {
    return say_fault(&(message_facts) { .code = code_of_status(status),
                                        .status = dibs_status_name(status) },
                     "%s", printable(error.text, shown, sizeof(shown)));
  }
  print_output(a, "line", line, "\n");
  return CODE_OK;
}

static int acl_run(void *data)
{
  const acl_arguments *a = data;
  uint32_t uses = 0;
  session s = { .client = NULL };
  int code;

  if (a->wants_functions) {
    print_output(a, "library", dibs_function_library(), "");
    return CODE_OK;
  }
  code = modes_read(a->modes, &uses);
  if (code == 0)
    code = session_prepare(&s, &a->line);
  if (code == 0)
    code = print_line(&s, a, uses);
  session_close(&s);
  return code;
}

const command acl_command = {
  .name = "acl", .operands = "[USER]",
  .summary = "print the ACL line of a user with the rights that locks need",
  .operands_max = 1,
  .examples = { "dibs acl worker | redis-cli -u \"$ADMIN_URL\"   # put a password in first",
                "dibs acl --askpass worker | redis-cli -u \"$ADMIN_URL\"",
                "dibs acl --mode cluster,quarantine --prefix shop worker",
                "dibs acl --functions | redis-cli -x FUNCTION LOAD REPLACE" },
  .notes = "Modes: lock, replicated, sentinel, cluster, quorum; functions (FCALL instead of\n"
           "EVAL), poll (no pub/sub), quarantine, replicas (min_replicas), fsync (WAITAOF),\n"
           "doctor (may read settings), 6.2 (a server before 7.0).",
  OPTIONS({ rows, 0 }, COMMON, SERVER),
  ARGUMENTS(acl_arguments, .line = LINE_DEFAULTS),
  .ends_with_reader = true,
  .run = acl_run
};
