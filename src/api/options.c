/* SPDX-License-Identifier: MIT */
/* api/options.c - checks options and fills in defaults. */
#include "api/options.h"

#include <string.h>

#include <dibs/semaphore.h>

#include "drive/drive.h"

#define TTL_DEFAULT_MS 30000
#define TTL_MIN_MS 100
#define PPM_MAX 500000
#define HANDOVERS_MAX 1000000

#define CLIENT_FLAGS \
  (DIBS_CLIENT_NO_THREAD | DIBS_CLIENT_NO_LOCAL | DIBS_CLIENT_PROCESS_CALLBACKS | \
   DIBS_CLIENT_DETECT_DEADLOCK)
#define REPLICAS_MAX 100
#define REPLICAS_WAIT_MS 1000
#define FLAVOUR_FLAGS (DIBS_LOCK_FAIR | DIBS_LOCK_SPIN | DIBS_LOCK_FENCED)
#define LOCK_FLAGS \
  (DIBS_LOCK_FIXED | DIBS_LOCK_NO_OWNER | DIBS_LOCK_NO_REENTRY | DIBS_LOCK_FSYNC | \
   DIBS_LOCK_REPORT | FLAVOUR_FLAGS | DIBS_PERMITS_PLAIN)

/* ---- pieces ---- */

bool options_copy(const void *from, void *known, size_t known_size, const char *name,
                  text *why)
{
  const char *bytes = from;
  size_t size;

  memcpy(&size, from, sizeof(size));
  if (size < sizeof(size)) {
    text_add(why, name);
    text_add(why, ".size is ");
    text_add_uint(why, size);
    text_add(why, "; start from the _INIT macro, it sets the size");
    return false;
  }
  for (size_t i = known_size; i < size; i++)
    if (bytes[i] != 0) {
      text_add(why, name);
      text_add(why, " is from the future: byte ");
      text_add_uint(why, i);
      text_add(why, " is set, and this library knows ");
      text_add_uint(why, known_size);
      text_add(why, "; use a newer library, or leave the new field zero");
      return false;
    }
  memset(known, 0, known_size);
  memcpy(known, from, size < known_size ? size : known_size);
  memcpy(known, &known_size, sizeof(known_size));
  return true;
}

static bool range_check(const char *name, int64_t value, int64_t low, int64_t high, text *why)
{
  if (value == 0 || (value >= low && value <= high))
    return true;
  text_add(why, name);
  text_add(why, " is ");
  text_add_int(why, value);
  text_add(why, "; allowed are ");
  text_add_int(why, low);
  text_add(why, " to ");
  text_add_int(why, high);
  text_add(why, ", and 0 for the default");
  return false;
}

bool options_ms_check(const char *name, int32_t ms, text *why)
{
  return range_check(name, ms, 1, DIBS_MS_MAX, why);
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
  text_add(why, "flags has bits that this library does not know: ");
  text_add(why, hex);
  return false;
}

static bool note_check(const char *note, text *why)
{
  if (note == NULL || strnlen(note, DIBS_NOTE_MAX + 1) <= DIBS_NOTE_MAX)
    return true;
  text_add(why, "note is longer than 256 bytes");
  return false;
}

/* ---- dibs_options ---- */

static bool allocator_check(const dibs_allocator *a, text *why)
{
  if (a == NULL || (a->allocate != NULL && a->reallocate != NULL && a->release != NULL))
    return true;
  text_add(why, "allocator has a NULL function; give all three or none");
  return false;
}

static bool client_values_check(const dibs_options *o, text *why)
{
  return flags_check(o->flags, CLIENT_FLAGS, why) &&
         options_ms_check("connect_timeout_ms", o->connect_timeout_ms, why) &&
         options_ms_check("command_timeout_ms", o->command_timeout_ms, why) &&
         options_ms_check("close_timeout_ms", o->close_timeout_ms, why) &&
         options_ms_check("renew_every_ms", o->renew_every_ms, why) &&
         range_check("clock_rate_error_ppm", o->clock_rate_error_ppm, 1, PPM_MAX, why) &&
         range_check("local_handovers_max", o->local_handovers_max, -1, HANDOVERS_MAX, why) &&
         options_ms_check("local_handover_ms", o->local_handover_ms, why) &&
         options_ms_check("quarantine_ms", o->quarantine_ms, why) &&
         range_check("names_max", o->names_max, 1, INT32_MAX, why) &&
         range_check("degrade", (int64_t)o->degrade, DIBS_DEGRADE_FAIL, DIBS_DEGRADE_LOCAL,
                     why) &&
         range_check("dialect", (int64_t)o->dialect, DIBS_DIALECT_NATIVE,
                     DIBS_DIALECT_PLAIN, why) &&
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

static bool owner_read(const dibs_lock_options *o, bool is_blocking, lock_plan *plan, text *why)
{
  uint64_t number;

  if (o->owner == NULL && o->owner_size > 0) {
    text_add(why, "owner_size is set, and owner is NULL");
    return false;
  }
  if (o->owner != NULL && (o->owner_size < 1 || o->owner_size > DIBS_OWNER_MAX)) {
    text_add(why, "owner_size is ");
    text_add_uint(why, o->owner_size);
    text_add(why, "; allowed are 1 to 128 bytes");
    return false;
  }
  if (o->owner != NULL && (o->flags & DIBS_LOCK_NO_OWNER) != 0) {
    text_add(why, "owner is set together with DIBS_LOCK_NO_OWNER; choose one");
    return false;
  }
  if (o->owner != NULL) {
    plan->owner[0] = 'k';
    memcpy(plan->owner + 1, o->owner, o->owner_size);
    plan->owner_size = o->owner_size + 1;
  } else if (is_blocking && (o->flags & DIBS_LOCK_NO_OWNER) == 0) {
    number = drive_thread();
    plan->owner[0] = 't';
    memcpy(plan->owner + 1, &number, sizeof(number));
    plan->owner_size = sizeof(number) + 1;
  }
  return true;
}

static bool times_check(const lock_plan *plan, int32_t renew_every_ms, text *why)
{
  if (plan->max_hold_ms != 0 && plan->max_hold_ms < plan->ttl_ms) {
    text_add(why, "max_hold_ms is ");
    text_add_int(why, plan->max_hold_ms);
    text_add(why, ", shorter than ttl_ms, ");
    text_add_int(why, plan->ttl_ms);
    text_add(why, "; make it at least as long, or 0 for no limit");
    return false;
  }
  if (!plan->is_fixed && renew_every_ms > plan->ttl_ms / 2) {
    text_add(why, "ttl_ms is ");
    text_add_int(why, plan->ttl_ms);
    text_add(why, ", less than twice the client's renew_every_ms, ");
    text_add_int(why, renew_every_ms);
    return false;
  }
  return true;
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
  if (!range_check("min_replicas", o->min_replicas, DIBS_REPLICAS_MAJORITY, REPLICAS_MAX, why) ||
      !options_ms_check("replicas_wait_ms", o->replicas_wait_ms, why))
    return false;
  if (o->min_replicas != 0 || (o->flags & (DIBS_LOCK_FSYNC | DIBS_LOCK_REPORT)) == 0)
    return true;
  text_add(why, "DIBS_LOCK_FSYNC and DIBS_LOCK_REPORT need min_replicas, and it is 0");
  return false;
}

/* What never ends by itself has no end to be told. */
static bool unleased_check(const lock_plan *plan, text *why)
{
  if (!plan->is_fixed && plan->max_hold_ms == 0)
    return true;
  text_add(why, "DIBS_PERMITS_PLAIN is set together with ");
  text_add(why, plan->is_fixed ? "DIBS_LOCK_FIXED" : "max_hold_ms");
  text_add(why, ", and such permits have no lease; choose one");
  return false;
}

static bool flavour_read(uint32_t flags, lock_plan *plan, text *why)
{
  switch (flags & (FLAVOUR_FLAGS | DIBS_PERMITS_PLAIN)) {
  case 0: plan->flavour = FLAVOUR_PLAIN; return true;
  case DIBS_PERMITS_PLAIN: plan->flavour = FLAVOUR_UNLEASED; return unleased_check(plan, why);
  case DIBS_LOCK_FAIR: plan->flavour = FLAVOUR_FAIR; return true;
  case DIBS_LOCK_SPIN: plan->flavour = FLAVOUR_SPIN; return true;
  case DIBS_LOCK_FENCED: plan->flavour = FLAVOUR_FENCED; return true;
  default: break;
  }
  text_add(why, "DIBS_LOCK_FAIR, DIBS_LOCK_SPIN, DIBS_LOCK_FENCED and DIBS_PERMITS_PLAIN exclude "
                "each other; choose one");
  return false;
}

dibs_status lock_options_read(const dibs_lock_options *options, bool is_blocking,
                              int32_t renew_every_ms, lock_plan *ret_plan, text *why)
{
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;
  lock_plan plan = { .ttl_ms = TTL_DEFAULT_MS };

  if (options != NULL && !options_copy(options, &o, sizeof(o), "dibs_lock_options", why))
    return DIBS_ERR_ARGUMENT;
  if (!flags_check(o.flags, LOCK_FLAGS, why) ||
      !options_ms_check("wait_ms", o.wait_ms, why) ||
      !range_check("ttl_ms", o.ttl_ms, TTL_MIN_MS, DIBS_MS_MAX, why) ||
      !options_ms_check("max_hold_ms", o.max_hold_ms, why) || !note_check(o.note, why) ||
      !linger_check(&o, why) || !replicas_check(&o, why))
    return DIBS_ERR_ARGUMENT;
  if (o.ttl_ms != 0)
    plan.ttl_ms = o.ttl_ms;
  plan.wait_ms = o.wait_ms;
  plan.max_hold_ms = o.max_hold_ms;
  plan.linger_ms = o.linger_ms;
  plan.is_fixed = (o.flags & DIBS_LOCK_FIXED) != 0;
  plan.no_reentry = (o.flags & DIBS_LOCK_NO_REENTRY) != 0;
  plan.min_replicas = o.min_replicas;
  plan.replicas_wait_ms = o.replicas_wait_ms != 0 ? o.replicas_wait_ms : REPLICAS_WAIT_MS;
  plan.wants_fsync = (o.flags & DIBS_LOCK_FSYNC) != 0;
  plan.reports_replicas = (o.flags & DIBS_LOCK_REPORT) != 0;
  plan.cancel = o.cancel;
  plan.on_lost = o.on_lost;
  plan.on_lost_data = o.on_lost_data;
  plan.note = o.note;
  if (!flavour_read(o.flags, &plan, why) || !owner_read(&o, is_blocking, &plan, why) ||
      !times_check(&plan, renew_every_ms, why))
    return DIBS_ERR_ARGUMENT;
  *ret_plan = plan;
  return DIBS_OK;
}

/* ---- dibs_wait_options ---- */

dibs_status wait_options_read(const dibs_wait_options *options, wait_plan *ret_plan,
                              text *why)
{
  dibs_wait_options o = DIBS_WAIT_OPTIONS_INIT;

  if (options != NULL && !options_copy(options, &o, sizeof(o), "dibs_wait_options", why))
    return DIBS_ERR_ARGUMENT;
  if (!flags_check(o.flags, 0, why) || !options_ms_check("wait_ms", o.wait_ms, why))
    return DIBS_ERR_ARGUMENT;
  *ret_plan = (wait_plan){ .wait_ms = o.wait_ms, .cancel = o.cancel };
  return DIBS_OK;
}
