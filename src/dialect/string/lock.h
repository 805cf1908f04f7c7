/* SPDX-License-Identifier: MIT */
/* dialect/string/lock.h - locks that are a string: of Spring Integration's
 * RedisLockRegistry, and the plain SET NX PX of many libraries; doc/design/dialects.md.
 * Answers have the native form, inspect's that of redisson/redisson.h.
 *
 * An owner is `U:K` as in redisson/redisson.h. Plain: it is the value, and a key of dibs has the
 * last token. Spring: U is the value, as Spring compares it, and that key has `U:K`. */
#ifndef DIALECT_STRING_LOCK_H
#define DIALECT_STRING_LOCK_H

#include "dialect/native.h"

/* Why a registry is refused, or NULL: a constant text. */
const char *spring_registry_fault(const char *registry);
/* Why a name is refused in a cluster, or NULL. */
const char *string_name_fault(const protocol *n, const void *name, size_t size);

/* `<registry>:N`, or N. */
void string_key(const protocol *n, const void *name, size_t size, text *out);
/* `<registry>-channel:<registry>:N`. Spring only. */
void spring_channel(const protocol *n, const void *name, size_t size, text *out);
/* `<registry>-channel`: releases of Spring before 6.4.8 name the free lock there. */
void spring_old_channel(const protocol *n, text *out);

bool string_acquire(const protocol *n, request *out, const acquire_call *c);
/* Parameters as in dialect_ops. */
bool string_release(const protocol *n, request *out, const void *name, size_t name_size,
                    const lease_id *lease, int64_t copies_us, int64_t estimate_us);
bool string_cancel(const protocol *n, request *out, const void *name, size_t name_size,
                   uint64_t ask, int64_t copies_us, int64_t estimate_us,
                   const lease_id *detached);
bool string_break(const protocol *n, request *out, const void *name, size_t name_size,
                  const lease_id *lease, int64_t estimate_us);
bool string_renew(const protocol *n, request *out, const renew_item *items, size_t count,
                  int64_t estimate_us);
bool string_inspect(const protocol *n, request *out, const void *name, size_t name_size);
/* Plain only; as native_raise(). */
bool plain_raise(const protocol *n, request *out, const void *name, size_t name_size,
                 const lease_id *lease, uint64_t token);

#endif
