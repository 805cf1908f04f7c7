/* SPDX-License-Identifier: MIT */
/* Scripts: compiled once, found by their digest, run with KEYS and ARGV. */
#include "server/script.h"

#include "server/table.h"

struct cached_script {
  UT_hash_handle hh;
  char sha1[41];
  int function;                 /* reference in the registry */
  bool has_flags, only_reads, may_allocate;
};

/* Garbage is collected when it is so many percent of what is in use: rarely, as the
 * compiled scripts are walked over each time. */
#define GARBAGE_PERCENT 1000

scripting *scripting_new(sim_server *s)
{
  scripting *g = sim_zalloc(sizeof(*g));

  g->server = s;
  g->random = random_next(&s->random) & 0xFFFFFFFFFFFFU;
  g->memory = script_memory_new();
  g->lua = lua_newstate(script_memory_change, g->memory);
  if (g->lua == NULL)
    abort();
  (void)lua_gc(g->lua, LUA_GCSETPAUSE, GARBAGE_PERCENT);
  script_open_libraries(g);
  script_close_globals(g);
  return g;
}

void scripting_forget(scripting *g)
{
  cached_script *c = g->cache, *next;

  HASH_CLEAR(hh, g->cache);
  for (; c != NULL; c = next) {
    next = c->hh.next;
    luaL_unref(g->lua, LUA_REGISTRYINDEX, c->function);
    sim_free(c);
  }
}

scripting *scripting_free(scripting *g)
{
  if (g == NULL)
    return NULL;
  scripting_forget(g);
  lua_close(g->lua);
  g->memory = script_memory_free(g->memory);
  sim_free(g);
  return NULL;
}

static cached_script *find(const scripting *g, const char *sha1)
{
  cached_script *c;

  HASH_FIND(hh, g->cache, sha1, 40, c);
  return c;
}

/* ---- the first line "#!lua flags=no-writes,allow-oom" ---- */

static void answer_with(reply *r, const char *words, slice which)
{
  char bytes[256];
  text t = text_over(bytes, sizeof(bytes));

  text_add(&t, words);
  text_add_bytes(&t, which.bytes, which.size);
  reply_error(r, bytes);
}

static bool flag_read(cached_script *c, slice flag)
{
  c->only_reads = c->only_reads || slice_is(flag, "no-writes");
  c->may_allocate = c->may_allocate || slice_is(flag, "allow-oom");
  return slice_is(flag, "no-writes") || slice_is(flag, "allow-oom") ||
         slice_is(flag, "allow-stale") || slice_is(flag, "no-cluster") ||
         slice_is(flag, "allow-cross-slot-keys");
}

/* Up to `stop`; moves `s` behind it. */
static slice take(slice *s, char stop)
{
  const char *end = memchr(s->bytes, stop, s->size);
  size_t size = end == NULL ? s->size : (size_t)(end - s->bytes);
  slice taken = { s->bytes, size };
  size_t used = end == NULL ? size : size + 1;

  *s = (slice){ s->bytes + used, s->size - used };
  return taken;
}

/* false: answered with an error. */
static bool flags_read(cached_script *c, slice line, reply *r)
{
  slice engine = take(&line, ' ');

  c->has_flags = true;
  if (!slice_equal(engine, SLICE("#!lua"))) {
    answer_with(r, "ERR Unexpected engine in script shebang: ",
                (slice){ engine.bytes + 2, engine.size - 2 });
    return false;
  }
  while (line.size > 0) {
    slice part = take(&line, ' ');
    slice name = take(&part, '=');

    if (name.size > 0 && !slice_equal(name, SLICE("flags"))) {
      answer_with(r, "ERR Unknown lua shebang option: ", name);
      return false;
    }
    while (part.size > 0) {
      slice flag = take(&part, ',');

      if (!flag_read(c, flag)) {
        answer_with(r, "ERR Unexpected flag in script shebang: ", flag);
        return false;
      }
    }
  }
  return true;
}

/* ---- compiling ---- */

static bool compile(scripting *g, cached_script *c, slice source, reply *r)
{
  slice rest = source;

  if (source.size >= 2 && memcmp(source.bytes, "#!", 2) == 0) {
    slice line = take(&rest, '\n');

    if (line.size == source.size) {
      reply_error(r, "ERR Invalid script shebang");
      return false;
    }
    if (!flags_read(c, line, r))
      return false;
    /* Its end stays, so that lines keep their numbers. */
    rest = (slice){ rest.bytes - 1, rest.size + 1 };
  }
  if (luaL_loadbuffer(g->lua, rest.bytes, rest.size, "@user_script") != 0) {
    answer_with(r, "ERR Error compiling script (new function): ",
                slice_of(lua_tostring(g->lua, -1)));
    lua_pop(g->lua, 1);
    return false;
  }
  c->function = luaL_ref(g->lua, LUA_REGISTRYINDEX);
  return true;
}

/* NULL: answered with an error. */
static cached_script *find_or_compile(scripting *g, slice source, reply *r)
{
  char sha1[41];
  cached_script *c;

  slice_sha1(source, sha1);
  c = find(g, sha1);
  if (c != NULL)
    return c;
  c = sim_zalloc(sizeof(*c));
  memcpy(c->sha1, sha1, sizeof(sha1));
  if (!compile(g, c, source, r)) {
    sim_free(c);
    return NULL;
  }
  HASH_ADD_KEYPTR(hh, g->cache, c->sha1, 40, c);
  return c;
}

/* ---- running ---- */

static void set_table(scripting *g, const char *name, const slice *items, size_t count)
{
  lua_createtable(g->lua, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    lua_pushlstring(g->lua, items[i].bytes, items[i].size);
    lua_rawseti(g->lua, -2, (int)i + 1);
  }
  lua_setfield(g->lua, -2, name);
}

/* The error on top, as its script's answer; taken from the stack. */
static void answer_error(scripting *g, const cached_script *script, reply *r)
{
  lua_State *lua = g->lua;
  buffer words;
  slice s;

  buffer_init(&words, sim_memory());
  lua_getfield(lua, -1, "err");
  lua_getfield(lua, -2, "source");
  lua_getfield(lua, -3, "line");
  if (lua_isstring(lua, -3)) {
    s.bytes = lua_tolstring(lua, -3, &s.size);
    (void)buffer_append(&words, s.bytes, s.size);
  } else {
    (void)buffer_append(&words, "ERR unknown error", 17);
  }
  if (lua_isstring(lua, -1) && lua_isstring(lua, -2)) {
    lua_pushfstring(lua, " script: %s, on %s:%s.", script->sha1, lua_tostring(lua, -2),
                    lua_tostring(lua, -1));
    s.bytes = lua_tolstring(lua, -1, &s.size);
    (void)buffer_append(&words, s.bytes, s.size);
    lua_pop(lua, 1);
  }
  lua_pop(lua, 4);
  reply_error_slice(r, (slice){ buffer_bytes(&words), buffer_size(&words) });
  buffer_deinit(&words);
}

/* What refuses a script with flags as a whole; NULL: nothing. */
static const char *refusal_of_flags(const scripting *g, const cached_script *script)
{
  const sim_server *s = g->server;
  const bool *is = s->conditions;

  if (!script->has_flags || g->connection == NULL)
    return NULL;
  if (!script->may_allocate && !script->only_reads && is[SIM_OUT_OF_MEMORY])
    return "OOM command not allowed when used memory > 'maxmemory'.";
  if (!script->only_reads && is[SIM_MISCONF])
    return "MISCONF Can not run script with write flag when the server cannot save.";
  if (!script->only_reads && server_lacks_replicas(s))
    return "NOREPLICAS Not enough good replicas to write.";
  if (!script->only_reads && server_is_replica(s))
    return "READONLY You can't write against a read only replica.";
  return NULL;
}

static void run(call *c, const cached_script *script, size_t key_count, bool only_reads)
{
  scripting *g = c->server->scripting;
  const char *refused;

  g->connection = c->connection;
  refused = refusal_of_flags(g, script);
  if (refused != NULL) {
    reply_error(c->reply, refused);
    return;
  }
  g->has_written = false;
  g->only_reads = script->only_reads || only_reads;
  g->may_allocate = script->may_allocate;
  c->server->counts.scripts++;

  lua_rawgeti(g->lua, LUA_REGISTRYINDEX, g->handler);
  lua_rawgeti(g->lua, LUA_REGISTRYINDEX, g->globals);
  set_table(g, "KEYS", c->words + 3, key_count);
  set_table(g, "ARGV", c->words + 3 + key_count, c->count - 3 - key_count);
  lua_pop(g->lua, 1);
  lua_rawgeti(g->lua, LUA_REGISTRYINDEX, script->function);
  if (lua_pcall(g->lua, 0, 1, -2) == 0)
    script_answer(g->lua, c->reply);
  else
    answer_error(g, script, c->reply);
  lua_pop(g->lua, 1);
}

static bool key_count_read(call *c, size_t *ret)
{
  int64_t n;

  if (!slice_to_integer(c->words[2], &n))
    reply_not_integer(c->reply);
  else if (n > (int64_t)c->count - 3)
    reply_error(c->reply, "ERR Number of keys can't be greater than number of args");
  else if (n < 0)
    reply_error(c->reply, "ERR Number of keys can't be negative");
  else {
    *ret = (size_t)n;
    return true;
  }
  return false;
}

static void eval(call *c, bool only_reads)
{
  cached_script *script;
  size_t key_count;

  if (!key_count_read(c, &key_count))
    return;
  script = find_or_compile(c->server->scripting, c->words[1], c->reply);
  if (script != NULL)
    run(c, script, key_count, only_reads);
}

static void run_eval(call *c) { eval(c, false); }

static void run_eval_ro(call *c) { eval(c, true); }

static cached_script *find_named(const scripting *g, slice name)
{
  char lower[41];

  if (name.size != 40)
    return NULL;
  for (size_t i = 0; i < 40; i++)
    lower[i] = name.bytes[i] >= 'A' && name.bytes[i] <= 'Z'
      ? (char)(name.bytes[i] - 'A' + 'a') : name.bytes[i];
  return find(g, lower);
}

static void evalsha(call *c, bool only_reads)
{
  const cached_script *script = find_named(c->server->scripting, c->words[1]);
  size_t key_count;

  if (c->words[1].size == 40 && !key_count_read(c, &key_count))
    return;
  if (script == NULL)
    reply_error(c->reply, "NOSCRIPT No matching script. Please use EVAL.");
  else
    run(c, script, key_count, only_reads);
}

static void run_evalsha(call *c) { evalsha(c, false); }

static void run_evalsha_ro(call *c) { evalsha(c, true); }

static void run_load(call *c)
{
  const cached_script *script =
    find_or_compile(c->server->scripting, c->words[2], c->reply);

  if (script != NULL)
    reply_string(c->reply, (slice){ script->sha1, 40 });
}

static void run_exists(call *c)
{
  reply_array(c->reply, c->count - 2);
  for (size_t i = 2; i < c->count; i++)
    reply_integer(c->reply, find_named(c->server->scripting, c->words[i]) != NULL);
}

static void run_flush(call *c)
{
  if (c->count > 3 || (c->count == 3 && !slice_is(c->words[2], "sync") &&
                       !slice_is(c->words[2], "async"))) {
    reply_error(c->reply, "ERR SCRIPT FLUSH only support SYNC|ASYNC option");
    return;
  }
  scripting_forget(c->server->scripting);
  reply_ok(c->reply);
}

static void run_kill(call *c)
{
  if (!c->server->conditions[SIM_BUSY]) {
    reply_error(c->reply, "NOTBUSY No scripts in execution right now.");
    return;
  }
  c->server->conditions[SIM_BUSY] = false;
  reply_ok(c->reply);
}

#define SCRIPT (COMMAND_NOT_IN_SCRIPT | COMMAND_MAY_SPREAD)

const command commands_script[] = {
  { "eval", -3, SCRIPT, run_eval },
  { "evalsha", -3, SCRIPT, run_evalsha },
  { "eval_ro", -3, COMMAND_NOT_IN_SCRIPT, run_eval_ro },
  { "evalsha_ro", -3, COMMAND_NOT_IN_SCRIPT, run_evalsha_ro },
  { "script", -2, COMMAND_PARENT, NULL },
  { "script|load", 3, COMMAND_NOT_IN_SCRIPT, run_load },
  { "script|exists", -3, COMMAND_NOT_IN_SCRIPT, run_exists },
  { "script|flush", -2, COMMAND_NOT_IN_SCRIPT, run_flush },
  { "script|kill", 2, COMMAND_NOT_IN_SCRIPT | COMMAND_WHILE_BUSY, run_kill },
  { NULL, 0, 0, NULL }
};
