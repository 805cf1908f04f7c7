/* SPDX-License-Identifier: MIT */
/* dibs/set.h - sets of bytes: Redisson's RSet, a set of the server.
 *
 * Read the head of data.h first: it says what names, bytes and answers are. A member has at
 * most DIBS_KEY_MAX bytes. */
#ifndef DIBS_SET_H
#define DIBS_SET_H

#include <dibs/data.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Adds a member. `ret_done`, may be NULL: false when it was one already. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_set_add(
  dibs_client *client, const char *name, dibs_bytes member, bool *ret_done);

/* Removes a member. `ret_done`, may be NULL: false when it was none. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_set_remove(
  dibs_client *client, const char *name, dibs_bytes member, bool *ret_done);

DIBS_API DIBS_MUST_CHECK dibs_status dibs_set_contains(
  dibs_client *client, const char *name, dibs_bytes member, bool *ret_is_there);

/* How many members there are. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_set_size(
  dibs_client *client, const char *name, uint64_t *ret_size);

/* Removes any member, by chance, and hands it out (free it with dibs_value_free()); NULL: the
 * set is empty. After DIBS_UNKNOWN a member may be gone, seen by nobody. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_set_pop(
  dibs_client *client, const char *name, dibs_value **ret_member);

/* Is given one member; false: that is enough. As dibs_map_callback. */
typedef bool (*dibs_set_callback)(dibs_bytes member, void *data);

/* Visits the members as dibs_map_each() visits entries. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_set_each(
  dibs_client *client, const char *name, dibs_set_callback callback, void *data);

#ifdef __cplusplus
}
#endif

#endif
