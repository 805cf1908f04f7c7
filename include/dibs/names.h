/* SPDX-License-Identifier: MIT */
/* dibs/names.h - the names of this client in memory: those it holds, waits for, or keeps
 * lingering. Nothing here sends a request; dibs_inspect() and dibs_list() of inspect.h do.
 *
 * In every dialect and deployment a name is freed when this client neither holds it nor
 * waits for it, and the server has confirmed the end: there are no objects to expire. Only
 * leases that linger (linger_ms) are kept longer. names_max of dibs_options limits the
 * number of names; the exclusive locks that degrade=local makes of this machine do not
 * count. */
#ifndef DIBS_NAMES_H
#define DIBS_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include <dibs/inspect.h>
#include <dibs/lock.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a name is for this client now. Values never change; expect unknown ones. */
typedef enum dibs_name_state {
  DIBS_NAME_WAITING = 1,   /* requested, not held by this client */
  DIBS_NAME_HELD = 2,
  DIBS_NAME_SUSPECT = 3,   /* held, and a renewal is overdue or the link is down */
  DIBS_NAME_LINGERING = 4, /* held without a claim, and kept for the next one */
  DIBS_NAME_LEAVING = 5,   /* released; the server has not confirmed it yet */
  DIBS_NAME_LOST = 6       /* reported lost; the program has not released it yet */
} dibs_name_state;

/* One lease of this client, or one request. A name that is shared (readers, permits) or
 * queued for (DIBS_LOCK_FAIR) is listed once for each lease and queue entry of this
 * client; names taken as one are listed separately, and count once for names_max. */
typedef struct dibs_name_view {
  size_t size;
  const char *name;        /* zero-terminated */
  size_t name_size;
  dibs_kind kind;
  dibs_mode mode;
  dibs_name_state state;
  uint32_t units;          /* permits held or wanted, 0: all that are free; 1 for locks */
  uint32_t holds;          /* of this program, re-entries and readers of one lease counted */
  uint32_t waiting;        /* requests of this program that wait for it */
  uint64_t fence;          /* of the first hold; 0: none */
  int64_t valid_ms;        /* HELD, SUSPECT, LINGERING: how long it stays valid if no
                              renewal succeeds, as this client knows; else 0 */
  int64_t idle_ms;         /* LINGERING: time since its last use by this client; else 0 */
} dibs_name_view;

/* The names of one moment. */
typedef struct dibs_names {
  size_t size;
  size_t count;
  const dibs_name_view *const *names;   /* in no order */
} dibs_names;

/* Copies the names in memory. `ret_names`, written on DIBS_OK only, belongs to the caller:
 * dibs_names_free(), also after dibs_close().
 * Returns DIBS_OK (also with none), DIBS_ERR_ARGUMENT, DIBS_ERR_NO_MEMORY, DIBS_ERR_CLOSED,
 * DIBS_ERR_FORKED. Thread: any; never waits for a server; allowed in callbacks. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_names_list(
  dibs_client *client, dibs_names **ret_names);

/* Frees a list of names. Returns NULL; NULL allowed. Thread: any. Since 0.5 */
DIBS_API dibs_names *dibs_names_free(dibs_names *names);

/* Releases the leases that have lingered unused for `unused_ms` or longer (0: all that
 * linger), before their linger_ms is over. Names that are held or waited for stay.
 *
 * `unused_ms`  0 .. DIBS_MS_MAX.
 * `ret_count`  how many; may be NULL. The servers confirm in the background.
 * Returns      DIBS_OK, DIBS_ERR_ARGUMENT, DIBS_ERR_CLOSED, DIBS_ERR_FORKED.
 * Thread       any; never blocks; allowed in callbacks.
 * Source       doc/design/protocol.md 11. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_names_expire(
  dibs_client *client, int64_t unused_ms, size_t *ret_count);

#ifdef __cplusplus
}
#endif

#endif
