/* SPDX-License-Identifier: MIT */
/* cli/token_grant.c - a token as dibs acquire prints it, also by its process that renews. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/errno_text.h"
#include "cli/acquire.h"
#include "cli/message.h"
#include "cli/show.h"

/* Within single quotes only a single quote has a meaning to a shell. */
static void print_quoted(const char *text)
{
  putchar('\'');
  for (; *text != '\0'; text++) {
    if (*text == '\'')
      fputs("'\\''", stdout);
    else
      putchar(*text);
  }
  putchar('\'');
}

static void print_json(const acquire_arguments *a, const target *t, const token_grant *g)
{
  json_t *object = json_object();

  json_object_set_new(object, "v", json_integer(1));
  json_set_name(object, t->shown, strlen(t->shown));
  json_object_set_new(object, "token", json_text(g->text));
  json_set_fence(object, g->fence);
  if (t->kind == TARGET_PERMITS)
    json_object_set_new(object, "units", json_integer(g->units));
  json_object_set_new(object, "ttl_ms", json_integer(a->taking.ttl_ms));
  json_object_set_new(object, "waited_ms", json_integer(g->waited_ms));
  json_object_set_new(object, "renewed", json_boolean(a->token.for_pid != 0));
  if (g->is_private)
    json_object_set_new(object, "scope", json_string("private"));
  if (json_object_get(object, "token") == NULL) {      /* no memory for it */
    json_decref(object);
    object = NULL;
  }
  json_print(object);
}

/* That what was taken is released is the work of the caller. The output is left as without a fault,
 * also by what --sh writes for a failure: this is the one message about it. */
static void say_unwritten(const target *t, int error)
{
  const message_facts facts = { .code = CODE_INTERNAL, .status = "DIBS_ERR_SYSTEM",
                                .name = t->shown };
  char name[600];

  acquire_failed(CODE_INTERNAL);
  (void)fflush(stdout);
  clearerr(stdout);
  (void)say_fault(&facts, "%s is given back: cannot write to standard output%s%s",
                  printable(t->shown, name, sizeof(name)), error == 0 ? "" : ": ",
                  error == 0 ? "" : errno_text(error));
}

bool token_print(const acquire_arguments *a, const target *t, const token_grant *g)
{
  errno = 0;
  if (a->line.wants_json) {
    print_json(a, t, g);
  } else if (a->token.wants_shell) {
    fputs("export DIBS_TOKEN=", stdout);
    print_quoted(g->text);
    printf(" DIBS_FENCE=%" PRIu64 "\n", g->fence);
  } else {
    puts(g->text);
  }
  if (fflush(stdout) == 0 && !ferror(stdout))
    return json_is_complete();
  say_unwritten(t, errno);
  return false;
}

dibs_status token_grant_fill(token_grant *g, const session *s, const take_result *taken)
{
  memset(g, 0, sizeof(*g));
  g->fence = dibs_hold_fence(taken->hold);
  g->units = session_units(taken->hold);
  g->waited_ms = taken->waited_ms;
  g->is_private = s->is_private;
  return dibs_hold_token(taken->hold, g->text, sizeof(g->text));
}

int token_refused(const session *s, dibs_status status, const char *name)
{
  dibs_error error = session_error(s->client, status);
  char shown[600];

  if (status != DIBS_ERR_UNSUPPORTED)
    return session_report(&error, name, name);
  return say_fault(&(message_facts) { .code = CODE_UNSUPPORTED, .status = dibs_status_name(status),
                                      .name = name },
                   "%s: %s; dibs run holds it while a command runs",
                   printable(name, shown, sizeof(shown)), error.text);
}
