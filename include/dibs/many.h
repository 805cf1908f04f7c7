/* SPDX-License-Identifier: MIT */
/* dibs/many.h - several locks at once, and one of several.
 *
 * A set of exclusive locks is taken as a whole: all or nothing. Nothing is held while waiting, but
 * after three failed rounds the free names that come first by name. Names of several slots of a
 * Cluster, and all names in another dialect than native, are taken one after the other: those of
 * before are held while the next one is waited for, and one that is lost then is taken again, with
 * those after it. So two programs cannot block each other: names are taken in one order. The
 * members are the locks of dibs_lock(): they exclude clients that lock one of them alone.
 *
 *   const dibs_bytes accounts[] = { dibs_text("a"), dibs_text("b") };
 *   dibs_acquire(client, DIBS_LOCKS(accounts, 2), &options, &hold)
 *
 * in any order; a repeated name counts once. One hold is for the set: one fence, which is above
 * every earlier grant of each member; lost when one member is lost. DIBS_LOCK_FIXED and max_hold_ms
 * count from the grant of all. There is no re-entry: an owner that holds one of the names already
 * gets DIBS_WOULD_DEADLOCK. An array of one name is that lock, with re-entry. */
#ifndef DIBS_MANY_H
#define DIBS_MANY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dibs/status.h>
#include <dibs/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DIBS_MANY_MAX 100   /* names in a set */

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
