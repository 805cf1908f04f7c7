/* SPDX-License-Identifier: MIT */
/* Unit: topo/finder_cluster.c - the slot map of a cluster, from whichever node tells it
 * first, old or new, with the fewest rights. */
#include "tests.h"
#include "finder_fixture.h"

#define THREE "redis+cluster://h1,h2,h3:7000"
#define UNKNOWN "-ERR unknown subcommand 'SHARDS'. Try CLUSTER HELP."
#define UNKNOWN_TO_OLD \
  "-ERR Unknown subcommand or wrong number of arguments for 'SHARDS'. Try CLUSTER HELP."
#define SHARD(host) \
  "['slots' [0 16383] 'nodes' [['port' 6379 'tls-port' 6380 'ip' '" host "' 'endpoint' '" host \
  "' 'role' 'master' 'health' 'online']]]"
#define SLOTS(host) "[[0 16383 ['" host "' 6379 'id']]]"

/* Takes the map: slot 5 is served at `host`:`port`. */
static const slot_map *expect_map(fixture *f, const char *host, int port, bool is_sharded)
{
  const slot_map *map;

  assert_int_equal(finder_state_of(f->finder), FINDER_FOUND);
  map = finder_take_slots(f->finder);
  assert_non_null(map);
  assert_int_equal(finder_state_of(f->finder), FINDER_IDLE);
  assert_int_equal(map->has_sharded_channels, is_sharded);
  assert_int_not_equal(map->node_of[5], SLOT_UNSERVED);
  assert_string_equal(map->nodes[map->node_of[5]].host, host);
  assert_int_equal(map->nodes[map->node_of[5]].port, port);
  for (int i = 0; i < SCOUTS_MAX; i++)
    assert_false(f->guests[i].is_out);
  return map;
}

TEST(the_first_map_is_taken)
{
  fixture f;

  begin_search(&f, THREE);                   /* the two others say nothing, ever */
  expect_asks(&f, "h3:7000", "CLUSTER SHARDS");
  says(&f, "h3:7000", "[" SHARD("10.0.0.1") "]");
  expect_map(&f, "10.0.0.1", 6379, true);
  assert_null(finder_take_slots(f.finder));
  assert_null(finder_take_primary(f.finder));
  end(&f);
}

TEST(a_node_from_before_seven_is_asked_for_slots)
{
  static const char *const answers[] = { UNKNOWN, UNKNOWN_TO_OLD,
                                         "-ERR unknown command 'CLUSTER'" };

  for (size_t i = 0; i < 3; i++) {
    fixture f;

    begin_search(&f, THREE);
    says(&f, "h1:6379", answers[i]);
    expect_asks(&f, "h1:6379", "CLUSTER SLOTS");
    says(&f, "h1:6379", SLOTS("10.0.0.1"));
    expect_map(&f, "10.0.0.1", 6379, false);
    end(&f);
  }
}

TEST(a_node_that_forbids_shards_knows_them)
{
  fixture f;

  begin_search(&f, THREE);
  says(&f, "h1:6379", "-NOPERM this user has no permissions to run the 'cluster|shards' command");
  expect_asks(&f, "h1:6379", "CLUSTER SLOTS");
  says(&f, "h1:6379", SLOTS("10.0.0.1"));
  expect_map(&f, "10.0.0.1", 6379, true);
  end(&f);
}

TEST(shards_that_are_not_understood_are_asked_for_as_slots)
{
  fixture f;

  begin_search(&f, THREE);
  says(&f, "h1:6379", "[['slots' 7]]");
  expect_asks(&f, "h1:6379", "CLUSTER SLOTS");
  says(&f, "h1:6379", SLOTS("10.0.0.1"));
  expect_map(&f, "10.0.0.1", 6379, true);
  end(&f);
}

TEST(tls_takes_the_port_for_it)
{
  fixture f;

  begin_search(&f, "rediss+cluster://h1");
  says(&f, "h1:6379", "[" SHARD("10.0.0.1") "]");
  expect_map(&f, "10.0.0.1", 6380, true);
  end(&f);
}

TEST(a_node_without_a_name_is_the_one_that_was_asked)
{
  fixture f;

  begin_search(&f, THREE);
  says(&f, "h3:7000", "[" SHARD("") "]");
  expect_map(&f, "h3", 6379, true);
  search(&f);
  says(&f, "h2:6379", UNKNOWN);
  says(&f, "h2:6379", SLOTS(""));
  expect_map(&f, "h2", 6379, false);
  end(&f);
}

TEST(a_map_of_nobody_is_passed_over)
{
  fixture f;

  begin_search(&f, "redis+cluster://h1,h2");
  says(&f, "h1:6379", "[]");
  expect_looking(&f);
  says(&f, "h2:6379", "[['slots' [0 16383] 'nodes' []]]");
  expect_none(&f, DIBS_ERR_UNREACHABLE, "h1:6379: the node has no server for any slot");
  end(&f);
}

TEST(a_server_that_is_no_node_is_told)
{
  fixture f;

  begin_search(&f, "redis+cluster://h1,h2");
  says(&f, "h1:6379", "-ERR This instance has cluster support disabled");
  breaks(&f, "h2:6379", DIBS_ERR_UNREACHABLE, "no");
  expect_none(&f, DIBS_ERR_CONFIG, "h1:6379: this server is no node of a cluster");
  end(&f);
}

TEST(one_that_forbids_both_says_what_prints_the_rights)
{
  fixture f;

  begin_search(&f, "redis+cluster://h1");
  says(&f, "h1:6379", "-NOPERM no");
  says(&f, "h1:6379", "-NOPERM no");
  expect_none(&f, DIBS_ERR_DENIED, "\"NOPERM no\" (`dibs acl` prints the rights");
  end(&f);
}

TEST(a_hostile_answer_spoils_only_its_own_scout)
{
  static const struct { const char *shards, *slots; } cases[] = {
    { "~", NULL }, { "12", NULL }, { "+OK", NULL }, { "'x'", NULL },
    { "-LOADING wait", NULL }, { "-ERR what", NULL }, { "-NOAUTH Authentication required.", NULL },
    { "[12]", "12" }, { "[12]", "[12]" }, { "[12]", "~" }, { UNKNOWN, "+OK" },
    { UNKNOWN, "-ERR what" }, { UNKNOWN, UNKNOWN }, { UNKNOWN, "-NOPERM no" },
    { UNKNOWN, "[[0 16384 ['h' 1 'id']]]" }, { UNKNOWN, "[[0 1 ['h' 65536 'id']]]" },
    { UNKNOWN, "[[-1 1 ['h' 1 'id']]]" }, { UNKNOWN, "[[0 1 ['h /' 1 'id']]]" },
  };

  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    fixture f;

    begin_search(&f, "redis+cluster://h1,h2");
    says(&f, "h1:6379", cases[i].shards);
    if (cases[i].slots != NULL)
      says(&f, "h1:6379", cases[i].slots);
    if (scout_of(&f, "h1:6379") >= 0)
      fail_msg("%s: taken", cases[i].shards);
    expect_looking(&f);
    says(&f, "h2:6379", "[" SHARD("10.0.0.1") "]");
    expect_map(&f, "10.0.0.1", 6379, true);
    end(&f);
  }
}

TEST(nodes_that_were_learned_answer_when_the_seeds_are_gone)
{
  fixture f;

  begin(&f, "redis+cluster://ann:pw@h1?map=10.0.0.9:7009%3Edb9:1");
  finder_learn(f.finder, "10.0.0.9", 7009);
  search(&f);
  breaks(&f, "h1:6379", DIBS_ERR_UNREACHABLE, "gone");
  says(&f, "db9:1", "[" SHARD("10.0.0.1") "]");
  expect_map(&f, "10.0.0.1", 6379, true);
  end(&f);
}

TEST(a_new_search_finds_a_new_map)
{
  fixture f;

  begin_search(&f, THREE);
  says(&f, "h1:6379", "[" SHARD("10.0.0.1") "]");
  expect_map(&f, "10.0.0.1", 6379, true);
  search(&f);
  says(&f, "h1:6379", UNKNOWN);
  says(&f, "h1:6379", SLOTS("10.0.0.2"));
  expect_map(&f, "10.0.0.2", 6379, false);
  search(&f);                                /* and one that nobody takes */
  says(&f, "h1:6379", "[" SHARD("10.0.0.1") "]");
  search(&f);
  end(&f);
}

/* ---- a map that was wrong ---- */

/* A search that ends with the map of this node: all slots are served at 10.0.0.1. */
static void find(fixture *f, const char *where)
{
  search(f);
  says(f, where, "[" SHARD("10.0.0.1") "]");
  expect_map(f, "10.0.0.1", 6379, true);
}

TEST(the_map_of_a_node_that_was_wrong_is_taken_when_the_others_have_none)
{
  fixture f;

  begin(&f, THREE);
  find(&f, "h1:6379");
  finder_doubt(f.finder);
  search(&f);
  says(&f, "h1:6379", "[" SHARD("10.0.0.1") "]");
  expect_looking(&f);
  says(&f, "h2:6379", "-LOADING wait");
  expect_looking(&f);
  breaks(&f, "h3:7000", DIBS_ERR_UNREACHABLE, "gone");
  expect_map(&f, "10.0.0.1", 6379, true);
  find(&f, "h1:6379");           /* no other was better: it is as good as they */
  end(&f);
}

TEST(the_map_of_a_node_that_was_wrong_is_taken_when_the_others_are_silent)
{
  fixture f;

  begin(&f, THREE);
  find(&f, "h1:6379");
  finder_doubt(f.finder);
  search(&f);
  says(&f, "h1:6379", "[" SHARD("10.0.0.1") "]");
  pass(&f, 499);
  expect_looking(&f);
  pass(&f, 1);
  expect_map(&f, "10.0.0.1", 6379, true);
  end(&f);
}

TEST(the_map_of_another_node_is_better_than_of_one_that_was_wrong)
{
  fixture f;

  begin(&f, THREE);
  find(&f, "h1:6379");
  finder_doubt(f.finder);
  search(&f);
  says(&f, "h1:6379", "[" SHARD("10.0.0.1") "]");
  says(&f, "h2:6379", "[" SHARD("10.0.0.2") "]");
  expect_map(&f, "10.0.0.2", 6379, true);
  search(&f);                                /* and so in the next searches */
  says(&f, "h1:6379", "[" SHARD("10.0.0.1") "]");
  expect_looking(&f);
  says(&f, "h3:7000", "[" SHARD("10.0.0.3") "]");
  expect_map(&f, "10.0.0.3", 6379, true);
  end(&f);
}

/* Two are cut off together: each map that was wrong is one less. */
TEST(each_map_that_was_wrong_comes_last)
{
  fixture f;

  begin(&f, THREE);
  find(&f, "h1:6379");
  finder_doubt(f.finder);
  find(&f, "h2:6379");
  finder_doubt(f.finder);
  search(&f);
  says(&f, "h1:6379", "[" SHARD("10.0.0.1") "]");
  says(&f, "h2:6379", "[" SHARD("10.0.0.1") "]");
  expect_looking(&f);
  says(&f, "h3:7000", "[" SHARD("10.0.0.3") "]");
  expect_map(&f, "10.0.0.3", 6379, true);
  end(&f);
}

TEST(a_doubt_before_any_map_means_nothing)
{
  fixture f;

  begin(&f, THREE);
  finder_doubt(f.finder);
  find(&f, "h1:6379");
  end(&f);
}

static bool finds(failing_heap *heap, void *data)
{
  bool is_found = false;
  fixture f;

  (void)data;
  begin_refusing(&f, heap, "redis+cluster://h1");
  f.finder = finder_new(&f.memory, &f.deployment);
  if (f.finder != NULL) {
    search(&f);
    says(&f, "h1:6379", "[" SHARD("") "]");
    if (finder_state_of(f.finder) == FINDER_LOOKING)
      says(&f, "h1:6379", SLOTS(""));
    is_found = finder_state_of(f.finder) == FINDER_FOUND && heap->refused == 0;
    finder_free(f.finder);
  }
  deployment_deinit(&f.deployment);
  return is_found;
}

TEST(refused_memory_is_survived)
{
  failing_heap_try_all(finds, NULL);
}

RUN_TESTS(NULL, NULL)
