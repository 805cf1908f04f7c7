/* SPDX-License-Identifier: MIT */
/* dibs/guard.h - guarded writes: done only if their fence is not older than the last one seen;
 * and reads of what they wrote, with that fence.
 *
 * A lease cannot stop a program that was suspended past its end and resumes in the middle of a
 * write. The resource can, if each write carries the fence of the hold it was done under,
 * and the resource refuses a smaller one than it has seen. These functions do so for values
 * in Redis; dibs_fence_admits() is the rule for all other stores. */
#ifndef DIBS_GUARD_H
#define DIBS_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dibs/latch.h>
#include <dibs/lock.h>
#include <dibs/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of names and values together in one guarded write: more is refused with
 * DIBS_ERR_ARGUMENT before anything is sent. (Until 0.5 it waited in vain for room in the
 * connection's output, which has 8 MiB.) */
#define DIBS_GUARDED_MAX 7340032

/* Returns whether a write with `fence` is allowed: a store keeps the highest fence it has
 * applied (0: none), accepts a write whose fence is that or higher, and stores it in the same
 * transaction. Pure. Since 0.2 */
DIBS_API bool dibs_fence_admits(uint64_t last_seen, uint64_t fence);

/* Each of these applies its write to `key`, your own key, in one script with the check;
 * the last fence is stored in `<prefix>:f:{key}`, in the slot of the key, until a day after
 * the end of the key, with the client that wrote it: only the library reads and writes it.
 * The end is one that these calls, dibs_data_expire() or dibs_data_delete() made: after a DEL of
 * your own, or dibs_map_remove() of the last field, the fence of a key without a ttl stays.
 *
 * `key`     1 .. 512 bytes; one with a '}' in it needs a hash tag.
 * `fence`   from dibs_hold_fence() of an exclusive hold: of a lock, a write lock, several names
 *           or a leader; 1 .. 2^63 - 1. One of a read hold or of permits of this client is
 *           DIBS_ERR_ARGUMENT: others hold those at the same time, so no write would be late.
 *           Write with it from one client. If several processes share a fence, a request that
 *           the library repeated may arrive again after another's write with that fence, and
 *           revert it, until the limit of its call; the writes of one client it never reverts.
 * Returns   DIBS_OK      written.
 *           DIBS_FENCED  a newer fence was seen: nothing was written, except that a request
 *                        which the library repeated, because its reply was lost, may have been
 *                        written before the newer fence. Of an exclusive hold: it has ended, and
 *                        the newer fence is of one that was granted since.
 *           DIBS_UNKNOWN no reply in time: it may have been written; repeat it with
 *                        the same fence (dibs_guarded_incr() still counts once).
 *           DIBS_ERR_WRONG_TYPE  the key holds another kind of value: nothing was written.
 *           DIBS_ERR_ARGUMENT  the key, the fence, a value; over DIBS_GUARDED_MAX bytes.
 *           The server's faults (client.h).
 * Thread    any; blocks, for the limit of a call that does not wait:
 *           dibs_client_set_call_timeout(); not from a callback.
 *
 * The forms with `_async` have that limit, too. They never block, are allowed in callbacks,
 * and copy what they are given; `ret_request` may be NULL. Two that are under way at once are
 * done in any order. dibs_request_cancel() ends one before its reply: DIBS_CANCELLED if it was
 * not sent: nothing is written. Else DIBS_UNKNOWN, as without a reply in time: it may have been
 * written, or will be, but not after that limit. Since 0.6
 * Source    doc/guide/fencing.md.
 * Since     0.2 */

/* Sets the string `key` to `value_size` bytes; NULL is allowed for none.
 * `ttl_ms`: its time to live; 0: unlimited. */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_guarded_set(
  dibs_client *client, const char *key, uint64_t fence, const void *value,
  size_t value_size, int64_t ttl_ms);

/* The same with a callback. dibs_request_cancel() ends it. Since 0.6 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_guarded_set_async(
  dibs_client *client, const char *key, uint64_t fence, const void *value,
  size_t value_size, int64_t ttl_ms, dibs_wait_callback callback, void *data,
  dibs_request **ret_request);

typedef struct dibs_field {
  const char *name;
  const void *value;
  size_t value_size;
} dibs_field;

/* Sets `count` fields (1 .. 1000) of the hash `key` at once. Its ttl stays. */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_guarded_hset(
  dibs_client *client, const char *key, uint64_t fence, const dibs_field *fields,
  size_t count);

/* The same with a callback. dibs_request_cancel() ends it. Since 0.6 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_guarded_hset_async(
  dibs_client *client, const char *key, uint64_t fence, const dibs_field *fields,
  size_t count, dibs_wait_callback callback, void *data, dibs_request **ret_request);

/* Removes fields of the hash `key`, up to 1000 at once. */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_guarded_hdel(
  dibs_client *client, const char *key, uint64_t fence, const char *const *names,
  size_t count);

/* The same with a callback. dibs_request_cancel() ends it. Since 0.6 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_guarded_hdel_async(
  dibs_client *client, const char *key, uint64_t fence, const char *const *names,
  size_t count, dibs_wait_callback callback, void *data, dibs_request **ret_request);

/* Removes `key`, with a value of any kind (never DIBS_ERR_WRONG_TYPE); its fence is kept for a day,
 * so that old writes are still refused. */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_guarded_del(
  dibs_client *client, const char *key, uint64_t fence);

/* The same with a callback. dibs_request_cancel() ends it. Since 0.6 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_guarded_del_async(
  dibs_client *client, const char *key, uint64_t fence, dibs_wait_callback callback,
  void *data, dibs_request **ret_request);

/* Adds `by` to the number in `key`; once, also if the reply is lost and the library repeats
 * the request. After a call without a reply (DIBS_UNKNOWN, DIBS_ERR_UNREACHABLE, ...) the next
 * call of this client with the same key, fence and `by` is the same sum: repeat it until there
 * is a reply, within 100 other guarded writes and 58 minutes. After that time the server no longer
 * knows whether the sum was counted: these calls send nothing and return DIBS_UNKNOWN, until this
 * client has set or removed the key, or done 100 other guarded writes. Read the number then, with
 * dibs_guarded_get(), and set it; with the fence of another hold the sum is a new one.
 * `ret_value`, the new number, may be NULL. A number that would overflow is DIBS_ERR_SERVER, and
 * nothing is written; after a call without a reply DIBS_UNKNOWN, as long as a copy of its request
 * may still arrive and be counted: until a second after its limit. */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_guarded_incr(
  dibs_client *client, const char *key, uint64_t fence, int64_t by, int64_t *ret_value);

/* The same with a callback, which gets the new number. dibs_request_cancel() ends it. Since 0.6 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_guarded_incr_async(
  dibs_client *client, const char *key, uint64_t fence, int64_t by,
  dibs_number_callback callback, void *data, dibs_request **ret_request);

/* Reads the string `key`, and the highest fence that a guarded write to it had, in one request to
 * the primary: both are of one moment.
 *
 * `ret_value`  receives the value, or NULL if there is none; free it with dibs_value_free().
 * `ret_fence`  may be NULL; receives the fence; 0: no guarded write was done, or `key` ended
 *           more than a day ago. A fence above that of your own hold is of a later holder: your
 *           hold has ended. One that is not above does not prove that it stands.
 * Returns   DIBS_OK      also without a value.
 *           DIBS_ERR_UNREACHABLE  also: no reply in time.
 *           DIBS_ERR_WRONG_TYPE  the key holds another kind of value, or that of its fence does.
 *           DIBS_ERR_UNSUPPORTED  the value is over DIBS_DATA_MAX, and another client reads it
 *                        by GET; or this client has a quorum of servers.
 *           DIBS_ERR_ARGUMENT  the key, the field, no `ret_value`.
 *           The server's faults (client.h). Outputs are set only with DIBS_OK.
 * Thread    any; blocks as a guarded write does; not from a callback.
 * Source    doc/guide/fencing.md.
 * Since     0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_guarded_get(
  dibs_client *client, const char *key, dibs_value **ret_value, uint64_t *ret_fence);

/* Reads `field` (up to DIBS_KEY_MAX bytes) of the hash `key`, and the highest fence that a
 * guarded write to any of its fields had. All else as dibs_guarded_get().
 * Returns as dibs_guarded_get(). Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_guarded_hget(
  dibs_client *client, const char *key, const char *field, dibs_value **ret_value,
  uint64_t *ret_fence);

#ifdef __cplusplus
}
#endif

#endif
