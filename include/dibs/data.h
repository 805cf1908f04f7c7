/* SPDX-License-Identifier: MIT */
/* dibs/data.h - what maps, lists and sets have in common (map.h, list.h, set.h).
 *
 * They have Redisson's layout in all dialects: the key is `name` itself, without
 * the client's prefix, and bytes are stored unchanged, which Java reads and writes with
 * StringCodec or ByteArrayCodec. Names are as for locks: 1 .. 512 bytes, no '}' at the start.
 *
 * Link with -ldibs-data -ldibs. pkg-config: dibs-data; CMake: dibs::data.
 *
 * A call that changes something is sent once. If its reply is lost it returns DIBS_UNKNOWN
 * and is not repeated; the program must decide. A call that only reads is
 * repeated by the library. */
#ifndef DIBS_DATA_H
#define DIBS_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dibs/client.h>
#include <dibs/value.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Results of all functions on data, in addition to those of each:
 *
 *   DIBS_UNKNOWN          a change was sent, and no reply came: it happened or not
 *                         (or it did, and there was no memory for its result).
 *   DIBS_ERR_WRONG_TYPE   the key holds another kind of value: nothing was changed.
 *   DIBS_ERR_UNSUPPORTED  a value of another program is over DIBS_DATA_MAX: nothing was
 *                         changed; or the client has a quorum of servers.
 *   DIBS_ERR_ARGUMENT, _UNREACHABLE, _DENIED, _REFUSED, ...
 *
 * Output parameters are set only with DIBS_OK. All may be called by any thread, block at
 * most as long as dibs_client_set_call_timeout() says, and not from a callback. */

/* ---- whole maps, lists and sets, by their names ---- */

/* Sets the time to live of `name` to `ttl_ms` (1 .. 10^15). The fence of its guarded writes
 * (guard.h), if there is one, lives a day longer. `ret_done` (may be NULL): false if there is
 * none. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_data_expire(
  dibs_client *client, const char *name, int64_t ttl_ms, bool *ret_done);

/* Removes the time to live of `name`, and that of the fence of its guarded writes. `ret_done` (may
 * be NULL): false if there is none, or it has no end. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_data_persist(
  dibs_client *client, const char *name, bool *ret_done);

/* Reads the milliseconds that `name` has left; -1: it has no end; -2: there is none. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_data_ttl(
  dibs_client *client, const char *name, int64_t *ret_ms);

/* Removes `name`, of any kind; the server frees its memory in the background. The fence of its
 * guarded writes lives a day longer. `ret_done` (may be NULL): false if there was none.
 * Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_data_delete(
  dibs_client *client, const char *name, bool *ret_done);

/* ---- locks that belong to one key ---- */

typedef enum dibs_key_lock {
  DIBS_KEY_LOCK = 1,             /* getLock(key) in Java */
  DIBS_KEY_FAIR_LOCK,            /* getFairLock(key) */
  DIBS_KEY_RW_LOCK,              /* getReadWriteLock(key) */
  DIBS_KEY_SEMAPHORE,            /* getSemaphore(key) */
  DIBS_KEY_PERMITS,              /* getPermitExpirableSemaphore(key) */
  DIBS_KEY_LATCH                 /* getCountDownLatch(key) */
} dibs_key_lock;

/* Writes the name of the lock that belongs to one key of the map `name`, or one member of the
 * set `name`, for dibs_lock() and related functions. `{name}:hash:kind` as Redisson makes
 * it, or `name:hash:kind` if there is a '{' in the name; the hash (HighwayHash, 128 bits) is
 * of the key's bytes. To share it with Java the client must also use the dialect redisson;
 * for the latch any client does.
 *
 * `ret_name`  DIBS_NAME_MAX + 1 bytes are always enough.
 * Returns DIBS_OK; DIBS_ERR_ARGUMENT: a NULL, a kind, a key over DIBS_KEY_MAX, the result does
 *         not fit into `size` or is over DIBS_NAME_MAX.
 * Thread  any; does not block. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_key_lock_name(
  const char *name, dibs_bytes key, dibs_key_lock kind, char *ret_name, size_t size);

#ifdef __cplusplus
}
#endif

#endif
