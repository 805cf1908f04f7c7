/* SPDX-License-Identifier: MIT */
/* script - the server scripts, embedded at build time from lua/.
 *
 * May include resp/, base/. script_table.[ch] are made from lua/scripts.list. */
#ifndef SCRIPT_H
#define SCRIPT_H

#include "resp/resp.h"

typedef struct script {
  const char *name;       /* "native/acquire" */
  const char *bytes;
  size_t size;
  char sha1[41];
  const char *function;   /* "dibs_acquire_0f3a99c1": its name in the library below */
} script;

/* One for each row of lua/scripts.list: script_native_acquire and so on. */
#include "script/script_table.h"

extern const script *const script_table[];
extern const size_t script_count;

/* All of them as one library for FUNCTION LOAD (Redis 7 and later). Its name and those of its
 * functions carry the same digest of all scripts: so libraries that differ are loaded side by
 * side, and the same one is loaded once. */
extern const char script_library_name[];
extern const char script_library_text[];
extern const size_t script_library_size;

#endif
