/* SPDX-License-Identifier: MIT */
/* dibs/inspect.h - what the servers store: the holders and waiters of a name, all names of a
 * prefix; and how an administrator breaks a lock. names.h has what this client keeps in memory. */
#ifndef DIBS_INSPECT_H
#define DIBS_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dibs/client.h>
#include <dibs/status.h>
#include <dibs/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The kind of a name. A name has one kind at a time: using it as another is
 * DIBS_ERR_WRONG_TYPE, until it has been unused for an hour. */
typedef enum dibs_kind {
  DIBS_KIND_MUTEX = 0,     /* dibs_lock(); also a name that was never used */
  DIBS_KIND_RWLOCK = 1,    /* DIBS_TARGET_READ, _WRITE */
  DIBS_KIND_SEMAPHORE = 2  /* DIBS_TARGET_PERMITS */
} dibs_kind;

typedef enum dibs_mode {
  DIBS_MODE_EXCLUSIVE = 0, /* a lock, and a write lock */
  DIBS_MODE_READ = 1,
  DIBS_MODE_PERMITS = 2
} dibs_mode;

/* One client that holds or waits, as dibs_inspect() and dibs_list() show it. */
typedef struct dibs_party {
  size_t size;
  char client[24];       /* client id, 22 characters */
  char host[65];         /* "" if the client is not registered, or gone */
  int64_t pid;           /* 0 in the same cases */
  char program[65];
  char version[17];
  char note[DIBS_NOTE_MAX + 1];
  int64_t waited_ms;     /* waiters: since they queued; holders: since the grant */
  dibs_mode mode;        /* Since 0.2 */
  uint32_t units;        /* permits held or wanted; 1 for locks. Since 0.2 */
  char owner[17];        /* the owner in that client; "" unless it opened with
                            DIBS_CLIENT_DETECT_DEADLOCK, and this owner has waited for
                            half a second while it holds something. Since 0.2 */
  char reserved[7];      /* 0 */
} dibs_party;

/* One of the leases on a name. Since 0.2 */
typedef struct dibs_holder {
  size_t size;
  const dibs_party *party;
  char lease[96];          /* for dibs_break() */
  uint64_t fence;
  int64_t remaining_ms, ttl_ms;      /* what is left of the lease, and its length */
  uint64_t renewals;
  int64_t since_unix_us;   /* server time of the grant */
} dibs_holder;

/* The state of one name on the server. Records are pointed to: later versions add fields at the
 * end of each. */
typedef struct dibs_inspection {
  size_t size;
  char *name;               /* zero-terminated for convenience; name_size counts */
  size_t name_size;
  bool is_held;             /* a lease makes dibs_try_lock() of another client fail: for native
                               locks until 1 s after the end of the lease, and longer if it was
                               granted or renewed while its client doubted the server's clock, or
                               this client doubts it now */
  int64_t remaining_ms;     /* of the lease, by the server's clock, 0 or less when it has expired;
                               0 when free; DIBS_MS_MAX of a lock without an end, which other
                               libraries make */
  int64_t ttl_ms;           /* its length */
  uint64_t renewals;
  int64_t since_unix_us;    /* server time of the grant; 0 when free */
  uint64_t fence;           /* of the present or last grant; 0: never granted */
  char lease[96];           /* the lease id, for dibs_break() */
  const dibs_party *holder; /* never NULL; zero when free */
  size_t waiter_count;      /* clients in the queue. For native locks, of the first 1000 entries,
                               live waiters: a client that has died, or given up, does not
                               count. After them all entries count, and all of them if the
                               server denies PUBSUB to this user */
  size_t party_count;       /* entries in `waiters`: the first 100 */
  const dibs_party *const *waiters;   /* in order of service */
  /* Since 0.2. `holder`, `lease`, `remaining_ms` and the like describe the first holder. */
  dibs_kind kind;
  uint32_t limit;           /* semaphores: number of permits; else 0 */
  uint32_t used;            /* semaphores: permits held; else number of holders */
  uint64_t generation;      /* semaphores: how often the limit was set */
  size_t holder_count;      /* all leases that count for is_held */
  size_t shown_holders;     /* entries in `holders`: the first 100 */
  const dibs_holder *const *holders;  /* by grant, the oldest first */
  /* Since 0.5. Of a name that no client holds: why this client cannot take it now. */
  int64_t quarantine_ms;    /* era guard: no new holders for this time; 0: no quarantine */
  char obstacle[128];       /* why this client, which waits for a lock now, cannot request it: the
                               server's error; "": it can, or does not wait */
} dibs_inspection;

/* Reads the state of `name` from the server. Changes nothing.
 *
 * `name`           1 .. 512 bytes, any: dibs_text("orders") for a C string.
 * `ret_inspection` written on DIBS_OK only; free with dibs_inspection_free().
 *
 * Returns  DIBS_OK (also for a free name), DIBS_ERR_WRONG_TYPE, DIBS_ERR_ARGUMENT,
 *          DIBS_ERR_UNREACHABLE, and the server's faults.
 * Thread   any; blocks; not from a callback.
 * Source   doc/guide/what-is-going-on.md. Since 0.1; a name of any bytes since 0.6 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_inspect(
  dibs_client *client, dibs_bytes name, dibs_inspection **ret_inspection);

/* Frees what dibs_inspect() returned. Returns NULL; NULL allowed. Thread: any. Since 0.1 */
DIBS_API dibs_inspection *dibs_inspection_free(dibs_inspection *inspection);

/* Called for each name by dibs_list(); `inspection` is borrowed until it returns.
 * Return false to stop. May not call blocking functions of the same client. Runs inside that call
 * only: `data` is not used after it. */
typedef bool (*dibs_list_callback)(const dibs_inspection *inspection, void *data);

/* Walks over the locks under the client's prefix by SCAN, never KEYS. `pattern` is a
 * glob over names (* ? [a-z]), NULL for all. A name that changes meanwhile may be
 * missed or reported twice, as with SCAN. Of a quorum a majority of the servers is walked, so that
 * no name that a majority has is missing. In another dialect: the names that are held. Names of
 * REDISSON (of permits those with leases in use) and PLAIN (any string under
 * such a key) are found among all keys of the database: NULL is DIBS_ERR_ARGUMENT, and a longer
 * fixed start of the pattern shortens the walk.
 * After a fault the callback has had the names that were found until then; if no node of a Cluster
 * serves some slots, those of all other slots, and then it is DIBS_ERR_UNREACHABLE, unless the
 * pattern is a name (without * ? [ and \) whose slot is served.
 * Returns DIBS_OK, DIBS_ERR_UNREACHABLE, other faults. Blocks. Since 0.1 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_list(
  dibs_client *client, const char *pattern, dibs_list_callback callback, void *data);

/* Families of names, as bits for dibs_list_names(). */
typedef enum dibs_family {
  DIBS_FAMILY_LOCK = 0x1,     /* all names of dibs_list() */
  DIBS_FAMILY_LATCH = 0x2,    /* counted by id, or seen at zero, in the last day: others
                                 have only their own key, which has no prefix */
  DIBS_FAMILY_BARRIER = 0x4,  /* used in the last hour */
  DIBS_FAMILY_ELECTION = 0x8  /* had a leader lately; the same name is that of its lock */
} dibs_family;

/* Called for each name by dibs_list_names(); `name` is zero-terminated, and borrowed
 * until it returns. As dibs_list_callback otherwise. */
typedef bool (*dibs_name_callback)(
  dibs_family family, const char *name, size_t name_size, void *data);

/* Walks once over the names of all `families` under the client's prefix, as dibs_list()
 * does, without inspecting them. Returns DIBS_OK or a fault. Blocks. Since 0.2 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_list_names(
  dibs_client *client, uint32_t families, const char *pattern,
  dibs_name_callback callback, void *data);

/* Breaks the lock of its holder and grants it to the next waiter; the holder
 * learns it by message, in the first half second of the hold at the end of that. Without messages
 * (a client that polls, spin locks) it learns it by its next renewal, after a third of its ttl, or
 * with DIBS_LOCK_FIXED at its end. For administrators: until then there may be two holders.
 * `name`   as dibs_inspect().
 * `lease`  from dibs_inspect(): only that very lease is broken, so a repeated or late
 *          call cannot hit an innocent later holder. Of a quorum: the leases of its client at all
 *          servers, at once; the call returns when the holder could have repaired them.
 * Returns  DIBS_OK; or that lease is gone: DIBS_EXPIRED (released or broken before, and no other
 *          client had the name since), DIBS_LOST (free, and another client may have had it),
 *          DIBS_TAKEN (another lease holds the name now); DIBS_ERR_UNSUPPORTED (of a
 *          quorum what is no exclusive lock, or one of Java: use a client of each server);
 *          DIBS_UNKNOWN (no reply in time; of a quorum also: its servers refuse to show the
 *          result, or the client has it again at a majority of them, where those that do not
 *          answer count as such: repeat it); faults.
 * Blocks. Since 0.1 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_break(
  dibs_client *client, dibs_bytes name, const char *lease);

#ifdef __cplusplus
}
#endif

#endif
