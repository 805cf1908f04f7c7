/* SPDX-License-Identifier: MIT */
/* Answers as Lua values, and Lua values as answers. */
#include "server/script.h"

#include <string.h>

/* The value on top goes into the array that waits for it, and full arrays into theirs. */
static void settle(reply *r)
{
  while (r->depth > 0) {
    lua_rawseti(r->to, -2, ++r->open[r->depth - 1].at);
    if (--r->open[r->depth - 1].left > 0)
      return;
    r->depth--;
  }
}

static void put_integer(reply *r, int64_t n)
{
  lua_pushnumber(r->to, (lua_Number)n);
  settle(r);
}

static void put_string(reply *r, slice s)
{
  lua_pushlstring(r->to, s.bytes, s.size);
  settle(r);
}

static void put_status(reply *r, slice s)
{
  lua_createtable(r->to, 0, 1);
  lua_pushlstring(r->to, s.bytes, s.size);
  lua_setfield(r->to, -2, "ok");
  settle(r);
}

static void put_error_table(reply *r, slice s)
{
  script_push_error(r->to, s);
  lua_pushboolean(r->to, 1);
  lua_setfield(r->to, -2, "ignore_error_stats_update");
  settle(r);
}

static void put_nothing(reply *r, bool is_array)
{
  (void)is_array;
  lua_pushboolean(r->to, 0);
  settle(r);
}

static void put_array(reply *r, size_t count)
{
  lua_createtable(r->to, (int)count, 0);
  if (count == 0 || r->depth == REPLY_DEPTH) {
    settle(r);
    return;
  }
  r->open[r->depth].left = count;
  r->open[r->depth].at = 0;
  r->depth++;
}

reply reply_to_lua(lua_State *lua)
{
  static const reply_way way = { put_integer, put_string, put_status,
                                 put_error_table, put_nothing, put_array };

  return (reply){ .way = &way, .to = lua };
}

void script_push_error(lua_State *lua, slice words)
{
  lua_createtable(lua, 0, 2);
  if (memchr(words.bytes, ' ', words.size) == NULL) {
    lua_pushliteral(lua, "ERR ");
    lua_pushlstring(lua, words.bytes, words.size);
    lua_concat(lua, 2);
  } else {
    lua_pushlstring(lua, words.bytes, words.size);
  }
  lua_setfield(lua, -2, "err");
}

/* ---- and back ---- */

/* As the processor does it, as in a real server: what does not fit is the least number on x86, and
 * the nearest on ARM and s390x. */
__attribute__((no_sanitize("undefined")))
static int64_t truncated(lua_Number n)
{
  return (int64_t)n;
}

static slice string_at(lua_State *lua, int at)
{
  slice s;

  s.bytes = lua_tolstring(lua, at, &s.size);
  return s;
}

/* A table with the field `name` of type `type`: left on top. */
static bool has_field(lua_State *lua, const char *name, int type)
{
  lua_pushstring(lua, name);
  lua_rawget(lua, -2);
  if (lua_type(lua, -1) == type)
    return true;
  lua_pop(lua, 1);
  return false;
}

static bool answer_marked(lua_State *lua, reply *r)
{
  slice s;

  if (has_field(lua, "err", LUA_TSTRING)) {
    s = string_at(lua, -1);
    if (s.size > 0 && s.bytes[0] == '-')
      s = (slice){ s.bytes + 1, s.size - 1 };
    reply_error_slice(r, s);
  } else if (has_field(lua, "ok", LUA_TSTRING)) {
    r->way->status(r, string_at(lua, -1));
  } else if (has_field(lua, "double", LUA_TNUMBER)) {
    reply_double(r, lua_tonumber(lua, -1));
  } else {
    return false;
  }
  lua_pop(lua, 1);
  return true;
}

static void answer_table(lua_State *lua, reply *r)
{
  size_t count = 0;
  bool has_more = true;

  if (answer_marked(lua, r))
    return;
  while (has_more) {
    lua_rawgeti(lua, -1, (int)count + 1);
    has_more = !lua_isnil(lua, -1);
    lua_pop(lua, 1);
    count += has_more;
  }
  reply_array(r, count);
  for (size_t i = 1; i <= count; i++) {
    lua_rawgeti(lua, -1, (int)i);
    script_answer(lua, r);
  }
}

void script_answer(lua_State *lua, reply *r)
{
  switch (lua_type(lua, -1)) {
  case LUA_TSTRING: reply_string(r, string_at(lua, -1)); break;
  case LUA_TNUMBER: reply_integer(r, truncated(lua_tonumber(lua, -1))); break;
  case LUA_TBOOLEAN:
    if (lua_toboolean(lua, -1))
      reply_integer(r, 1);
    else
      reply_nothing(r);
    break;
  case LUA_TTABLE:
    if (lua_checkstack(lua, 8))
      answer_table(lua, r);
    else
      reply_error(r, "ERR reached lua stack limit");
    break;
  default: reply_nothing(r); break;
  }
  lua_pop(lua, 1);
}
