/* SPDX-License-Identifier: MIT */
/* What a script may see: a fixed list of globals, through a table that it cannot write. */
#include "server/script.h"

#include <stdint.h>
#include <string.h>

static const char *const allowed[] = {
  "xpcall", "tostring", "getmetatable", "setmetatable", "next", "assert", "tonumber",
  "rawget", "rawset", "rawequal", "collectgarbage", "pcall", "coroutine", "type", "select",
  "unpack", "gcinfo", "loadstring", "load", "ipairs", "pairs", "_VERSION", "error",
  "string", "table", "math", "redis", NULL
};

/* What real servers have and this one has not. */
static const char *const missing[] = { "cjson", "cmsgpack", "struct", "bit", "os", NULL };

static int refuse_reading(lua_State *lua)
{
  const char *name = lua_tostring(lua, 2);
  const scripting *g = lua_touserdata(lua, lua_upvalueindex(1));

  if (name == NULL)
    return luaL_error(lua, "Second argument to luaProtectedTableError must be a string or "
                           "number");
  for (int i = 0; missing[i] != NULL; i++)
    if (strcmp(missing[i], name) == 0)
      server_note_unknown(g->server, "the library of scripts", slice_of(name));
  return luaL_error(lua, "Script attempted to access nonexistent global variable '%s'",
                    name);
}

static int refuse_writing(lua_State *lua)
{
  return luaL_error(lua, "Attempt to modify a readonly table");
}

/* Errors are tables inside the server; who catches one sees its words. */
static int protected_call(lua_State *lua)
{
  luaL_checkany(lua, 1);
  lua_pushboolean(lua, 1);
  lua_insert(lua, 1);
  if (lua_pcall(lua, lua_gettop(lua) - 2, LUA_MULTRET, 0) == 0)
    return lua_gettop(lua);
  if (lua_istable(lua, -1)) {
    lua_getfield(lua, -1, "err");
    if (lua_isstring(lua, -1))
      lua_replace(lua, -2);
    else
      lua_pop(lua, 1);
  }
  lua_pushboolean(lua, 0);
  lua_replace(lua, 1);
  return 2;
}

/* Makes the error a table that says where it came from. */
static int handle_error(lua_State *lua)
{
  lua_Debug at;
  bool is_known = lua_getstack(lua, 1, &at) == 1 && lua_getinfo(lua, "nSl", &at) != 0;

  if (is_known && strcmp(at.what, "C") == 0)
    is_known = lua_getstack(lua, 2, &at) == 1 && lua_getinfo(lua, "nSl", &at) != 0;
  if (lua_type(lua, 1) != LUA_TTABLE) {
    lua_createtable(lua, 0, 3);
    lua_pushliteral(lua, "ERR ");
    lua_getglobal(lua, "tostring");
    lua_pushvalue(lua, 1);
    lua_call(lua, 1, 1);
    lua_concat(lua, 2);
    lua_setfield(lua, -2, "err");
    lua_replace(lua, 1);
  }
  if (is_known) {
    lua_pushstring(lua, at.source);
    lua_setfield(lua, 1, "source");
    lua_pushinteger(lua, at.currentline);
    lua_setfield(lua, 1, "line");
  }
  lua_settop(lua, 1);
  return 1;
}

/* Called once in so many instructions of all scripts together: a script in which it comes
 * twice does not end by itself. A real server would say BUSY from then on. */
#define INSTRUCTIONS 20000000

static void look_at_length(lua_State *lua, lua_Debug *at)
{
  scripting *g;

  (void)at;
  lua_getfield(lua, LUA_REGISTRYINDEX, "scripting");
  g = lua_touserdata(lua, -1);
  lua_pop(lua, 1);
  if (g->long_script == g->server->counts.scripts) {
    server_note_unknown(g->server, "how to go on while a script does not end", SLICE(""));
    (void)luaL_error(lua, "Script killed by user with SCRIPT KILL");
  }
  g->long_script = g->server->counts.scripts;
}

/* string.format() of a server with 32 bits, whose `%d` has no room for a time in microseconds: this
 * one fails where that one writes another number. */
static int format_narrowly(lua_State *lua)
{
  int argument = 1;

  for (const char *at = luaL_checkstring(lua, 1); (at = strchr(at, '%')) != NULL; at++) {
    lua_Number number;

    at += 1 + strspn(at + 1, "-+ #0123456789.");
    if (*at == 0)
      break;
    if (*at == '%')
      continue;
    number = lua_tonumber(lua, ++argument);
    if (*at == 'd' && (number < INT32_MIN || number > INT32_MAX))
      return luaL_error(lua, "%%d has no room for %f on a server with 32 bits", number);
  }
  /* Not by lua_call(): its errors say the script's line, and its own name. */
  return lua_tocfunction(lua, lua_upvalueindex(1))(lua);
}

static void narrow_format(lua_State *lua)
{
  lua_getglobal(lua, "string");
  lua_getfield(lua, -1, "format");
  lua_pushcclosure(lua, format_narrowly, 1);
  lua_setfield(lua, -2, "format");
  lua_pop(lua, 1);
}

/* The table on top becomes one that shows it, and cannot be written. */
static void make_readonly(lua_State *lua)
{
  lua_newtable(lua);
  lua_newtable(lua);
  lua_pushvalue(lua, -3);
  lua_setfield(lua, -2, "__index");
  lua_pushcfunction(lua, refuse_writing);
  lua_setfield(lua, -2, "__newindex");
  lua_setmetatable(lua, -2);
  lua_remove(lua, -2);
}

void script_close_globals(scripting *g)
{
  lua_State *lua = g->lua;

  lua_pushlightuserdata(lua, g);
  lua_setfield(lua, LUA_REGISTRYINDEX, "scripting");
  lua_sethook(lua, look_at_length, LUA_MASKCOUNT, INSTRUCTIONS);
  lua_pushcfunction(lua, handle_error);
  g->handler = luaL_ref(lua, LUA_REGISTRYINDEX);
  lua_pushcfunction(lua, protected_call);
  lua_setglobal(lua, "pcall");
  if (g->server->is_narrow)
    narrow_format(lua);

  lua_newtable(lua);                             /* what can be read */
  for (int i = 0; allowed[i] != NULL; i++) {
    lua_getglobal(lua, allowed[i]);
    if (lua_istable(lua, -1))
      make_readonly(lua);
    lua_setfield(lua, -2, allowed[i]);
  }
  lua_newtable(lua);
  lua_pushlightuserdata(lua, g);
  lua_pushcclosure(lua, refuse_reading, 1);
  lua_setfield(lua, -2, "__index");
  lua_setmetatable(lua, -2);

  lua_pushvalue(lua, -1);
  g->globals = luaL_ref(lua, LUA_REGISTRYINDEX);
  make_readonly(lua);
  lua_rawgeti(lua, LUA_REGISTRYINDEX, g->globals);
  lua_pushvalue(lua, -2);
  lua_setfield(lua, -2, "_G");
  lua_pop(lua, 1);
  /* For everything that is compiled from now on, by loadstring() too. */
  lua_replace(lua, LUA_GLOBALSINDEX);
}
