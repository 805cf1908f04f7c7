/* SPDX-License-Identifier: MIT */
/* The table `redis`: how scripts run commands, and small helpers. */
#include "server/script.h"

#include <stdio.h>
#include <string.h>

#define WORDS_ON_STACK 32

static scripting *scripting_of(lua_State *lua)
{
  return lua_touserdata(lua, lua_upvalueindex(1));
}

/* ---- redis.call, redis.pcall ---- */

/* Why a script may not run this now; NULL: it may. */
static const char *refusal(const scripting *g, const command *cmd, size_t count)
{
  bool writes = (cmd->flags & COMMAND_WRITES) != 0;
  const char *words = NULL;

  if (!command_count_is_good(cmd, count))
    return "ERR Wrong number of args calling Redis command from script";
  if ((cmd->flags & COMMAND_NOT_IN_SCRIPT) != 0)
    return "ERR This Redis command is not allowed from script";
  if (g->only_reads && (cmd->flags & (COMMAND_WRITES | COMMAND_MAY_SPREAD)) != 0)
    return "ERR Write commands are not allowed from read-only scripts.";
  /* What has begun to write goes on: it cannot be taken back. */
  if (g->has_written)
    return NULL;
  if (writes && g->connection != NULL)
    words = refusal_of_state(g->server, cmd);
  if (words == NULL && g->connection != NULL && !g->may_allocate &&
      g->server->conditions[SIM_OUT_OF_MEMORY] && (cmd->flags & COMMAND_ALLOCATES) != 0)
    words = "OOM command not allowed when used memory > 'maxmemory'.";
  return words;
}

static const command *find(sim_server *s, const slice *words, size_t count)
{
  const command *cmd = command_find(s, words[0]);

  if (cmd != NULL && (cmd->flags & COMMAND_PARENT) != 0 && count > 1)
    return command_find_part(s, cmd, words[1]);
  return cmd;
}

static void run(scripting *g, const slice *words, size_t count, reply *r)
{
  const command *cmd = find(g->server, words, count);
  call one = { g->server, g->connection, cmd, words, count, r };
  const char *refused;

  if (cmd == NULL) {
    server_note_unknown(g->server, "the command of a script", words[0]);
    reply_error(r, "ERR Unknown Redis command called from script");
    return;
  }
  refused = refusal(g, cmd, count);
  if (refused == NULL && g->connection != NULL && g->server->cluster != NULL)
    refused = cluster_refusal_in_script(g->connection, cmd, words, count);
  if (refused != NULL) {
    reply_error(r, refused);
    return;
  }
  if ((cmd->flags & COMMAND_WRITES) != 0)
    g->has_written = true;
  cmd->run(&one);
}

/* The words on the stack; numbers become strings there. How many are good. */
static int words_of(lua_State *lua, slice *words, int count)
{
  for (int i = 0; i < count; i++) {
    if (lua_type(lua, i + 1) == LUA_TNUMBER) {
      char room[SLICE_FORMAT_MAX];
      int size = snprintf(room, sizeof(room), "%.17g", lua_tonumber(lua, i + 1));

      lua_pushlstring(lua, room, (size_t)size);
      lua_replace(lua, i + 1);
    }
    words[i].bytes = lua_tolstring(lua, i + 1, &words[i].size);
    if (words[i].bytes == NULL)
      return i;
  }
  return count;
}

/* The answer, or an error table, on top; whether it is an error. */
static bool call_command(lua_State *lua)
{
  slice few[WORDS_ON_STACK], *words = few;
  int count = lua_gettop(lua);
  reply r = reply_to_lua(lua);

  if (count > WORDS_ON_STACK)
    words = sim_alloc((size_t)count * sizeof(slice));
  if (count == 0)
    reply_error(&r, "ERR Please specify at least one argument for this redis lib call");
  else if (words_of(lua, words, count) < count)
    reply_error(&r, "ERR Lua redis lib command arguments must be strings or integers");
  else
    run(scripting_of(lua), words, (size_t)count, &r);
  if (words != few)
    sim_free(words);
  return r.is_error;
}

static int redis_call(lua_State *lua)
{
  return call_command(lua) ? lua_error(lua) : 1;
}

static int redis_pcall(lua_State *lua)
{
  (void)call_command(lua);
  return 1;
}

/* ---- the rest of the table ---- */

static bool is_one_string(lua_State *lua)
{
  if (lua_gettop(lua) == 1 && lua_type(lua, 1) == LUA_TSTRING)
    return true;
  script_push_error(lua, SLICE("ERR wrong number or type of arguments"));
  return false;
}

static int redis_error_reply(lua_State *lua)
{
  slice s;

  if (!is_one_string(lua))
    return 1;
  s.bytes = lua_tolstring(lua, 1, &s.size);
  s.size = strlen(s.bytes);
  if (s.size > 0 && s.bytes[0] == '-')
    s = (slice){ s.bytes + 1, s.size - 1 };
  script_push_error(lua, s);
  return 1;
}

static int redis_status_reply(lua_State *lua)
{
  if (!is_one_string(lua))
    return 1;
  lua_createtable(lua, 0, 1);
  lua_pushvalue(lua, 1);
  lua_setfield(lua, -2, "ok");
  return 1;
}

static int redis_sha1hex(lua_State *lua)
{
  char hex[41];
  slice s;

  if (lua_gettop(lua) != 1) {
    script_push_error(lua, SLICE("ERR wrong number of arguments"));
    return lua_error(lua);
  }
  s.bytes = lua_tolstring(lua, 1, &s.size);
  if (s.bytes == NULL)
    s.size = 0;
  slice_sha1(s, hex);
  lua_pushlstring(lua, hex, 40);
  return 1;
}

static int redis_log(lua_State *lua)
{
  (void)lua;
  return 0;
}

static int redis_setresp(lua_State *lua)
{
  lua_Number version = luaL_checknumber(lua, 1);

  if (version == 2)
    return 0;
  server_note_unknown(scripting_of(lua)->server, "in scripts, redis.setresp", SLICE("3"));
  script_push_error(lua, SLICE("ERR RESP version must be 2 or 3."));
  return lua_error(lua);
}

static int redis_true(lua_State *lua)
{
  lua_pushboolean(lua, 1);
  return 1;
}

/* A field that is not there: nil, as on a real server, but remembered. One of Valkey's shows
 * scripts that this is none. */
static int redis_unknown(lua_State *lua)
{
  slice s;

  s.bytes = lua_tolstring(lua, 2, &s.size);
  if (s.bytes != NULL && !slice_is(s, "valkey_version_num"))
    server_note_unknown(scripting_of(lua)->server, "in scripts, redis.", s);
  return 0;
}

/* ---- math.random: its numbers are of the server, not of each script ---- */

#define RANDOM_LIMIT INT32_MAX

static int next_random(scripting *g)
{
  g->random = (g->random * 0x5DEECE66DU + 0xBU) & 0xFFFFFFFFFFFFU;
  return (int)(g->random >> 17);
}

static int math_random(lua_State *lua)
{
  lua_Number r = (lua_Number)(next_random(scripting_of(lua)) % RANDOM_LIMIT) /
                 (lua_Number)RANDOM_LIMIT;
  lua_Number low = 1, high;

  if (lua_gettop(lua) == 0) {
    lua_pushnumber(lua, r);
    return 1;
  }
  if (lua_gettop(lua) > 1)
    low = (lua_Number)luaL_checkint(lua, 1);
  high = (lua_Number)luaL_checkint(lua, lua_gettop(lua) > 1 ? 2 : 1);
  luaL_argcheck(lua, low <= high, lua_gettop(lua) > 1 ? 2 : 1, "interval is empty");
  /* A whole number: both bounds are, and r is less than 1. */
  lua_pushnumber(lua, (lua_Number)(int64_t)(r * (high - low + 1)) + low);
  return 1;
}

static int math_randomseed(lua_State *lua)
{
  scripting_of(lua)->random =
    ((uint64_t)(uint32_t)luaL_checkint(lua, 1) << 16 | 0x330EU) & 0xFFFFFFFFFFFFU;
  return 0;
}

static void set_function(scripting *g, const char *name, lua_CFunction function)
{
  lua_pushlightuserdata(g->lua, g);
  lua_pushcclosure(g->lua, function, 1);
  lua_setfield(g->lua, -2, name);
}

static void set_number(lua_State *lua, const char *name, int n)
{
  lua_pushinteger(lua, n);
  lua_setfield(lua, -2, name);
}

void script_open_libraries(scripting *g)
{
  lua_State *lua = g->lua;

  luaL_openlibs(lua);
  lua_newtable(lua);
  set_function(g, "call", redis_call);
  set_function(g, "pcall", redis_pcall);
  set_function(g, "error_reply", redis_error_reply);
  set_function(g, "status_reply", redis_status_reply);
  set_function(g, "sha1hex", redis_sha1hex);
  set_function(g, "log", redis_log);
  set_function(g, "set_repl", redis_log);
  set_function(g, "setresp", redis_setresp);
  set_function(g, "replicate_commands", redis_true);
  set_number(lua, "REDIS_VERSION_NUM", g->server->has_ifeq ? 0x080400 : 0x07000f);
  set_number(lua, "LOG_DEBUG", 0);
  set_number(lua, "LOG_VERBOSE", 1);
  set_number(lua, "LOG_NOTICE", 2);
  set_number(lua, "LOG_WARNING", 3);
  set_number(lua, "REPL_NONE", 0);
  set_number(lua, "REPL_AOF", 1);
  set_number(lua, "REPL_SLAVE", 2);
  set_number(lua, "REPL_REPLICA", 2);
  set_number(lua, "REPL_ALL", 3);
  lua_newtable(lua);
  set_function(g, "__index", redis_unknown);
  lua_setmetatable(lua, -2);
  lua_setglobal(lua, "redis");
  lua_getglobal(lua, "math");
  set_function(g, "random", math_random);
  set_function(g, "randomseed", math_randomseed);
  lua_pop(lua, 1);
}
