/* SPDX-License-Identifier: MIT */
/* The simulated server: keys and their time, connections, messages, transactions. */
#include "tests.h"
#include "server/talk.h"

#include <stdlib.h>
#include <string.h>

static const char wrong_type[] =
  "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n";

TEST(a_key_is_there_at_its_last_millisecond_and_gone_one_later)
{
  talk *t = *state;

  assert_string_equal(talk_say(t, "SET k v PX 500"), "+OK\r\n");
  talk_at(t, 500999);
  assert_string_equal(talk_say(t, "PTTL k"), ":0\r\n");
  assert_string_equal(talk_say(t, "GET k"), "$1\r\nv\r\n");
  assert_int_equal(sim_server_get_counts(t->server).expired, 0);
  talk_at(t, 501000);
  assert_int_equal(sim_server_key_count(t->server), 0);
  assert_null(sim_server_key_text(t->server, "k", 1));
  assert_string_equal(talk_say(t, "DBSIZE"), ":1\r\n");
  assert_string_equal(talk_say(t, "GET k"), "$-1\r\n");
  assert_string_equal(talk_say(t, "DBSIZE"), ":0\r\n");
  assert_int_equal(sim_server_get_counts(t->server).expired, 1);
}

TEST(a_clock_that_is_set_back_keeps_keys_longer)
{
  talk *t = *state;

  (void)talk_say(t, "SET k v PX 500");
  talk_at(t, -3600 * INT64_C(1000000));
  assert_string_equal(talk_say(t, "PTTL k"), ":3600500\r\n");
  talk_at(t, 60 * 1000000);
  assert_string_equal(talk_say(t, "EXISTS k"), ":0\r\n");
}

TEST(ticks_remove_what_is_over_without_being_asked)
{
  talk *t = *state;

  (void)talk_say(t, "MSET a 1 b 2");
  (void)talk_say(t, "PEXPIRE a 10");
  talk_at(t, 11000);
  for (int i = 0; i < 10; i++)
    sim_server_tick(t->server);
  assert_string_equal(talk_say(t, "DBSIZE"), ":1\r\n");
  assert_int_equal(sim_server_next_tick_us(t->server), INT64_MAX);
}

TEST(looking_changes_nothing)
{
  static const char get[] = "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n";
  talk *t = *state;
  uint64_t version;
  size_t size;

  (void)talk_say(t, "SET k v PX 500");
  version = sim_server_version(t->server);
  assert_memory_equal(sim_server_ask(t->server, get, sizeof(get) - 1, &size), "$1\r\nv\r\n", 7);
  talk_at(t, 501000);
  assert_memory_equal(sim_server_ask(t->server, get, sizeof(get) - 1, &size), "$-1\r\n", 5);
  assert_int_equal(size, 5);
  assert_int_equal(sim_server_version(t->server), version);
  assert_string_equal(talk_say(t, "DBSIZE"), ":1\r\n");
  assert_string_equal(talk_say(t, "GET k"), "$-1\r\n");
  assert_int_not_equal(sim_server_version(t->server), version);
}

TEST(the_text_of_a_key_tells_it_wholly)
{
  talk *t = *state;
  char first[128];

  (void)talk_say(t, "HSET h b 2 a 1");
  (void)talk_say(t, "PEXPIREAT h 1700000000500");
  strncpy(first, sim_server_key_text(t->server, "h", 1), sizeof(first) - 1);
  first[sizeof(first) - 1] = 0;
  assert_string_equal(first, "hash \"a\"=\"1\" \"b\"=\"2\" until 1700000000500");
  (void)talk_say(t, "DEL h");
  (void)talk_say(t, "HSET h a 1");
  (void)talk_say(t, "HSET h b 2");
  (void)talk_say(t, "PEXPIRE h 500");
  assert_string_equal(sim_server_key_text(t->server, "h", 1), first);
  (void)talk_say(t, "RPUSH l x y");
  assert_string_equal(sim_server_key_text(t->server, "l", 1), "list \"x\" \"y\"");
  (void)talk_say(t, "ZADD z 2 x 1.5 y");
  assert_string_equal(sim_server_key_text(t->server, "z", 1), "zset \"y\"=1.5 \"x\"=2");
}

TEST(errors_have_the_words_of_a_real_server)
{
  talk *t = *state;

  (void)talk_say(t, "HSET h f 1");
  assert_string_equal(talk_say(t, "GET h"), wrong_type);
  assert_string_equal(talk_say(t, "GET"),
                      "-ERR wrong number of arguments for 'get' command\r\n");
  assert_string_equal(talk_say(t, "SET k v PX 0"),
                      "-ERR invalid expire time in 'set' command\r\n");
  assert_string_equal(talk_say(t, "SET k v PX 1.5"),
                      "-ERR value is not an integer or out of range\r\n");
  assert_string_equal(talk_say(t, "SET k v NX XX"), "-ERR syntax error\r\n");
  assert_string_equal(talk_say(t, "CLIENT SETINFO lib-name x"),
                      "-ERR unknown subcommand 'SETINFO'. Try CLIENT HELP.\r\n");
}

TEST_WITH(what_the_model_does_not_know_is_remembered, talk_set_up, talk_tear_down_unknown)
{
  talk *t = *state;

  assert_null(sim_server_unknown(t->server));
  assert_string_equal(talk_say(t, "PFADD s * a 1"),
                      "-ERR unknown command 'PFADD', with args beginning with: 's' '*' "
                      "'a' '1' \r\n");
  assert_string_equal(sim_server_unknown(t->server), "the command \"PFADD\"");
}

TEST(a_command_may_come_byte_by_byte_and_many_at_once)
{
  static const char all[] = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\na\0\r\n\r\n"
                            "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*1\r\n$4\r\nPI";
  talk *t = *state;

  for (size_t i = 0; i < sizeof(all) - 1; i++)
    sim_server_receive(t->server, t->own, all + i, 1);
  sim_server_receive(t->server, t->own, "NG\r\n*1\r\n$4\r\nPING\r\n", 18);
  {
    size_t size;
    const char *bytes = sim_connection_output(t->own, &size);

    assert_int_equal(size, 5 + 10 + 7 + 7);
    assert_memory_equal(bytes, "+OK\r\n$4\r\na\0\r\n\r\n+PONG\r\n+PONG\r\n", size);
  }
}

TEST_WITH(bytes_that_are_no_command_end_the_connection,
          talk_set_up, talk_tear_down_unknown)
{
  talk *t = *state;

  assert_string_equal(talk_send(t, t->own, "*1\r\n:1\r\n", 8),
                      "-ERR Protocol error: expected '$', got ':'\r\n");
  assert_true(sim_connection_is_closed(t->own));
}

TEST(a_password_is_asked_for_and_checked)
{
  talk *t = *state;
  sim_connection *c;

  t->server = sim_server_free(t->server);
  t->server = sim_server_new(&(sim_server_settings){ .password = "secret" });
  c = sim_server_accept(t->server);
  assert_string_equal(talk_say_by(t, c, "GET k"), "-NOAUTH Authentication required.\r\n");
  assert_string_equal(talk_say_by(t, c, "AUTH wrong"),
                      "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
  assert_string_equal(talk_say_by(t, c, "AUTH default secret"), "+OK\r\n");
  assert_string_equal(talk_say_by(t, c, "GET k"), "$-1\r\n");
}

TEST(the_third_version_of_the_protocol_is_refused)
{
  static const char refused[] = "-ERR unknown command `HELLO`";
  static const char greeting[] = "*14\r\n$6\r\nserver\r\n$5\r\nredis\r\n";
  talk *t = *state;

  assert_memory_equal(talk_say(t, "HELLO 3"), refused, sizeof(refused) - 1);
  assert_memory_equal(talk_say(t, "HELLO 2"), greeting, sizeof(greeting) - 1);
}

/* The answers are those of Valkey 8.1 and 9.1. */
TEST(ifeq_is_for_servers_that_have_it)
{
  static const struct { const char *line, *answer; } rows[] = {
    { "SET k old PX 90000", "+OK\r\n" },
    { "SET k new IFEQ other KEEPTTL", "$-1\r\n" },
    { "SET k new IFEQ old KEEPTTL", "+OK\r\n" },
    { "GET k", "$3\r\nnew\r\n" },
    { "PTTL k", ":90000\r\n" },
    { "SET k last IFEQ new PX 5000", "+OK\r\n" },
    { "PTTL k", ":5000\r\n" },
    { "SET missing new IFEQ old KEEPTTL", "$-1\r\n" },
    { "EXISTS missing", ":0\r\n" },
    { "SET k new IFEQ last NX", "-ERR syntax error\r\n" },
    { "SET k new IFEQ", "-ERR syntax error\r\n" },
    { "HSET h f v", ":1\r\n" },
    { "SET h new IFEQ v KEEPTTL",
      "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n" },
    { "EVAL \"return redis.REDIS_VERSION_NUM\" 0", ":525312\r\n" },
  };
  talk *t = *state;

  assert_string_equal(talk_say(t, "SET k new IFEQ old"), "-ERR syntax error\r\n");
  assert_string_equal(talk_say(t, "EVAL \"return redis.REDIS_VERSION_NUM\" 0"), ":458767\r\n");
  t->server = sim_server_free(t->server);
  t->server = sim_server_new(&(sim_server_settings){ .wall_us = START_US, .has_ifeq = true });
  t->own = sim_server_accept(t->server);
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    assert_string_equal(talk_say(t, rows[i].line), rows[i].answer);
}

/* Two servers of one seed stay the same, whatever was drawn. */
TEST(equal_seeds_make_equal_servers)
{
  static const char *const lines[] = {
    "MSET a 1 b 2 c 3 d 4 e 5 f 6", "RANDOMKEY", "EVAL \"return tostring(math.random())\" 0",
    "INFO server", "KEYS *", "HSET h z 1 y 2 x 3", "HGETALL h", "RANDOMKEY", "SCAN 0"
  };
  talk *t = *state;
  talk twin = { .server = sim_server_new(&(sim_server_settings){ .seed = 7,
                                                                 .wall_us = START_US }) };
  char first[4096];

  twin.own = sim_server_accept(twin.server);
  for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
    strncpy(first, talk_say(t, lines[i]), sizeof(first) - 1);
    first[sizeof(first) - 1] = 0;
    assert_string_equal(talk_say(&twin, lines[i]), first);
    assert_int_equal(sim_server_evict(t->server), sim_server_evict(twin.server));
  }
  twin.server = sim_server_free(twin.server);
  free(twin.said);
}

/* ---- messages ---- */

TEST(published_messages_are_counted_by_who_really_gets_them)
{
  talk *t = *state;
  sim_connection *one = sim_server_accept(t->server), *two = sim_server_accept(t->server);

  assert_string_equal(talk_say(t, "PUBLISH news x"), ":0\r\n");
  assert_string_equal(talk_say_by(t, one, "SUBSCRIBE news old"),
                      "*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n"
                      "*3\r\n$9\r\nsubscribe\r\n$3\r\nold\r\n:2\r\n");
  (void)talk_say_by(t, two, "PSUBSCRIBE n*");
  assert_string_equal(talk_say(t, "PUBLISH news hello"), ":2\r\n");
  assert_string_equal(talk_heard(t, one),
                      "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$5\r\nhello\r\n");
  assert_string_equal(talk_heard(t, two), "*4\r\n$8\r\npmessage\r\n$2\r\nn*\r\n"
                                          "$4\r\nnews\r\n$5\r\nhello\r\n");
  /* Patterns are no subscribers of a channel. */
  assert_string_equal(talk_say(t, "PUBSUB NUMSUB news none"),
                      "*4\r\n$4\r\nnews\r\n:1\r\n$4\r\nnone\r\n:0\r\n");
  sim_server_hang_up(t->server, one);
  assert_string_equal(talk_say(t, "PUBSUB NUMSUB news"), "*2\r\n$4\r\nnews\r\n:0\r\n");
  assert_string_equal(talk_say(t, "PUBLISH news x"), ":1\r\n");
  assert_int_equal(sim_server_get_counts(t->server).messages, 3);
}

TEST(a_subscriber_may_only_listen)
{
  talk *t = *state;

  (void)talk_say(t, "SUBSCRIBE a");
  assert_string_equal(talk_say(t, "GET k"),
                      "-ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / "
                      "PING / QUIT / RESET are allowed in this context\r\n");
  assert_string_equal(talk_say(t, "PING"), "*2\r\n$4\r\npong\r\n$0\r\n\r\n");
  assert_string_equal(talk_say(t, "UNSUBSCRIBE"),
                      "*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:0\r\n");
  assert_string_equal(talk_say(t, "GET k"), "$-1\r\n");
}

TEST(shard_channels_are_apart)
{
  talk *t = *state;
  sim_connection *c = sim_server_accept(t->server);

  (void)talk_say_by(t, c, "SSUBSCRIBE a");
  assert_string_equal(talk_say(t, "PUBLISH a x"), ":0\r\n");
  assert_string_equal(talk_say(t, "SPUBLISH a x"), ":1\r\n");
  assert_string_equal(talk_heard(t, c), "*3\r\n$8\r\nsmessage\r\n$1\r\na\r\n$1\r\nx\r\n");
  assert_string_equal(talk_say(t, "PUBSUB SHARDNUMSUB a"), "*2\r\n$1\r\na\r\n:1\r\n");
}

/* ---- transactions ---- */

TEST_WITH(a_transaction_runs_at_once_unless_a_watched_key_changed,
          talk_set_up, talk_tear_down_unknown)
{
  talk *t = *state;
  sim_connection *other = sim_server_accept(t->server);

  (void)talk_say(t, "WATCH k");
  (void)talk_say(t, "MULTI");
  assert_string_equal(talk_say(t, "INCR n"), "+QUEUED\r\n");
  assert_string_equal(talk_say(t, "GET k"), "+QUEUED\r\n");
  assert_string_equal(talk_say(t, "EXEC"), "*2\r\n:1\r\n$-1\r\n");
  (void)talk_say(t, "WATCH k");
  (void)talk_say(t, "MULTI");
  (void)talk_say(t, "INCR n");
  (void)talk_say_by(t, other, "SET k v");
  assert_string_equal(talk_say(t, "EXEC"), "*-1\r\n");
  assert_string_equal(talk_say(t, "GET n"), "$1\r\n1\r\n");
  (void)talk_say(t, "MULTI");
  (void)talk_say(t, "NOSUCH");
  assert_string_equal(talk_say(t, "EXEC"),
                      "-EXECABORT Transaction discarded because of previous errors.\r\n");
}

RUN_TESTS_EACH(NULL, NULL, talk_set_up, talk_tear_down)
