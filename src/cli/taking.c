/* SPDX-License-Identifier: MIT */
/* cli/taking.c - the options of all subcommands that take something: what to take, and how. */
#include "cli/taking.h"

#include <dibs/dibs.h>

#include <string.h>

#include "cli/durations.h"
#include "cli/message.h"

#define REPLICAS_MAX 100

static const option_choice majority[] = { { "majority", DIBS_REPLICAS_MAJORITY }, { NULL, 0 } };
static const option_choice all[] = { { "all", 0 }, { NULL, 0 } };

/* "majority", or a number. */
static int set_replicas(const option_given *g, void *options)
{
  if (strcmp(g->value, majority->word) != 0)
    return option_int(g, options);
  ((kind_options *)options)->replicas = DIBS_REPLICAS_MAJORITY;
  return 0;
}

/* "all", or a number. */
static int set_take(const option_given *g, void *options)
{
  kind_options *k = options;

  k->takes_all = strcmp(g->value, all->word) == 0;
  k->take = 0;
  return k->takes_all ? 0 : option_uint32(g, options);
}

const option_row options_kind[] = {
  { "shared", 's', NULL, CONSTANT(kind_options, sharing, SHARING_READ),
    "a read/write lock, for reading" },
  { "write", 0, NULL, CONSTANT(kind_options, sharing, SHARING_WRITE),
    "a read/write lock, for writing" },
  /* Until 0.5 it was --write. It will be the default, another lock of the same name: not before
   * every script that has it has been seen to fail. */
  { "exclusive", 'x', NULL, REFUSED,
    "it was the writer of a read/write lock, which is --write now; the exclusive lock is the "
    "default, and \"dibs flock -x\" is the lock of flock -x" },
  { NULL, 'e', NULL, SPELLING, NULL },
  { "permits", 'j', "N", UINT32(kind_options, permits, 1, DIBS_PERMITS_MAX),
    "a semaphore with N permits; take one" },
  { "take", 0, "M", set_take, OPTION_AT(uint32_t, kind_options, take), 1, DIBS_PERMITS_MAX, all,
    "take M permits at once; all: all that are free now" },
  { "multi", 0, "A,B,C", TEXT(kind_options, multi),
    "several locks, all or none; no NAME then" },
  { "replicas", 0, "N", set_replicas, OPTION_AT(int, kind_options, replicas), 1, REPLICAS_MAX,
    majority, "only with the grant at N replicas, or majority" },
  { "fsync", 0, NULL, FLAG(kind_options, wants_fsync),
    "with --replicas: and on disk there" },
  { .name = NULL },
};

const option_row options_plain[] = {
  { "plain-permits", 0, NULL, FLAG(kind_options, is_plain),
    "redisson: permits of a plain RSemaphore, without leases" },
  { .name = NULL },
};

const option_row options_permits[] = {
  { "permits", 'j', "N", UINT32(kind_options, permits, 1, DIBS_PERMITS_MAX),
    "acquire: set N permits if none are set yet" },
  { "take", 0, "M", set_take, OPTION_AT(uint32_t, kind_options, take), 1, DIBS_PERMITS_MAX, all,
    "take M permits at once (1)" },
  { .name = NULL },
};

static const option_choice progress_choices[] = {
  { "auto", PROGRESS_AUTO }, { "plain", PROGRESS_PLAIN }, { "json", PROGRESS_JSON },
  { "none", PROGRESS_NONE }, { NULL, 0 },
};

const option_row options_taking[] = {
  { "nonblock", 'n', NULL, FLAG(taking_options, wait.is_none),
    "do not wait: exit 75 when another client has it" },
  { "wait", 'w', "DUR", WAIT(taking_options, wait),
    "wait at most DUR (default: forever), then exit 75" },
  { "conflict-exit-code", 'E', "N", INT(taking_options, conflict_code, 0, 255),
    "exit N instead of 75" },
  { "skip-ok", 0, NULL, FLAG(taking_options, busy_is_fine),
    "exit 0 instead of 75; refused by acquire" },
  { "fair", 0, NULL, BIT(taking_options, kind_flag, DIBS_LOCK_FAIR),
    "first come, first served (native locks always are)" },
  { "spin", 0, NULL, BIT(taking_options, kind_flag, DIBS_LOCK_SPIN),
    "dialect redisson: RSpinLock; no release message, waiters poll" },
  { "fenced", 0, NULL, BIT(taking_options, kind_flag, DIBS_LOCK_FENCED),
    "dialect redisson: RFencedLock, which counts fences in Java too" },
  { "ttl", 't', "DUR", DURATION(taking_options, ttl_ms, TTL_MS_MIN),
    "the lease: how long the lock outlives a dead holder (30s)" },
  { "max-hold", 0, "DUR", DURATION(taking_options, max_hold_ms, TTL_MS_MIN),
    "end the lock after DUR; a command is stopped before that" },
  { "note", 'm', "TEXT", SHORT_TEXT(taking_options, note, DIBS_NOTE_MAX),
    "why, shown by dibs who and dibs status" },
  { "progress", 0, "MODE", ONE_OF(taking_options, progress, progress_choices),
    "while waiting: auto, plain, json or none" },
  { "scope", 0, NULL, REFUSED, "systemd scopes are not in this version" },
  { "no-fork", 'F', NULL, REFUSED,
    "dibs has to stay beside the command to renew the lock and to stop it in time" },
  { .name = NULL },
};

/* ---- values that contradict each other ---- */

int taking_check(const char *subcommand, taking_options *t, command_line *line)
{
  line->connection.note = t->note;
  /* A hard cap below the default lease shortens the lease; below a given one it is a
   * contradiction. */
  if (t->max_hold_ms != 0 && t->max_hold_ms < t->ttl_ms) {
    char max_hold[DURATION_SIZE], ttl[DURATION_SIZE];

    duration_as_span(t->max_hold_ms, max_hold);
    duration_as_span(t->ttl_ms, ttl);
    return say_usage(subcommand, "--max-hold %s must not be shorter than --ttl %s", max_hold,
                     ttl);
  }
  if (t->ttl_ms == 0)
    t->ttl_ms = t->max_hold_ms != 0 && t->max_hold_ms < TTL_MS_DEFAULT ? t->max_hold_ms
                                                                       : TTL_MS_DEFAULT;
  return 0;
}

int kind_check(const char *subcommand, const kind_options *k)
{
  if (k->wants_fsync && k->replicas == 0)
    return say_usage(subcommand, "--fsync is about replicas: add --replicas N");
  if (k->is_plain && k->permits == 0 && k->take == 0 && !k->takes_all)
    return say_usage(subcommand,
                     "--plain-permits is about a semaphore: add --permits N or --take M");
  if (k->permits != 0 && k->take > k->permits)
    return say_usage(subcommand, "--take %u is more than --permits %u", k->take, k->permits);
  return 0;
}
