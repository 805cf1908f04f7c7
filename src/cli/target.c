/* SPDX-License-Identifier: MIT */
/* cli/target.c - what is to be taken. */
#include "cli/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "cli/message.h"
#include "cli/session.h"
#include "cli/show.h"

/* ---- from the options ---- */

static int split_names(target *t, const char *word, const char *list)
{
  char shown[200];
  char *at = t->text = strdup(list);

  if (at == NULL)
    return say_no_memory();
  for (;;) {
    char *comma = strchr(at, ',');

    if (comma != NULL)
      *comma = '\0';
    if (*at == '\0')
      return say_usage(word, "--multi: \"%s\" is not names with single commas between, as a,b,c",
                       printable(list, shown, sizeof(shown)));
    if (t->count == DIBS_MANY_MAX)
      return say_usage(word, "--multi: more than %d names", DIBS_MANY_MAX);
    t->names[t->count++] = at;
    if (comma == NULL)
      return 0;
    at = comma + 1;
  }
}

static void target_one(target *t, enum target_kind kind, const char *name)
{
  *t = (target) { .kind = kind, .shown = name, .names = { name }, .count = 1, .take = 1 };
}

int target_read(target *t, const char *word, const kind_options *k, const char *name)
{
  int code;

  if (k->multi != NULL) {
    *t = (target) { .kind = TARGET_MANY, .shown = k->multi };
    code = split_names(t, word, k->multi);
    if (code != 0)
      target_free(t);
    return code;
  }
  target_one(t, TARGET_LOCK, name);
  if (k->permits != 0 || k->take != 0 || k->takes_all)
    t->kind = TARGET_PERMITS;
  else if (k->sharing != SHARING_NONE)
    t->kind = k->sharing == SHARING_READ ? TARGET_READ : TARGET_WRITE;
  t->replicas = k->replicas;
  t->wants_fsync = k->wants_fsync;
  t->permits = k->permits;
  t->is_plain = k->is_plain;
  if (k->takes_all || k->take != 0)
    t->take = k->takes_all ? 0 : k->take;
  return 0;
}

void target_lead(target *t, const char *name, const char *value)
{
  target_one(t, TARGET_LEADER, name);
  t->value = value;
  t->is_one_kind = true;
}

void target_free(target *t)
{
  free(t->text);
  memset(t, 0, sizeof(*t));
}

/* ---- asking ---- */

static int32_t kind_of(const target *t)
{
  switch (t->kind) {
  case TARGET_READ:
    return DIBS_TARGET_READ;
  case TARGET_WRITE:
    return DIBS_TARGET_WRITE;
  case TARGET_PERMITS:
    return DIBS_TARGET_PERMITS;
  case TARGET_LEADER:
    return DIBS_TARGET_LEAD;
  case TARGET_LOCK:
  case TARGET_MANY:
  default:
    return DIBS_TARGET_LOCK;
  }
}

dibs_status target_ask(const target *t, dibs_client *client, const dibs_lock_options *options,
                       dibs_lock_callback callback, void *data, dibs_request **ret_request)
{
  dibs_bytes names[DIBS_MANY_MAX];
  dibs_target asked = { .size = sizeof(asked), .kind = kind_of(t), .names = names,
                        .name_count = t->count, .value = dibs_text(t->value) };

  for (size_t i = 0; i < t->count; i++)
    names[i] = dibs_text(t->names[i]);
  if (t->kind == TARGET_PERMITS) {
    asked.units = t->take != 0 ? t->take : DIBS_UNITS_ALL_FREE;
    asked.limit = t->permits;
  }
  return dibs_acquire_async(client, &asked, options, callback, data, ret_request);
}

/* ---- why not ---- */

static const char *kind_text(dibs_kind kind)
{
  switch (kind) {
  case DIBS_KIND_RWLOCK:
    return "a read/write lock";
  case DIBS_KIND_SEMAPHORE:
    return "a semaphore";
  case DIBS_KIND_MUTEX:
  default:
    return "an exclusive lock";
  }
}

static const char *kind_advice(const target *t, dibs_kind kind)
{
  switch (kind) {
  case DIBS_KIND_RWLOCK:
    return t->is_one_kind ? "dibs run -s or --write takes it"
                          : "take it with -s to read or --write to write";
  case DIBS_KIND_SEMAPHORE:
    return t->is_one_kind ? "dibs run -j N or --take M takes permits of it"
                          : "take permits with -j N or --take M";
  case DIBS_KIND_MUTEX:
  default:
    return t->is_one_kind ? "dibs run NAME -- CMD takes it"
                          : "leave out -s, --write, -j and --take";
  }
}

const char *target_use(const dibs_inspection *i, char *ret_text, size_t size)
{
  bool is_held = show_is_held(i);

  snprintf(ret_text, size, "%s %s%s", is_held ? "is in use as" : "was used as", kind_text(i->kind),
           is_held                            ? ""
           : i->kind == DIBS_KIND_SEMAPHORE   ? " (dibs sem rm deletes it)"
                                              : " (another kind can have the name after an hour "
                                                "without use)");
  return ret_text;
}

static bool is_kind_of(const target *t, dibs_kind kind)
{
  switch (t->kind) {
  case TARGET_READ:
  case TARGET_WRITE:
    return kind == DIBS_KIND_RWLOCK;
  case TARGET_PERMITS:
    return kind == DIBS_KIND_SEMAPHORE;
  case TARGET_LOCK:
  case TARGET_MANY:
  case TARGET_LEADER:
  default:
    return kind == DIBS_KIND_MUTEX;
  }
}

/* Which of the names it is, and what that is used as. */
static int report_kind(const target *t, dibs_client *client)
{
  message_facts facts = { .code = CODE_OTHER_USE, .status = "DIBS_ERR_WRONG_TYPE" };
  char shown[600], use[120];

  for (size_t i = 0; i < t->count; i++) {
    dibs_inspection *inspection = NULL;
    dibs_status status = dibs_inspect(client, dibs_text(t->names[i]), &inspection);
    bool is_other = status == DIBS_OK && !is_kind_of(t, inspection->kind);

    printable(t->names[i], shown, sizeof(shown));
    facts.name = t->names[i];
    if (is_other)
      say_fault(&facts, "%s %s: %s", shown, target_use(inspection, use, sizeof(use)),
                kind_advice(t, inspection->kind));
    dibs_inspection_free(inspection);
    if (is_other)
      return facts.code;
    if (status == DIBS_ERR_WRONG_TYPE)
      return say_fault(&facts, "%s: the key of this name holds no lock of dibs", shown);
  }
  return -1;   /* changed since: the error text of the library remains */
}

static int report_count(const target *t, dibs_client *client)
{
  const message_facts facts = { .code = CODE_OTHER_USE, .status = "DIBS_ERR_ARGUMENT",
                                .name = t->shown };
  dibs_inspection *found = NULL;
  char shown[600];
  uint32_t has = 0;

  if (dibs_inspect(client, dibs_text(t->shown), &found) == DIBS_OK &&
      found->kind == DIBS_KIND_SEMAPHORE)
    has = found->limit;
  dibs_inspection_free(found);
  printable(t->shown, shown, sizeof(shown));
  if (has != 0 && t->permits != 0 && has != t->permits)
    return say_fault(&facts, "%s has %u permit%s, not %u: use -j %u, or change the number "
                     "for all by \"dibs sem set %s %u\"",
                     shown, has, plural_s(has), t->permits, has, shown, t->permits);
  if (has != 0 && t->take > has)
    return say_fault(&facts, "%s has %u permit%s: %u cannot be taken (dibs sem set)", shown, has,
                     plural_s(has), t->take);
  return -1;
}

/* The library names its own option, min_replicas. */
static int report_replicas(const target *t, dibs_client *client)
{
  dibs_error error = session_error(client, DIBS_ERR_ARGUMENT);
  char shown[600];

  if (strncmp(error.text, "min_replicas", strlen("min_replicas")) != 0)
    return -1;
  return say_fault(&(message_facts) { .code = CODE_USAGE, .status = "DIBS_ERR_ARGUMENT",
                                      .name = t->shown },
                   "%s: --replicas: on a quorum it is a majority of the servers that has each "
                   "grant; leave it out",
                   printable(t->shown, shown, sizeof(shown)));
}

int target_fault(const target *t, dibs_client *client, dibs_status status)
{
  char shown[600];

  if (status == DIBS_ERR_WRONG_TYPE)
    return report_kind(t, client);
  if (status == DIBS_ERR_ARGUMENT && t->kind == TARGET_PERMITS)
    return report_count(t, client);
  if (status == DIBS_ERR_ARGUMENT && t->replicas != 0)
    return report_replicas(t, client);
  if (status != DIBS_ERR_NOT_SET)
    return -1;
  return say_fault(&(message_facts) { .code = CODE_NOT_SET, .status = "DIBS_ERR_NOT_SET",
                                      .name = t->shown },
                   "%s: the number of permits is not set: use -j N, or dibs sem set %s N",
                   printable(t->shown, shown, sizeof(shown)), shown);
}
