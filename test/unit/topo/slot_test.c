/* SPDX-License-Identifier: MIT */
/* Unit: topo/slot.c, topo/slot_map.c - the slot of a key is the server's; maps and
 * redirects are understood as nodes of all versions write them, or not taken at all. */
#include "tests.h"
#include "topo/topo.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "failing_heap.h"
#include "wire_words.h"

/* ---- slots ---- */

static uint16_t slot_of(const char *key) { return slot_of_key(key, strlen(key)); }

TEST(slots_are_those_that_servers_compute)
{
  assert_int_equal(slot_of("123456789"), 0x31c3);
  assert_int_equal(slot_of("foo"), 12182);
  assert_int_equal(slot_of("bar"), 5061);
  assert_int_equal(slot_of("hello"), 866);
  assert_int_equal(slot_of(""), 0);
  assert_int_equal(slot_of_key("\0\xff\x80{", 4), 6919);
}

TEST(only_the_first_tag_counts_and_an_empty_one_is_none)
{
  assert_int_equal(slot_of("{user1000}.following"), slot_of("user1000"));
  assert_int_equal(slot_of("a{bar}{foo}"), slot_of("bar"));
  assert_int_equal(slot_of("foo{{bar}}zap"), slot_of("{bar"));
  assert_int_equal(slot_of("foo{}{bar}"), 8363);
  assert_int_not_equal(slot_of("foo{}{bar}"), slot_of("bar"));
  assert_int_equal(slot_of("}{bar}"), slot_of("bar"));
  assert_int_not_equal(slot_of("{bar"), slot_of("bar"));
  assert_int_not_equal(slot_of("bar}"), slot_of("bar"));
}

/* ---- redirects ---- */

static void expect_redirect(const char *error, bool is_ask, int at, const char *host, int port)
{
  redirect r;

  if (!redirect_read(error, strlen(error), &r))
    fail_msg("%s: not understood", error);
  assert_int_equal(r.is_ask, is_ask);
  assert_int_equal(r.slot, at);
  assert_string_equal(r.host, host);
  assert_int_equal(r.port, port);
}

TEST(redirects_are_understood_in_every_form)
{
  expect_redirect("MOVED 3999 127.0.0.1:6381", false, 3999, "127.0.0.1", 6381);
  expect_redirect("-MOVED 3999 127.0.0.1:6381", false, 3999, "127.0.0.1", 6381);
  expect_redirect("ASK 16383 db-2.example:1", true, 16383, "db-2.example", 1);
  expect_redirect("MOVED 0 :65535", false, 0, "", 65535);
  expect_redirect("MOVED 0 ?:7000", false, 0, "", 7000);
  expect_redirect("MOVED 1 fe80::1%eth0:7000", false, 1, "fe80::1%eth0", 7000);
  expect_redirect("MOVED 1 ::1:7000", false, 1, "::1", 7000);
  expect_redirect("MOVED 1 [::1]:7000", false, 1, "::1", 7000);
}

TEST(anything_else_is_no_redirect)
{
  static const char *const all[] = {
    "", "-", "MOVED", "MOVED ", "MOVED 1", "MOVED 1 ", "MOVED 1 h", "MOVED 1 h:", "MOVED 1 h:0",
    "MOVED 1 h:65536", "MOVED 1 h:7000 ", "MOVED 16384 h:7000", "MOVED -1 h:7000",
    "MOVED x h:7000", "MOVED 1 h h:7000", "MOVED 1 h/:7000", "MOVED 1 h:+700", "moved 1 h:7000",
    "ASKING 1 h:7000", "ERR MOVED 1 h:7000", "MOVED  1 h:7000",
  };
  redirect r;

  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
    if (redirect_read(all[i], strlen(all[i]), &r))
      fail_msg("\"%s\" is taken", all[i]);
}

TEST(a_host_of_256_bytes_is_no_redirect)
{
  char error[300] = "MOVED 1 ";
  size_t start = strlen(error);
  redirect r;

  memset(error + start, 'h', 256);
  memcpy(error + start + 255, ":7000", 5);
  assert_true(redirect_read(error, start + 260, &r));
  assert_int_equal(strlen(r.host), 255);
  memcpy(error + start + 255, "h:7000", 6);
  assert_false(redirect_read(error, start + 261, &r));
}

/* ---- maps ---- */

typedef struct fixture {
  failing_heap heap;
  memory memory;
  resp_reader *reader;
  resp_reply *reply;
  slot_map map;
} fixture;

static failing_heap steady;

static void hear(fixture *f, const char *words)
{
  memory m = FAILING_HEAP_AS(memory, &steady);
  buffer wire;

  *f = (fixture){ .reader = NULL };
  f->memory = FAILING_HEAP_AS(memory, &f->heap);
  f->reader = resp_reader_new(&m, RESP_LIMITS_DEFAULT);
  buffer_init(&wire, &m);
  wire_add(&wire, words);
  assert_int_equal(resp_reader_feed(f->reader, buffer_bytes(&wire), buffer_size(&wire)), DIBS_OK);
  assert_int_equal(resp_reader_next(f->reader, &f->reply), DIBS_OK);
  assert_non_null(f->reply);
  buffer_deinit(&wire);
}

static void end(fixture *f)
{
  slot_map_deinit(&f->map);
  slot_map_deinit(&f->map);
  assert_int_equal(f->heap.live, 0);
  resp_reply_free(f->reply);
  resp_reader_free(f->reader);
}

static void hear_shards(fixture *f, const char *words, bool is_tls)
{
  hear(f, words);
  if (!slot_map_read_shards(&f->memory, f->reply, is_tls, &f->map))
    fail_msg("%s: not taken", words);
}

static void expect_serves(const fixture *f, int at, const char *host, int port)
{
  uint16_t index = f->map.node_of[at];

  assert_int_not_equal(index, SLOT_UNSERVED);
  assert_true(index < f->map.node_count);
  assert_string_equal(f->map.nodes[index].host, host);
  assert_int_equal(f->map.nodes[index].port, port);
}

#define NODE(host, port, role, health) \
  "['id' 'x' 'port' " port " 'ip' '" host "' 'endpoint' '" host "' 'role' '" role "'" \
  " 'replication-offset' 7 'health' '" health "']"

TEST(shards_tell_who_serves_which_slot)
{
  fixture f;

  hear_shards(&f, "[['slots' [0 5460 16383 16383] 'nodes' ["
                  NODE("10.0.0.4", "7003", "replica", "online")
                  NODE("10.0.0.1", "7000", "master", "online") "]]"
                  " ['slots' [5461 10922] 'nodes' ["
                  NODE("10.0.0.2", "7001", "master", "online") "]]"
                  " ['slots' [] 'nodes' [" NODE("10.0.0.9", "7009", "master", "online") "]]]",
              false);
  assert_true(f.map.has_sharded_channels);
  assert_int_equal(f.map.node_count, 2);
  expect_serves(&f, 0, "10.0.0.1", 7000);
  expect_serves(&f, 5460, "10.0.0.1", 7000);
  expect_serves(&f, 16383, "10.0.0.1", 7000);
  expect_serves(&f, 5461, "10.0.0.2", 7001);
  expect_serves(&f, 10922, "10.0.0.2", 7001);
  assert_int_equal(f.map.node_of[10923], SLOT_UNSERVED);
  assert_int_equal(f.map.node_of[16382], SLOT_UNSERVED);
  end(&f);
}

TEST(a_shard_without_a_healthy_primary_has_nobody)
{
  fixture f;

  hear_shards(&f, "[['slots' [0 5] 'nodes' [" NODE("a", "1", "master", "fail")
                  NODE("b", "2", "replica", "online") "]]"
                  "['slots' [6 9] 'nodes' [" NODE("c", "3", "master", "fail")
                  NODE("d", "4", "master", "online") "]]"
                  "['slots' [10 11] 'nodes' []]]", false);
  assert_int_equal(f.map.node_count, 1);
  assert_int_equal(f.map.node_of[0], SLOT_UNSERVED);
  assert_int_equal(f.map.node_of[5], SLOT_UNSERVED);
  assert_int_equal(f.map.node_of[10], SLOT_UNSERVED);
  expect_serves(&f, 6, "d", 4);
  end(&f);
}

static void shard_of(fixture *f, const char *addresses, bool is_tls)
{
  char words[512];

  snprintf(words, sizeof(words), "[['nodes' [[%s 'health' 'online' 'role' 'master']]"
           " 'slots' [0 0]]]", addresses);
  hear_shards(f, words, is_tls);
}

static void expect_address(const char *addresses, bool is_tls, const char *host, int port)
{
  fixture f;

  shard_of(&f, addresses, is_tls);
  expect_serves(&f, 0, host, port);
  end(&f);
}

TEST(endpoints_come_before_addresses)
{
  expect_address("'port' 7 'ip' '10.0.0.1' 'endpoint' 'db1' 'hostname' 'db1'", false, "db1", 7);
  expect_address("'port' 7 'ip' '10.0.0.1' 'endpoint' ~", false, "", 7);
  expect_address("'port' 7 'ip' '10.0.0.1' 'endpoint' ''", false, "", 7);
  expect_address("'port' 7 'ip' '10.0.0.1' 'endpoint' '?'", false, "10.0.0.1", 7);
  expect_address("'port' 7 'ip' '::1'", false, "::1", 7);
  expect_address("'port' 7 'ip' ''", false, "", 7);
}

TEST(the_port_fits_the_transport)
{
  expect_address("'port' 7 'tls-port' 8 'ip' 'a'", false, "a", 7);
  expect_address("'port' 7 'tls-port' 8 'ip' 'a'", true, "a", 8);
  expect_address("'tls-port' 8 'ip' 'a'", false, "a", 8);
  expect_address("'port' 7 'ip' 'a'", true, "a", 7);
}

TEST(a_primary_without_a_port_or_an_address_is_nobody)
{
  static const char *const all[] = {
    "'ip' 'a'", "'port' 0 'ip' 'a'", "'port' '7' 'ip' 'a'", "'port' 7", "'port' 7 'ip' 'a b'",
    "'port' 7 'ip' 7",
  };

  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
    fixture f;
    shard_of(&f, all[i], false);
    assert_int_equal(f.map.node_of[0], SLOT_UNSERVED);
    end(&f);
  }
}

TEST(slots_tell_who_serves_which_slot)
{
  fixture f;

  hear(&f, "[[0 5460 ['10.0.0.1' 7000 'id' []] ['10.0.0.4' 7003 'id']]"
           " [5461 10922 [~ 7001 'id' ['ip' '10.0.0.2']]]"
           " [10923 10923 ['?' 7002 'id' ['ip' '10.0.0.3']]]"
           " [10924 10924 ['?' 7002 'id' []]]"
           " [16383 16383 ['10.0.0.1' 7000]]]");
  assert_true(slot_map_read_slots(&f.memory, f.reply, &f.map));
  assert_false(f.map.has_sharded_channels);
  assert_int_equal(f.map.node_count, 4);
  expect_serves(&f, 0, "10.0.0.1", 7000);
  expect_serves(&f, 16383, "10.0.0.1", 7000);
  expect_serves(&f, 10922, "", 7001);
  expect_serves(&f, 10923, "10.0.0.3", 7002);
  expect_serves(&f, 10924, "", 7002);
  assert_int_equal(f.map.node_of[10925], SLOT_UNSERVED);
  end(&f);
}

TEST(a_cluster_that_serves_nothing_is_an_empty_map)
{
  fixture f;

  hear_shards(&f, "[]", false);
  assert_int_equal(f.map.node_count, 0);
  assert_int_equal(f.map.node_of[0], SLOT_UNSERVED);
  assert_int_equal(f.map.node_of[16383], SLOT_UNSERVED);
  end(&f);
}

TEST(what_is_no_map_is_not_taken)
{
  static const char *const shards[] = {
    "'x'", "7", "~", "[7]", "[[]]", "[['slots' [] 'nodes' 7]]", "[['slots' [0 1]]]",
    "[['slots' [0] 'nodes' []]]", "[['slots' [5 4] 'nodes' []]]", "[['slots' ['0' 1] 'nodes' []]]",
    "[['slots' [0 16384] 'nodes' []]]", "[['slots' [-1 4] 'nodes' []]]",
  };
  static const char *const ranges[] = {
    "'x'", "[7]", "[[]]", "[[0 1]]", "[[0 1 'a']]", "[[0 1 []]]", "[[0 1 ['a']]]",
    "[[0 1 ['a' 0]]]", "[[0 1 ['a' '7']]]", "[[0 1 ['a b' 7]]]", "[[0 16384 ['a' 7]]]",
    "[[4 3 ['a' 7]]]", "[[0 '1' ['a' 7]]]", "[[0 1 [7 7]]]", "[[0 1 ['a' 7]] [5]]",
  };

  for (size_t i = 0; i < sizeof(shards) / sizeof(shards[0]); i++) {
    fixture f;
    hear(&f, shards[i]);
    if (slot_map_read_shards(&f.memory, f.reply, false, &f.map))
      fail_msg("%s is taken", shards[i]);
    end(&f);
  }
  for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
    fixture f;
    hear(&f, ranges[i]);
    if (slot_map_read_slots(&f.memory, f.reply, &f.map))
      fail_msg("%s is taken", ranges[i]);
    end(&f);
  }
}

TEST(a_map_of_more_than_1000_nodes_is_not_taken)
{
  for (int count = 1000; count <= 1001; count++) {
    char *words = calloc(1, (size_t)count * 32 + 3);
    size_t used = 1;
    fixture f;

    words[0] = '[';
    for (int i = 0; i < count; i++)
      used += (size_t)sprintf(words + used, "[%d %d ['a' %d]] ", i, i, i + 1);
    words[used] = ']';
    hear(&f, words);
    assert_int_equal(slot_map_read_slots(&f.memory, f.reply, &f.map), count == 1000);
    end(&f);
    free(words);
  }
}

static bool read_a_map(failing_heap *heap, void *data)
{
  fixture *f = data;
  memory m = FAILING_HEAP_AS(memory, heap);
  slot_map map = { .node_count = 0 };
  bool is_fine = slot_map_read_slots(&m, f->reply, &map);

  if (is_fine)
    slot_map_deinit(&map);
  return is_fine;
}

TEST(refused_memory_leaves_no_map)
{
  fixture f;

  hear(&f, "[[0 1 ['a' 7]] [2 3 ['b' 8]]]");
  failing_heap_try_all(read_a_map, &f);
  end(&f);
}

RUN_TESTS(NULL, NULL)
