/* SPDX-License-Identifier: MIT */
/* api/names.c - the names that this client has in memory: copies them, and releases parked
 * leases. */
#include "api/api.h"

#include <string.h>

#include <dibs/names.h>

/* One block of memory: this, which begins with the program's dibs_names, the records, the pointers
 * to them, the bytes of the names. Has its own memory functions: it is freed without a client. */
typedef struct names_box {
  dibs_names names;
  memory memory;
  dibs_name_view all[];
} names_box;

dibs_names *dibs_names_free(dibs_names *names)
{
  names_box *box = (names_box *)(void *)names;

  if (box != NULL)
    mem_free(&box->memory, box);
  return NULL;
}

static dibs_name_state state_of(lock_name_state state)
{
  static const dibs_name_state states[] = {
    [LOCK_NAME_WAITING] = DIBS_NAME_WAITING, [LOCK_NAME_HELD] = DIBS_NAME_HELD,
    [LOCK_NAME_SUSPECT] = DIBS_NAME_SUSPECT, [LOCK_NAME_PARKED] = DIBS_NAME_LINGERING,
    [LOCK_NAME_LEAVING] = DIBS_NAME_LEAVING, [LOCK_NAME_LOST] = DIBS_NAME_LOST,
  };

  return states[state];
}

static void kind_fill(dibs_name_view *to, const lock_name *from)
{
  if (from->kind == LOCK_RWLOCK) {
    to->kind = DIBS_KIND_RWLOCK;
    if (from->reads)
      to->mode = DIBS_MODE_READ;
  } else if (kind_has_permits(from->kind)) {
    to->kind = DIBS_KIND_SEMAPHORE;
    to->mode = DIBS_MODE_PERMITS;
  }
}

static uint32_t capped(uint64_t number)
{
  return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

static int64_t ms_until(instant at, instant now)
{
  return instant_before(now, at) ? span_to_ms(instant_since(at, now)) : 0;
}

static void name_fill(dibs_name_view *to, const lock_name *from, char *bytes, instant now)
{
  memcpy(bytes, from->name, from->size);
  bytes[from->size] = 0;
  *to = (dibs_name_view){ .size = sizeof(*to), .name = bytes, .name_size = from->size,
                           .state = state_of(from->state), .units = capped(from->units),
                           .holds = capped(from->holds), .waiting = capped(from->waiting),
                           .fence = from->fence, .valid_ms = ms_until(from->valid_until, now) };
  kind_fill(to, from);
  if (from->state == LOCK_NAME_PARKED)
    to->idle_ms = ms_until(now, from->idle_since);
}

/* Mutex held: nothing changes between the two walks. NULL: no memory. */
static names_box *box_make(client_record *c, instant now)
{
  const engine *e = drive_engine(c->drive);
  size_t count = 0, size = 0, i = 0;
  lock_name_at at = { NULL, NULL, 0 };
  const dibs_name_view **shown;
  names_box *box;
  lock_name n;
  char *bytes;

  for (; engine_next_name(e, &at, &n); count++)
    size += n.size + 1;
  box = mem_zalloc(&c->memory, sizeof(*box) +
                                 count * (sizeof(box->all[0]) + sizeof(*shown)) + size);
  if (box == NULL)
    return NULL;
  box->memory = c->memory;
  shown = (const dibs_name_view **)(void *)&box->all[count];
  box->names = (dibs_names){ .size = sizeof(box->names), .count = count, .names = shown };
  bytes = (char *)&shown[count];
  for (at = (lock_name_at){ NULL, NULL, 0 }; engine_next_name(e, &at, &n); i++) {
    name_fill(&box->all[i], &n, bytes, now);
    shown[i] = &box->all[i];
    bytes += n.size + 1;
  }
  return box;
}

static dibs_status names_list(client_record *c, dibs_names **ret_names)
{
  dibs_status status = client_enter(c, false);
  names_box *box = NULL;

  if (status != DIBS_OK)
    return status;
  if (ret_names == NULL) {
    status = client_fault(c, DIBS_ERR_ARGUMENT, "ret_names is NULL");
  } else {
    box = box_make(c, drive_now());
    status = box != NULL ? DIBS_OK : client_fault(c, DIBS_ERR_NO_MEMORY, "");
  }
  client_leave(c);
  if (box != NULL)
    *ret_names = &box->names;
  return status;
}

dibs_status dibs_names_list(dibs_client *client, dibs_names **ret_names)
{
  client_record *c;
  dibs_status status = client_begin(client, false, &c);

  return status == DIBS_OK ? client_end(c, names_list(c, ret_names)) : status;
}

static dibs_status names_expire(client_record *c, int64_t unused_ms, size_t *ret_count)
{
  dibs_status status = client_enter(c, false);
  size_t count;

  if (status != DIBS_OK)
    return status;
  if (unused_ms < 0 || unused_ms > DIBS_MS_MAX) {
    status = client_fault(c, DIBS_ERR_ARGUMENT, "unused_ms must be 0 to 2073600000");
  } else {
    count = engine_expire(drive_engine(c->drive), span_ms(unused_ms), drive_now());
    drive_flush(c->drive);
    if (ret_count != NULL)
      *ret_count = count;
  }
  client_leave(c);
  return status;
}

dibs_status dibs_names_expire(dibs_client *client, int64_t unused_ms, size_t *ret_count)
{
  client_record *c;
  dibs_status status = client_begin(client, false, &c);

  return status == DIBS_OK ? client_end(c, names_expire(c, unused_ms, ret_count)) : status;
}
