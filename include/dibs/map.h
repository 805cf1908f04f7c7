/* SPDX-License-Identifier: MIT */
/* dibs/map.h - maps from bytes to bytes: Redisson's RMap, a hash of the server.
 *
 * Link with -ldibs-data -ldibs. See the head of data.h for names, bytes and results. A key has
 * at most DIBS_KEY_MAX bytes, a value DIBS_DATA_MAX. For writes that an outdated holder must not
 * make, dibs_guarded_hset() and dibs_guarded_hdel() (guard.h) work on the same maps. */
#ifndef DIBS_MAP_H
#define DIBS_MAP_H

#include <dibs/data.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sets `key` to `value`. `ret_old` (may be NULL) receives the old value (NULL: none), in
 * one step; free it with dibs_value_free(). Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_map_put(
  dibs_client *client, const char *name, dibs_bytes key, dibs_bytes value,
  dibs_value **ret_old);

/* Sets `key` if it does not exist; `ret_done` receives whether it was set. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_map_put_if_absent(
  dibs_client *client, const char *name, dibs_bytes key, dibs_bytes value, bool *ret_done);

/* Sets `key` if it exists; `ret_done` receives whether it was set. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_map_replace(
  dibs_client *client, const char *name, dibs_bytes key, dibs_bytes value, bool *ret_done);

/* Sets `key` if its value is `expected`, byte for byte. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_map_replace_if(
  dibs_client *client, const char *name, dibs_bytes key, dibs_bytes expected,
  dibs_bytes value, bool *ret_done);

/* Reads a value. `ret_value` receives it, or NULL if there is no `key`. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_map_get(
  dibs_client *client, const char *name, dibs_bytes key, dibs_value **ret_value);

DIBS_API DIBS_MUST_CHECK dibs_status dibs_map_contains(
  dibs_client *client, const char *name, dibs_bytes key, bool *ret_is_there);

/* Reads the number of keys. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_map_size(
  dibs_client *client, const char *name, uint64_t *ret_size);

/* Removes `key`; it need not be there. `ret_old` as for dibs_map_put(). Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_map_remove(
  dibs_client *client, const char *name, dibs_bytes key, dibs_value **ret_old);

/* Removes `key` if its value is `expected`; `ret_done` receives whether it was removed.
 * Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_map_remove_if(
  dibs_client *client, const char *name, dibs_bytes key, dibs_bytes expected,
  bool *ret_done);

/* Receives one entry; returns false to stop. Both are borrowed until it returns. `value` (or
 * `key`) has bytes NULL and its size if it was too large for a page, which is possible only
 * for values of other programs. It runs in the caller's thread between two requests,
 * and may call all functions of the library but dibs_close(), which does nothing there; `data` is
 * not used after that call. */
typedef bool (*dibs_map_callback)(dibs_bytes key, dibs_bytes value, void *data);

/* Visits the entries, in no order, a few dozen in memory at a time, with the guarantees of
 * HSCAN: an entry that exists from the beginning to the end is visited; one that is added or
 * removed meanwhile may be visited or not; one may be visited twice. Returns DIBS_OK also if
 * the callback stopped it. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_map_each(
  dibs_client *client, const char *name, dibs_map_callback callback, void *data);

#ifdef __cplusplus
}
#endif

#endif
