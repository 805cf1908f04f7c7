/* SPDX-License-Identifier: MIT */
/* The simulated server: scripts, as a real server runs them. */
#include "tests.h"
#include "server/talk.h"

#include <string.h>

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

typedef struct row { const char *script, *answer; } row;

static void each_answers(talk *t, const row *rows, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    char line[512] = "EVAL \"";

    strncat(line, rows[i].script, sizeof(line) - 32);
    strncat(line, "\" 1 k a b", 16);
    assert_string_equal(talk_say(t, line), rows[i].answer);
  }
}

TEST(lua_values_become_answers)
{
  static const row rows[] = {
    { "return 3.99", ":3\r\n" },
    { "return -3.99", ":-3\r\n" },
    { "return 9007199254740991", ":9007199254740991\r\n" },
    { "return 1e30", ":-9223372036854775808\r\n" },
    { "return 'words'", "$5\r\nwords\r\n" },
    { "return true", ":1\r\n" },
    { "return false", "$-1\r\n" },
    { "return nil", "$-1\r\n" },
    { "return {}", "*0\r\n" },
    { "return {1, 'x', {2, false}, nil, 4}", "*3\r\n:1\r\n$1\r\nx\r\n*2\r\n:2\r\n$-1\r\n" },
    { "return {ok = 'fine'}", "+fine\r\n" },
    { "return {err = 'MY fault'}", "-MY fault\r\n" },
    { "return redis.status_reply('fine')", "+fine\r\n" },
    { "return redis.error_reply('MY fault')", "-MY fault\r\n" },
    { "return redis.error_reply('fault')", "-ERR fault\r\n" },
    { "return {#KEYS, #ARGV, KEYS[1], ARGV[2]}", "*4\r\n:1\r\n:2\r\n$1\r\nk\r\n$1\r\nb\r\n" },
  };

  each_answers(*state, rows, ROWS(rows));
}

TEST(answers_become_lua_values)
{
  static const row rows[] = {
    { "return type(redis.call('GET', KEYS[1]))", "$7\r\nboolean\r\n" },
    { "return redis.call('SET', KEYS[1], 'v').ok", "$2\r\nOK\r\n" },
    { "return redis.call('GET', KEYS[1])", "$1\r\nv\r\n" },
    { "return type(redis.call('STRLEN', KEYS[1]))", "$6\r\nnumber\r\n" },
    { "return #redis.call('MGET', 'x', KEYS[1], 'x')", ":3\r\n" },
    { "return redis.call('MGET', 'x', KEYS[1])[1] == false", ":1\r\n" },
    { "return redis.call('TYPE', KEYS[1]).ok", "$6\r\nstring\r\n" },
    { "return redis.pcall('HGET', KEYS[1], 'f').err",
      "$65\r\nWRONGTYPE Operation against a key holding the wrong kind of value\r\n" },
    { "return ({pcall(redis.call, 'GET')})[2]",
      "$58\r\nERR Wrong number of args calling Redis command from script\r\n" },
  };

  each_answers(*state, rows, ROWS(rows));
}

TEST(numbers_for_commands_have_17_digits)
{
  static const row rows[] = {
    { "redis.call('SET', KEYS[1], 1/3) return redis.call('GET', KEYS[1])",
      "$19\r\n0.33333333333333331\r\n" },
    { "redis.call('SET', KEYS[1], 1795242979187400) return redis.call('GET', KEYS[1])",
      "$16\r\n1795242979187400\r\n" },
    { "redis.call('SET', KEYS[1], 1e20) return redis.call('GET', KEYS[1])",
      "$5\r\n1e+20\r\n" },
    { "return '' .. 1795242979187400", "$19\r\n1.7952429791874e+15\r\n" },
  };

  each_answers(*state, rows, ROWS(rows));
}

TEST(errors_say_which_script_and_line)
{
  talk *t = *state;
  const char *said;

  said = talk_say(t, "EVAL \"error('boom')\" 0");
  assert_ptr_equal(strstr(said, "-ERR user_script:1: boom script: "), said);
  assert_string_equal(said + strlen(said) - 22, ", on @user_script:1.\r\n");
  (void)talk_say(t, "LPUSH l x");
  said = talk_say(t, "EVAL \"return redis.call('GET', KEYS[1])\" 1 l");
  assert_ptr_equal(strstr(said, "-WRONGTYPE Operation against a key holding the wrong kind "
                                "of value script: "), said);
  assert_string_equal(said + strlen(said) - 22, ", on @user_script:1.\r\n");
  said = talk_say(t, "EVAL \"return missing\" 0");
  assert_ptr_equal(strstr(said, "-ERR user_script:1: Script attempted to access nonexistent "
                                "global variable 'missing' script: "), said);
  said = talk_say(t, "EVAL \"made = 1\" 0");
  assert_ptr_equal(strstr(said, "-ERR user_script:1: Attempt to modify a readonly table "
                                "script: "), said);
  said = talk_say(t, "EVAL \"return redis.call('SUBSCRIBE', 'a')\" 0");
  assert_ptr_equal(strstr(said, "-ERR This Redis command is not allowed from script "
                                "script: "), said);
  said = talk_say(t, "EVAL \"return (\" 0");
  assert_ptr_equal(strstr(said, "-ERR Error compiling script (new function): user_script:1: "),
                   said);
}

TEST(writes_before_an_error_stay)
{
  talk *t = *state;

  (void)talk_say(t, "EVAL \"redis.call('SET', KEYS[1], 'v') error('x')\" 1 k");
  assert_string_equal(talk_say(t, "GET k"), "$1\r\nv\r\n");
}

TEST(scripts_are_known_by_their_digest_until_forgotten)
{
  static const char missing[] = "-NOSCRIPT No matching script. Please use EVAL.\r\n";
  static const char call[] = "EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0";
  talk *t = *state;

  assert_string_equal(talk_say(t, call), missing);
  assert_string_equal(talk_say(t, "SCRIPT LOAD \"return 1\""),
                      "$40\r\ne0e1f9fabfc9d4800c877a703b823ac0578ff8db\r\n");
  assert_string_equal(talk_say(t, call), ":1\r\n");
  assert_string_equal(talk_say(t, "EVALSHA E0E1F9FABFC9D4800C877A703B823AC0578FF8DB 0"),
                      ":1\r\n");
  sim_server_forget_scripts(t->server);
  assert_string_equal(talk_say(t, call), missing);
  assert_string_equal(talk_say(t, "EVAL \"return 1\" 0"), ":1\r\n");
  assert_string_equal(talk_say(t, call), ":1\r\n");
  sim_server_restart(t->server, true);
  assert_true(sim_connection_is_closed(t->own));
  assert_string_equal(talk_say_by(t, sim_server_accept(t->server), call), missing);
}

TEST(time_stands_still_in_a_script)
{
  static const row rows[] = {
    { "return redis.call('TIME')", "*2\r\n$10\r\n1700000000\r\n$6\r\n123456\r\n" },
    { "local a, b = redis.call('TIME'), redis.call('TIME') return b[2] - a[2]", ":0\r\n" },
  };
  talk *t = *state;

  talk_at(t, 123456);
  each_answers(t, rows, ROWS(rows));
}

/* ---- a full server ---- */

TEST(a_full_server_refuses_a_script_at_its_first_write_only)
{
  static const char refused[] = "-OOM command not allowed when used memory > 'maxmemory'.";
  talk *t = *state;

  (void)talk_say(t, "HSET h f 1");
  sim_server_set(t->server, SIM_OUT_OF_MEMORY, true);
  assert_string_equal(talk_say(t, "SET k v"),
                      "-OOM command not allowed when used memory > 'maxmemory'.\r\n");
  assert_memory_equal(talk_say(t, "EVAL \"return redis.call('SET', 'k', 'v')\" 0"), refused,
                      sizeof(refused) - 1);
  assert_string_equal(talk_say(t, "EVAL \"return redis.pcall('SET', 'k', 'v').err\" 0"),
                      "$55\r\nOOM command not allowed when used memory > 'maxmemory'.\r\n");
  assert_string_equal(talk_say(t, "GET k"), "$-1\r\n");
  /* Any write before it lets it through, even one that found nothing. */
  assert_string_equal(talk_say(t, "EVAL \"redis.call('DEL', 'none') "
                                  "return redis.call('SET', 'k', 'v')\" 0"), "+OK\r\n");
  assert_string_equal(talk_say(t, "HDEL h f"), ":1\r\n");
  assert_string_equal(talk_say(t, "PEXPIRE k 100"), ":1\r\n");
  /* A read is no write. */
  assert_memory_equal(talk_say(t, "EVAL \"redis.call('GET', 'k') "
                                  "return redis.call('SET', 'k', 'v')\" 0"), refused,
                      sizeof(refused) - 1);
  sim_server_set(t->server, SIM_OUT_OF_MEMORY, false);
  assert_string_equal(talk_say(t, "SET k v"), "+OK\r\n");
}

TEST_WITH(a_script_that_uses_what_is_not_modelled_is_remembered,
          talk_set_up, talk_tear_down_unknown)
{
  talk *t = *state;

  (void)talk_say(t, "EVAL \"return cjson.encode({})\" 0");
  assert_string_equal(sim_server_unknown(t->server), "the library of scripts \"cjson\"");
}

TEST_WITH(a_script_that_does_not_end_is_ended, talk_set_up, talk_tear_down_unknown)
{
  talk *t = *state;
  const char *said = talk_say(t, "EVAL \"while true do end\" 0");

  assert_memory_equal(said, "-ERR Script killed by user", 26);
  assert_non_null(sim_server_unknown(t->server));
  assert_string_equal(talk_say(t, "EVAL \"return 1\" 0"), ":1\r\n");
}

RUN_TESTS_EACH(NULL, NULL, talk_set_up, talk_tear_down)
