/* SPDX-License-Identifier: MIT */
/* dialect/native/guard.h - calls and answers of the guarded writes; protocol.md 13. */
#ifndef DIALECT_NATIVE_GUARD_H
#define DIALECT_NATIVE_GUARD_H

#include "dialect/data.h"
#include "dialect/native.h"

/* A key between `<p>:c::` and `:C`. */
#define GUARD_KEY_TEXT_SIZE (KEY_TEXT_SIZE + CLIENT_ID_SIZE + 1)
#define GUARD_FIELDS_MAX 1000
#define GUARD_FENCE_MAX INT64_MAX

/* Why a key of the program cannot be guarded, or NULL: a constant text. Its fence must be
 * in its slot, which is impossible for a key with a '}' but without a hash tag. */
const char *native_guard_fault(const void *key, size_t size);

/* `<p>:f:{key}`, or `<p>:f::key` if the key has a non-empty hash tag itself: `x` and
 * `{x}`, two keys, have two fences. */
void native_fence_key(const protocol *n, const void *key, size_t size, text *out);

/* The fields of every guarded write. */
typedef struct guard_call {
  const void *key; size_t key_size;
  uint64_t fence;           /* 1 .. GUARD_FENCE_MAX */
  uint64_t number;          /* of this write; a client counts, below 2^53 */
  uint64_t settled;         /* this client's writes on this key with lower numbers are
                             * acknowledged: a later copy of one has no effect */
} guard_call;

/* ---- append one command; false: no memory ---- */

bool native_guarded_set(const protocol *n, request *out, const guard_call *c,
                        resp_argument value, int64_t ttl_ms);
/* `words`: fields and values alternating, 2 .. 2 * GUARD_FIELDS_MAX of them. */
bool native_guarded_hset(const protocol *n, request *out, const guard_call *c,
                         const resp_argument *words, size_t count);
bool native_guarded_hdel(const protocol *n, request *out, const guard_call *c,
                         const resp_argument *names, size_t count);
bool native_guarded_del(const protocol *n, request *out, const guard_call *c);
bool native_guarded_incr(const protocol *n, request *out, const guard_call *c, int64_t by);

/* Reads the string `key`, or with `field` that of a hash. A value over `most` bytes is answered by
 * its length. */
bool native_guarded_get(const protocol *n, request *out, resp_argument key,
                        const resp_argument *field, size_t most);

/* ---- answers; false when the reply has another form ---- */

typedef enum guard_outcome {
  GUARD_WRITTEN = 1,
  GUARD_FENCED,
  GUARD_LATE                /* acknowledged before, with its outcome */
} guard_outcome;

/* `ret_value`: only of incr, whose answer has one; otherwise NULL. */
bool native_guard_answer(const resp_reply *r, guard_outcome *ret_outcome, int64_t *ret_value);

/* Whether this error of incr shows that the sum was not counted: the script looks for it before. */
bool native_guard_denies(const resp_node *error);

/* `ret_fence`: 0: none. */
bool native_guarded_value(const resp_reply *r, data_value *ret_value, uint64_t *ret_fence);

#endif
