/* SPDX-License-Identifier: MIT */
/* dialect/string_lock.h - locks that are a string: of Spring Integration's RedisLockRegistry, and
 * the plain SET NX PX of many libraries; doc/design/dialects.md. Answers have the shape of the
 * native ones, inspect's that of redisson.h.
 *
 * An owner is `U:K` as in redisson.h. Plain: it is the value, and a key of ours beside the lock has
 * the last token. Spring: U is the value, as Spring compares it, and that key has `U:K`. */
#ifndef DIALECT_STRING_LOCK_H
#define DIALECT_STRING_LOCK_H

#include "dialect/native.h"

/* Why a registry is refused, or NULL: a constant text. */
const char *spring_registry_fault(const char *registry);
/* Likewise a name, in Cluster. */
const char *string_name_fault(const native *n, const void *name, size_t size);

/* `<registry>:N`, or N. */
void string_key(const native *n, const void *name, size_t size, text *out);
/* `<registry>-channel:<registry>:N`. Spring only. */
void spring_channel(const native *n, const void *name, size_t size, text *out);
/* `<registry>-channel`: where releases of Spring before 6.4.8 name what is free. */
void spring_old_channel(const native *n, text *out);

bool string_acquire(const native *n, buffer *out, bool with_text, const acquire_call *c);
/* `copies_ms`: so long a copy of the ask may still come; 0: there is none. */
bool string_release(const native *n, buffer *out, bool with_text, const void *name,
                    size_t name_size, const lease_id *lease, int64_t copies_ms);
bool string_cancel(const native *n, buffer *out, bool with_text, const void *name,
                   size_t name_size, uint64_t ask, int64_t copies_ms);
bool string_break(const native *n, buffer *out, bool with_text, const void *name,
                  size_t name_size, const lease_id *lease);
bool string_renew(const native *n, buffer *out, bool with_text, const renew_item *items,
                  size_t count);
bool string_inspect(const native *n, buffer *out, bool with_text, const void *name,
                    size_t name_size);
/* Plain only; as native_raise(). */
bool plain_raise(const native *n, buffer *out, bool with_text, const void *name,
                 size_t name_size, const lease_id *lease, uint64_t token);

#endif
