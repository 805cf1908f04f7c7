/* SPDX-License-Identifier: MIT */
/* dibs/map.h - maps from bytes to bytes: Redisson's RMap, a hash of the server.
 *
 * Read the head of data.h first: it says what names, bytes and answers are. A key has at most
 * DIBS_KEY_MAX bytes, a value DIBS_DATA_MAX. For writes that an outdated holder must not make,
 * dibs_guarded_hset() and dibs_guarded_hdel() (guard.h) work on the same maps. */
#ifndef DIBS_MAP_H
#define DIBS_MAP_H

#include <dibs/data.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sets `key` to `value`. `ret_old`: NULL, or gets what was there before (NULL: nothing), in
 * one step; free it with dibs_value_free(). Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_map_put(
  dibs_client *client, const char *name, dibs_bytes key, dibs_bytes value,
  dibs_value **ret_old);

/* Sets `key` when it is not there; `ret_done` tells whether it was not. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_map_put_if_absent(
  dibs_client *client, const char *name, dibs_bytes key, dibs_bytes value, bool *ret_done);

/* Sets `key` when it is there; `ret_done` tells whether it was. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_map_replace(
  dibs_client *client, const char *name, dibs_bytes key, dibs_bytes value, bool *ret_done);

/* Sets `key` when its value is `expected`, byte for byte. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_map_replace_if(
  dibs_client *client, const char *name, dibs_bytes key, dibs_bytes expected,
  dibs_bytes value, bool *ret_done);

/* `ret_value` gets the value, or NULL when `key` is not there. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_map_get(
  dibs_client *client, const char *name, dibs_bytes key, dibs_value **ret_value);

DIBS_API DIBS_MUST_CHECK dibs_status dibs_map_contains(
  dibs_client *client, const char *name, dibs_bytes key, bool *ret_is_there);

/* How many keys there are. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_map_size(
  dibs_client *client, const char *name, uint64_t *ret_size);

/* Removes `key`; it need not be there. `ret_old` as for dibs_map_put(). Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_map_remove(
  dibs_client *client, const char *name, dibs_bytes key, dibs_value **ret_old);

/* Removes `key` when its value is `expected`; `ret_done` tells whether it was. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_map_remove_if(
  dibs_client *client, const char *name, dibs_bytes key, dibs_bytes expected,
  bool *ret_done);

/* Is given one entry; false: that is enough. Both are borrowed until it returns. `value` (or
 * `key`) has bytes NULL and its size when it is so long that it found no room, which can only
 * be one that somebody else has stored. It runs in the caller's thread between two questions,
 * and may call all functions of the library. */
typedef bool (*dibs_map_callback)(dibs_bytes key, dibs_bytes value, void *data);

/* Visits the entries, in no order, some dozens in memory at a time. What HSCAN promises: an
 * entry that is there from the beginning to the end is visited; one that comes or goes
 * meanwhile perhaps; one may be visited twice. Returns DIBS_OK also when the callback has had
 * enough. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_map_each(
  dibs_client *client, const char *name, dibs_map_callback callback, void *data);

#ifdef __cplusplus
}
#endif

#endif
