/* SPDX-License-Identifier: MIT */
/* sim/server/reply.h - what a command answers, into bytes or into Lua.
 *
 * Commands do not know which. An array is announced with its count, and its items follow. */
#ifndef SIM_SERVER_REPLY_H
#define SIM_SERVER_REPLY_H

#include "server/value.h"

typedef struct reply reply;

typedef struct reply_way {
  void (*integer)(reply *r, int64_t n);
  void (*string)(reply *r, slice s);
  void (*status)(reply *r, slice s);
  void (*error)(reply *r, slice s);              /* without its minus */
  void (*nothing)(reply *r, bool is_array);
  void (*array)(reply *r, size_t count);
} reply_way;

#define REPLY_DEPTH 8

struct reply {
  const reply_way *way;
  void *to;             /* a buffer, or a lua_State */
  bool is_error;
  int depth;            /* of arrays open in Lua */
  struct { size_t left; int at; } open[REPLY_DEPTH];
};

/* Answers as RESP2 at the end of `out`. */
reply reply_to_bytes(buffer *out);

void reply_integer(reply *r, int64_t n);
void reply_string(reply *r, slice s);
void reply_double(reply *r, double d);           /* as a string */
void reply_status(reply *r, const char *words);
void reply_ok(reply *r);
void reply_error(reply *r, const char *words);   /* "ERR no such key" */
void reply_error_slice(reply *r, slice s);
void reply_nothing(reply *r);
void reply_no_array(reply *r);
void reply_array(reply *r, size_t count);

void reply_wrong_type(reply *r);
void reply_syntax_error(reply *r);
void reply_not_integer(reply *r);
void reply_wrong_count(reply *r, const char *name);   /* of arguments of this command */

#endif
