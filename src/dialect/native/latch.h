/* SPDX-License-Identifier: MIT */
/* dialect/native/latch.h - calls and answers of the count-down latches; protocol.md 12.
 * The key of a latch is its name. */
#ifndef DIALECT_NATIVE_LATCH_H
#define DIALECT_NATIVE_LATCH_H

#include "dialect/native.h"

#define LATCH_CHANNEL_SIZE (NAME_MAX_BYTES + 48)
#define LATCH_ID_MAX 128

/* `redisson_countdownlatch__channel__{N}`: always braces, as in Java. Sharded channels
 * must be in the slot of the key: there a name with its own tag has no braces, `:N`, and a
 * name with a '}' but no tag follows a number with the same slot, `{t}:N`. */
void native_latch_channel(const protocol *n, const void *name, size_t size, text *out);

/* Whether the key of a record, without `PREFIX:l:`, is not `{N}` but `:N` or `{t}:N`. */
bool native_latch_name_at_end(const protocol *n, const char *key, size_t size,
                              const char **ret_name, size_t *ret_size);

typedef struct latch_call {
  const void *name; size_t name_size;
  uint64_t number;             /* of this request; a client counts */
  int64_t count;               /* set, down: 1 .. 2^53 */
  const char *id; size_t id_size;    /* down; size 0: none */
} latch_call;

bool native_latch_set(const protocol *n, request *out, const latch_call *c);
bool native_latch_down(const protocol *n, request *out, const latch_call *c);
bool native_latch_delete(const protocol *n, request *out, const latch_call *c);
bool native_latch_look(const protocol *n, request *out, const void *name, size_t size);

/* ---- answers; false when the reply has another form ---- */

bool native_latch_set_answer(const resp_reply *r, bool *ret_was_armed);
/* `ret_left` -1: it is not armed. */
bool native_latch_down_answer(const resp_reply *r, int64_t *ret_left);

typedef struct latch_state {
  int64_t left;                /* 0: not armed */
  bool is_number;              /* false: the key has another type of value */
  uint64_t zeroed_us;          /* the last zero reached by a client of dibs; 0: not known */
  uint64_t deleted_us;         /* the deletion since it was last armed; 0: none */
} latch_state;

bool native_latch_look_answer(const resp_reply *r, latch_state *ret_state);

#endif
