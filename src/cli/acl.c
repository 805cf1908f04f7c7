/* SPDX-License-Identifier: MIT */
/* cli/acl.c - dibs acl: the rights that a user needs, to be sent by an administrator. */
#include <dibs/acl.h>

#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/message.h"
#include "cli/session.h"

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

/* Words with commas between. */
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

static int print_line(const session *s, const arguments *a, uint32_t uses)
{
  dibs_acl_options o = DIBS_ACL_OPTIONS_INIT;
  dibs_error error = { .status = DIBS_OK };
  char line[DIBS_ACL_LINE_SIZE];
  char shown[600];
  dibs_status status;

  o.uses = uses | (a->wants_sentinel ? DIBS_ACL_SENTINEL : 0);
  o.user = a->operand_count > 0 ? a->operands[0] : a->user;
  o.password = s->password;
  o.prefix = a->prefix;
  o.latches = a->latches;
  o.guarded = a->guarded;
  o.limiters = a->limiters;
  o.data = a->data;
  o.locks = a->locks;
  o.dialect = a->dialect;
  o.registry = a->registry;
  status = dibs_acl_line(s->url, &o, line, sizeof(line), &error);
  if (status != DIBS_OK) {
    say("%s", printable(error.text, shown, sizeof(shown)));
    return code_of_status(status);
  }
  puts(line);
  return CODE_OK;
}

int command_acl(const arguments *a)
{
  uint32_t uses = 0;
  session s = { .client = NULL };
  int code;

  if (a->wants_functions) {
    fputs(dibs_function_library(), stdout);
    return CODE_OK;
  }
  code = modes_read(a->modes, &uses);
  if (code == 0)
    code = session_prepare(&s, a);
  if (code == 0)
    code = print_line(&s, a, uses);
  session_close(&s);
  return code;
}
