/* SPDX-License-Identifier: MIT */
/* dialect/native_latch.h - calls and answers of the count-down latches; protocol.md 12. The
 * key of a latch is its name, as it is. */
#ifndef DIALECT_NATIVE_LATCH_H
#define DIALECT_NATIVE_LATCH_H

#include "dialect/native.h"

#define LATCH_CHANNEL_SIZE (NAME_MAX_BYTES + 48)
#define LATCH_ID_MAX 128

/* `redisson_countdownlatch__channel__{N}`: braces always, as Java has it. Only where channels
 * have slots it must be in that of the key: there a name with a tag of its own stands without
 * braces, `:N`, and one with a '}' but no tag behind a number that hashes as it does, `{t}:N`. */
void native_latch_channel(const native *n, const void *name, size_t size, text *out);

typedef struct latch_call {
  const void *name; size_t name_size;
  uint64_t number;             /* of this request; a client counts up */
  int64_t count;               /* set, down: 1 .. 2^53 */
  const char *id; size_t id_size;    /* down; size 0: none */
} latch_call;

bool native_latch_set(const native *n, buffer *out, bool with_text, const latch_call *c);
bool native_latch_down(const native *n, buffer *out, bool with_text, const latch_call *c);
bool native_latch_delete(const native *n, buffer *out, bool with_text, const latch_call *c);
bool native_latch_look(const native *n, buffer *out, bool with_text, const void *name,
                       size_t size);

/* ---- answers; false when the reply has not the shape the script promises ---- */

bool native_latch_set_answer(const resp_reply *r, bool *ret_was_armed);
/* `ret_left` -1: it is not armed. */
bool native_latch_down_answer(const resp_reply *r, int64_t *ret_left);

typedef struct latch_state {
  int64_t left;                /* 0: not armed */
  bool is_number;              /* false: the key holds something else */
  uint64_t zeroed_us;          /* when zero was reached last by one of us; 0: not known */
  uint64_t deleted_us;         /* likewise, since it was armed last; 0: it was not */
} latch_state;

bool native_latch_look_answer(const resp_reply *r, latch_state *ret_state);

#endif
