/* SPDX-License-Identifier: MIT */
/* cli/sem.c - dibs sem: semaphores that are set up before they are used. */
#include <dibs/semaphore.h>

#include <inttypes.h>
#include <stdio.h>

#include "cli/commands.h"
#include "cli/message.h"
#include "cli/session.h"
#include "cli/show.h"
#include "cli/verbs.h"

/* ---- how many permits there are ---- */

static int wrong_kind(session *s, const char *name, dibs_status status)
{
  char shown[600];

  if (status != DIBS_ERR_WRONG_TYPE)
    return session_fault(s, status, name);
  say("%s is in use as something else than a semaphore (see dibs who)",
      printable(name, shown, sizeof(shown)));
  return CODE_CONFIG;
}

/* Prints how many are free now. */
static int print_free(session *s, const arguments *a, uint32_t limit)
{
  dibs_inspection *inspection = NULL;
  dibs_status status = dibs_inspect(s->client, a->operands[0], &inspection);
  uint32_t used;

  if (status != DIBS_OK)
    return session_fault(s, status, a->operands[0]);
  used = inspection->used;
  if (a->wants_json)
    json_print(show_json(inspection, s->is_private));
  else
    printf("%u\n", limit > used ? limit - used : 0);
  dibs_inspection_free(inspection);
  return CODE_OK;
}

static int set_permits(session *s, const arguments *a, uint32_t permits)
{
  dibs_status status = dibs_semaphore_set(s->client, a->operands[0], permits);

  if (status != DIBS_OK)
    return wrong_kind(s, a->operands[0], status);
  return print_free(s, a, permits);
}

static int init(session *s, const arguments *a, uint32_t permits)
{
  uint32_t have = permits;
  dibs_status status =
      dibs_semaphore_set_if_absent(s->client, a->operands[0], permits, &have);
  char shown[600];

  if (status != DIBS_OK)
    return wrong_kind(s, a->operands[0], status);
  if (have == permits)
    return set_permits(s, a, permits);   /* from now on it stays, unused or not */
  printable(a->operands[0], shown, sizeof(shown));
  say("%s has %u permits already; \"dibs sem resize %s %u\" changes that", shown, have,
      shown, permits);
  return CODE_CONFIG;
}

static int resize(session *s, const arguments *a, uint32_t permits)
{
  dibs_inspection *inspection = NULL;
  dibs_status status = dibs_inspect(s->client, a->operands[0], &inspection);
  bool is_there = status == DIBS_OK && inspection->kind == DIBS_KIND_SEMAPHORE;
  bool is_other = status == DIBS_OK && !is_there && inspection->fence != 0;
  char shown[600];

  dibs_inspection_free(inspection);
  if (status != DIBS_OK || is_other)
    return wrong_kind(s, a->operands[0], is_other ? DIBS_ERR_WRONG_TYPE : status);
  if (is_there)
    return set_permits(s, a, permits);
  printable(a->operands[0], shown, sizeof(shown));
  say("%s is no semaphore yet: dibs sem init %s %u", shown, shown, permits);
  return CODE_CONFIG;
}

static int with_permits(const arguments *a,
                        int (*work)(session *s, const arguments *a, uint32_t permits))
{
  int64_t permits = 0;
  session s;
  int code = operand_number("sem", a->operands[1], 0, DIBS_PERMITS_MAX, &permits);

  if (code != 0)
    return code;
  code = session_start(&s, a);
  if (code == 0)
    code = work(&s, a, (uint32_t)permits);
  session_close(&s);
  return code;
}

static int sem_init(const arguments *a)
{
  return with_permits(a, init);
}

static int sem_resize(const arguments *a)
{
  return with_permits(a, resize);
}

static int sem_rm(const arguments *a)
{
  char shown[600];
  dibs_status status;
  session s;
  int code = session_start(&s, a);

  if (code == 0) {
    status = dibs_semaphore_delete(s.client, a->operands[0]);
    if (status == DIBS_BUSY) {
      say("%s is in use; nothing was done", printable(a->operands[0], shown, sizeof(shown)));
      code = CODE_BUSY;
    } else if (status != DIBS_OK) {
      code = wrong_kind(&s, a->operands[0], status);
    }
  }
  session_close(&s);
  return code;
}

/* ---- permits ---- */

static int sem_acquire(const arguments *a)
{
  arguments own = *a;

  if (own.take == 0)
    own.take = 1;
  return command_acquire(&own);
}

static int sem_drain(const arguments *a)
{
  arguments own = *a;

  if (own.take != 0)
    return say_usage("sem", "drain takes all that are free; --take belongs to acquire");
  own.takes_all = true;
  return command_acquire(&own);
}

static int sem_ls(const arguments *a)
{
  arguments own = *a;

  own.kind = KIND_SEMAPHORE;
  return command_status(&own);
}

int command_sem(const arguments *a)
{
  static const verb verbs[] = {
    { "init", "NAME N", 2, 2, sem_init },       { "resize", "NAME N", 2, 2, sem_resize },
    { "acquire", "NAME", 1, 1, sem_acquire },   { "drain", "NAME", 1, 1, sem_drain },
    { "release", "TOKEN", 1, 1, command_release }, { "renew", "TOKEN", 1, 1, command_renew },
    { "wait", "NAME", 1, 1, command_wait },     { "ls", "[PATTERN]", 0, 1, sem_ls },
    { "rm", "NAME", 1, 1, sem_rm },
  };

  return verb_run("sem", verbs, sizeof(verbs) / sizeof(verbs[0]), a);
}
