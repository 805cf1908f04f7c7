/* SPDX-License-Identifier: MIT */
/* dibs/set.h - sets of bytes: Redisson's RSet, a set of the server.
 *
 * Link with -ldibs-data -ldibs. See the head of data.h for names, bytes and results. A member
 * has at most DIBS_KEY_MAX bytes. */
#ifndef DIBS_SET_H
#define DIBS_SET_H

#include <dibs/data.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Adds a member. `ret_done` (may be NULL): false if it was one already. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_set_add(
  dibs_client *client, const char *name, dibs_bytes member, bool *ret_done);

/* Removes a member. `ret_done` (may be NULL): false if it was none. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_set_remove(
  dibs_client *client, const char *name, dibs_bytes member, bool *ret_done);

DIBS_API DIBS_MUST_CHECK dibs_status dibs_set_contains(
  dibs_client *client, const char *name, dibs_bytes member, bool *ret_is_there);

/* Reads the number of members. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_set_size(
  dibs_client *client, const char *name, uint64_t *ret_size);

/* Removes a random member and returns it (free it with dibs_value_free()); NULL: the
 * set is empty. After DIBS_UNKNOWN a member may have been removed without being delivered.
 * Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_set_pop(
  dibs_client *client, const char *name, dibs_value **ret_member);

/* Receives one member; returns false to stop. As dibs_map_callback. */
typedef bool (*dibs_set_callback)(dibs_bytes member, void *data);

/* Visits the members as dibs_map_each() visits entries. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_set_each(
  dibs_client *client, const char *name, dibs_set_callback callback, void *data);

#ifdef __cplusplus
}
#endif

#endif
