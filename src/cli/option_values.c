/* SPDX-License-Identifier: MIT */
/* cli/option_values.c - what each option means, and which values it takes. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dibs/dibs.h>

#include "cli/durations.h"
#include "cli/message.h"
#include "cli/options.h"

#define TTL_MS_DEFAULT 30000
#define TTL_MS_MIN 500 /* room for a renewal, a signal and a kill, one after another */

void arguments_init(arguments *a)
{
  memset(a, 0, sizeof(*a));
  a->database = -1;
  a->ttl_ms = TTL_MS_DEFAULT;
  a->conflict_code = CODE_BUSY;
  a->kill_after_ms = 5000;
  a->lost_signal = SIGTERM;
  a->status_fd = -1;
  a->interval_ms = 1000;
}

/* ---- values ---- */

static int bad_value(const command *c, const option_row *row, const char *value,
                     const char *allowed)
{
  char shown[200];

  printable(value, shown, sizeof(shown));
  return say_usage(c->name, "--%s: \"%s\" is not %s", row->name, shown, allowed);
}

static int read_duration(const command *c, const option_row *row, const char *value,
                         int32_t least_ms, int32_t *ret_ms)
{
  char least[DURATION_SIZE], allowed[160];
  int32_t ms;

  if (duration_read(value, &ms) && ms >= least_ms) {
    *ret_ms = ms;
    return 0;
  }
  duration_as_span(least_ms, least);
  snprintf(allowed, sizeof(allowed),
           "a time from %s to 24d; write 500ms, 10s, 5m or 1h30m "
           "(a bare number is seconds)",
           least_ms == 0 ? "0" : least);
  return bad_value(c, row, value, allowed);
}

static int read_number(const command *c, const option_row *row, const char *value,
                       uint64_t least, uint64_t most, uint64_t *ret_number)
{
  char allowed[80];
  char *end;
  unsigned long long number;

  errno = 0;
  number = strtoull(value, &end, 10);
  if (*value >= '0' && *value <= '9' && *end == '\0' && errno == 0 && number >= least &&
      number <= most) {
    *ret_number = number;
    return 0;
  }
  snprintf(allowed, sizeof(allowed), "a number from %" PRIu64 " to %" PRIu64, least,
           most);
  return bad_value(c, row, value, allowed);
}

static int read_int(const command *c, const option_row *row, const char *value, int least,
                    int most, int *ret_number)
{
  uint64_t number = 0;
  int code = read_number(c, row, value, (uint64_t)least, (uint64_t)most, &number);

  if (code == 0)
    *ret_number = (int)number;
  return code;
}

static int read_word(const command *c, const option_row *row, const char *value,
                     const char *const *words, const int *meanings, int *ret_meaning)
{
  char allowed[160] = "one of";

  for (size_t i = 0; words[i] != NULL; i++) {
    size_t used = strlen(allowed);

    if (strcmp(words[i], value) == 0) {
      *ret_meaning = meanings[i];
      return 0;
    }
    snprintf(allowed + used, sizeof(allowed) - used, " %s", words[i]);
  }
  return bad_value(c, row, value, allowed);
}

static int read_signal(const command *c, const option_row *row, const char *value,
                       int *ret_signal)
{
  static const char *const words[] = { "TERM", "HUP",  "INT",  "USR1",
                                       "USR2", "QUIT", "KILL", "ignore", NULL };
  static const int meanings[] = { SIGTERM, SIGHUP,  SIGINT,  SIGUSR1,
                                  SIGUSR2, SIGQUIT, SIGKILL, LOST_SIGNAL_IGNORE };

  return read_word(c, row, strncmp(value, "SIG", 3) == 0 ? value + 3 : value, words,
                   meanings, ret_signal);
}

/* ---- one option ---- */

static int set_dialect(const command *c, const option_row *row, const char *value,
                       arguments *a)
{
  static const char *const words[] = { "native", "redisson", "spring", "plain", NULL };
  static const int meanings[] = { DIBS_DIALECT_NATIVE, DIBS_DIALECT_REDISSON,
                                  DIBS_DIALECT_SPRING, DIBS_DIALECT_PLAIN };
  int meaning = 0, code = read_word(c, row, value, words, meanings, &meaning);

  a->dialect = (dibs_dialect)meaning;
  a->dialect_word = value;
  return code;
}

static int set_connection(const command *c, const option_row *row, const char *value,
                          arguments *a)
{
  switch (row->id) {
  case OPTION_URL:
    if (a->url_count == QUORUM_MAX)
      return say_usage(c->name, "--url: a quorum is of at most %d servers", QUORUM_MAX);
    a->urls[a->url_count++] = value;
    return 0;
  case OPTION_DATABASE: return read_int(c, row, value, 0, 1000000, &a->database);
  case OPTION_USER: a->user = value; return 0;
  case OPTION_ASKPASS: a->wants_askpass = true; return 0;
  case OPTION_PASS_FILE: a->pass_file = value; return 0;
  case OPTION_CACERT: a->cacert = value; return 0;
  case OPTION_CERT: a->cert = value; return 0;
  case OPTION_KEY: a->key = value; return 0;
  case OPTION_SNI: a->sni = value; return 0;
  case OPTION_PREFIX: a->prefix = value; return 0;
  case OPTION_DIALECT: return set_dialect(c, row, value, a);
  case OPTION_REGISTRY: a->registry = value; return 0;
  case OPTION_CONNECT_TIMEOUT:
    return read_duration(c, row, value, 1, &a->connect_timeout_ms);
  case OPTION_CONFIG: a->config = value; return 0;
  case OPTION_LOCAL: a->wants_local = true; return 0;
  case OPTION_NO_LOCAL: a->refuses_local = true; return 0;
  default: return -1;
  }
}

static int set_taking(const command *c, const option_row *row, const char *value,
                      arguments *a)
{
  static const char *const modes[] = { "auto", "plain", "json", "none", NULL };
  static const int meanings[] = { PROGRESS_AUTO, PROGRESS_PLAIN, PROGRESS_JSON,
                                  PROGRESS_NONE };
  int code, meaning = 0;

  switch (row->id) {
  case OPTION_NONBLOCK: a->is_nonblocking = true; return 0;
  case OPTION_WAIT:
    code = read_duration(c, row, value, 0, &a->wait_ms);
    /* The library's 0 is "for ever"; flock's -w 0 is "not at all". */
    if (code == 0 && a->wait_ms == 0)
      a->is_nonblocking = true;
    return code;
  case OPTION_CONFLICT_CODE: return read_int(c, row, value, 0, 255, &a->conflict_code);
  case OPTION_SKIP_OK: a->busy_is_fine = true; return 0;
  case OPTION_ALWAYS: return 0;
  case OPTION_FAIR: a->flavour |= DIBS_LOCK_FAIR; return 0;
  case OPTION_SPIN: a->flavour |= DIBS_LOCK_SPIN; return 0;
  case OPTION_FENCED: a->flavour |= DIBS_LOCK_FENCED; return 0;
  case OPTION_TTL:
    a->has_ttl = true;
    return read_duration(c, row, value, TTL_MS_MIN, &a->ttl_ms);
  case OPTION_MAX_HOLD: return read_duration(c, row, value, TTL_MS_MIN, &a->max_hold_ms);
  case OPTION_REASON:
    if (strlen(value) > DIBS_NOTE_MAX)
      return say_usage(c->name, "--reason: longer than %d bytes", DIBS_NOTE_MAX);
    a->reason = value;
    return 0;
  case OPTION_PROGRESS:
    code = read_word(c, row, value, modes, meanings, &meaning);
    a->progress = (enum progress)meaning;
    return code;
  default: return -1;
  }
}

static int set_permits(const command *c, const option_row *row, const char *value,
                       uint64_t least, uint32_t *ret_permits)
{
  uint64_t number = 0;
  int code = read_number(c, row, value, least, DIBS_PERMITS_MAX, &number);

  if (code == 0)
    *ret_permits = (uint32_t)number;
  return code;
}

static int set_kind(const command *c, const option_row *row, const char *value,
                    arguments *a)
{
  switch (row->id) {
  case OPTION_SHARED: a->sharing = SHARING_READ; return 0;
  case OPTION_EXCLUSIVE: a->sharing = SHARING_WRITE; return 0;
  case OPTION_PERMITS:
    a->has_permits = true;
    return set_permits(c, row, value, 1, &a->permits);
  case OPTION_TAKE: return set_permits(c, row, value, 1, &a->take);
  case OPTION_PLAIN_PERMITS: a->is_plain = true; return 0;
  case OPTION_MULTI: a->multi = value; return 0;
  default: return -1;
  }
}

static int set_elect(const command *c, const option_row *row, const char *value,
                     arguments *a)
{
  switch (row->id) {
  case OPTION_VALUE:
    if (strlen(value) > DIBS_VALUE_MAX)
      return say_usage(c->name, "--value: longer than %d bytes", DIBS_VALUE_MAX);
    a->value = value;
    return 0;
  case OPTION_OBSERVE: a->only_observes = true; return 0;
  case OPTION_LOOP: a->goes_on = true; return 0;
  case OPTION_RESIGN: a->resigns = true; return 0;
  case OPTION_ON_ELECTED: a->on_elected = value; return 0;
  case OPTION_ON_DEPOSED: a->on_deposed = value; return 0;
  default: return -1;
  }
}

static int set_meeting(const command *c, const option_row *row, const char *value,
                       arguments *a)
{
  uint64_t number = 0;
  int code;

  switch (row->id) {
  case OPTION_PER_CLIENT: a->is_per_client = true; return 0;
  case OPTION_COUNT_ID:
    if (*value == '\0' || strlen(value) > 128)
      return bad_value(c, row, value, "an id of 1 to 128 bytes");
    a->count_id = value;
    return 0;
  case OPTION_PARTIES:
    code = read_number(c, row, value, 1, 10000, &number);
    a->parties = (uint32_t)number;
    return code;
  default: return -1;
  }
}

static int set_run(const command *c, const option_row *row, const char *value,
                   arguments *a)
{
  switch (row->id) {
  case OPTION_COMMAND: a->shell_text = value; return 0;
  case OPTION_MIN_HOLD: return read_duration(c, row, value, 0, &a->min_hold_ms);
  case OPTION_ON_LOST: return read_signal(c, row, value, &a->lost_signal);
  case OPTION_KILL_AFTER: return read_duration(c, row, value, 0, &a->kill_after_ms);
  case OPTION_FOREGROUND: a->is_foreground = true; return 0;
  case OPTION_QUIET_ON_SUCCESS: a->is_quiet_on_success = true; return 0;
  case OPTION_STATUS_FILE: a->status_file = value; return 0;
  case OPTION_STATUS_FD: return read_int(c, row, value, 0, 1000000, &a->status_fd);
  case OPTION_NOTIFY: a->wants_notify = true; return 0;
  default: return -1;
  }
}

static int set_looking(const command *c, const option_row *row, const char *value,
                       arguments *a)
{
  static const char *const kinds[] = { "lock",  "rw",      "semaphore", "latch",
                                       "barrier", "election", NULL };
  static const int filters[] = { KIND_LOCK,  KIND_RW,      KIND_SEMAPHORE,
                                 KIND_LATCH, KIND_BARRIER, KIND_ELECTION };
  static const char *const keys[] = { "name", "held", "wait", NULL };
  static const int orders[] = { ORDER_NAME, ORDER_HELD, ORDER_WAIT };
  int code, meaning = 0;

  switch (row->id) {
  case OPTION_ONLY_HELD: a->only_held = true; return 0;
  case OPTION_ONLY_WAITING: a->only_waiting = true; return 0;
  case OPTION_KIND:
    code = read_word(c, row, value, kinds, filters, &meaning);
    a->kind = (enum kind_filter)meaning;
    return code;
  case OPTION_SORT:
    code = read_word(c, row, value, keys, orders, &meaning);
    a->order = (enum status_order)meaning;
    return code;
  case OPTION_GRAPH: a->wants_graph = true; return 0;
  case OPTION_DOT: a->wants_dot = true; return 0;
  case OPTION_WATCH:
    a->watch_ms = 2000;
    return value == NULL ? 0 : read_duration(c, row, value, 100, &a->watch_ms);
  case OPTION_UNTIL_FREE: a->goal = UNTIL_FREE; return 0;
  case OPTION_UNTIL_HELD: a->goal = UNTIL_HELD; return 0;
  case OPTION_UNTIL_ZERO: a->goal = UNTIL_ZERO; return 0;
  case OPTION_UNTIL_LEADER: a->goal = UNTIL_LEADER; return 0;
  default: return -1;
  }
}

static int set_examination(const command *c, const option_row *row, const char *value,
                           arguments *a)
{
  (void)c;
  switch (row->id) {
  case OPTION_MODE: a->modes = value; return 0;
  case OPTION_LATCHES: a->latches = value; return 0;
  case OPTION_GUARDED: a->guarded = value; return 0;
  case OPTION_LIMITERS: a->limiters = value; return 0;
  case OPTION_DATA: a->data = value; return 0;
  case OPTION_LOCKS: a->locks = value; return 0;
  case OPTION_FUNCTIONS: a->wants_functions = true; return 0;
  case OPTION_SENTINEL: a->wants_sentinel = true; return 0;
  case OPTION_STRICT: a->is_strict = true; return 0;
  default: return -1;
  }
}

static int set_other(const command *c, const option_row *row, const char *value,
                     arguments *a)
{
  uint64_t number = 0;
  int code = 0;

  switch (row->id) {
  case OPTION_QUIET: a->is_quiet = true; break;
  case OPTION_VERBOSE: a->is_verbose = true; break;
  case OPTION_JSON: a->wants_json = true; break;
  case OPTION_FOR_PID:
    code = read_number(c, row, value, 1, INT32_MAX, &number);
    a->for_pid = (int64_t)number;
    break;
  case OPTION_NO_RENEW: a->is_not_renewed = true; break;
  case OPTION_SHELL: a->wants_shell = true; break;
  case OPTION_FORCE: a->is_forced = true; break;
  case OPTION_YES: a->is_confirmed = true; break;
  case OPTION_FENCE: return read_number(c, row, value, 1, UINT64_MAX, &a->only_fence);
  case OPTION_COUNT:
    code = read_number(c, row, value, 1, INT32_MAX, &number);
    a->count = (int64_t)number;
    break;
  case OPTION_INTERVAL: return read_duration(c, row, value, 10, &a->interval_ms);
  case OPTION_IDLE: return read_duration(c, row, value, 1000, &a->idle_ms);
  case OPTION_AOF: a->wants_aof = true; break;
  default: return -1;
  }
  return code;
}

int option_set(const command *c, const option_row *row, const char *value,
                      arguments *a)
{
  static int (*const setters[])(const command *c, const option_row *row,
                                const char *value, arguments *a) = {
    set_connection, set_taking, set_kind, set_run, set_looking, set_elect, set_meeting,
    set_examination, set_other
  };
  int code = -1;

  if (row->id == OPTION_REFUSED)
    return say_usage(c->name, "--%s: %s", row->name, row->help);
  for (size_t i = 0; i < sizeof(setters) / sizeof(setters[0]) && code == -1; i++)
    code = setters[i](c, row, value, a);
  return code;
}
