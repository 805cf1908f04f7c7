/* SPDX-License-Identifier: MIT */
/* dialect/native_guard.h - calls and answers of the guarded writes; protocol.md 13. */
#ifndef DIALECT_NATIVE_GUARD_H
#define DIALECT_NATIVE_GUARD_H

#include "dialect/native.h"

/* `<p>:c::` in front, `:C` behind. */
#define GUARD_KEY_TEXT_SIZE (KEY_TEXT_SIZE + CLIENT_ID_SIZE + 1)
#define GUARD_FIELDS_MAX 1000
#define GUARD_FENCE_MAX INT64_MAX

/* Whether a Cluster would hash only a part of these bytes. In native_key.c. */
bool native_has_tag(const void *name, size_t size);

/* Why a key of the program cannot be guarded, or NULL: a constant text. Its fence has to be
 * in its slot, which no key with a '}' but without a hash tag allows. */
const char *native_guard_fault(const void *key, size_t size);

/* `<p>:f:{key}`, or `<p>:f::key` where the key has a non-empty hash tag itself: `x` and
 * `{x}`, two keys, have two fences. */
void native_fence_key(const native *n, const void *key, size_t size, text *out);

/* What every guarded write says. */
typedef struct guard_call {
  const void *key; size_t key_size;
  uint64_t fence;           /* 1 .. GUARD_FENCE_MAX */
  uint64_t number;          /* of this writing; a client counts up, below 2^53 */
  uint64_t settled;         /* this client's writings on this key with lower numbers are
                               settled: a copy of one that still comes has no effect */
} guard_call;

/* ---- append one command; false when memory is refused ---- */

bool native_guarded_set(const native *n, buffer *out, bool with_text, const guard_call *c,
                        resp_argument value, int64_t ttl_ms);
/* `words`: field and value in turn, 2 .. 2 * GUARD_FIELDS_MAX of them. */
bool native_guarded_hset(const native *n, buffer *out, bool with_text, const guard_call *c,
                         const resp_argument *words, size_t count);
bool native_guarded_hdel(const native *n, buffer *out, bool with_text, const guard_call *c,
                         const resp_argument *names, size_t count);
bool native_guarded_del(const native *n, buffer *out, bool with_text, const guard_call *c);
bool native_guarded_incr(const native *n, buffer *out, bool with_text, const guard_call *c,
                         int64_t by);

/* ---- answers; false when the reply has not the shape the script promises ---- */

typedef enum guard_outcome {
  GUARD_WRITTEN = 1,
  GUARD_FENCED,
  GUARD_LATE                /* settled before: what became of it was told then */
} guard_outcome;

/* `ret_value`: only of incr, whose answer has one; else NULL. */
bool native_guard_answer(const resp_reply *r, guard_outcome *ret_outcome, int64_t *ret_value);

#endif
