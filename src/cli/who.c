/* SPDX-License-Identifier: MIT */
/* cli/who.c - dibs who: everything about one name. */
#include <dibs/election.h>

#include <inttypes.h>
#include <stdio.h>

#include "base/plural.h"
#include "cli/commands.h"
#include "cli/durations.h"
#include "cli/message.h"
#include "cli/object.h"
#include "cli/session.h"
#include "cli/show.h"

typedef struct who_arguments {
  command_line line;
} who_arguments;

static void print_queue(const dibs_inspection *i)
{
  char waiting[80];

  if (i->waiter_count == 0)
    return;
  show_waiting(i, waiting, sizeof(waiting));
  printf("  queue    %s waiting\n", waiting);
  for (size_t n = 0; n < i->party_count; n++) {
    char party[220], waited[DURATION_SIZE], mode[40];

    show_party(i->waiters[n], party, sizeof(party));
    show_mode(i->kind, i->waiters[n], mode, sizeof(mode));
    duration_as_clock(i->waiters[n]->waited_ms, waited);
    printf("    %zu.  %s%s%s, for %s\n", n + 1, party, mode[0] == '\0' ? "" : ", ", mode,
           waited);
  }
  if (i->waiter_count > i->party_count)
    printf("    and %zu more\n", i->waiter_count - i->party_count);
}

static void print_holder(const dibs_inspection *i, const dibs_holder *h)
{
  char party[220], held[DURATION_SIZE], left[DURATION_SIZE], ttl[DURATION_SIZE];
  char note[DIBS_NOTE_MAX + 1], mode[40], doubt[120];

  show_party(h->party, party, sizeof(party));
  show_mode(i->kind, h->party, mode, sizeof(mode));
  duration_as_clock(h->party->waited_ms, held);
  duration_as_span(h->remaining_ms, left);
  duration_as_span(h->ttl_ms, ttl);
  printf("  holder   %s%s%s\n", party, mode[0] == '\0' ? "" : ", ", mode);
  if (h->party->note[0] != '\0')
    printf("  note     %s\n", printable(h->party->note, note, sizeof(note)));
  printf("  held     for %s\n", held);
  if (show_doubt(h, doubt, sizeof(doubt)))
    printf("  lease    %s\n", doubt);
  else
    printf("  lease    %s left of %s, renewed %" PRIu64 " time%s\n", left, ttl, h->renewals,
           plural_s(h->renewals));
  if (h->fence != 0)
    printf("  fence    %" PRIu64 "\n", h->fence);
}

static void print_inspection(const dibs_inspection *i)
{
  char name[600], state[40];
  size_t count = show_holder_count(i);

  show_state(i, state, sizeof(state));
  printf("%s  %s%s%s\n", printable_bytes(i->name, i->name_size, name, sizeof(name)),
         i->kind == DIBS_KIND_MUTEX ? "" : show_kind(i->kind),
         i->kind == DIBS_KIND_MUTEX ? "" : ", ", state);
  for (size_t n = 0; n < count; n++)
    print_holder(i, show_holder_at(i, n));
  if (i->holder_count > i->shown_holders)
    printf("  and %zu more holder%s\n", i->holder_count - i->shown_holders,
           plural_s(i->holder_count - i->shown_holders));
  if (count == 0 && i->fence != 0)
    printf("  fence    %" PRIu64 " was the last\n", i->fence);
  print_queue(i);
}

/* What the leader publishes, where the lock is an election. */
static void print_value(session *s, const who_arguments *a, json_t *object)
{
  dibs_leader *leader = NULL;
  char value[DIBS_LEADER_VALUE_MAX + 1];

  if (dibs_get_leader(s->client, a->line.operands[0], &leader) != DIBS_OK)
    return;
  if (leader->is_led && leader->value_size > 0 && object != NULL) {
    json_object_set_new(object, "kind", json_string("election"));
    json_object_set_new(object, "value", json_text(leader->value));
  } else if (leader->is_led && leader->value_size > 0) {
    printf("  leads    %s\n", printable(leader->value, value, sizeof(value)));
  }
  dibs_leader_free(leader);
}

/* Whether the name is no lock, and was never held as one. */
static bool who_else(session *s, const who_arguments *a, int *ret_code)
{
  const char *name = a->line.operands[0];
  char shown[600];

  for (const object_row *const *o = objects; *o != NULL; o++) {
    object_view view = { 0 };

    if (!(*o)->look(s, name, &view))
      continue;
    if (view.is_trace) {
      json_decref(view.json);
      continue;
    }
    *ret_code = view.is_in_use ? CODE_OK : CODE_NO;
    if (a->line.wants_json)
      json_print(view.json);
    else
      printf("%s  %s, %s%s\n", printable(name, shown, sizeof(shown)), (*o)->word, view.state,
             view.more);
    return true;
  }
  return false;
}

static void show(session *s, const who_arguments *a, const dibs_inspection *i)
{
  json_t *object = a->line.wants_json ? show_json(i, s->is_private) : NULL;

  if (object == NULL)
    print_inspection(i);
  if (i->kind == DIBS_KIND_MUTEX && show_is_held(i))
    print_value(s, a, object);
  if (object != NULL)
    json_print(object);
}

static int who(session *s, const void *data)
{
  const who_arguments *a = data;
  dibs_inspection *inspection = NULL;
  dibs_status status = dibs_inspect(s->client, dibs_text(a->line.operands[0]), &inspection);
  bool is_unused;
  int code;

  if (status != DIBS_OK)
    return session_fault(s, status, a->line.operands[0]);
  code = show_is_held(inspection) ? CODE_OK : CODE_NO;
  is_unused = code == CODE_NO && inspection->kind == DIBS_KIND_MUTEX &&
              inspection->fence == 0;
  if (!is_unused || !who_else(s, a, &code))
    show(s, a, inspection);
  dibs_inspection_free(inspection);
  return code;
}

const command who_command = {
  .name = "who", .operands = "NAME", .summary = "show holder and waiters of one name",
  .operands_min = 1, .operands_max = 1,
  .examples = { "dibs who nightly", "dibs who nightly >/dev/null && echo held",
                "dibs who --json nightly | jq .holder.host",
                "dibs who -u unix:///run/redis.sock nightly" },
  .notes = "Exit: 0 held, 1 free.",
  OPTIONS(COMMON, SERVER),
  ARGUMENTS(who_arguments, .line = LINE_DEFAULTS),
  .ends_with_reader = true,
  .work = who
};
