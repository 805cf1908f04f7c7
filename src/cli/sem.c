/* SPDX-License-Identifier: MIT */
/* cli/sem.c - dibs sem: semaphores that are set up before they are used. */
#include <dibs/semaphore.h>

#include <inttypes.h>
#include <stdio.h>

#include "base/plural.h"
#include "cli/acquire.h"
#include "cli/commands.h"
#include "cli/message.h"
#include "cli/session.h"
#include "cli/show.h"
#include "cli/status.h"
#include "cli/target.h"
#include "cli/token.h"
#include "cli/verbs.h"
#include "cli/wait.h"

/* ---- how many permits there are ---- */

static int wrong_kind(session *s, const char *name, dibs_status status)
{
  const message_facts facts = { .code = CODE_OTHER_USE, .status = dibs_status_name(status),
                                .name = name };
  dibs_inspection *inspection = NULL;
  char shown[600], use[120];

  if (status != DIBS_ERR_WRONG_TYPE)
    return session_fault(s, status, name);
  printable(name, shown, sizeof(shown));
  if (dibs_inspect(s->client, dibs_text(name), &inspection) == DIBS_OK &&
      inspection->kind != DIBS_KIND_SEMAPHORE)
    say_fault(&facts, "%s %s", shown, target_use(inspection, use, sizeof(use)));
  else
    say_fault(&facts, "%s: the key of this name holds no semaphore", shown);
  dibs_inspection_free(inspection);
  return facts.code;
}

/* Prints how many are free now. */
static int print_free(session *s, const acquire_arguments *a, uint32_t limit)
{
  dibs_inspection *inspection = NULL;
  dibs_status status = dibs_inspect(s->client, dibs_text(a->line.operands[0]), &inspection);
  uint32_t used;

  if (status != DIBS_OK)
    return session_fault(s, status, a->line.operands[0]);
  used = inspection->used;
  if (a->line.wants_json)
    json_print(show_json(inspection, s->is_private));
  else
    printf("%u\n", limit > used ? limit - used : 0);
  dibs_inspection_free(inspection);
  return CODE_OK;
}

/* Another number of one that is there, too. */
static int set_permits(session *s, const void *data)
{
  const acquire_arguments *a = data;
  uint32_t permits = (uint32_t)a->line.count;
  dibs_status status = dibs_semaphore_set(s->client, dibs_text(a->line.operands[0]), permits, 0,
                                          NULL);

  if (status != DIBS_OK)
    return wrong_kind(s, a->line.operands[0], status);
  return print_free(s, a, permits);
}

static int init(session *s, const void *data)
{
  const acquire_arguments *a = data;
  uint32_t permits = (uint32_t)a->line.count, have = permits;
  dibs_status status =
      dibs_semaphore_set(s->client, dibs_text(a->line.operands[0]), permits,
                         DIBS_SEMAPHORE_IF_ABSENT, &have);
  char shown[600];

  if (status != DIBS_OK)
    return wrong_kind(s, a->line.operands[0], status);
  if (have == permits)
    return set_permits(s, a);            /* from now on it stays, unused or not */
  printable(a->line.operands[0], shown, sizeof(shown));
  return say_fault(&(message_facts) { .code = CODE_OTHER_USE, .status = "DIBS_ERR_ARGUMENT",
                                      .name = a->line.operands[0] },
                   "%s has %u permit%s already; \"dibs sem set %s %u\" changes that", shown,
                   have, plural_s(have), shown, permits);
}

/* NULL: `name` is no semaphore; the reason was printed, and what sets `number` permits. */
static dibs_inspection *find(session *s, const char *name, const char *number, int *ret_code)
{
  dibs_inspection *found = NULL;
  dibs_status status = dibs_inspect(s->client, dibs_text(name), &found);
  bool is_other = status == DIBS_OK && found->kind != DIBS_KIND_SEMAPHORE && found->fence != 0;
  char shown[600];

  if (status == DIBS_OK && found->kind == DIBS_KIND_SEMAPHORE)
    return found;
  dibs_inspection_free(found);
  *ret_code = status != DIBS_OK || is_other
    ? wrong_kind(s, name, is_other ? DIBS_ERR_WRONG_TYPE : status)
    : say_fault(&(message_facts) { .code = CODE_NOT_SET, .status = "DIBS_ERR_NOT_SET",
                                   .name = name },
                "%s is no semaphore yet: dibs sem set %s %s",
                printable(name, shown, sizeof(shown)), shown, number);
  return NULL;
}

static int resize(session *s, const void *data)
{
  const acquire_arguments *a = data;
  dibs_inspection *found;
  char number[24];
  int code;

  snprintf(number, sizeof(number), "%" PRId64, a->line.count);
  found = find(s, a->line.operands[0], number, &code);
  if (found == NULL)
    return code;
  dibs_inspection_free(found);
  return set_permits(s, a);
}

static int show_one(session *s, const void *data, const char *name)
{
  const acquire_arguments *a = data;
  char shown[600];
  int code;
  dibs_inspection *found = find(s, name, "N", &code);

  if (found == NULL)
    return code;
  if (a->line.wants_json)
    json_print(show_json(found, s->is_private));
  else
    printf("%s  %u free of %u\n", printable(name, shown, sizeof(shown)),
           found->limit > found->used ? found->limit - found->used : 0, found->limit);
  dibs_inspection_free(found);
  return CODE_OK;
}

static int delete(session *s, const void *data)
{
  const char *name = ((const acquire_arguments *)data)->line.operands[0];
  dibs_status status = dibs_semaphore_delete(s->client, dibs_text(name));
  char shown[600];

  if (status == DIBS_BUSY)
    return say_fault(&(message_facts) { .code = CODE_BUSY, .status = "DIBS_BUSY", .name = name },
                     "%s is in use; nothing was done", printable(name, shown, sizeof(shown)));
  return status == DIBS_OK ? CODE_OK : wrong_kind(s, name, status);
}

/* ---- permits ---- */

static int sem_acquire(const void *data)
{
  acquire_arguments own = *(const acquire_arguments *)data;

  if (own.what.take == 0)
    own.what.take = 1;
  return acquire_run(&own);
}

static int sem_drain(const void *data)
{
  acquire_arguments own = *(const acquire_arguments *)data;

  if (own.what.take != 0)
    return say_usage("sem", "drain takes all that are free; --take belongs to acquire");
  own.what.takes_all = true;
  return acquire_run(&own);
}

static int sem_release(const void *data)
{
  const acquire_arguments *a = data;
  const release_arguments own = { .line = a->line };

  return token_release(&own);
}

static int sem_renew(const void *data)
{
  const acquire_arguments *a = data;
  const renew_arguments own = { .line = a->line, .ttl_ms = a->taking.ttl_ms };

  return token_renew(&own);
}

static int sem_wait(const void *data)
{
  const acquire_arguments *a = data;

  return wait_until_free(&a->line, &a->taking.wait);
}

static int sem_ls(const void *data)
{
  const acquire_arguments *a = data;

  return status_of_kind(&a->line, KIND_SEMAPHORE);
}

static int sem_check(void *data)
{
  acquire_arguments *a = data;
  int code = taking_check("sem", &a->taking, &a->line);

  return code != 0 ? code : kind_check("sem", &a->what);
}

static int sem_run(void *data)
{
  static const verb verbs[] = {
    { "set", "NAME N", 2, 2, .work = set_permits, .count = { 0, DIBS_PERMITS_MAX } },
    { "show", "NAME...", 1, 1000, .one = show_one },
    { "ls", "[PATTERN]", 0, 1, .run = sem_ls },
    { "rm", "NAME", 1, 1, .work = delete },
    /* of 0.5 */
    { "init", "NAME N", 2, 2, .work = init, .count = { 0, DIBS_PERMITS_MAX } },
    { "resize", "NAME N", 2, 2, .work = resize, .count = { 0, DIBS_PERMITS_MAX } },
    { "acquire", "NAME", 1, 1, .run = sem_acquire },
    { "drain", "NAME", 1, 1, .run = sem_drain },
    { "release", "TOKEN", 1, 1, .run = sem_release },
    { "renew", "TOKEN", 1, 1, .run = sem_renew },
    { "wait", "NAME", 1, 1, .run = sem_wait },
  };

  return verb_run("sem", verbs, sizeof(verbs) / sizeof(verbs[0]), data);
}

const command sem_command = {
  .name = "sem", .operands = "VERB [ARGUMENT...]",
  .summary = "semaphores: set up, show and delete",
  .operands_min = 1, .operands_max = 1000, .operand_words = "set show ls rm",
  .notes = "  set NAME N        give it N permits, also while in use; prints how many are free\n"
           "  show NAME...      how many are free, and the number\n"
           "  ls [PATTERN]      show semaphores\n"
           "  rm NAME           delete it; 75: it is in use\n\n"
           "Permits are taken by dibs run and dibs acquire, with -j N or --take M.",
  .examples = { "dibs sem set render 4", "dibs run -j 4 render -- ffmpeg -i in.mov out.mp4",
                "token=$(dibs acquire --take 2 --for-pid $$ render) || exit",
                "dibs sem set render 0; dibs wait render   # until all are done" },
  .old_sets = 3,                        /* of acquire and drain */
  OPTIONS(GROUP(options_permits, acquire_arguments, what),
          GROUP(options_taking, acquire_arguments, taking),
          GROUP(options_token, acquire_arguments, token),
          COMMON, SERVER),
  ARGUMENTS(acquire_arguments, .line = LINE_DEFAULTS, .taking = TAKING_DEFAULTS),
  .check = sem_check,
  .run = sem_run,
  .failed = acquire_failed
};
