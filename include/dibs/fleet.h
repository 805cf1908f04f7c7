/* SPDX-License-Identifier: MIT */
/* dibs/fleet.h - what all clients of a prefix did: totals by class of names, and the history
 * of holds. Each client adds what it did to the servers every 10 seconds and when it is closed
 * (report_ms of dibs_options); these functions read it back. A class is one name for many
 * names: the first pattern of dibs_options.classes that a name fits; else the part before the
 * first ':', with numbers, UUIDs and hashes replaced by '*', so that orders:17 and orders:18 are
 * both `orders`.
 *
 * All times are the server's, so that machines whose clocks disagree do not matter. */
#ifndef DIBS_FLEET_H
#define DIBS_FLEET_H

#include <stddef.h>
#include <stdint.h>

#include <dibs/inspect.h>
#include <dibs/lock.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Buckets of a histogram: bucket i counts what lasted at most dibs_fleet_bound_us(i) and longer
 * than the bound of the bucket before. */
#define DIBS_FLEET_BUCKETS 26

/* How a request for a lock or permits ended. Values never change; expect unknown ones. */
typedef enum dibs_fleet_wait {
  DIBS_FLEET_OK = 0,         /* granted */
  DIBS_FLEET_BUSY = 1,       /* a try, and it was not free */
  DIBS_FLEET_TIMED_OUT = 2,
  DIBS_FLEET_CANCELLED = 3,
  DIBS_FLEET_UNKNOWN = 4,    /* DIBS_UNKNOWN */
  DIBS_FLEET_ERROR = 5       /* any fault, and a deadlock */
} dibs_fleet_wait;
#define DIBS_FLEET_WAITS 6

/* How a hold ended. Values never change; expect unknown ones. */
typedef enum dibs_fleet_end {
  DIBS_FLEET_RELEASED = 0,
  DIBS_FLEET_LOST = 1,       /* DIBS_LOST: no renewal in time, a fixed lease was over, or an
                              * administrator broke it */
  DIBS_FLEET_TAKEN = 2       /* DIBS_TAKEN: another client has it */
} dibs_fleet_end;
#define DIBS_FLEET_ENDS 3

/* Durations. */
typedef struct dibs_fleet_times {
  uint64_t count;                          /* the sum of the buckets */
  uint64_t sum_us;
  uint64_t buckets[DIBS_FLEET_BUCKETS];
} dibs_fleet_times;

/* The totals of one class and kind. They only grow, until nothing is reported for a day or the
 * server loses its data: then they begin again, and since_us changes. */
typedef struct dibs_fleet_row {
  size_t size;
  const char *class_name;                  /* printable UTF-8; ends with a zero */
  dibs_kind kind;
  int64_t since_us;                        /* server time at which the totals began, since 1970 */
  dibs_fleet_times waits[DIBS_FLEET_WAITS];  /* from the call to its end, by dibs_fleet_wait */
  dibs_fleet_times holds[DIBS_FLEET_ENDS];   /* from the grant to the end, by dibs_fleet_end: to the
                                                reply to the release, or to the loss */
  uint64_t holding, waiting;               /* now, as last reported by the clients that live */
} dibs_fleet_row;

/* The fleet at one moment. */
typedef struct dibs_fleet {
  size_t size;
  int64_t server_us;                       /* the server's time, since 1970 */
  uint64_t clients;                        /* that reported and are still registered */
  size_t count;
  const dibs_fleet_row *const *rows;       /* by class, then by kind */
} dibs_fleet;

/* The upper bound of bucket `bucket` in microseconds: 100 us, doubled for each bucket after it.
 * Returns INT64_MAX for the last bucket and above. Thread: any. Since 0.5 */
DIBS_API int64_t dibs_fleet_bound_us(size_t bucket);

/* Reads the totals of all classes under the prefix of this client, and what the clients hold and
 * wait for now. What a client did since its last report is not in it yet. In a quorum each
 * number is the largest that one of its servers has.
 *
 * `ret_fleet`  written on DIBS_OK only, also without any row; dibs_fleet_free(), also after
 *              dibs_close().
 * Returns      DIBS_OK, DIBS_ERR_ARGUMENT, DIBS_ERR_WRONG_TYPE (another program has a key of
 *              the prefix), the server's faults.
 * Thread       any; waits for the server; not from a callback.
 * Source       doc/design/protocol.md 22. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_fleet_read(dibs_client *client,
                                                     dibs_fleet **ret_fleet);

/* Frees what dibs_fleet_read() returned. Returns NULL; NULL allowed. Thread: any. Since 0.5 */
DIBS_API dibs_fleet *dibs_fleet_free(dibs_fleet *fleet);

/* What was added between two readings of the same class and kind: `after` less `before`, never
 * negative. If the totals began again between them (since_us differs), it is all of `after`; a
 * number that is smaller without that was lost by a failover, and counts as no change.
 *
 * `before`      NULL: all of `after`.
 * `ret_change`  the texts are borrowed from `after`.
 * Returns       DIBS_OK, DIBS_ERR_ARGUMENT. Thread: any. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_fleet_change(const dibs_fleet_row *before,
                                                       const dibs_fleet_row *after,
                                                       dibs_fleet_row *ret_change);

/* One hold that ended, or one request that was given up. */
typedef struct dibs_history_entry {
  size_t size;
  const char *name;            /* ends with a zero; any bytes */
  size_t name_size;
  const char *class_name;
  dibs_kind kind;
  dibs_mode mode;
  const char *end;             /* released, lost, taken; never granted: busy, timeout,
                                  cancelled, unknown, error */
  int64_t end_us;              /* when it ended: server time, since 1970 */
  int64_t ago_us;              /* the same, before now by the server's clock; >= 0 */
  int64_t waited_us;           /* from the call to the grant or the end */
  int64_t held_us;             /* from the grant to the end; 0: never granted */
  int64_t ttl_ms;              /* of its lease */
  uint64_t fence;              /* 0: never granted */
  const char *host, *program, *note;   /* of the client; any bytes */
  int64_t pid;
  const char *client;          /* its id */
} dibs_history_entry;

/* Which entries dibs_history_read() returns. Start from DIBS_HISTORY_OPTIONS_INIT. */
typedef struct dibs_history_options {
  size_t size;
  const char *pattern;         /* a name, or a pattern for fnmatch(3); NULL: all names */
  int64_t since_ms;            /* ended at most this long ago; 0: any time */
  uint32_t limit;              /* the latest entries, 1 to 10000; 0: 1000 */
  uint32_t reserved;           /* 0 */
} dibs_history_options;
#define DIBS_HISTORY_OPTIONS_INIT { sizeof(dibs_history_options), 0, 0, 0, 0 }

/* Entries of the history, the latest first. */
typedef struct dibs_history {
  size_t size;
  int64_t server_us;           /* the server's time, since 1970 */
  size_t count;
  const dibs_history_entry *const *entries;
} dibs_history;

/* Reads the history under the prefix of this client. `history` of dibs_options decides what the
 * clients write into it, `history_max` how many entries it keeps.
 *
 * `options`      NULL: the latest 1000 entries.
 * `ret_history`  written on DIBS_OK only, also without any entry; dibs_history_free(), also after
 *                dibs_close().
 * Returns        as dibs_fleet_read().
 * Thread         any; waits for the server; not from a callback.
 * Source         doc/design/protocol.md 22. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_history_read(dibs_client *client,
                                                       const dibs_history_options *options,
                                                       dibs_history **ret_history);

/* Frees what dibs_history_read() returned. Returns NULL; NULL allowed. Thread: any. Since 0.5 */
DIBS_API dibs_history *dibs_history_free(dibs_history *history);

#ifdef __cplusplus
}
#endif

#endif
