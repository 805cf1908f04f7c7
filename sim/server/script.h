/* SPDX-License-Identifier: MIT */
/* sim/server/script.h - Lua inside the server: what script.c, script_call.c and
 * script_reply.c share. */
#ifndef SIM_SERVER_SCRIPT_H
#define SIM_SERVER_SCRIPT_H

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "server/parts.h"

typedef struct cached_script cached_script;
typedef struct script_memory script_memory;

struct scripting {
  sim_server *server;
  lua_State *lua;
  script_memory *memory;
  cached_script *cache;         /* uthash head */
  int globals, handler;         /* references in the registry */
  uint64_t random;              /* of math.random */
  /* of the script that runs: */
  sim_connection *connection;
  uint64_t long_script;         /* the one that ran when the hook came last */
  bool has_written, only_reads, may_allocate;
};

/* script_reply.c: answers as values on the stack of `lua`, and back. */
reply reply_to_lua(lua_State *lua);
void script_answer(lua_State *lua, reply *r);    /* takes the value on top */
/* {err = words}, with ERR in front of what has no such word. */
void script_push_error(lua_State *lua, slice words);

/* script_memory.c: what lua_newstate() takes. */
script_memory *script_memory_new(void);
script_memory *script_memory_free(script_memory *m);      /* and all that came from it */
void *script_memory_change(void *data, void *old, size_t old_size, size_t size);

/* script_call.c: the table `redis`, and what else differs from plain Lua. */
void script_open_libraries(scripting *g);

/* script_sandbox.c: what a script may see. */
void script_close_globals(scripting *g);

#endif
