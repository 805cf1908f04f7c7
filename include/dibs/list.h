/* SPDX-License-Identifier: MIT */
/* dibs/list.h - lists of bytes: Redisson's RList and RQueue, a list of the server. (All names
 * under the prefix are told by dibs_list() of lock.h, which has nothing to do with these.)
 *
 * Read the head of data.h first: it says what names, bytes and answers are. An element has at
 * most DIBS_DATA_MAX bytes. Indexes count from 0; where it is said, -1 is the last. */
#ifndef DIBS_LIST_H
#define DIBS_LIST_H

#include <dibs/data.h>
#include <dibs/latch.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Adds an element behind the last, or in front of the first. `ret_size`, may be NULL: how many
 * there are then. After DIBS_UNKNOWN another call may add it twice. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_list_add(
  dibs_client *client, const char *name, dibs_bytes element, uint64_t *ret_size);
DIBS_API DIBS_MUST_CHECK dibs_status dibs_list_add_first(
  dibs_client *client, const char *name, dibs_bytes element, uint64_t *ret_size);

/* `ret_element` gets the element at `index` (-1: the last), or NULL when there is none; free
 * it with dibs_value_free(). Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_list_get(
  dibs_client *client, const char *name, int64_t index, dibs_value **ret_element);

/* Puts another element in the place of the one at `index` (-1: the last). `ret_done`: false
 * when there is none. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_list_set(
  dibs_client *client, const char *name, int64_t index, dibs_bytes element,
  bool *ret_done);

/* Puts an element at `index` (0 .. the size); what was there and behind moves on by one.
 * `ret_done`: false when the list is shorter. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_list_insert(
  dibs_client *client, const char *name, int64_t index, dibs_bytes element,
  bool *ret_done);

/* Removes elements that are `element`, byte for byte: the first `count`, with a negative count
 * the last, with 0 all. `ret_removed`, may be NULL: how many that were. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_list_remove(
  dibs_client *client, const char *name, dibs_bytes element, int64_t count,
  uint64_t *ret_removed);

/* Removes the element at `index` (-1: the last). `ret_done`: false when there is none. */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_list_remove_at(
  dibs_client *client, const char *name, int64_t index, bool *ret_done);

DIBS_API DIBS_MUST_CHECK dibs_status dibs_list_size(
  dibs_client *client, const char *name, uint64_t *ret_size);

/* Is given one element; false: that is enough. As dibs_map_callback. */
typedef bool (*dibs_list_element_callback)(uint64_t index, dibs_bytes element, void *data);

/* Visits at most `count` elements from `index` on (0: all to the end), in their order, some
 * dozens in memory at a time. Each page is of one moment, the whole is not: when elements are
 * removed or inserted in front meanwhile, some are visited twice or not at all. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_list_range(
  dibs_client *client, const char *name, uint64_t index, uint64_t count,
  dibs_list_element_callback callback, void *data);

/* Removes the first or last element and hands it out; NULL: the list is empty.
 * After DIBS_UNKNOWN the element may be gone, seen by nobody. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_list_pop_first(
  dibs_client *client, const char *name, dibs_value **ret_element);
DIBS_API DIBS_MUST_CHECK dibs_status dibs_list_pop_last(
  dibs_client *client, const char *name, dibs_value **ret_element);

/* The same as dibs_list_pop_first(), and waits while the list is empty: looks again after at
 * most 10 milliseconds, then less and less often, every quarter of a second in the end. So nobody
 * stands in line, and a program that blocks in the server (BLPOP, Java's RBlockingQueue) is
 * faster.
 *
 * `options`  wait_ms and cancel; NULL: waits for ever. While it is just removing an element
 *            both wait for the answer, command_timeout_ms at the most.
 * Returns    DIBS_OK, DIBS_TIMED_OUT, DIBS_CANCELLED: then no element was removed;
 *            DIBS_UNKNOWN: one may be; DIBS_ERR_UNREACHABLE (no server for
 *            connect_timeout_ms while it waited), DIBS_ERR_CLOSED, other faults.
 * Thread     any; blocks; not from a callback. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_list_take(
  dibs_client *client, const char *name, const dibs_wait_options *options,
  dibs_value **ret_element);

#ifdef __cplusplus
}
#endif

#endif
