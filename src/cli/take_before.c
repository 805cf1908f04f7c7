/* SPDX-License-Identifier: MIT */
/* cli/take_before.c - what has to be known before something is taken. */
#include "cli/take_before.h"

#include <stdlib.h>
#include <string.h>

#include "cli/aside.h"
#include "cli/clock.h"
#include "cli/held.h"
#include "cli/message.h"
#include "topo/url_options.h"

/* ---- a wrapper inside a wrapper ---- */

/* How much of it the wrappers around hold; by the client's id, not by the URL: two URLs can
 * lead to one server, and one name can stand on two. */
static uint64_t own_units(const dibs_inspection *i)
{
  uint64_t units = 0;

  for (size_t n = 0; n < i->shown_holders; n++) {
    const dibs_holder *h = i->holders[n];

    if (held_has_client(getenv("DIBS_HELD"), i->name, h->party->client))
      units += h->party->units == 0 ? 1 : h->party->units;
  }
  return units;
}

/* A second reader goes in beside the first, but not once a writer waits: so two wrappers
 * around each other would hang now and then. Permits may be taken as long as there can be
 * enough. */
static bool would_wait_for_itself(const target *t, const dibs_inspection *i)
{
  uint64_t own = own_units(i);

  if (i->kind == DIBS_KIND_SEMAPHORE)
    return own > 0 && own + t->take > i->limit;
  return own > 0;
}

static bool is_of_same_lock(const char *option, size_t size)
{
  enum { SAME_LOCK, OTHER_LOCK };
#define IDENTITY_ROW(name, identity, kind, field, need, of) { name "=", identity },
  static const struct { const char *words; int identity; } options[] = {
    URL_OPTIONS(IDENTITY_ROW)
  };

  for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
    size_t words_size = strlen(options[i].words);

    if (words_size <= size && memcmp(option, options[i].words, words_size) == 0)
      return options[i].identity == SAME_LOCK;
  }
  return false;
}

/* Leaves out the options that do not identify a lock; each that remains begins with '&'. */
static void keep_identity(char *url)
{
  char *to = url;

  for (const char *from = url; *from != 0;) {
    size_t size = 1 + strcspn(from + 1, "?& ");
    bool is_option = *from == '?' || *from == '&';

    if (!is_option || !is_of_same_lock(from + 1, size - 1)) {
      memmove(to, from, size);
      if (is_option)
        *to = '&';
      to += size;
    }
    from += size;
  }
  *to = 0;
}

/* Whether all that identifies a lock is as in the wrapper around. It has set this variable;
 * DIBS_URL may have been set since. */
static bool is_place_of_wrapper(const session *s)
{
  const char *value = getenv("DIBS_INHERITED_URL");
  char *around = value != NULL ? strdup(value) : NULL, *url = malloc(DIBS_URL_SIZE);
  bool is_it = around != NULL && url != NULL &&
               dibs_full_url(s->client, false, url, DIBS_URL_SIZE) == DIBS_OK;

  if (is_it) {
    keep_identity(url);
    keep_identity(around);            /* and leaves out its passwords */
    is_it = strcmp(url, around) == 0;
  }
  if (around != NULL)
    explicit_bzero(around, strlen(value));
  free(url);
  free(around);
  return is_it;
}

/* The wrapper around may be a holder that the server does not list, as it lists the first only. */
static bool may_be_unlisted(const dibs_inspection *i)
{
  return i->kind != DIBS_KIND_SEMAPHORE && i->holder_count > i->shown_holders;
}

bool take_is_held_around(const session *s, const dibs_inspection *i)
{
  return own_units(i) > 0 || (may_be_unlisted(i) && held_has_name(getenv("DIBS_HELD"), i->name) &&
                              is_place_of_wrapper(s));
}

/* `name` is a name of a wrapper around. While no server can say whether it is the same lock, the
 * settings do: by degrade=local it may be one that no server knows. Permits may be enough. */
static bool is_held_around(session *s, const target *t, const char *name)
{
  dibs_inspection *inspection = NULL;
  dibs_status status = dibs_inspect(s->client, dibs_text(name), &inspection);
  bool would_wait;

  if (status != DIBS_OK)
    return dibs_status_is_retriable(status) && t->kind != TARGET_PERMITS && is_place_of_wrapper(s);
  would_wait = would_wait_for_itself(t, inspection) ||
               (may_be_unlisted(inspection) && is_place_of_wrapper(s));
  dibs_inspection_free(inspection);
  return would_wait;
}

int take_say_held_around(const char *name)
{
  char shown[600];

  return say_fault(&(message_facts) { .code = CODE_DEADLOCK, .status = "DIBS_WOULD_DEADLOCK",
                                      .name = name },
                   "%s is held by the dibs run around this command; it would wait for itself",
                   printable(name, shown, sizeof(shown)));
}

static int check_nested(session *s, const target *t)
{
  for (size_t n = 0; n < t->count; n++)
    if (held_has_name(getenv("DIBS_HELD"), t->names[n]) && is_held_around(s, t, t->names[n]))
      return take_say_held_around(t->names[n]);
  return 0;
}

/* ---- asking ---- */

typedef struct questions {
  session *s;
  const target *t;
  int64_t until_ms;
  int code;
} questions;

/* The requests of a wait with a limit are a part of it. */
static void ask(void *data)
{
  questions *q = data;

  if (q->until_ms != 0)
    (void)dibs_client_set_call_timeout(q->s->client,
                                       session_request_ms(q->s, q->until_ms - clock_ms()));
  q->code = check_nested(q->s, q->t);
  (void)dibs_client_set_call_timeout(q->s->client, 0);
}

static bool needs_questions(const target *t)
{
  for (size_t n = 0; n < t->count; n++)
    if (held_has_name(getenv("DIBS_HELD"), t->names[n]))
      return true;
  return false;
}

bool take_before(session *s, const target *t, int64_t until_ms, signal_watch *signals,
                 int *ret_signal, int *ret_code)
{
  questions *q;

  *ret_signal = 0;
  *ret_code = 0;
  if (!needs_questions(t))
    return true;
  q = calloc(1, sizeof(*q));
  if (q == NULL) {
    *ret_code = session_fault(s, DIBS_ERR_NO_MEMORY, t->shown);
    return true;
  }
  *q = (questions) { .s = s, .t = t, .until_ms = until_ms };
  if (!aside_run(ask, q, signals, ret_signal))
    return false;                     /* `q` stays with the thread */
  *ret_code = *ret_signal != 0 ? 0 : q->code;
  free(q);
  return true;
}
