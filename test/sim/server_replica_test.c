/* SPDX-License-Identifier: MIT */
/* The simulated server: its replica, pauses, and the states in which it refuses. */
#include "tests.h"
#include "server/talk.h"

#include <string.h>

TEST(failing_over_loses_what_the_replica_has_not_got)
{
  talk *t = *state;
  sim_connection *after;

  (void)talk_say(t, "SET kept 1 PX 60000");
  sim_server_replica(t->server, 2000);
  (void)talk_say(t, "SET early 1");
  (void)talk_say(t, "DEL kept");
  (void)talk_say(t, "SCRIPT LOAD \"return 1\"");
  talk_at(t, 1000);
  (void)talk_say(t, "EVAL \"redis.call('SET', 'late', 1) redis.call('DEL', 'early')\" 0");
  assert_int_equal(sim_server_next_tick_us(t->server), START_US + 2000);
  talk_at(t, 2000);
  sim_server_fail_over(t->server);
  assert_true(sim_connection_is_closed(t->own));
  after = sim_server_accept(t->server);
  assert_string_equal(talk_say_by(t, after, "MGET early late kept"),
                      "*3\r\n$1\r\n1\r\n$-1\r\n$-1\r\n");
  assert_string_equal(talk_say_by(t, after,
                                  "EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0"),
                      "-NOSCRIPT No matching script. Please use EVAL.\r\n");
  assert_string_equal(talk_say_by(t, after, "WAIT 1 10"), "");
}

TEST(the_replica_has_absolute_times_to_live)
{
  talk *t = *state;

  sim_server_replica(t->server, 0);
  (void)talk_say(t, "SET k v PX 500");
  talk_at(t, 400000);
  sim_server_fail_over(t->server);
  assert_string_equal(sim_server_key_text(t->server, "k", 1),
                      "string \"v\" until 1700000000500");
}

TEST(wait_ends_when_the_replica_has_it)
{
  talk *t = *state;

  sim_server_replica(t->server, 2000);
  (void)talk_say(t, "SET k v");
  assert_string_equal(talk_say(t, "WAIT 1 100"), "");
  assert_string_equal(talk_say(t, "GET k"), "");         /* waits behind it */
  talk_at(t, 1999);
  sim_server_tick(t->server);
  assert_string_equal(talk_heard(t, t->own), "");
  talk_at(t, 2000);
  sim_server_tick(t->server);
  assert_string_equal(talk_heard(t, t->own), ":1\r\n$1\r\nv\r\n");
}

TEST(wait_ends_with_its_time)
{
  talk *t = *state;

  sim_server_replica(t->server, 0);
  sim_server_replica_cut(t->server, true);
  (void)talk_say(t, "SET k v");
  assert_string_equal(talk_say(t, "WAIT 1 100"), "");
  assert_int_equal(sim_server_next_tick_us(t->server), START_US + 100000);
  talk_at(t, 100000);
  sim_server_tick(t->server);
  assert_string_equal(talk_heard(t, t->own), ":0\r\n");
  sim_server_replica_cut(t->server, false);
  assert_string_equal(talk_say(t, "WAIT 1 100"), ":1\r\n");
}

TEST(a_cut_replica_takes_over_with_the_past)
{
  talk *t = *state;

  sim_server_replica(t->server, 0);
  (void)talk_say(t, "SET k old");
  sim_server_replica_cut(t->server, true);
  (void)talk_say(t, "SET k new");
  talk_at(t, 3600 * INT64_C(1000000));
  sim_server_fail_over(t->server);
  assert_string_equal(sim_server_key_text(t->server, "k", 1), "string \"old\"");
}

TEST(a_pause_holds_writes_and_lets_reads_pass)
{
  talk *t = *state;
  sim_connection *other = sim_server_accept(t->server);

  (void)talk_say(t, "CLIENT PAUSE 100 WRITE");
  assert_string_equal(talk_say_by(t, other, "GET k"), "$-1\r\n");
  assert_string_equal(talk_say_by(t, other, "SET k v"), "");
  assert_string_equal(talk_say(t, "EVAL \"return 1\" 0"), "");
  talk_at(t, 99999);
  sim_server_tick(t->server);
  assert_string_equal(talk_heard(t, other), "");
  assert_int_equal(sim_server_next_tick_us(t->server), START_US + 100000);
  talk_at(t, 100000);
  sim_server_tick(t->server);
  assert_string_equal(talk_heard(t, other), "+OK\r\n");
  assert_string_equal(talk_heard(t, t->own), ":1\r\n");
}

TEST(states_refuse_with_the_words_of_a_real_server)
{
  talk *t = *state;
  const struct {
    sim_condition condition;
    const char *write, *read, *script;
  } rows[] = {
    { SIM_READ_ONLY, "-READONLY You can't write against a read only replica.", "$-1\r\n",
      "-READONLY You can't write against a read only replica. script: " },
    { SIM_NO_REPLICAS, "-NOREPLICAS Not enough good replicas to write.", "$-1\r\n",
      "-NOREPLICAS Not enough good replicas to write. script: " },
    { SIM_MISCONF, "-MISCONF Redis is configured to save RDB snapshots", "$-1\r\n",
      "-MISCONF Redis is configured to save RDB snapshots" },
    { SIM_LOADING, "-LOADING Redis is loading the dataset in memory", "-LOADING ",
      "-LOADING " },
    { SIM_BUSY, "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or "
                "SHUTDOWN NOSAVE.", "-BUSY ", "-BUSY " },
  };

  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    sim_server_set(t->server, rows[i].condition, true);
    assert_memory_equal(talk_say(t, "SET k v"), rows[i].write, strlen(rows[i].write));
    assert_memory_equal(talk_say(t, "GET k"), rows[i].read, strlen(rows[i].read));
    assert_memory_equal(talk_say(t, "EVAL \"return redis.call('SET', 'k', 'v')\" 0"),
                        rows[i].script, strlen(rows[i].script));
    sim_server_set(t->server, rows[i].condition, false);
  }
  assert_string_equal(talk_say(t, "SET k v"), "+OK\r\n");
}

TEST(misconf_refuses_ping_and_busy_ends_with_script_kill)
{
  talk *t = *state;

  sim_server_set(t->server, SIM_MISCONF, true);
  assert_memory_equal(talk_say(t, "PING"), "-MISCONF ", 9);
  sim_server_set(t->server, SIM_MISCONF, false);
  sim_server_set(t->server, SIM_BUSY, true);
  assert_memory_equal(talk_say(t, "PING"), "-BUSY ", 6);
  assert_string_equal(talk_say(t, "SCRIPT KILL"), "+OK\r\n");
  assert_string_equal(talk_say(t, "PING"), "+PONG\r\n");
}

TEST(restarts_keep_data_or_not)
{
  talk *t = *state;

  (void)talk_say(t, "SET k v");
  sim_server_restart(t->server, true);
  assert_true(sim_connection_is_closed(t->own));
  assert_int_equal(sim_server_key_count(t->server), 1);
  sim_server_restart(t->server, false);
  assert_int_equal(sim_server_key_count(t->server), 0);
}

TEST(evictions_take_one_key_each)
{
  talk *t = *state;

  (void)talk_say(t, "MSET a 1 b 2");
  assert_true(sim_server_evict(t->server));
  assert_int_equal(sim_server_key_count(t->server), 1);
  assert_true(sim_server_evict(t->server));
  assert_false(sim_server_evict(t->server));
  assert_int_equal(sim_server_get_counts(t->server).evicted, 2);
}

TEST(connections_that_were_closed_are_told_apart)
{
  talk *t = *state;
  sim_connection *listens = sim_server_accept(t->server);

  (void)talk_say_by(t, listens, "SUBSCRIBE a");
  assert_null(sim_server_next_to_send(t->server, NULL));
  sim_server_disconnect_all(t->server, true);
  assert_false(sim_connection_is_closed(t->own));
  assert_ptr_equal(sim_server_next_to_send(t->server, NULL), listens);
  assert_true(sim_connection_is_closed(listens));
  assert_string_equal(talk_say(t, "PUBSUB NUMSUB a"), "*2\r\n$1\r\na\r\n:0\r\n");
  sim_server_hang_up(t->server, listens);
}

RUN_TESTS_EACH(NULL, NULL, talk_set_up, talk_tear_down)
