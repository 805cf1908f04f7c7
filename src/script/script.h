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
  const char *function;   /* "dibs_acquire_0f3a99c1": its name in the library below */
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
extern const script script_native_raise;
extern const script script_native_release;
extern const script script_native_renew;
extern const script script_native_share_acquire;
extern const script script_native_share_cancel;
extern const script script_native_share_raise;
extern const script script_native_share_release;
extern const script script_native_share_renew;
extern const script script_native_share_set;
extern const script script_redisson_rate_acquire;
extern const script script_redisson_rate_cancel;
extern const script script_redisson_rate_delete;
extern const script script_redisson_rate_look;
extern const script script_redisson_rate_release;
extern const script script_redisson_rate_set;

extern const script script_redisson_acquire;
extern const script script_redisson_break;
extern const script script_redisson_cancel;
extern const script script_redisson_inspect;
extern const script script_redisson_permits_acquire;
extern const script script_redisson_raise;
extern const script script_redisson_release;
extern const script script_redisson_renew;
extern const script script_redisson_rw_acquire;
extern const script script_redisson_share_release;
extern const script script_redisson_share_renew;
extern const script script_redisson_share_set;

/* Data on Redisson's layout; dialect/data.h. */
extern const script script_redisson_list_get;
extern const script script_redisson_list_insert;
extern const script script_redisson_list_page;
extern const script script_redisson_list_pop;
extern const script script_redisson_list_remove_at;
extern const script script_redisson_list_set;
extern const script script_redisson_map_get;
extern const script script_redisson_map_page;
extern const script script_redisson_map_put;
extern const script script_redisson_map_remove_if;
extern const script script_redisson_map_replace;
extern const script script_redisson_map_take;
extern const script script_redisson_set_page;
extern const script script_redisson_set_pop;

extern const script script_spring_acquire;
extern const script script_spring_break;
extern const script script_spring_cancel;
extern const script script_spring_inspect;
extern const script script_spring_release;
extern const script script_spring_renew;

extern const script script_plain_acquire;
extern const script script_plain_break;
extern const script script_plain_cancel;
extern const script script_plain_inspect;
extern const script script_plain_raise;
extern const script script_plain_release;
extern const script script_plain_renew;

extern const script *const script_table[];
extern const size_t script_count;

/* All of them as one library for FUNCTION LOAD (Redis 7 and later). Its name and those of its
 * functions carry the same digest of all scripts: so libraries that differ are loaded side by
 * side, and the same one is loaded once. */
extern const char script_library_name[];
extern const char script_library_text[];
extern const size_t script_library_size;

typedef enum script_form {
  SCRIPT_BY_DIGEST,       /* EVALSHA */
  SCRIPT_BY_TEXT,         /* EVAL */
  SCRIPT_BY_FUNCTION      /* FCALL */
} script_form;

/* Appends the call of `s`; false when memory is refused. */
bool script_call(buffer *out, const script *s, script_form form,
                 const resp_argument *keys, size_t key_count,
                 const resp_argument *arguments, size_t argument_count);

#endif
