/* SPDX-License-Identifier: MIT */
/* test/live/name_slots_test.c - every key and channel of a name is in one slot, the one
 * that the servers of a cluster compute, whatever braces the name has; and what such servers
 * tell of themselves is understood. Below the library: no client here. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <dibs/client.h>

#include "deployment.h"
#include "dialect/native.h"
#include "failing_heap.h"
#include "topo/topo.h"

enum { NAMES = 2000 };

static struct test_cluster *cluster;
static failing_heap heap;
static random_source chance;

static int setup(void **state)
{
  const struct test_cluster_options options = { .replicas = TEST_NONE };

  (void)state;
  random_seed(&chance, 31);
  cluster = test_cluster_start(&options);
  return 0;
}

static int teardown(void **state)
{
  (void)state;
  cluster = test_cluster_stop(cluster);
  return 0;
}

static const struct test_server *server(void) { return test_cluster_member(cluster, 0); }

/* ---- slots ---- */

/* Mostly few different bytes, so that braces meet in all ways; sometimes any. */
static size_t random_bytes(char *bytes, size_t most)
{
  static const char few[] = "{}{}{}ab:\0\xff";
  size_t size = 1 + (size_t)random_below(&chance, random_below(&chance, 8) == 0 ? most : 12);
  bool is_any = random_below(&chance, 4) == 0;

  for (size_t i = 0; i < size; i++)
    bytes[i] = is_any ? (char)random_below(&chance, 256)
                      : few[random_below(&chance, sizeof(few) - 1)];
  return size;
}

static long long slot_by_server(const char *key, size_t size)
{
  return test_server_integer(server(), "CLUSTER KEYSLOT %b", key, size);
}

TEST(any_key_is_in_the_slot_that_servers_compute)
{
  char key[700];

  for (int i = 0; i < NAMES; i++) {
    size_t size = random_bytes(key, sizeof(key));
    assert_int_equal(slot_of_key(key, size), slot_by_server(key, size));
  }
}

TEST(all_that_a_name_has_is_in_one_slot)
{
  static const protocol n = { .prefix = "app", .client = "AAAAAAAAAAAAAAAAAAAAAA",
                              .has_tags = true };
  char name[DIBS_NAME_MAX];
  int told = 0, braced = 0;

  while (told < NAMES) {
    size_t size = random_bytes(name, sizeof(name));
    char key[KEY_TEXT_SIZE], inbox[KEY_TEXT_SIZE], era[KEY_TEXT_SIZE];
    text key_text = text_over(key, sizeof(key));
    text inbox_text = text_over(inbox, sizeof(inbox));
    text era_text = text_over(era, sizeof(era));
    long long where;

    if (native_name_fault(name, size) != NULL)
      continue;
    told++;
    braced += memchr(name, '{', size) != NULL && memchr(name, '}', size) != NULL;
    native_key(&n, name, size, &key_text);
    native_name_inbox(&n, name, size, &inbox_text);
    native_era_key(&n, name, size, &era_text);
    assert_false(key_text.is_cut || inbox_text.is_cut || era_text.is_cut);
    where = slot_by_server(key, key_text.used);
    assert_int_equal(slot_of_key(key, key_text.used), where);
    assert_int_equal(slot_of_key(inbox, inbox_text.used), where);
    assert_int_equal(slot_by_server(inbox, inbox_text.used), where);
    assert_int_equal(slot_of_key(era, era_text.used), where);
    assert_int_equal(slot_by_server(era, era_text.used), where);
  }
  assert_true(braced > NAMES / 4);
}

/* ---- what servers tell ---- */

/* One answer of `s`, over a connection of its own. */
static resp_reply *ask(const struct test_server *s, resp_reader *reader, const char *line)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  resp_reply *reply = NULL;

  assert_true(strlen(test_server_socket(s)) < sizeof(address.sun_path));
  stpcpy(address.sun_path, test_server_socket(s));
  assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
  assert_int_equal(write(fd, line, strlen(line)), (ssize_t)strlen(line));
  while (reply == NULL) {
    char bytes[4096];
    ssize_t size = read(fd, bytes, sizeof(bytes));

    assert_true(size > 0);
    assert_int_equal(resp_reader_feed(reader, bytes, (size_t)size), DIBS_OK);
    assert_int_equal(resp_reader_next(reader, &reply), DIBS_OK);
  }
  (void)close(fd);
  return reply;
}

static void expect_serves(const slot_map *map, int at)
{
  int owner = test_cluster_owner(cluster, at);

  assert_int_not_equal(map->node_of[at], SLOT_UNSERVED);
  assert_int_equal(map->nodes[map->node_of[at]].port,
                   test_server_port(test_cluster_member(cluster, owner)));
}

TEST(maps_of_real_servers_are_understood)
{
  memory m = FAILING_HEAP_AS(memory, &heap);

  for (int i = 0; i < 2; i++) {
    bool by_shards = i == 0;
    resp_reader *reader;
    resp_reply *reply;
    slot_map map;

    if (by_shards && !test_server_knows(server(), "cluster|shards"))
      continue;
    reader = resp_reader_new(&m, RESP_LIMITS_DEFAULT);
    reply = ask(server(), reader, by_shards ? "CLUSTER SHARDS\r\n" : "CLUSTER SLOTS\r\n");
    assert_true(by_shards ? slot_map_read_shards(&m, reply, false, &map)
                          : slot_map_read_slots(&m, reply, &map));
    assert_int_equal(map.has_sharded_channels, by_shards);
    assert_int_equal(map.node_count, 3);
    expect_serves(&map, 0);
    expect_serves(&map, 8000);
    expect_serves(&map, SLOT_COUNT - 1);
    slot_map_deinit(&map);
    resp_reply_free(reply);
    resp_reader_free(reader);
  }
  assert_int_equal(heap.live, 0);
}

TEST(redirections_of_real_servers_are_understood)
{
  int seen = 0;

  for (int i = 0; i < 20; i++) {
    char key[16];
    const char *answer;
    redirect r;
    int at, owner;

    snprintf(key, sizeof(key), "key-%d", i);
    at = test_cluster_slot_of(cluster, key);
    owner = test_cluster_owner(cluster, at);
    answer = test_server_command(server(), "GET %s", key);
    if (owner == 0) {
      assert_false(redirect_read(answer, strlen(answer), &r));
      continue;
    }
    seen++;
    assert_true(redirect_read(answer, strlen(answer), &r));
    assert_false(r.is_ask);
    assert_int_equal(r.slot, at);
    assert_int_equal(r.slot, slot_of_key(key, strlen(key)));
    assert_string_equal(r.host, "127.0.0.1");
    assert_int_equal(r.port, test_server_port(test_cluster_member(cluster, owner)));
  }
  assert_true(seen > 0);
}

RUN_TESTS(setup, teardown)
