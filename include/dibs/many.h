/* SPDX-License-Identifier: MIT */
/* dibs/many.h - several locks at once, and one of several.
 *
 * A set of exclusive locks is taken as a whole: all or nothing. Nothing is held while waiting, but
 * after three failed rounds the free names that come first by name. So two programs cannot block
 * each other: names are taken in one order. The members are the locks of
 * dibs_lock(): they exclude clients that lock one of them alone. */
#ifndef DIBS_MANY_H
#define DIBS_MANY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dibs/async.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DIBS_MANY_MAX 100   /* names in a set */

/* Takes all locks called `names`, in any order; a repeated name counts
 * once. One hold is returned for the set: one fence, which is above every earlier grant of each
 * member; lost when one member is lost.
 *
 * `names`, `count`  1 .. DIBS_MANY_MAX names. Copied.
 * `options`         as dibs_lock(); there is no re-entry: an owner that holds one of the
 *                   names already gets DIBS_WOULD_DEADLOCK. linger_ms and min_replicas must be 0.
 *
 * Returns  as dibs_lock().
 * Thread   any; blocks; not from a callback.
 * Source   doc/design/protocol.md 10. Since 0.2 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_lock_many(
  dibs_client *client, const char *const *names, size_t count,
  const dibs_lock_options *options, dibs_hold **ret_hold);

/* As dibs_lock_many(), but never waits for other holders: DIBS_BUSY, and nothing is held. */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_try_lock_many(
  dibs_client *client, const char *const *names, size_t count,
  const dibs_lock_options *options, dibs_hold **ret_hold);

DIBS_API DIBS_MUST_CHECK dibs_status dibs_lock_many_async(
  dibs_client *client, const char *const *names, size_t count,
  const dibs_lock_options *options, dibs_lock_callback callback, void *data,
  dibs_request **ret_request);

DIBS_API DIBS_MUST_CHECK dibs_status dibs_try_lock_many_async(
  dibs_client *client, const char *const *names, size_t count,
  const dibs_lock_options *options, dibs_lock_callback callback, void *data,
  dibs_request **ret_request);

/* Writes the name of the stripe that `key` belongs to, one of `stripes`: "name#17". A hot
 * resource is split evenly over that many locks. The same everywhere and for ever:
 * 64-bit FNV-1a of the key's bytes, its upper half folded into the lower by xor, modulo
 * `stripes`.
 *
 * `stripes`  1 .. 1000000. `ret_name` gets at most `size` bytes with the final zero;
 *            strlen(name) + 9 are always enough.
 * Returns  DIBS_OK, DIBS_ERR_ARGUMENT (NULL, an empty name, no stripes, too small).
 * Thread   any; pure. Since 0.2 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_stripe(
  const char *name, const void *key, size_t key_size, uint32_t stripes, char *ret_name,
  size_t size);

#ifdef __cplusplus
}
#endif

#endif
