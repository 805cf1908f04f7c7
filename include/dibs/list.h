/* SPDX-License-Identifier: MIT */
/* dibs/list.h - lists of bytes: Redisson's RList and RQueue, a list of the server. (dibs_list()
 * of lock.h walks over lock names and is unrelated.)
 *
 * Link with -ldibs-data -ldibs. See the head of data.h for names, bytes and results. An element
 * has at most DIBS_DATA_MAX bytes. Indexes count from 0; if stated, -1 is the last. */
#ifndef DIBS_LIST_H
#define DIBS_LIST_H

#include <dibs/data.h>
#include <dibs/latch.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Appends (add) or prepends (add_first) an element. `ret_size` (may be NULL) receives the new
 * length. Repeating it after DIBS_UNKNOWN may add it twice. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_list_add(
  dibs_client *client, const char *name, dibs_bytes element, uint64_t *ret_size);
DIBS_API DIBS_MUST_CHECK dibs_status dibs_list_add_first(
  dibs_client *client, const char *name, dibs_bytes element, uint64_t *ret_size);

/* Reads the element at `index` (-1: the last). `ret_element` receives it, or NULL if there is
 * none; free it with dibs_value_free(). Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_list_get(
  dibs_client *client, const char *name, int64_t index, dibs_value **ret_element);

/* Replaces the element at `index` (-1: the last). `ret_done`: false
 * if there is none. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_list_set(
  dibs_client *client, const char *name, int64_t index, dibs_bytes element,
  bool *ret_done);

/* Inserts an element at `index` (0 .. the length); later elements move up by one.
 * `ret_done`: false if the list is shorter. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_list_insert(
  dibs_client *client, const char *name, int64_t index, dibs_bytes element,
  bool *ret_done);

/* Removes elements equal to `element`, byte for byte: the first `count`, with a negative count
 * the last, with 0 all. `ret_removed` (may be NULL) receives how many. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_list_remove(
  dibs_client *client, const char *name, dibs_bytes element, int64_t count,
  uint64_t *ret_removed);

/* Removes the element at `index` (-1: the last). `ret_done`: false if there is none. */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_list_remove_at(
  dibs_client *client, const char *name, int64_t index, bool *ret_done);

/* Reads the number of elements. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_list_size(
  dibs_client *client, const char *name, uint64_t *ret_size);

/* Receives one element; returns false to stop. As dibs_map_callback. */
typedef bool (*dibs_list_element_callback)(uint64_t index, dibs_bytes element, void *data);

/* Visits at most `count` elements from `index` on (0: all to the end), in their order, a few
 * dozen in memory at a time. Each page is consistent, the whole is not: if elements at lower
 * indexes are removed or inserted meanwhile, some are visited twice or not at all. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_list_range(
  dibs_client *client, const char *name, uint64_t index, uint64_t count,
  dibs_list_element_callback callback, void *data);

/* Removes the first or last element and returns it; NULL: the list is empty.
 * After DIBS_UNKNOWN the element may have been removed without being delivered. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_list_pop_first(
  dibs_client *client, const char *name, dibs_value **ret_element);
DIBS_API DIBS_MUST_CHECK dibs_status dibs_list_pop_last(
  dibs_client *client, const char *name, dibs_value **ret_element);

/* As dibs_list_pop_first(), but waits while the list is empty: it polls after at
 * most 10 milliseconds, then at growing intervals up to a quarter of a second. So there is no
 * queue, and a program that blocks in the server (BLPOP, Java's RBlockingQueue) is
 * faster.
 *
 * `options`  wait_ms and cancel; NULL: waits forever. While it removes an element
 *            both wait for the reply, command_timeout_ms at most.
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
