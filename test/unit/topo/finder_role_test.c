/* SPDX-License-Identifier: MIT */
/* Unit: topo/finder_role.c - which server of a replicated set is the primary: the one that
 * most follow, however many are dead, lie, or keep it to themselves. */
#include "tests.h"
#include "finder_fixture.h"

#define THREE "redis://h1,h2,h3"
#define PRIMARY(offset, replicas) "['master' " offset " [" replicas "]]"
#define REPLICA_OF(host, port) "['slave' '" host "' " port " 'connected' 14]"
#define ONE "['10.0.0.2' '6379' '7']"
#define TWO ONE "['10.0.0.3' '6379' '7']"
#define SECRET "-NOPERM this user has no permissions to run the 'role' command"

TEST(each_seed_is_asked_its_role)
{
  fixture f;

  begin(&f, "redis://h1,h2:7000,h3");
  assert_int_equal(finder_state_of(f.finder), FINDER_IDLE);
  search(&f);
  expect_asks(&f, "h1:6379", "ROLE");
  expect_asks(&f, "h2:7000", "ROLE");
  expect_asks(&f, "h3:6379", "ROLE");
  end(&f);
}

TEST(a_primary_that_most_follow_is_taken_at_once)
{
  fixture f;

  begin_search(&f, THREE);             /* h1 and h3 say nothing, ever */
  says(&f, "h2:6379", PRIMARY("5", ONE));
  expect_primary(&f, "h2:6379");
  end(&f);
}

TEST(a_lonely_primary_is_taken_when_nobody_else_speaks_up)
{
  fixture f;

  begin_search(&f, THREE);
  says(&f, "h2:6379", PRIMARY("5", ""));
  expect_looking(&f);
  pass(&f, 99);
  expect_looking(&f);
  pass(&f, 1);
  expect_primary(&f, "h2:6379");
  end(&f);
}

TEST(a_lonely_primary_is_taken_when_all_others_have_spoken)
{
  fixture f;

  begin_search(&f, THREE);
  says(&f, "h2:6379", PRIMARY("5", ""));
  breaks(&f, "h1:6379", DIBS_ERR_UNREACHABLE, "refused");
  says(&f, "h3:6379", "-LOADING wait");
  expect_primary(&f, "h2:6379");
  end(&f);
}

TEST(a_former_primary_without_replicas_does_not_win)
{
  fixture f;

  begin_search(&f, "redis://h1,h2,h3,h4,h5");
  says(&f, "h1:6379", PRIMARY("900", ""));
  says(&f, "h2:6379", PRIMARY("10", ONE));
  says(&f, "h3:6379", PRIMARY("90", ""));
  expect_looking(&f);
  pass(&f, 100);
  expect_primary(&f, "h2:6379");
  end(&f);
}

TEST(of_primaries_with_as_many_replicas_the_higher_offset_wins)
{
  fixture f;

  begin_search(&f, "redis://h1,h2,h3,h4,h5");
  says(&f, "h1:6379", PRIMARY("9", ONE));
  says(&f, "h2:6379", PRIMARY("10", ONE));
  says(&f, "h3:6379", PRIMARY("8", ONE));
  pass(&f, 100);
  expect_primary(&f, "h2:6379");
  end(&f);
}

TEST(who_reads_along_without_a_port_is_no_replica)
{
  fixture f;

  begin_search(&f, THREE);
  says(&f, "h1:6379", PRIMARY("9", "['10.0.0.7' '0' '7']"));
  expect_looking(&f);
  end(&f);
}

TEST(whom_replicas_follow_is_asked_too)
{
  fixture f;

  begin_search(&f, "redis://ann:secret@h1,h2?map=10.0.0.9:6380%3Edb9:7000");
  says(&f, "h1:6379", REPLICA_OF("10.0.0.9", "6380"));
  says(&f, "h2:6379", REPLICA_OF("10.0.0.9", "6380"));
  expect_asks(&f, "db9:7000", "ROLE");
  assert_int_equal(f.sent, 3);
  says(&f, "db9:7000", PRIMARY("5", TWO));
  assert_int_equal(finder_state_of(f.finder), FINDER_FOUND);
  assert_string_equal(finder_take_primary(f.finder)->password, "secret");
  end(&f);
}

TEST(who_was_named_once_is_asked_again_when_the_seeds_are_gone)
{
  fixture f;

  begin_search(&f, "redis://h1,h2");
  says(&f, "h1:6379", REPLICA_OF("h3", "6379"));
  says(&f, "h3:6379", PRIMARY("5", TWO));
  expect_primary(&f, "h3:6379");
  search(&f);
  breaks(&f, "h1:6379", DIBS_ERR_UNREACHABLE, "gone");
  breaks(&f, "h2:6379", DIBS_ERR_UNREACHABLE, "gone");
  says(&f, "h3:6379", PRIMARY("5", ""));
  expect_primary(&f, "h3:6379");
  end(&f);
}

TEST(replicas_alone_are_none)
{
  fixture f;

  begin_search(&f, "redis://h1,h2");
  says(&f, "h1:6379", REPLICA_OF("h2", "6379"));
  says(&f, "h2:6379", REPLICA_OF("h1", "6379"));
  expect_none(&f, DIBS_ERR_UNREACHABLE, "none is the primary");
  end(&f);
}

/* The primary has died with its machine: nothing answers there, and a replica is about to
 * be promoted, which only the next search can see. */
TEST(a_primary_that_answers_nothing_does_not_keep_a_search_going)
{
  fixture f;

  begin_search(&f, THREE);
  says(&f, "h1:6379", REPLICA_OF("h3", "6379"));
  pass(&f, 10);
  says(&f, "h2:6379", REPLICA_OF("h3", "6379"));
  pass(&f, 499);
  expect_looking(&f);
  pass(&f, 1);
  expect_none(&f, DIBS_ERR_UNREACHABLE, "none is the primary");
  end(&f);
}

TEST(where_answers_take_long_others_get_as_long)
{
  fixture f;

  begin_search(&f, THREE);
  pass(&f, 1500);
  says(&f, "h1:6379", REPLICA_OF("h3", "6379"));
  says(&f, "h2:6379", PRIMARY("7", ""));
  pass(&f, 2999);
  expect_looking(&f);
  says(&f, "h3:6379", PRIMARY("7", TWO));
  expect_primary(&f, "h3:6379");
  end(&f);
}

TEST(who_keeps_its_role_to_itself_is_taken_where_there_is_no_better)
{
  fixture f;

  begin_search(&f, THREE);
  says(&f, "h1:6379", SECRET);
  expect_looking(&f);
  says(&f, "h2:6379", PRIMARY("7", TWO));
  expect_primary(&f, "h2:6379");
  end(&f);
}

/* READONLY begins the next search, and the next one is tried. */
TEST(those_that_keep_it_to_themselves_take_turns)
{
  static const char *const turns[] = { "h1:6379", "h3:6379", "h1:6379" };
  fixture f;

  begin(&f, THREE);
  for (size_t i = 0; i < 3; i++) {
    search(&f);
    says(&f, "h1:6379", SECRET);
    says(&f, "h2:6379", REPLICA_OF("h1", "6379"));
    says(&f, "h3:6379", "-ERR unknown command 'ROLE'");
    expect_primary(&f, turns[i]);
  }
  end(&f);
}

TEST(a_sentinel_among_the_seeds_is_named)
{
  fixture f;

  begin_search(&f, "redis://h1,h2:26379");
  says(&f, "h2:26379", "['sentinel' ['mymaster']]");
  breaks(&f, "h1:6379", DIBS_ERR_UNREACHABLE, "h1:6379: Connection refused");
  expect_none(&f, DIBS_ERR_CONFIG, "h2:26379: this is a sentinel");
  end(&f);
}

TEST(a_hostile_answer_spoils_only_its_own_scout)
{
  static const char *const answers[] = {
    "[]", "~", "12", "'master'", "+OK", "[[]]", "['what']", "['master']", "['master' 1]",
    "['master' 'x' []]", "['master' 1 7]", "['master' 1 [7]]", "['master' 1 [[]]]",
    "['master' 1 [['h' '65536' '1']]]", "['master' 1 [['h' '-1' '1']]]",
    "['master' 1 [[1 '1' '1']]]", "['master' -1 []]", "['slave']", "['slave' 'h']",
    "['slave' 'h' 0]", "['slave' 'h' 65536]", "['slave' 'h' -1]", "['slave' '' 6379]",
    "['slave' 'a b' 6379]", "['slave' 'h' ~]", "['slave' ~ 6379]", "['slave' [] 6379]",
    "['slave' 'h' '6379x']",
  };

  for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
    fixture f;
    const char *words;

    begin_search(&f, "redis://h1,h2");
    says(&f, "h1:6379", answers[i]);
    if (scout_of(&f, "h1:6379") >= 0)
      fail_msg("%s: taken", answers[i]);
    assert_int_equal(finder_why(f.finder, &words), DIBS_ERR_PROTOCOL);
    says(&f, "h2:6379", PRIMARY("1", ""));
    expect_primary(&f, "h2:6379");
    end(&f);
  }
}

TEST(thousands_of_replicas_are_a_fault)
{
  fixture f;
  char *words = malloc(40000);
  size_t used;

  begin_search(&f, "redis://h1,h2");
  used = (size_t)sprintf(words, "['master' 1 [");
  for (size_t i = 0; i < 1001; i++)
    used += (size_t)sprintf(words + used, "['h' '1' '1']");
  memcpy(words + used, "]]", 3);
  says(&f, "h1:6379", words);
  breaks(&f, "h2:6379", DIBS_ERR_UNREACHABLE, "no");
  expect_none(&f, DIBS_ERR_PROTOCOL, "h1:6379: an unexpected answer to ROLE");
  free(words);
  end(&f);
}

TEST(a_chain_of_replicas_comes_to_an_end)
{
  fixture f;
  char words[100];

  begin_search(&f, "redis://h1,h2");
  breaks(&f, "h2:6379", DIBS_ERR_UNREACHABLE, "no");
  for (int i = 0; finder_state_of(f.finder) == FINDER_LOOKING; i++) {
    assert_true(i < 1000);
    snprintf(words, sizeof(words), "['slave' 'x%d' 6379 'connected' 1]", i);
    says(&f, f.last, words);
  }
  expect_none(&f, DIBS_ERR_UNREACHABLE, "none is the primary");
  end(&f);
}

static bool finds(failing_heap *heap, void *data)
{
  bool is_found = false;
  fixture f;

  (void)data;
  begin_refusing(&f, heap, "redis://h1,h2");
  f.deployment.data.memory = f.memory;
  f.finder = finder_new(&f.memory, &f.deployment);
  if (f.finder != NULL) {
    search(&f);
    says(&f, "h1:6379", REPLICA_OF("h3", "6379"));
    if (scout_of(&f, "h2:6379") >= 0)
      breaks(&f, "h2:6379", DIBS_ERR_UNREACHABLE, "no");
    if (scout_of(&f, "h3:6379") >= 0)
      says(&f, "h3:6379", PRIMARY("1", ""));
    is_found = finder_state_of(f.finder) == FINDER_FOUND;
    finder_free(f.finder);
  }
  f.deployment.data.memory = f.own_memory;
  deployment_deinit(&f.deployment);
  return is_found;
}

TEST(refused_memory_is_survived)
{
  failing_heap_try_all(finds, NULL);
}

RUN_TESTS(NULL, NULL)
