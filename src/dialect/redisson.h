/* SPDX-License-Identifier: MIT */
/* dialect/redisson.h - locks as Redisson writes them: keys, owners, calls, answers;
 * doc/design/redisson.md. Answers that are not named here have the shape of the native ones.
 *
 * An owner is `U:K`: U is the client's id as a UUID, K the number of the ask. As a lease_id its
 * token is no part of the format: it is what the script answered. */
#ifndef DIALECT_REDISSON_H
#define DIALECT_REDISSON_H

#include "dialect/native.h"

#define UUID_SIZE 37                      /* 36 characters and a zero */

/* A client id is 16 bytes in base64url. Those that stand for nobody have no UUID: false. */
bool redisson_uuid(const char client[CLIENT_ID_SIZE], char ret_uuid[UUID_SIZE]);

/* `{N}`, or N where it has a `{` anywhere: what derived names begin or end with. */
void redisson_braced(const void *name, size_t size, text *out);

/* `U:K`. */
void redisson_owner(const char client[CLIENT_ID_SIZE], uint64_t ask, text *out);

/* Why a name cannot be one of theirs in Cluster, or NULL: a constant text. */
const char *redisson_name_fault(const void *name, size_t size);

/* `redisson_lock__channel:{N}`; a fair waiter's own with `:U:K` behind it. For modes 'r' and
 * 'w' `redisson_rwlock:{N}`, for 'p' `redisson_sc:{N}`. */
void redisson_channel(const native *n, const void *name, size_t size, char mode,
                      lock_flavour flavour, uint64_t ask, text *out);

bool redisson_acquire(const native *n, buffer *out, bool with_text, const acquire_call *c);
/* `copies_ms`: so long a copy of the ask may still come; 0: there is none. */
bool redisson_release(const native *n, buffer *out, bool with_text, const void *name,
                      size_t name_size, const lease_id *lease, int64_t copies_ms);
bool redisson_cancel(const native *n, buffer *out, bool with_text, const void *name,
                     size_t name_size, uint64_t ask, int64_t copies_ms);
bool redisson_break(const native *n, buffer *out, bool with_text, const void *name,
                    size_t name_size, const lease_id *lease);
bool redisson_renew(const native *n, buffer *out, bool with_text, const renew_item *items,
                    size_t count);
/* On a quorum; of a lock, or of one that several share. */
bool redisson_raise(const native *n, buffer *out, bool with_text, const void *name,
                    size_t name_size, const lease_id *lease, uint64_t token);
bool redisson_inspect(const native *n, buffer *out, bool with_text, const void *name,
                      size_t name_size);
bool redisson_inspect_answer(const resp_reply *r, inspect_answer *ret);

/* ---- what shares a name: RReadWriteLock, RPermitExpirableSemaphore, RSemaphore ---- */

#define PERMIT_ID_SIZE 16
#define REDISSON_PERMITS_MAX 10000        /* of one ask: each is a member of a sorted set */

/* The id of the first permit of an ask: the client's id, its bytes 4 to 11 combined with K by
 * exclusive or. The ids of the others count up from it in the last four bytes. So an ask that
 * is repeated names the same permits, and no two of one client are ever the same. */
void redisson_permit_id(const char client[CLIENT_ID_SIZE], uint64_t ask,
                        uint8_t ret_id[PERMIT_ID_SIZE]);

bool redisson_share_acquire(const native *n, buffer *out, bool with_text, const share_call *c);
/* Both for the ask of `lease`; `is_cancel`: whether it got one is not known. */
bool redisson_share_release(const native *n, buffer *out, bool with_text,
                            const share_ending *e, bool is_cancel, int64_t copies_ms);
bool redisson_share_renew(const native *n, buffer *out, bool with_text,
                          const share_renew_item *items, size_t count);
bool redisson_share_set(const native *n, buffer *out, bool with_text, const void *name,
                        size_t name_size, share_set_what what, uint64_t permits);

#endif
