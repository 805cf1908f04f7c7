/* SPDX-License-Identifier: MIT */
/* dibs/guard.h - guarded writes: done only if their fence is not older than the last one seen.
 *
 * A lease cannot stop a program that slept through its end and wakes up in the middle of a
 * write. The resource can, if each write carries the fence of the hold it was done under,
 * and the resource refuses a smaller one than it has seen. These functions do so for values
 * in Redis; dibs_fence_admits() is the rule for all other stores. */
#ifndef DIBS_GUARD_H
#define DIBS_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dibs/lock.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of names and values together in one guarded write: what is longer is refused with
 * DIBS_ERR_ARGUMENT before anything is sent. (Until 0.5 it waited in vain for room in the
 * connection's output, which has 8 MiB.) */
#define DIBS_GUARDED_MAX 7340032

/* The rule: a store remembers the highest fence it has applied (0: none), admits a write
 * whose fence is that or higher, and remembers it in the same transaction. Pure. Since 0.2 */
DIBS_API bool dibs_fence_admits(uint64_t last_seen, uint64_t fence);

/* Each of these applies its write to `key`, a key of your own, in one script with the check;
 * the last fence is kept under `<prefix>:f:{key}`, in the slot of the key, for as long as
 * the key may live, and a day more.
 *
 * `key`     1 .. 512 bytes; one with a '}' in it needs a hash tag.
 * `fence`   from dibs_hold_fence(); 1 .. 2^63 - 1.
 * Returns   DIBS_OK      written.
 *           DIBS_FENCED  a newer fence was seen: nothing was written; your hold is over.
 *                        (When an answer was lost and the library asked again, it may have
 *                        been written before the newer fence came.)
 *           DIBS_UNKNOWN no answer in time: it may have been written; write it again with
 *                        the same fence (dibs_guarded_incr() counts once all the same).
 *           DIBS_ERR_WRONG_TYPE  the key holds another kind of value: nothing was written.
 *           DIBS_ERR_ARGUMENT, the server's faults.
 * Thread    any; blocks; not from a callback.
 * Source    lua/native/guarded_*.lua; doc/guide/fencing.md; property S2, theme 4.
 * Since     0.2 */

/* Sets the string `key` to `value_size` bytes; NULL is allowed for none.
 * `ttl_ms`: how long it lives; 0: for ever. */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_guarded_set(
  dibs_client *client, const char *key, uint64_t fence, const void *value,
  size_t value_size, int64_t ttl_ms);

typedef struct dibs_field {
  const char *name;
  const void *value;
  size_t value_size;
} dibs_field;

/* Sets `count` fields (1 .. 1000) of the hash `key`, all in one. Its ttl stays. */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_guarded_hset(
  dibs_client *client, const char *key, uint64_t fence, const dibs_field *fields,
  size_t count);

/* Removes fields of the hash `key`, as many at once. */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_guarded_hdel(
  dibs_client *client, const char *key, uint64_t fence, const char *const *names,
  size_t count);

/* Removes `key`; its fence is kept for a day more, so that an old write finds it. */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_guarded_del(
  dibs_client *client, const char *key, uint64_t fence);

/* Adds `by` to the number in `key`; once, also when the answer is lost and the library asks
 * again. After anything but an answer (DIBS_UNKNOWN, DIBS_ERR_UNREACHABLE, ...) the next
 * call of this client with the same key, fence and `by` is the same sum: call it until it
 * is answered, within 100 other guarded writes. `ret_value`, the number after it, may be
 * NULL. A number that would overflow is the server's fault, and nothing is written. */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_guarded_incr(
  dibs_client *client, const char *key, uint64_t fence, int64_t by, int64_t *ret_value);

#ifdef __cplusplus
}
#endif

#endif
