/* SPDX-License-Identifier: MIT */
/* api/options.c - checks options and fills in defaults. */
#include "api/options.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include <dibs/semaphore.h>

#include "base/record_size.h"
#include "drive/drive.h"
#include "lock/lease.h"

#define TTL_MIN_MS 100
#define PPM_MAX 500000
#define DATABASE_MAX 1000000
#define REPORT_MIN_MS 1000
#define HISTORY_MOST 1000000
#define HANDOVERS_MAX 1000000

#define CLIENT_FLAGS \
  (DIBS_CLIENT_NO_THREAD | DIBS_CLIENT_NO_LOCAL | DIBS_CLIENT_PROCESS_CALLBACKS | \
   DIBS_CLIENT_DETECT_DEADLOCK | DIBS_CLIENT_LOCAL)
#define REPLICAS_MAX 100
#define REPLICAS_WAIT_MS 1000
#define KIND_FLAGS (DIBS_LOCK_FAIR | DIBS_LOCK_SPIN | DIBS_LOCK_FENCED)
#define LOCK_FLAGS \
  (DIBS_LOCK_FIXED | DIBS_LOCK_NO_OWNER | DIBS_LOCK_NO_REENTRY | DIBS_LOCK_FSYNC | \
   DIBS_LOCK_REPORT | KIND_FLAGS | DIBS_PERMITS_PLAIN)

/* ---- pieces ---- */

bool options_copy(const void *from, void *known, size_t known_size, const char *name,
                  text *why)
{
  const char *bytes = from;
  size_t size;

  memcpy(&size, from, sizeof(size));
  if (!record_size_is_whole(size)) {
    text_format(why, "%s.size is %zu; start from its macro, DIBS_..._INIT or DIBS_TARGET(), "
                     "which sets the size", name, size);
    return false;
  }
  for (size_t i = known_size; i < size; i++)
    if (bytes[i] != 0) {
      text_format(why, "%s has a field of a newer version: byte %zu is set, and this library knows "
                       "%zu; use a newer library, or leave the new field zero",
                  name, i, known_size);
      return false;
    }
  memset(known, 0, known_size);
  memcpy(known, from, size < known_size ? size : known_size);
  memcpy(known, &known_size, sizeof(known_size));
  return true;
}

bool option_check(const char *name, int64_t value, int64_t low, int64_t high, text *why)
{
  if (value == 0 || (value >= low && value <= high))
    return true;
  text_format(why, "%s is %" PRId64 "; allowed are %" PRId64 " to %" PRId64
                   ", and 0 for the default", name, value, low, high);
  return false;
}

bool options_ms_check(const char *name, int32_t ms, text *why)
{
  return option_check(name, ms, 1, DIBS_MS_MAX, why);
}

bool options_wait_check(int32_t wait_ms, text *why)
{
  if (wait_ms == DIBS_FOREVER || (wait_ms >= 0 && wait_ms <= DIBS_MS_MAX))
    return true;
  text_format(why, "wait_ms is %d; allowed are 0 (does not wait) to %d, and DIBS_FOREVER", wait_ms,
              DIBS_MS_MAX);
  return false;
}

static bool flags_check(uint32_t flags, uint32_t known, text *why)
{
  static const char digits[] = "0123456789abcdef";
  char hex[11] = "0x00000000";
  uint32_t strange = flags & ~known;

  if (strange == 0)
    return true;
  for (int i = 0; i < 8; i++)
    hex[9 - i] = digits[strange >> (4 * i) & 15];
  text_format(why, "flags has bits that this library does not know: %s", hex);
  return false;
}

static bool note_check(const char *note, text *why)
{
  if (note == NULL || strnlen(note, DIBS_NOTE_MAX + 1) <= DIBS_NOTE_MAX)
    return true;
  text_add(why, "note is longer than 256 bytes");
  return false;
}

/* What the field at `offset` frees, of options that have it. */
static dibs_free_callback free_at(const void *options, size_t offset)
{
  dibs_free_callback found = NULL;
  size_t size;

  memcpy(&size, options, sizeof(size));
  if (size >= offset + sizeof(found))
    memcpy(&found, (const char *)options + offset, sizeof(found));
  return found;
}

watch_data lock_options_data(const dibs_lock_options *options)
{
  watch_data over = { .lost = { .free = NULL } };

  if (options == NULL)
    return over;
  over.lost.free = free_at(options, offsetof(dibs_lock_options, on_lost_free));
  if (over.lost.free != NULL)
    over.lost.data = options->on_lost_data;
  over.change.free = free_at(options, offsetof(dibs_lock_options, on_change_free));
  if (over.change.free != NULL)
    over.change.data = options->on_change_data;
  return over;
}

callback_data client_options_data(const dibs_options *options)
{
  callback_data over = { .free = NULL };

  if (options != NULL)
    over.free = free_at(options, offsetof(dibs_options, on_event_free));
  if (over.free != NULL)
    over.data = options->on_event_data;
  return over;
}

/* ---- dibs_options ---- */

static bool allocator_check(const dibs_allocator *a, text *why)
{
  if (a == NULL || (a->allocate != NULL && a->reallocate != NULL && a->release != NULL))
    return true;
  text_add(why, "allocator has a NULL function; give all three or none");
  return false;
}

static bool local_check(uint32_t flags, text *why)
{
  const uint32_t both = DIBS_CLIENT_LOCAL | DIBS_CLIENT_NO_LOCAL;

  if ((flags & both) != both)
    return true;
  text_add(why, "DIBS_CLIENT_LOCAL and DIBS_CLIENT_NO_LOCAL exclude each other; choose one");
  return false;
}

static bool password_check(const dibs_options *o, text *why)
{
  if (o->password == NULL || o->password_file == NULL)
    return true;
  text_add(why, "password and password_file are both given; choose one");
  return false;
}

static bool report_check(const dibs_options *o, text *why)
{
  return (o->report_ms == DIBS_REPORT_OFF ||
          option_check("report_ms", o->report_ms, REPORT_MIN_MS, DIBS_MS_MAX, why)) &&
         option_check("history", (int64_t)o->history, DIBS_HISTORY_NOTABLE, DIBS_HISTORY_OFF,
                      why) &&
         option_check("history_max", o->history_max, 1, HISTORY_MOST, why) &&
         options_ms_check("history_over_ms", o->history_over_ms, why);
}

static bool client_values_check(const dibs_options *o, text *why)
{
  return flags_check(o->flags, CLIENT_FLAGS, why) && local_check(o->flags, why) &&
         options_ms_check("connect_timeout_ms", o->connect_timeout_ms, why) &&
         options_ms_check("command_timeout_ms", o->command_timeout_ms, why) &&
         options_ms_check("close_timeout_ms", o->close_timeout_ms, why) &&
         options_ms_check("renew_every_ms", o->renew_every_ms, why) &&
         option_check("clock_rate_error_ppm", o->clock_rate_error_ppm, 1, PPM_MAX, why) &&
         option_check("local_handovers_max", o->local_handovers_max, -1, HANDOVERS_MAX, why) &&
         options_ms_check("local_handover_ms", o->local_handover_ms, why) &&
         options_ms_check("quarantine_ms", o->quarantine_ms, why) &&
         option_check("database", o->database, DIBS_DATABASE_ZERO, DATABASE_MAX, why) &&
         option_check("names_max", o->names_max, 1, INT32_MAX, why) &&
         option_check("degrade", (int64_t)o->degrade, DIBS_DEGRADE_FAIL, DIBS_DEGRADE_LOCAL,
                      why) &&
         option_check("dialect", (int64_t)o->dialect, DIBS_DIALECT_NATIVE, DIALECT_COUNT, why) &&
         password_check(o, why) && report_check(o, why) &&
         note_check(o->note, why) && allocator_check(o->allocator, why);
}

dibs_status client_options_read(const dibs_options *options, dibs_options *ret_options,
                                text *why)
{
  dibs_options known = DIBS_OPTIONS_INIT;

  if (options != NULL && !options_copy(options, &known, sizeof(known), "dibs_options", why))
    return DIBS_ERR_ARGUMENT;
  if (!client_values_check(&known, why))
    return DIBS_ERR_ARGUMENT;
  *ret_options = known;
  return DIBS_OK;
}

/* ---- dibs_lock_options ---- */

size_t owner_of_thread(char ret_owner[OWNER_KEY_MAX])
{
  uint64_t number = drive_thread();

  ret_owner[0] = 't';
  memcpy(ret_owner + 1, &number, sizeof(number));
  return sizeof(number) + 1;
}

static bool owner_read(const dibs_lock_options *o, bool is_blocking, lock_call *call, text *why)
{
  lock_spec *spec = &call->spec;

  spec->owner = call->owner;
  spec->owner_size = 0;
  if (o->owner == NULL && o->owner_size > 0) {
    text_add(why, "owner_size is set, and owner is NULL");
    return false;
  }
  if (o->owner != NULL && (o->owner_size < 1 || o->owner_size > DIBS_OWNER_MAX)) {
    text_format(why, "owner_size is %zu; allowed are 1 to 128 bytes", o->owner_size);
    return false;
  }
  if (o->owner != NULL && (o->flags & DIBS_LOCK_NO_OWNER) != 0) {
    text_add(why, "owner is set together with DIBS_LOCK_NO_OWNER; choose one");
    return false;
  }
  if (o->owner != NULL) {
    call->owner[0] = 'k';
    memcpy(call->owner + 1, o->owner, o->owner_size);
    spec->owner_size = o->owner_size + 1;
  } else if (is_blocking && (o->flags & DIBS_LOCK_NO_OWNER) == 0) {
    spec->owner_size = owner_of_thread(call->owner);
  }
  return true;
}

/* A renewal may come a tenth of its time late: lease_renew_at(). */
static bool renewals_check(const dibs_lock_options *o, const client_times *times, text *why)
{
  span every = span_ms(times->renew_every_ms);
  instant end = lease_end((instant){ 0 }, span_ms(o->ttl_ms), times->clock_rate_error_ppm);

  if (every.ns > span_ms(o->ttl_ms).ns / 2) {
    text_format(why, "ttl_ms is %d, less than twice the client's renew_every_ms, %d", o->ttl_ms,
                times->renew_every_ms);
    return false;
  }
  if (every.ns / 10 * 11 < end.ns)
    return true;
  text_format(why, "ttl_ms is %d, of which clock_rate_error_ppm, %d, leaves %d ms; the client's "
                   "renew_every_ms, %d, and a tenth more must be less", o->ttl_ms,
              times->clock_rate_error_ppm, (int)(end.ns / 1000000), times->renew_every_ms);
  return false;
}

static bool times_check(const dibs_lock_options *o, const client_times *times, text *why)
{
  if (o->max_hold_ms != 0 && o->max_hold_ms < o->ttl_ms) {
    text_format(why, "max_hold_ms is %d, shorter than ttl_ms, %d; make it at least as long, or 0 "
                     "for no limit", o->max_hold_ms, o->ttl_ms);
    return false;
  }
  return (o->flags & DIBS_LOCK_FIXED) != 0 || renewals_check(o, times, why);
}

static bool warning_check(const dibs_lock_options *o, text *why)
{
  if (o->warn_ms == 0)
    return true;
  if (!options_ms_check("warn_ms", o->warn_ms, why))
    return false;
  if (o->on_change == NULL) {
    text_add(why, "warn_ms is set, and on_change, which reports it, is NULL");
    return false;
  }
  if (o->warn_ms <= o->ttl_ms)
    return true;
  text_format(why, "warn_ms is %d, longer than ttl_ms, %d; it counts back from the end of the "
                   "lease", o->warn_ms, o->ttl_ms);
  return false;
}

static bool linger_check(const dibs_lock_options *o, text *why)
{
  if (o->linger_ms == 0)
    return true;
  if ((o->flags & DIBS_LOCK_FIXED) != 0) {
    text_add(why, "linger_ms is set together with DIBS_LOCK_FIXED; choose one");
    return false;
  }
  return o->linger_ms == DIBS_LINGER_AUTO ||
         options_ms_check("linger_ms", o->linger_ms, why);
}

static bool replicas_check(const dibs_lock_options *o, text *why)
{
  if (!option_check("min_replicas", o->min_replicas, DIBS_REPLICAS_MAJORITY, REPLICAS_MAX, why) ||
      !options_ms_check("replicas_wait_ms", o->replicas_wait_ms, why))
    return false;
  if (o->min_replicas != 0 || (o->flags & (DIBS_LOCK_FSYNC | DIBS_LOCK_REPORT)) == 0)
    return true;
  text_add(why, "DIBS_LOCK_FSYNC and DIBS_LOCK_REPORT need min_replicas, and it is 0");
  return false;
}

/* A lease that never ends has no end to report. */
static bool counter_read(const dibs_lock_options *o, lock_spec *spec, text *why)
{
  bool is_fixed = (o->flags & DIBS_LOCK_FIXED) != 0;

  if (!kind_has_permits(spec->kind)) {
    text_add(why, "DIBS_PERMITS_PLAIN is for permits only");
    return false;
  }
  spec->kind = LOCK_COUNTER;
  if (!is_fixed && o->max_hold_ms == 0 && o->warn_ms == 0)
    return true;
  text_format(why, "DIBS_PERMITS_PLAIN is set together with %s, and such permits have no lease; "
                   "choose one",
              is_fixed ? "DIBS_LOCK_FIXED" : o->max_hold_ms != 0 ? "max_hold_ms" : "warn_ms");
  return false;
}

static bool exclusive_read(lock_kind kind, lock_spec *spec, text *why)
{
  if (spec_is_mutex(spec)) {
    spec->kind = kind;
    return true;
  }
  text_add(why, "DIBS_LOCK_FAIR, DIBS_LOCK_SPIN and DIBS_LOCK_FENCED are for dibs_lock() and its "
                "like only");
  return false;
}

/* The flags make an exclusive lock, or permits, a more special one. */
static bool kind_read(const dibs_lock_options *o, lock_spec *spec, text *why)
{
  switch (o->flags & (KIND_FLAGS | DIBS_PERMITS_PLAIN)) {
  case 0: return true;
  case DIBS_PERMITS_PLAIN: return counter_read(o, spec, why);
  case DIBS_LOCK_FAIR: return exclusive_read(LOCK_FAIR, spec, why);
  case DIBS_LOCK_SPIN: return exclusive_read(LOCK_SPIN, spec, why);
  case DIBS_LOCK_FENCED: return exclusive_read(LOCK_FENCED, spec, why);
  default: break;
  }
  text_add(why, "DIBS_LOCK_FAIR, DIBS_LOCK_SPIN, DIBS_LOCK_FENCED and DIBS_PERMITS_PLAIN exclude "
                "each other; choose one");
  return false;
}

static void spec_fill(const dibs_lock_options *o, lock_spec *spec)
{
  spec->ttl = span_ms(o->ttl_ms);
  spec->max_hold = span_ms(o->max_hold_ms);
  spec->warn = span_ms(o->warn_ms);
  spec->linger = o->linger_ms == DIBS_LINGER_AUTO ? LINGER_AUTO : span_ms(o->linger_ms);
  spec->is_fixed = (o->flags & DIBS_LOCK_FIXED) != 0;
  spec->no_reentry = (o->flags & DIBS_LOCK_NO_REENTRY) != 0;
  spec->min_replicas = o->min_replicas;
  spec->replicas_wait = span_ms(o->replicas_wait_ms != 0 ? o->replicas_wait_ms
                                                         : REPLICAS_WAIT_MS);
  spec->wants_fsync = (o->flags & DIBS_LOCK_FSYNC) != 0;
  spec->reports_replicas = (o->flags & DIBS_LOCK_REPORT) != 0;
  spec->note = o->note;
}

dibs_status lock_options_read(const dibs_lock_options *options, bool is_blocking,
                              const client_times *times, lock_call *call, text *why)
{
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;

  if (options != NULL && !options_copy(options, &o, sizeof(o), "dibs_lock_options", why))
    return DIBS_ERR_ARGUMENT;
  if (!flags_check(o.flags, LOCK_FLAGS, why) ||
      !options_wait_check(o.wait_ms, why) ||
      !option_check("ttl_ms", o.ttl_ms, TTL_MIN_MS, DIBS_MS_MAX, why) ||
      !options_ms_check("max_hold_ms", o.max_hold_ms, why) || !note_check(o.note, why) ||
      !option_check("reserved", o.reserved, 0, 0, why) ||
      !linger_check(&o, why) || !replicas_check(&o, why))
    return DIBS_ERR_ARGUMENT;
  if (o.ttl_ms == 0)
    o.ttl_ms = TTL_DEFAULT_MS;
  if (!kind_read(&o, &call->spec, why) || !owner_read(&o, is_blocking, call, why) ||
      !times_check(&o, times, why) || !warning_check(&o, why))
    return DIBS_ERR_ARGUMENT;
  spec_fill(&o, &call->spec);
  call->spec.blocks = is_blocking;
  call->wait_ms = o.wait_ms;
  call->cancel = o.cancel;
  call->on_lost = o.on_lost;
  call->on_lost_data = o.on_lost_data;
  call->on_change = o.on_change;
  call->on_change_data = o.on_change_data;
  return DIBS_OK;
}

/* ---- dibs_wait_options ---- */

dibs_status wait_options_read(const dibs_wait_options *options, wait_plan *ret_plan,
                              text *why)
{
  dibs_wait_options o = DIBS_WAIT_OPTIONS_INIT;

  if (options != NULL && !options_copy(options, &o, sizeof(o), "dibs_wait_options", why))
    return DIBS_ERR_ARGUMENT;
  if (!flags_check(o.flags, 0, why) || !options_wait_check(o.wait_ms, why))
    return DIBS_ERR_ARGUMENT;
  *ret_plan = (wait_plan){ .wait_ms = o.wait_ms, .cancel = o.cancel };
  return DIBS_OK;
}
