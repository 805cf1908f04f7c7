/* SPDX-License-Identifier: MIT */
/* dialect/redisson/redisson.h - locks in Redisson's format: keys, owners, calls, answers;
 * doc/design/redisson.md. Answers that are not named here have the native form.
 *
 * An owner is `U:K`: U is the client's id as a UUID, K the number of the ask. The token of
 * its lease_id is no part of the format: the script answers it. */
#ifndef DIALECT_REDISSON_H
#define DIALECT_REDISSON_H

#include "dialect/native.h"

#define UUID_SIZE 37                      /* 36 characters and a zero */
/* The watchdog of a Java reader sets the end of all readers of a name to its own, which is
 * lockWatchdogTimeout, by default this; also in share_renew.lua. */
#define REDISSON_READERS_TTL_MS 30000

/* A client id is 16 bytes in base64url. One that stands for no client has no UUID: false. */
bool redisson_uuid(const char client[CLIENT_ID_SIZE], char ret_uuid[UUID_SIZE]);

/* `{N}`, or N if it has a `{` anywhere: part of derived names. */
void redisson_braced(const void *name, size_t size, text *out);

/* `U:K`. */
void redisson_owner(const char client[CLIENT_ID_SIZE], uint64_t ask, text *out);

/* Why a name is impossible in this format in a cluster, or NULL: a constant text. */
const char *redisson_name_fault(const void *name, size_t size);

/* `redisson_lock__channel:{N}`; of a fair waiter followed by `:U:K`. For modes 'r' and 'w'
 * `redisson_rwlock:{N}`, for 'p' `redisson_sc:{N}`. */
void redisson_channel(const protocol *n, const void *name, size_t size, char mode,
                      lock_kind kind, uint64_t ask, text *out);

bool redisson_acquire(const protocol *n, request *out, const acquire_call *c);
/* Parameters as in dialect_ops. */
bool redisson_release(const protocol *n, request *out, const void *name, size_t name_size,
                      const lease_id *lease, int64_t copies_us, int64_t estimate_us);
bool redisson_cancel(const protocol *n, request *out, const void *name, size_t name_size,
                     uint64_t ask, int64_t copies_us, int64_t estimate_us,
                     const lease_id *detached);
bool redisson_break(const protocol *n, request *out, const void *name, size_t name_size,
                    const lease_id *lease, int64_t estimate_us);
bool redisson_renew(const protocol *n, request *out, const renew_item *items, size_t count,
                    int64_t estimate_us);
/* In a quorum; for locks and read/write locks. */
bool redisson_raise(const protocol *n, request *out, const void *name, size_t name_size,
                    const lease_id *lease, uint64_t token);
bool redisson_inspect(const protocol *n, request *out, const void *name, size_t name_size);
bool redisson_inspect_answer(const resp_reply *r, inspect_answer *ret);

/* ---- shared names: RReadWriteLock, RPermitExpirableSemaphore, RSemaphore ---- */

#define PERMIT_ID_SIZE 16
#define REDISSON_PERMITS_MAX 10000        /* of one ask: each is a member of a sorted set */

/* The id of the first permit of an ask: the client's id, its bytes 4 to 11 combined with K
 * by exclusive or. The other ids count up from it in the last four bytes. So a repeated
 * ask has the same permits, and different asks of one client never do. */
void redisson_permit_id(const char client[CLIENT_ID_SIZE], uint64_t ask,
                        uint8_t ret_id[PERMIT_ID_SIZE]);

bool redisson_share_acquire(const protocol *n, request *out, const share_call *c);
/* Both for the ask of `lease`; `is_cancel`: it may or may not have got one. */
bool redisson_share_release(const protocol *n, request *out, const share_ending *e,
                            bool is_cancel, int64_t copies_ms);
bool redisson_share_renew(const protocol *n, request *out, const share_renew_item *items,
                          size_t count, int64_t estimate_us);
bool redisson_share_set(const protocol *n, request *out, const void *name, size_t name_size,
                        share_set_what what, uint64_t permits, int64_t estimate_us);

#endif
