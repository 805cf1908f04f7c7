/* SPDX-License-Identifier: MIT */
/* Unit: link/answer.c, link.c - further channels on a ready inbox: subscribed, spoken on,
 * forbidden, left, forgotten with the connection. */
#include "tests.h"
#include "link_fixture.h"

#include "base/hash.h"

#define CHANNEL "thing:{n}"
#define STANDS "*3\r\n$9\r\nsubscribe\r\n$9\r\n" CHANNEL "\r\n:2\r\n"
#define LEFT "*3\r\n$11\r\nunsubscribe\r\n$9\r\n" CHANNEL "\r\n:1\r\n"
#define SPEAKS "*3\r\n$7\r\nmessage\r\n$9\r\n" CHANNEL "\r\n$1\r\n0\r\n"

static void subscribe(fixture *f)
{
  assert_int_equal(link_subscribe(f->link, CHANNEL, strlen(CHANNEL), false, 7, f->now), DIBS_OK);
}

TEST(a_further_channel_stands_and_speaks_under_its_name)
{
  fixture f;

  fixture_begin(&f, LINK_INBOX);
  fixture_make_ready(&f);
  subscribe(&f);
  expect_output(&f, "*2\r\n$9\r\nSUBSCRIBE\r\n$9\r\n" CHANNEL "\r\n");
  expect_nothing(&f);
  peer_says(&f, STANDS SPEAKS);
  expect_event(&f, LINK_EVENT_SUBSCRIBED);
  expect_word(&f, 1, CHANNEL);
  resp_reply_free(f.event.reply);
  expect_event(&f, LINK_EVENT_MESSAGE);
  expect_word(&f, 1, CHANNEL);
  expect_word(&f, 2, "0");
  resp_reply_free(f.event.reply);
  expect_nothing(&f);
  fixture_end(&f);
}

TEST(messages_between_question_and_answer_take_no_answer_away)
{
  fixture f;

  fixture_begin(&f, LINK_INBOX);
  fixture_make_ready(&f);
  subscribe(&f);
  peer_says(&f, MESSAGE("$2\r\nhi\r\n") STANDS);
  expect_event(&f, LINK_EVENT_MESSAGE);
  expect_word(&f, 1, "dibs:in1");
  resp_reply_free(f.event.reply);
  expect_event(&f, LINK_EVENT_SUBSCRIBED);
  resp_reply_free(f.event.reply);
  assert_int_equal(link_unanswered(f.link), 0);
  fixture_end(&f);
}

TEST(a_channel_that_is_left_makes_no_event)
{
  fixture f;

  fixture_begin(&f, LINK_INBOX);
  fixture_make_ready(&f);
  subscribe(&f);
  take_output(&f);
  assert_int_equal(link_unsubscribe(f.link, CHANNEL, strlen(CHANNEL), false, f.now),
                   DIBS_OK);
  expect_output(&f, "*2\r\n$11\r\nUNSUBSCRIBE\r\n$9\r\n" CHANNEL "\r\n");
  peer_says(&f, STANDS SPEAKS LEFT);
  expect_event(&f, LINK_EVENT_SUBSCRIBED);
  resp_reply_free(f.event.reply);
  expect_event(&f, LINK_EVENT_MESSAGE);
  resp_reply_free(f.event.reply);
  expect_nothing(&f);
  assert_int_equal(link_state_of(f.link), LINK_READY);
  fixture_end(&f);
}

TEST(a_forbidden_channel_leaves_the_inbox_as_it_is)
{
  fixture f;

  fixture_begin(&f, LINK_INBOX);
  fixture_make_ready(&f);
  subscribe(&f);
  peer_says(&f, "-NOPERM No permissions to access a channel\r\n" MESSAGE("$2\r\nhi\r\n"));
  expect_event(&f, LINK_EVENT_REFUSED);
  assert_int_equal(f.event.tag, 7);
  assert_int_equal(resp_root(f.event.reply)->kind, RESP_ERROR);
  resp_reply_free(f.event.reply);
  expect_event(&f, LINK_EVENT_MESSAGE);
  resp_reply_free(f.event.reply);
  expect_nothing(&f);
  assert_int_equal(link_state_of(f.link), LINK_READY);
  fixture_end(&f);
}

TEST(a_refusal_says_which_channel_it_is_about)
{
  static const char *const channels[] = { "thing:{a}", "thing:{b}" };
  fixture f;

  fixture_begin(&f, LINK_INBOX);
  fixture_make_ready(&f);
  for (size_t i = 0; i < 2; i++)
    assert_int_equal(link_subscribe(f.link, channels[i], 9, false, 7, f.now), DIBS_OK);
  peer_says(&f, "*3\r\n$9\r\nsubscribe\r\n$9\r\nthing:{a}\r\n:2\r\n-NOPERM no\r\n");
  expect_event(&f, LINK_EVENT_SUBSCRIBED);
  resp_reply_free(f.event.reply);
  expect_event(&f, LINK_EVENT_REFUSED);
  assert_true(f.event.channel == fnv1a(FNV1A_START, channels[1], 9));
  resp_reply_free(f.event.reply);
  fixture_end(&f);
}

TEST(any_other_answer_about_a_channel_is_a_fault)
{
  static const char *const answers[] = { ":1\r\n", "+OK\r\n", "+PONG\r\n", LEFT,
                                         "*2\r\n$4\r\npong\r\n$0\r\n\r\n" };

  for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
    fixture f;

    fixture_begin(&f, LINK_INBOX);
    fixture_make_ready(&f);
    subscribe(&f);
    peer_says(&f, answers[i]);
    expect_fault(&f, DIBS_ERR_PROTOCOL, "about a channel");
    fixture_end(&f);
  }
}

TEST(a_channel_that_is_not_confirmed_in_time_is_a_fault)
{
  fixture f;

  fixture_begin(&f, LINK_INBOX);
  fixture_make_ready(&f);
  subscribe(&f);
  assert_int_equal(link_deadline(f.link).ns, instant_add(f.now, SPAN_MS(2000)).ns);
  f.now = instant_add(f.now, SPAN_MS(2000));
  link_tick(f.link, f.now);
  expect_fault(&f, DIBS_ERR_UNREACHABLE, "no answer");
  fixture_end(&f);
}

TEST(refused_memory_subscribes_nothing)
{
  char channel[60000];
  size_t size;
  fixture f;

  memset(channel, 'c', sizeof(channel));
  fixture_begin(&f, LINK_INBOX);
  fixture_make_ready(&f);
  for (size_t i = 0; i < 200; i++)          /* both buffers grow on the way */
    subscribe(&f);
  take_output(&f);
  f.heap.fail_at = f.heap.asked + 1;
  assert_int_equal(link_subscribe(f.link, channel, sizeof(channel), false, 7, f.now),
                   DIBS_ERR_NO_MEMORY);
  link_output(f.link, &size);
  assert_int_equal(size, 0);
  assert_int_equal(link_unanswered(f.link), 200);
  fixture_end(&f);
}

RUN_TESTS(NULL, NULL)
