/* SPDX-License-Identifier: MIT */
/* script - the server scripts, embedded at build time from lua/, and how to call them.
 *
 * May include resp/, base/. The table is made by tools/embed_lua.py. */
#ifndef SCRIPT_H
#define SCRIPT_H

#include "resp/resp.h"

typedef struct script {
  const char *name;       /* "native/acquire" */
  const char *bytes;
  size_t size;
  char sha1[41];
} script;

/* One per file lua/<dialect>/<verb>.lua: script_native_acquire and so on. */
extern const script script_native_acquire;
extern const script script_native_barrier_arrive;
extern const script script_native_barrier_leave;
extern const script script_native_barrier_look;
extern const script script_native_barrier_reset;
extern const script script_native_break;
extern const script script_native_cancel;
extern const script script_native_elect_clear;
extern const script script_native_elect_look;
extern const script script_native_elect_publish;
extern const script script_native_guarded_del;
extern const script script_native_guarded_hdel;
extern const script script_native_guarded_hset;
extern const script script_native_guarded_incr;
extern const script script_native_guarded_set;
extern const script script_native_inspect;
extern const script script_native_latch_delete;
extern const script script_native_latch_down;
extern const script script_native_latch_look;
extern const script script_native_latch_set;
extern const script script_native_many_acquire;
extern const script script_native_many_cancel;
extern const script script_native_many_release;
extern const script script_native_release;
extern const script script_native_renew;
extern const script script_native_share_acquire;
extern const script script_native_share_cancel;
extern const script script_native_share_release;
extern const script script_native_share_renew;
extern const script script_native_share_set;

extern const script *const script_table[];
extern const size_t script_count;

/* Appends EVALSHA (or EVAL with the text) for `s`; false when memory is refused. */
bool script_call(buffer *out, const script *s, bool with_text,
                 const resp_argument *keys, size_t key_count,
                 const resp_argument *arguments, size_t argument_count);

#endif
