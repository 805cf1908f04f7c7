/* SPDX-License-Identifier: MIT */
/* cli/acquire.c - dibs acquire: a lock for a script, named by a token. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/durations.h"
#include "cli/message.h"
#include "cli/session.h"
#include "cli/show.h"
#include "cli/take.h"
#include "cli/token_print.h"

/* ---- output ---- */

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

static void print_json(const arguments *a, const target *t, const token_grant *g)
{
  json_t *object = json_object();

  json_object_set_new(object, "v", json_integer(1));
  json_object_set_new(object, "name", json_words(t->shown));
  json_object_set_new(object, "token", json_words(g->text));
  json_set_fence(object, g->fence);
  if (t->kind == TARGET_PERMITS)
    json_object_set_new(object, "units", json_integer(g->units));
  json_object_set_new(object, "ttl_ms", json_integer(a->ttl_ms));
  json_object_set_new(object, "waited_ms", json_integer(g->waited_ms));
  json_object_set_new(object, "renewed", json_boolean(a->for_pid != 0));
  if (g->is_private)
    json_object_set_new(object, "scope", json_string("private"));
  json_print(object);
}

bool token_print(const arguments *a, const target *t, const token_grant *g)
{
  if (a->wants_json) {
    print_json(a, t, g);
  } else if (a->wants_shell) {
    fputs("export DIBS_TOKEN=", stdout);
    print_quoted(g->text);
    printf(" DIBS_FENCE=%" PRIu64 "\n", g->fence);
  } else {
    puts(g->text);
  }
  return fflush(stdout) == 0 && !ferror(stdout);
}

/* ---- a lease that nobody renews ---- */

static void tell_end(const arguments *a)
{
  char ttl[DURATION_SIZE];

  if (a->is_not_renewed)
    return;
  duration_as_span(a->ttl_ms, ttl);
  say_softly("nobody renews this lease: it ends in %s unless \"dibs renew\" is called "
             "(--for-pid $$ keeps it, --no-renew hides this)",
             ttl);
}

dibs_status token_grant_fill(token_grant *g, const session *s, const take_result *taken)
{
  memset(g, 0, sizeof(*g));
  g->fence = dibs_hold_fence(taken->hold);
  g->units = dibs_hold_units(taken->hold);
  g->waited_ms = taken->waited_ms;
  g->is_private = s->is_private;
  return dibs_hold_token(taken->hold, g->text, sizeof(g->text));
}

static int hand_out(session *s, const arguments *a, const target *t,
                    const take_result *taken)
{
  token_grant grant;
  dibs_status status = token_grant_fill(&grant, s, taken);

  if (status == DIBS_OK && token_print(a, t, &grant)) {
    status = dibs_hold_detach(taken->hold);
    tell_end(a);
    return status == DIBS_OK ? CODE_OK : session_fault(s, status, t->shown);
  }
  dibs_release(taken->hold);
  return status == DIBS_OK ? CODE_INTERNAL : session_fault(s, status, t->shown);
}

static int take_and_hand_out(session *s, const arguments *a, const target *t,
                             signal_watch *signals, take_result *taken)
{
  int code = session_open(s, a, NULL);

  if (code != 0)
    return code;
  take_lock(s, a, t, DIBS_LOCK_FIXED, signals, taken);
  if (taken->signal != 0)
    return 128 + taken->signal;
  return taken->hold == NULL ? taken->code : hand_out(s, a, t, taken);
}

static int acquire(const arguments *a, const target *t)
{
  signal_watch signals;
  take_result taken;
  session s;
  bool is_closed;
  int code = session_prepare(&s, a);

  if (code != 0)
    return code;
  if (!signals_begin(&signals)) {
    say("the system refuses signals");
    return CODE_INTERNAL;
  }
  memset(&taken, 0, sizeof(taken));
  code = take_and_hand_out(&s, a, t, &signals, &taken);
  is_closed = take_end(&s, &taken);
  if (taken.signal == SIGINT)
    code = signals_leave(SIGINT);
  if (!is_closed)
    _exit(code);   /* nothing of ours is in stdout: there is no token */
  return code;
}

int command_acquire(const arguments *a)
{
  target t;
  int code = target_read(&t, a, a->multi == NULL ? a->operands[0] : NULL);

  if (code != 0)
    return code;
  code = a->for_pid != 0 ? keeper_run(a, &t) : acquire(a, &t);
  target_free(&t);
  return code;
}
