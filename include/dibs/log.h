/* SPDX-License-Identifier: MIT */
/* dibs/log.h - lines for the log of the program: what happens to connections and locks.
 *
 * Which one to use: on_event of dibs_options is for a program that reacts to an event. Lines are
 * for people and for what collects logs: they have the same events, and what happens to each
 * lock, with levels, fields and a limit of their number. Both are made at the same place: a
 * hold that is lost is one DIBS_EVENT_LOST, one line `lost` and one call of on_lost. A program
 * needs one of them.
 *
 * Lines are about connections and what becomes a hold: locks, read/write locks, permits,
 * leadership. Not about latches, barriers, rate limiters, guarded writes and data. */
#ifndef DIBS_LOG_H
#define DIBS_LOG_H

#include <stddef.h>
#include <stdint.h>

#include <dibs/client.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How serious a line is. Values never change. Since 0.5 */
typedef enum dibs_log_level {
  DIBS_LOG_ERROR = 1,      /* lost; refused by a fault */
  DIBS_LOG_WARNING = 2,    /* disconnected, warning, suspect; refused after wait_ms, or in a
                              deadlock; a release without a reply */
  DIBS_LOG_INFO = 3,       /* connected, recovered; what waited or was held for longer than
                              history_over_ms; renewed after a suspicion; refused because of
                              dibs_cancel() */
  DIBS_LOG_DEBUG = 4       /* each request, grant, renewal, release, and try that is refused */
} dibs_log_level;

/* A value of a line. Printable ASCII: other bytes are written as \x1b, quotes and backslashes
 * after a backslash. Never empty. */
typedef struct dibs_log_field {
  const char *key;
  const char *value;
} dibs_log_field;

/* One line. Everything is borrowed until the callback returns. No line has a password, or the user
 * and password of a URL; names of locks are shown as they are.
 *
 * Events, and their fields; expect unknown ones of both, in any order:
 *
 * `connected`     server
 * `disconnected`  server, reason
 * `warning`       reason: the text of DIBS_EVENT_WARNING
 * `recovered`     reason
 * `requested`     name, class, kind, ttl_ms
 * `granted`       name, class, kind, fence, ttl_ms, waited_ms
 * `refused`       name, class, kind, ttl_ms, waited_ms, status, server, reason: not granted
 * `renewed`       name, class, kind, fence, valid_ms
 * `suspect`       name, class, kind, fence, valid_ms, reason: a renewal is overdue, or the
 *                 connection is lost; it is still held
 * `lost`          name, class, kind, fence, ttl_ms, held_ms, status, server, reason; also where
 *                 the release finds it
 * `released`      name, class, kind, fence, ttl_ms, held_ms; unconfirmed: status, server, reason
 * `detached`      as released: dibs_hold_detach()
 * `suppressed`    of (an event), lines: how many the limit left out in the last per_ms
 *
 * Of several names, name is the first, and names their number. class is that of fleet.h; kind is
 * lock, read, write or permits. waited_ms and held_ms have microseconds as their fraction.
 * valid_ms is what is left of the lease. Fields without a value are left out. */
typedef struct dibs_log_line {
  size_t size;
  int32_t level;           /* dibs_log_level */
  uint32_t field_count;
  const char *event;       /* "lost" */
  const char *text;        /* all of it: level=error event=lost name=orders:42 ...; values with a
                              blank, '=', quote or backslash are in quotes */
  const dibs_log_field *const *fields;
} dibs_log_line;

/* Runs as all callbacks (dibs_event_callback): one line after the other, in the order in which it
 * happened, also among on_event and on_lost; the client's mutex is not held. It may call what
 * other callbacks may, also dibs_client_set_log(). What it does with this client can
 * lead to further lines: the limit bounds them. A callback that is slow delays other
 * callbacks, but no lock; while 256 lines wait for it, further ones are suppressed. */
typedef void (*dibs_log_callback)(const dibs_log_line *line, void *data);

#define DIBS_LOG_ALL (-1)  /* dibs_log_options.lines_max: no limit */

/* Which lines are made. Zero in a field means the default written beside it. Start from
 * DIBS_LOG_OPTIONS_INIT. */
typedef struct dibs_log_options {
  size_t size;
  int32_t level;           /* DIBS_LOG_INFO; lines of this level and of more serious ones */
  int32_t lines_max;       /* 10; the most lines of one event in per_ms, counted from the first.
                              The line `suppressed` says how many more there were, when per_ms is
                              over, at dibs_client_set_log() and at dibs_close() */
  int32_t per_ms;          /* 10000 */
  uint32_t reserved;       /* 0 */
} dibs_log_options;
#define DIBS_LOG_OPTIONS_INIT { sizeof(dibs_log_options), 0, 0, 0, 0 }

/* Sets what gets the lines of this client, from now on; it replaces what was set before. Each
 * client has its own. Without any, and at dibs_open(), there are none.
 *
 * `options`    read during the call only; NULL: all defaults.
 * `callback`   NULL: no lines any more.
 * `data`       given to the callback.
 * `data_free`  NULL, or gets `data` when this callback cannot run any more: after it was
 *              replaced and the lines that waited for it are through, in dibs_close(), or in this
 *              call if it fails or `callback` is NULL.
 *
 * Returns      DIBS_OK, DIBS_ERR_ARGUMENT, DIBS_ERR_SYSTEM (no thread for callbacks); then what was
 *              set before stays.
 * Thread       any; never blocks; allowed in callbacks.
 * Source       doc/guide/what-is-going-on.md. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_client_set_log(dibs_client *client,
                                                  const dibs_log_options *options,
                                                  dibs_log_callback callback, void *data,
                                                  dibs_free_callback data_free);

#ifdef __cplusplus
}
#endif

#endif
