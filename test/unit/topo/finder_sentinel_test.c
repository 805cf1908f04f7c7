/* SPDX-License-Identifier: MIT */
/* Unit: topo/finder_sentinel.c - the primary that sentinels agree on: the latest promotion
 * counts, whoever is cut off, asleep, reached by two names, or back without memory. */
#include "tests.h"
#include "finder_fixture.h"

#define THREE "redis+sentinel://s1,s2,s3/orders/0"
#define S1 "s1:26379"
#define S2 "s2:26379"
#define S3 "s3:26379"
#define GET "SENTINEL GET-MASTER-ADDR-BY-NAME orders"
#define OTHER(host) "['name' 'x' 'ip' '" host "' 'port' '26379' 'runid' 'y']"
/* What each of the three says of the others. */
#define OF_S1 OTHER("10.0.0.2") OTHER("10.0.0.3")
#define OF_S2 OTHER("10.0.0.3") OTHER("10.0.0.1")
#define OF_S3 OTHER("10.0.0.1") OTHER("10.0.0.2")

/* The sentinel at `where` tells all there is to be told. */
static void tells(fixture *f, const char *where, int epoch, const char *host, const char *others)
{
  char words[20000];

  expect_asks(f, where, "SENTINEL MASTER orders");
  snprintf(words, sizeof(words), "['name' 'orders' 'ip' '%s' 'port' '6379' 'flags' 'master'"
           " 'config-epoch' '%d' 'quorum' '2']", host, epoch);
  says(f, where, words);
  expect_asks(f, where, GET);
  snprintf(words, sizeof(words), "['%s' '6379']", host);
  says(f, where, words);
  expect_asks(f, where, "SENTINEL SENTINELS orders");
  snprintf(words, sizeof(words), "[%s]", others);
  says(f, where, words);
}

/* Three sentinels have told that `host` was promoted in `epoch`. */
static void begin_believing(fixture *f, int epoch, const char *host)
{
  char where[300];

  begin_search(f, THREE);
  tells(f, S1, epoch, host, OF_S1);
  tells(f, S2, epoch, host, OF_S2);
  snprintf(where, sizeof(where), "%s:6379", host);
  expect_primary(f, where);
}

TEST(a_majority_is_enough)
{
  fixture f;

  begin_search(&f, THREE);                   /* s3 says nothing, ever */
  tells(&f, S1, 4, "db1", OF_S1);
  expect_looking(&f);
  tells(&f, S2, 4, "db1", OF_S2);
  expect_primary(&f, "db1:6379");
  end(&f);
}

TEST(the_primary_is_logged_into_as_the_url_says_and_mapped)
{
  const server_url *url;
  fixture f;

  begin_search(&f, "redis+sentinel://ann:secret@s1/orders/3?map=db1:6379%3E127.0.0.1:7000"
                   "&sentinel_password=other");
  tells(&f, S1, 4, "db1", "");
  assert_int_equal(finder_state_of(f.finder), FINDER_FOUND);
  url = finder_take_primary(f.finder);
  assert_string_equal(url->host, "127.0.0.1");
  assert_int_equal(url->port, 7000);
  assert_string_equal(url->user, "ann");
  assert_string_equal(url->password, "secret");
  assert_int_equal(url->database, 3);
  end(&f);
}

TEST(without_a_majority_the_others_get_a_moment)
{
  fixture f;

  begin_search(&f, THREE);
  tells(&f, S1, 4, "db1", OF_S1);
  /* The two it names are asked too: nobody else has answered. */
  assert_int_equal(f.sent, 5);
  pass(&f, 299);
  expect_looking(&f);
  pass(&f, 1);
  expect_primary(&f, "db1:6379");
  end(&f);
}

TEST(others_are_logged_into_as_the_seeds_are)
{
  const server_url *url;
  fixture f;
  int scout;
  bool is_there = false;

  begin_search(&f, "redis+sentinel://ann:secret@s1/orders/0?sentinel_user=watch"
                   "&sentinel_password=pw&map=10.0.0.2:26379%3E127.0.0.1:5000");
  tells(&f, S1, 4, "db1", OTHER("10.0.0.2"));
  expect_looking(&f);                        /* one of two is no majority */
  pass(&f, 300);
  expect_primary(&f, "db1:6379");
  finder_begin(f.finder, INSTANT_NEVER, f.now);
  while (finder_next_probe(f.finder, f.now, &scout, &url)) {
    assert_string_equal(url->user, "watch");
    assert_string_equal(url->password, "pw");
    assert_int_equal(url->database, 0);
    is_there = is_there || (strcmp(url->host, "127.0.0.1") == 0 && url->port == 5000);
  }
  assert_true(is_there);
  end(&f);
}

TEST(the_latest_promotion_counts)
{
  fixture f;

  begin_search(&f, THREE);
  tells(&f, S1, 4, "old", OF_S1);
  tells(&f, S3, 5, "new", OF_S3);
  expect_primary(&f, "new:6379");
  end(&f);
}

TEST(at_the_same_epoch_the_majority_counts)
{
  fixture f;

  begin_search(&f, "redis+sentinel://s1,s2,s3,s4,s5/orders");
  tells(&f, S1, 4, "db1", OTHER("a"));
  tells(&f, S2, 4, "db2", OTHER("b"));
  tells(&f, S3, 4, "db2", OTHER("c"));
  expect_primary(&f, "db2:6379");
  end(&f);
}

TEST(nobody_votes_twice)
{
  fixture f;

  begin_search(&f, "redis+sentinel://s1,s2,s3,s4,s5/orders");
  tells(&f, S1, 4, "db1", OTHER("a"));
  tells(&f, S2, 4, "db2", OTHER("b"));
  tells(&f, S3, 4, "db2", OTHER("b"));
  expect_looking(&f);
  tells(&f, "s4:26379", 4, "db3", OTHER("c"));
  expect_primary(&f, "db1:6379");            /* one to one to one: the first */
  end(&f);
}

/* It is cut off, together with the old primary, and so is this client now. */
TEST(a_stale_sentinel_alone_is_not_believed)
{
  fixture f;

  begin_believing(&f, 5, "new");
  search(&f);
  tells(&f, S3, 4, "old", OF_S3);
  pass(&f, 300);
  expect_looking(&f);
  breaks(&f, S1, DIBS_ERR_UNREACHABLE, "no route");
  breaks(&f, S2, DIBS_ERR_UNREACHABLE, "no route");
  pass(&f, 10000);
  expect_none(&f, DIBS_ERR_UNREACHABLE, "before the last failover");

  search(&f);                                /* the network is whole again */
  tells(&f, S3, 4, "old", OF_S3);
  tells(&f, S1, 5, "new", OF_S1);
  expect_primary(&f, "new:6379");
  end(&f);
}

/* A majority has not heard of it yet, one has. */
TEST(an_epoch_believed_before_is_waited_for)
{
  fixture f;

  begin_believing(&f, 5, "new");
  search(&f);
  tells(&f, S2, 4, "old", OF_S2);
  tells(&f, S3, 4, "old", OF_S3);
  expect_looking(&f);
  tells(&f, S1, 5, "new", OF_S1);
  expect_primary(&f, "new:6379");
  end(&f);
}

TEST(lower_epochs_are_believed_when_all_say_so)
{
  fixture f;

  begin_believing(&f, 5, "new");             /* then the sentinels are set up anew */
  search(&f);
  tells(&f, S1, 0, "db1", OF_S1);
  tells(&f, S2, 0, "db1", OF_S2);
  expect_looking(&f);
  tells(&f, S3, 0, "db1", OF_S3);
  expect_primary(&f, "db1:6379");
  search(&f);                                /* and from then on it is the one believed */
  tells(&f, S1, 1, "db2", OF_S1);
  tells(&f, S2, 1, "db2", OF_S2);
  expect_primary(&f, "db2:6379");
  end(&f);
}

/* A container came back with the first configuration: it knows nobody, so it is "all". */
TEST(a_sentinel_without_memory_is_not_all)
{
  fixture f;

  begin_believing(&f, 5, "new");
  search(&f);
  breaks(&f, S1, DIBS_ERR_UNREACHABLE, "no");
  breaks(&f, S2, DIBS_ERR_UNREACHABLE, "no");
  tells(&f, S3, 0, "old", "");
  pass(&f, 10000);
  expect_none(&f, DIBS_ERR_UNREACHABLE, "before the last failover");
  end(&f);
}

/* As s3 and as 10.0.0.3, which the others told. */
TEST(a_sentinel_reached_by_two_names_counts_once)
{
  fixture f;

  begin_search(&f, THREE);
  tells(&f, S3, 4, "old", OF_S3);
  breaks(&f, S1, DIBS_ERR_UNREACHABLE, "no");
  pass(&f, 50);
  tells(&f, "10.0.0.1:26379", 4, "old", OTHER("10.0.0.2") OTHER("10.0.0.1"));
  expect_looking(&f);
  tells(&f, "10.0.0.2:26379", 5, "new", OF_S1);
  expect_primary(&f, "new:6379");
  end(&f);
}

/* GET-MASTER-ADDR tells the promoted one first, MASTER the new epoch. */
TEST(an_epoch_is_never_paired_with_an_older_address)
{
  fixture f;

  begin_search(&f, "redis+sentinel://s1/orders");
  says(&f, S1, "['ip' 'old' 'port' '6379' 'config-epoch' '4']");
  says(&f, S1, "['new' '6379']");
  expect_asks(&f, S1, "SENTINEL MASTER orders");
  says(&f, S1, "['ip' 'old' 'port' '6379' 'config-epoch' '5']");
  expect_asks(&f, S1, "SENTINEL SENTINELS orders");
  says(&f, S1, "[]");
  expect_primary(&f, "new:6379");
  search(&f);
  tells(&f, S1, 4, "old", OF_S1);            /* so it believes 5 by now */
  pass(&f, 300);
  expect_looking(&f);
  end(&f);
}

TEST(what_an_acl_forbids_is_done_without)
{
  fixture f;

  begin_search(&f, "redis+sentinel://s1,s2/orders");
  says(&f, S1, "-NOPERM this user has no permissions to run the 'sentinel|master' command");
  expect_asks(&f, S1, GET);
  says(&f, S1, "['db1' '6379']");
  says(&f, S1, "-NOPERM this user has no permissions to run the 'sentinel|sentinels' command");
  pass(&f, 300);
  expect_primary(&f, "db1:6379");
  end(&f);
}

TEST(an_unknown_service_is_a_fault_of_the_url)
{
  fixture f;

  begin_search(&f, "redis+sentinel://s1,s2/orders");
  says(&f, S1, "-ERR No such master with that name");
  says(&f, S2, "-NOPERM no");
  says(&f, S2, "~");
  expect_none(&f, DIBS_ERR_CONFIG, "does not know the service \"orders\"");
  end(&f);
}

TEST(no_sentinel_at_all_is_told)
{
  fixture f;

  begin_search(&f, "redis+sentinel://s1/orders");
  says(&f, S1, "-ERR unknown command 'SENTINEL', with args beginning with: 'MASTER' ");
  expect_none(&f, DIBS_ERR_UNSUPPORTED,
              "s1:26379: SENTINEL MASTER is refused: \"ERR unknown command");
  end(&f);
}

/* Each in the place of the answer to one of the questions. */
TEST(a_hostile_answer_spoils_only_its_own_scout)
{
  static const char master[] = "['ip' 'db9' 'port' '6379' 'config-epoch' '99']";
  static const struct { int step; const char *words; } cases[] = {
    { 0, "[]" }, { 0, "~" }, { 0, "+OK" }, { 0, "'x'" }, { 0, "12" }, { 0, "['ip']" },
    { 0, "['ip' 'db9' 'port' '0' 'config-epoch' '99']" },
    { 0, "['ip' 'db9' 'port' '65536' 'config-epoch' '99']" },
    { 0, "['ip' 'db9' 'port' '6379' 'config-epoch' 'x']" },
    { 0, "['ip' 'db9' 'port' '6379' 'config-epoch' '-1']" },
    { 0, "['ip' 'db9' 'port' '6379' 'config-epoch' '99999999999999999999999']" },
    { 0, "['ip' 'd b' 'port' '6379' 'config-epoch' '99']" },
    { 0, "['ip' '' 'port' '6379' 'config-epoch' '99']" },
    { 0, "[['ip'] 'db9' [] '6379' [] '99']" },
    { 1, "[]" }, { 1, "+OK" }, { 1, "12" }, { 1, "['db9']" }, { 1, "['db9' '0']" },
    { 1, "['db9' '65536']" }, { 1, "['db9' 'x']" }, { 1, "['' '6379']" },
    { 1, "['db9' '6379' '']" }, { 1, "[~ '6379']" }, { 1, "['db9' ~]" }, { 1, "[[] []]" },
    { 1, "['db9/x' '6379']" },
    { 2, "~" }, { 2, "+OK" }, { 2, "12" }, { 2, "[12]" }, { 2, "[[]]" }, { 2, "['x']" },
    { 2, "[['ip' 'x' 'port' '0']]" }, { 2, "[['ip' 'x']]" }, { 2, "[['port' '1']]" },
    { 2, "[['ip' 'x' 'port' '65536']]" }, { 2, "[['ip' '' 'port' '1']]" },
    { 2, "[['ip' 'good' 'port' '1'] ['ip' 'x' 'port' '-1']]" },
    { 0, "-ERR what" }, { 1, "-ERR what" }, { 2, "-ERR what" },
  };

  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    fixture f;

    begin_search(&f, "redis+sentinel://s1,s2/orders");
    if (cases[i].step > 0)
      says(&f, S1, master);
    if (cases[i].step > 1)
      says(&f, S1, "['db9' '6379']");
    says(&f, S1, cases[i].words);
    if (scout_of(&f, S1) >= 0)
      fail_msg("%s: taken", cases[i].words);
    assert_int_equal(f.sent, 2);               /* nobody it named is asked */
    tells(&f, S2, 4, "db1", "");
    expect_primary(&f, "db1:6379");
    end(&f);
  }
}

TEST(more_than_64_others_are_a_fault)
{
  char others[10000];
  size_t used = 0;
  fixture f;

  for (int i = 0; i < 65; i++)
    used += (size_t)sprintf(others + used, "['ip' 'x%d' 'port' '1']", i);
  begin_search(&f, "redis+sentinel://s1,s2/orders");
  tells(&f, S1, 99, "db9", others);
  tells(&f, S2, 4, "db1", "");
  expect_primary(&f, "db1:6379");
  end(&f);
}

TEST(a_hostile_epoch_is_got_rid_of_when_all_others_agree)
{
  fixture f;

  begin_search(&f, "redis+sentinel://s1,s2,s3/orders");
  tells(&f, S1, 2000000000, "evil", OTHER("x1") OTHER("x2"));
  tells(&f, S2, 4, "db1", OF_S2);
  expect_primary(&f, "evil:6379");
  search(&f);                                  /* it is gone; two know of two */
  breaks(&f, S1, DIBS_ERR_UNREACHABLE, "no");
  tells(&f, S2, 4, "db1", OTHER("10.0.0.3"));
  tells(&f, S3, 4, "db1", OTHER("10.0.0.2"));
  expect_primary(&f, "db1:6379");
  end(&f);
}

/* ---- listening ---- */

static void expect_listens(const fixture *f, const char *where)
{
  const server_url *url = finder_listen_at(f->finder);
  char found[300];

  if (where == NULL) {
    assert_null(url);
    return;
  }
  assert_non_null(url);
  where_write(found, url);
  assert_string_equal(found, where);
}

TEST(a_sentinel_that_answered_can_be_listened_to)
{
  fixture f;

  begin(&f, THREE);
  expect_listens(&f, NULL);
  finder_unsubscribed(f.finder);
  search(&f);
  tells(&f, S2, 4, "db1", OF_S2);
  expect_listens(&f, S2);
  tells(&f, S3, 4, "db1", OF_S3);
  expect_listens(&f, S2);
  finder_unsubscribed(f.finder);
  expect_listens(&f, S3);
  finder_unsubscribed(f.finder);
  expect_listens(&f, S2);
  end(&f);
}

TEST(one_that_answers_no_more_is_not_listened_to)
{
  fixture f;

  begin_believing(&f, 4, "db1");
  expect_listens(&f, S1);
  search(&f);
  breaks(&f, S1, DIBS_ERR_UNREACHABLE, "no");
  expect_listens(&f, S2);
  breaks(&f, S2, DIBS_ERR_UNREACHABLE, "no");
  expect_listens(&f, NULL);
  end(&f);
}

TEST(where_one_listens_is_not_forgotten)
{
  char host[16];
  fixture f;

  begin_search(&f, "redis+sentinel://s1/orders");
  tells(&f, S1, 4, "db1", OTHER("s2"));
  tells(&f, "s2:26379", 4, "db1", OTHER("s1"));
  finder_unsubscribed(f.finder);
  expect_listens(&f, "s2:26379");
  for (int i = 0; i < 100; i++) {
    snprintf(host, sizeof(host), "x%d", i);
    finder_learn(f.finder, host, 26379);
  }
  expect_listens(&f, "s2:26379");
  end(&f);
}

TEST(only_our_service_concerns_us)
{
  static const struct { const char *payload; bool is_ours; } cases[] = {
    { "orders 10.0.0.1 6379 10.0.0.2 6379", true }, { "orders ", true },
    { "orders2 10.0.0.1 6379 10.0.0.2 6379", false }, { "order 10.0.0.1 6379", false },
    { "orders", false }, { "", false }, { " orders 1", false },
  };
  fixture f;

  begin(&f, THREE);
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
    assert_int_equal(finder_is_concerned(f.finder, cases[i].payload, strlen(cases[i].payload)),
                     cases[i].is_ours);
  end(&f);
}

/* ---- memory ---- */

static bool finds(failing_heap *heap, void *data)
{
  bool is_found = false;
  fixture f;

  (void)data;
  begin_refusing(&f, heap, "redis+sentinel://u:p@s1/orders?sentinel_user=w");
  f.deployment.data.memory = f.deployment.seeds[0].memory = f.memory;
  f.finder = finder_new(&f.memory, &f.deployment);
  if (f.finder != NULL) {
    search(&f);
    tells(&f, S1, 4, "db1", OTHER("10.0.0.2"));
    pass(&f, 300);
    is_found = finder_state_of(f.finder) == FINDER_FOUND && heap->refused == 0;
    if (finder_state_of(f.finder) == FINDER_NONE)
      expect_none(&f, DIBS_ERR_NO_MEMORY, "cannot be kept");
    finder_free(f.finder);
  }
  f.deployment.data.memory = f.deployment.seeds[0].memory = f.own_memory;
  deployment_deinit(&f.deployment);
  return is_found;
}

TEST(refused_memory_is_survived)
{
  failing_heap_try_all(finds, NULL);
}

RUN_TESTS(NULL, NULL)
