/* SPDX-License-Identifier: MIT */
/* cli/token.c - dibs renew and dibs release. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/break.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/session.h"
#include "cli/taking.h"
#include "cli/token.h"

static const option_row renew_rows[] = {
  { "ttl", 't', "DUR", DURATION(renew_arguments, ttl_ms, TTL_MS_MIN),
    "make it last DUR from now (30s)" },
  { .name = NULL },
};

/* All of them are of the old spelling of dibs break. */
static const option_row release_rows[] = {
  { "force", 0, NULL, FLAG(release_arguments, is_forced), NULL },
  { "yes", 'y', NULL, FLAG(release_arguments, is_confirmed), NULL },
  { "fence", 0, "N", UINT64(release_arguments, only_fence, 1, UINT64_MAX), NULL },
  { "note", 'm', "TEXT", SHORT_TEXT(release_arguments, note, DIBS_NOTE_MAX), NULL },
  { .name = NULL },
};

static int gone(const command_line *line, dibs_status status)
{
  if (line->is_quiet)
    return CODE_LOST;
  return say_fault(&(message_facts) { .code = CODE_LOST, .status = dibs_status_name(status) },
                   "the lease is gone%s",
                   status == DIBS_TAKEN     ? ": another client has the lock now"
                   : status == DIBS_EXPIRED ? "; no other client had the lock since"
                                            : ": it ended or was broken; the lock is free, "
                                              "and another client may have had it");
}

/* `dibs run` sets an empty DIBS_TOKEN for a lock of several leases. */
static int token_fault(session *s, dibs_status status, const char *verb)
{
  if (*s->line->operands[0] != '\0' || status != DIBS_ERR_ARGUMENT)
    return session_verb_fault(s, status, verb);
  return say_usage(verb,
                   "the token is empty: dibs acquire failed, or the lock has none: on a quorum, "
                   "and of several names in several slots, with another --dialect, or of over "
                   "2048 bytes together; dibs run renews and releases it");
}

static int renew_token(session *s, const void *data)
{
  const renew_arguments *a = data;
  int64_t remaining_ms = 0;
  dibs_status status = dibs_token_renew(s->client, a->line.operands[0], a->ttl_ms, &remaining_ms);

  if (dibs_status_is_lost(status))
    return gone(&a->line, status);
  if (status != DIBS_OK)
    return token_fault(s, status, "renew");
  if (a->line.wants_json)
    json_print(json_pack("{s:i s:I}", "v", 1, "remaining_ms", (json_int_t)remaining_ms));
  else if (a->line.is_verbose)
    printf("%" PRId64 "\n", remaining_ms);
  return CODE_OK;
}

int token_renew(const renew_arguments *a)
{
  return session_with(a, renew_token);
}

static int release_token(session *s, const void *data)
{
  const release_arguments *a = data;
  dibs_status status = dibs_token_release(s->client, a->line.operands[0]);
  dibs_error error = DIBS_ERROR_INIT;

  if (dibs_status_is_lost(status))
    return gone(&a->line, status);
  /* No reply, or none to the first copy, and the lease is gone. */
  if (status == DIBS_UNKNOWN && dibs_client_error(s->client, 0, &error) == DIBS_OK)
    return session_report(&error, "release", NULL);
  return status == DIBS_OK ? CODE_OK : token_fault(s, status, "release");
}

int token_release(const release_arguments *a)
{
  const break_arguments broken = { .line = a->line, .note = a->note,
                                   .only_fence = a->only_fence, .is_confirmed = a->is_confirmed };

  if (a->is_forced)
    return break_name(&broken);
  if (a->is_confirmed || a->only_fence != 0 || a->note != NULL)
    return say_usage("release", "--yes, --fence and --note belong to dibs break NAME");
  return session_with(a, release_token);
}

static int renew_run(void *data)
{
  return token_renew(data);
}

static int release_run(void *data)
{
  return token_release(data);
}

const command renew_command = {
  .name = "renew", .operands = "TOKEN", .summary = "make a lease last longer",
  .operands_min = 1, .operands_max = 1,
  .examples = { "dibs renew \"$token\"", "dibs renew -t 5m \"$token\"",
                "dibs renew -v \"$token\"            # prints the milliseconds left",
                "dibs renew \"$DIBS_TOKEN\" || exit   # inside dibs run; 79: it is lost" },
  OPTIONS({ renew_rows, 0 }, COMMON, SERVER),
  ARGUMENTS(renew_arguments, .line = LINE_DEFAULTS, .ttl_ms = TTL_MS_DEFAULT),
  .run = renew_run
};

const command release_command = {
  .name = "release", .operands = "TOKEN", .summary = "release a lock",
  .operands_min = 1, .operands_max = 1,
  .examples = { "dibs release \"$token\" || echo 'it had been lost'",
                "dibs release \"$DIBS_TOKEN\"   # inside dibs run: the command is stopped",
                "dibs break nightly             # the lock of another client" },
  OPTIONS({ release_rows, 0 }, COMMON, SERVER),
  ARGUMENTS(release_arguments, .line = LINE_DEFAULTS),
  .run = release_run
};
