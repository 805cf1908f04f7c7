/* SPDX-License-Identifier: MIT */
/* Unit: topo/finder.c, finder_addresses.c - who is sent when, who is called home, what is said
 * when nothing is found; numbers of scouts are used again, and what comes late does no harm. */
#include "tests.h"
#include "finder_fixture.h"

#define PRIMARY "['master' 1 [['r1' '6379' '1']['r2' '6379' '1']['r3' '6379' '1']" \
  "['r4' '6379' '1']['r5' '6379' '1']['r6' '6379' '1']]]"

/* redis://s1,s2,... */
static void begin_many(fixture *f, int count)
{
  char url[4000];
  size_t used = (size_t)sprintf(url, "redis://s1");

  for (int i = 2; i <= count; i++)
    used += (size_t)sprintf(url + used, ",s%d", i);
  begin(f, url);
}

TEST(a_search_begins_only_when_asked_and_once)
{
  fixture f;

  begin(&f, "redis://h1,h2");
  pump(&f);
  assert_int_equal(f.sent, 0);
  assert_true(instant_is_never(finder_deadline(f.finder)));
  search(&f);
  finder_begin(f.finder, f.now, f.now);         /* one is under way: no effect */
  expect_looking(&f);
  pump(&f);
  assert_int_equal(f.sent, 2);
  end(&f);
}

TEST(of_many_some_go_at_once_and_the_others_one_by_one)
{
  fixture f;

  begin_many(&f, 8);
  search(&f);
  assert_int_equal(f.sent, 5);
  pass(&f, 49);
  assert_int_equal(f.sent, 5);
  pass(&f, 1);
  assert_int_equal(f.sent, 6);
  pass(&f, 100);
  assert_int_equal(f.sent, 8);
  pass(&f, 1000);
  assert_int_equal(f.sent, 8);
  end(&f);
}

TEST(who_comes_back_with_nothing_is_followed_at_once)
{
  fixture f;

  begin_many(&f, 8);
  search(&f);
  breaks(&f, f.last, DIBS_ERR_UNREACHABLE, "no");
  assert_int_equal(f.sent, 6);
  says(&f, f.last, "-LOADING wait");
  assert_int_equal(f.sent, 7);
  end(&f);
}

TEST(searches_begin_with_another_seed_each_time)
{
  char first[4][300];
  fixture f;

  begin(&f, "redis://h1,h2,h3");
  for (size_t i = 0; i < 4; i++) {
    const server_url *url;
    int scout;

    finder_begin(f.finder, INSTANT_NEVER, f.now);
    assert_true(finder_next_probe(f.finder, f.now, &scout, &url));
    where_write(first[i], url);
    finder_failed(f.finder, scout, DIBS_ERR_UNREACHABLE, "no", f.now);
    while (finder_next_probe(f.finder, f.now, &scout, &url))
      finder_failed(f.finder, scout, DIBS_ERR_UNREACHABLE, "no", f.now);
    assert_int_equal(finder_state_of(f.finder), FINDER_NONE);
  }
  assert_string_not_equal(first[0], first[1]);
  assert_string_not_equal(first[1], first[2]);
  assert_string_not_equal(first[2], first[0]);
  assert_string_equal(first[3], first[0]);
  end(&f);
}

/* Twenty seeds say nothing at all; the one that does is behind them. */
TEST(when_all_are_out_the_one_out_longest_makes_room)
{
  fixture f;
  bool is_there = false;

  begin_many(&f, 20);
  search(&f);
  for (int i = 0; i < 100 && !is_there; i++) {
    pass(&f, 50);
    is_there = scout_of(&f, "s1:6379") >= 0;      /* the last of the first round */
  }
  assert_true(is_there);
  assert_int_equal(f.sent, 20);
  assert_true(f.now.ns <= 1000000000 + SPAN_MS(1500).ns);
  says(&f, "s1:6379", PRIMARY);
  pass(&f, 100);
  expect_primary(&f, "s1:6379");
  end(&f);
}

TEST(all_come_home_when_one_has_found_it)
{
  fixture f;
  int scout;

  begin_search(&f, "redis://h1,h2,h3");
  says(&f, "h1:6379", PRIMARY);
  assert_int_equal(finder_state_of(f.finder), FINDER_FOUND);
  for (int i = 0; i < SCOUTS_MAX; i++)
    assert_false(f.guests[i].is_out);
  assert_false(finder_next_home(f.finder, &scout));
  end(&f);
}

/* The owner has not yet closed the old ones when the next search begins. */
TEST(numbers_are_not_used_again_before_their_scouts_are_home)
{
  const server_url *url;
  fixture f;
  int scout;
  resp_reply *reply;
  request out;

  begin(&f, "redis://h1,h2");
  request_init(&out, &f.own_memory);
  reply = reply_of(&f, PRIMARY);
  finder_begin(f.finder, INSTANT_NEVER, f.now);
  assert_true(finder_next_probe(f.finder, f.now, &scout, &url));
  assert_int_equal(scout, 0);
  assert_true(finder_next_probe(f.finder, f.now, &scout, &url));
  assert_true(finder_next_question(f.finder, 0, &out));
  finder_answer(f.finder, 0, reply, f.now);
  assert_non_null(finder_take_primary(f.finder));

  finder_begin(f.finder, INSTANT_NEVER, f.now);
  assert_true(finder_next_probe(f.finder, f.now, &scout, &url));
  assert_int_equal(scout, 2);
  /* What the old ones still say is nothing to this search. */
  assert_false(finder_next_question(f.finder, 1, &out));
  finder_answer(f.finder, 1, reply, f.now);
  finder_failed(f.finder, 0, DIBS_ERR_AUTH, "late", f.now);
  expect_looking(&f);
  assert_true(finder_next_home(f.finder, &scout));
  assert_int_equal(scout, 1);
  assert_false(finder_next_home(f.finder, &scout));
  assert_true(finder_next_probe(f.finder, f.now, &scout, &url));
  assert_int_equal(scout, 0);
  resp_reply_free(reply);
  request_deinit(&out);
  end(&f);
}

TEST(an_answer_to_no_question_and_a_fault_of_nobody_are_passed_over)
{
  const server_url *url;
  fixture f;
  int scout;
  resp_reply *reply;

  begin(&f, "redis://h1,h2");
  reply = reply_of(&f, PRIMARY);
  finder_begin(f.finder, INSTANT_NEVER, f.now);
  assert_true(finder_next_probe(f.finder, f.now, &scout, &url));
  finder_answer(f.finder, scout, reply, f.now);
  finder_answer(f.finder, 9, reply, f.now);
  finder_failed(f.finder, 9, DIBS_ERR_AUTH, "nobody", f.now);
  expect_looking(&f);
  resp_reply_free(reply);
  end(&f);
}

TEST(one_question_is_asked_at_a_time)
{
  fixture f;
  char words[100];

  begin_search(&f, "redis://h1,h2");
  question_read(&f, scout_that_is_at(&f, "h1:6379"), words, sizeof(words));
  assert_string_equal(words, "");
  end(&f);
}

TEST(what_is_known_when_time_is_up_is_the_result)
{
  fixture f;

  begin(&f, "redis://h1,h2");
  finder_begin(f.finder, instant_add(f.now, SPAN_MS(50)), f.now);
  pump(&f);
  says(&f, "h1:6379", "['master' 1 []]");
  expect_looking(&f);
  assert_int_equal(finder_deadline(f.finder).ns, instant_add(f.now, SPAN_MS(50)).ns);
  pass(&f, 50);
  expect_primary(&f, "h1:6379");

  finder_begin(f.finder, instant_add(f.now, SPAN_MS(50)), f.now);
  pump(&f);
  pass(&f, 50);
  expect_none(&f, DIBS_ERR_UNREACHABLE, "in time");
  end(&f);
}

TEST(the_fault_that_tells_most_is_told)
{
  fixture f;

  begin_search(&f, "redis://h1,h2,h3,[::1]:7000");
  breaks(&f, "h1:6379", DIBS_ERR_UNREACHABLE, "h1:6379: Connection refused");
  breaks(&f, "h2:6379", DIBS_ERR_AUTH, "the server refuses AUTH: \"WRONGPASS\"");
  breaks(&f, "h3:6379", DIBS_ERR_PROTOCOL, "strange");
  breaks(&f, "::1:7000", DIBS_ERR_UNREACHABLE, "no route");
  expect_none(&f, DIBS_ERR_AUTH, "h2:6379: the server refuses AUTH");

  search(&f);
  breaks(&f, "h1:6379", DIBS_ERR_UNREACHABLE, "h1:6379: Connection refused");
  breaks(&f, "h2:6379", DIBS_ERR_UNREACHABLE, "gone");
  breaks(&f, "h3:6379", DIBS_ERR_UNREACHABLE, "gone");
  breaks(&f, "::1:7000", DIBS_ERR_PROTOCOL, "strange");
  expect_none(&f, DIBS_ERR_PROTOCOL, "[::1]:7000: strange");
  end(&f);
}

TEST(an_address_is_not_said_twice)
{
  const char *words;
  fixture f;

  begin_search(&f, "redis://h1,h2");
  breaks(&f, "h1:6379", DIBS_ERR_UNREACHABLE, "h1:6379: Connection refused");
  breaks(&f, "h2:6379", DIBS_ERR_UNREACHABLE, NULL);
  finder_why(f.finder, &words);
  assert_string_equal(words, "h1:6379: Connection refused");
  end(&f);
}

TEST(long_words_are_cut)
{
  char words[2000];
  const char *told;
  fixture f;

  memset(words, 'w', sizeof(words) - 1);
  words[sizeof(words) - 1] = 0;
  begin_search(&f, "redis://h1,h2");
  breaks(&f, "h1:6379", DIBS_ERR_UNREACHABLE, words);
  breaks(&f, "h2:6379", DIBS_ERR_UNREACHABLE, words);
  expect_none(&f, DIBS_ERR_UNREACHABLE, "h1:6379: www");
  finder_why(f.finder, &told);
  assert_true(strlen(told) < 400);
  end(&f);
}

TEST(a_result_is_taken_once)
{
  fixture f;

  begin_search(&f, "redis://h1,h2");
  assert_null(finder_take_primary(f.finder));
  says(&f, "h1:6379", PRIMARY);
  assert_null(finder_take_slots(f.finder));
  expect_primary(&f, "h1:6379");
  assert_null(finder_take_primary(f.finder));
  search(&f);
  assert_null(finder_take_primary(f.finder));
  end(&f);
}

TEST(learned_addresses_are_asked_behind_the_seeds)
{
  fixture f;

  begin(&f, "redis://h1,h2");
  finder_learn(f.finder, "h3", 7000);
  finder_learn(f.finder, "h3", 7000);           /* once is enough */
  finder_learn(f.finder, "h1", 6379);           /* a seed */
  finder_learn(f.finder, "", 7000);
  finder_learn(f.finder, "h4", 0);
  finder_learn(f.finder, "h4", 65536);
  finder_learn(f.finder, "h 4", 7000);
  search(&f);
  assert_int_equal(f.sent, 3);
  assert_string_equal(f.last, "h3:7000");
  end(&f);
}

TEST(of_learned_addresses_the_latest_are_kept)
{
  fixture f;
  char host[16];
  bool is_asked[200] = { false };

  begin(&f, "redis://h1,h2");
  for (int i = 0; i < 200; i++) {
    snprintf(host, sizeof(host), "n%d", i);
    finder_learn(f.finder, host, 6379);
  }
  search(&f);
  while (finder_state_of(f.finder) == FINDER_LOOKING)
    for (int i = 0; i < SCOUTS_MAX; i++)
      if (f.guests[i].is_out) {
        if (f.guests[i].where[0] == 'n')
          is_asked[atoi(f.guests[i].where + 1)] = true;
        breaks(&f, f.guests[i].where, DIBS_ERR_UNREACHABLE, "no");
      }
  assert_int_equal(f.sent, 66);
  for (int i = 0; i < 200; i++)
    assert_int_equal(is_asked[i], i >= 136);
  end(&f);
}

/* Learning goes on while scouts are out and a result is lent: what is lent stays. */
TEST(what_is_lent_is_not_forgotten)
{
  const server_url *primary;
  fixture f;
  char host[16];

  begin(&f, "redis://h1,h2");
  finder_learn(f.finder, "old", 6379);
  search(&f);
  breaks(&f, "h1:6379", DIBS_ERR_UNREACHABLE, "no");
  breaks(&f, "h2:6379", DIBS_ERR_UNREACHABLE, "no");
  for (int i = 0; i < 100; i++) {
    snprintf(host, sizeof(host), "a%d", i);
    finder_learn(f.finder, host, 6379);
  }
  says(&f, "old:6379", PRIMARY);
  primary = finder_take_primary(f.finder);
  for (int i = 0; i < 100; i++) {
    snprintf(host, sizeof(host), "b%d", i);
    finder_learn(f.finder, host, 6379);
  }
  assert_string_equal(primary->host, "old");
  end(&f);
}

/* The search is over; the owner has not closed that connection yet. */
TEST(the_url_of_a_scout_on_its_way_home_is_not_forgotten)
{
  const server_url *url;
  const server_url *lent = NULL;
  resp_reply *reply;
  fixture f;
  char host[16];
  int scout;
  request out;

  begin(&f, "redis://h1,h2");
  request_init(&out, &f.own_memory);
  reply = reply_of(&f, PRIMARY);
  finder_learn(f.finder, "old", 6379);
  finder_begin(f.finder, INSTANT_NEVER, f.now);
  while (finder_next_probe(f.finder, f.now, &scout, &url))
    lent = url;
  assert_string_equal(lent->host, "old");
  assert_true(finder_next_question(f.finder, 0, &out));
  finder_answer(f.finder, 0, reply, f.now);
  assert_int_equal(finder_state_of(f.finder), FINDER_FOUND);
  for (int i = 0; i < 100; i++) {
    snprintf(host, sizeof(host), "a%d", i);
    finder_learn(f.finder, host, 6379);
  }

  assert_string_equal(lent->host, "old");
  resp_reply_free(reply);
  request_deinit(&out);
  end(&f);
}

TEST(no_memory_to_ask_is_told)
{
  const server_url *url;
  fixture f;
  int scout;
  request out;
  resp_reply *reply;

  begin(&f, "redis://h1,h2");
  request_init(&out, &f.memory);
  finder_begin(f.finder, instant_add(f.now, SPAN_MS(100)), f.now);
  assert_true(finder_next_probe(f.finder, f.now, &scout, &url));
  f.heap.fail_at = f.heap.asked + 1;
  assert_false(finder_next_question(f.finder, scout, &out));
  assert_true(finder_next_home(f.finder, &scout));
  reply = reply_of(&f, PRIMARY);
  finder_answer(f.finder, scout, reply, f.now);
  resp_reply_free(reply);
  finder_tick(f.finder, instant_add(f.now, SPAN_MS(100)));
  expect_none(&f, DIBS_ERR_NO_MEMORY, "no memory");
  request_deinit(&out);
  end(&f);
}

RUN_TESTS(NULL, NULL)
