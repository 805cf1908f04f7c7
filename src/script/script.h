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
extern const script script_native_break;
extern const script script_native_cancel;
extern const script script_native_inspect;
extern const script script_native_release;
extern const script script_native_renew;

extern const script *const script_table[];
extern const size_t script_count;

/* Appends EVALSHA (or EVAL with the text) for `s`; false when memory is refused. */
bool script_call(buffer *out, const script *s, bool with_text,
                 const resp_argument *keys, size_t key_count,
                 const resp_argument *arguments, size_t argument_count);

#endif
