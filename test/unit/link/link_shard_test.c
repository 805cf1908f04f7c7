/* SPDX-License-Identifier: MIT */
/* Unit: link/channel.c - channels that belong to a slot: subscribed, refused by another
 * node, taken away unasked, and left while their slot moves. */
#include "tests.h"
#include "link_fixture.h"

#define CHANNEL "thing:{n}"
#define STANDS "*3\r\n$10\r\nssubscribe\r\n$9\r\n" CHANNEL "\r\n:1\r\n"
#define GONE "*3\r\n$12\r\nsunsubscribe\r\n$9\r\n" CHANNEL "\r\n:0\r\n"
#define OTHER_GONE "*3\r\n$12\r\nsunsubscribe\r\n$9\r\nthing:{o}\r\n:0\r\n"
#define SPEAKS "*3\r\n$8\r\nsmessage\r\n$9\r\n" CHANNEL "\r\n$1\r\n0\r\n"
#define ARRAY_PONG "*2\r\n$4\r\npong\r\n$0\r\n\r\n"
#define MOVED "-MOVED 3999 127.0.0.1:6381\r\n"

static void begin(fixture *f)
{
  fixture_begin(f, LINK_INBOX);
  f->settings.channel = NULL;
  fixture_make_ready(f);
}

static void subscribe(fixture *f, uint64_t tag)
{
  assert_int_equal(link_subscribe(f->link, CHANNEL, strlen(CHANNEL), true, tag, f->now), DIBS_OK);
}

static void unsubscribe(fixture *f)
{
  assert_int_equal(link_unsubscribe(f->link, CHANNEL, strlen(CHANNEL), true, f->now), DIBS_OK);
}

static void expect_event_about(fixture *f, link_event_kind kind, const char *channel)
{
  expect_event(f, kind);
  expect_word(f, 1, channel);
  resp_reply_free(f->event.reply);
}

TEST(a_sharded_channel_stands_and_speaks)
{
  fixture f;

  begin(&f);
  subscribe(&f, 1);
  expect_output(&f, "*2\r\n$10\r\nSSUBSCRIBE\r\n$9\r\n" CHANNEL "\r\n");
  peer_says(&f, STANDS SPEAKS);
  expect_event_about(&f, LINK_EVENT_SUBSCRIBED, CHANNEL);
  expect_event(&f, LINK_EVENT_MESSAGE);
  expect_word(&f, 1, CHANNEL);
  expect_word(&f, 2, "0");
  resp_reply_free(f.event.reply);
  expect_nothing(&f);
  fixture_end(&f);
}

TEST(a_channel_of_another_node_is_refused_and_the_next_stands)
{
  fixture f;

  begin(&f);
  subscribe(&f, 41);
  subscribe(&f, 42);
  peer_says(&f, MOVED STANDS);
  expect_event(&f, LINK_EVENT_REFUSED);
  assert_int_equal(f.event.tag, 41);
  assert_int_equal(memcmp(resp_root(f.event.reply)->bytes, "MOVED 3999", 10), 0);
  resp_reply_free(f.event.reply);
  expect_event(&f, LINK_EVENT_SUBSCRIBED);
  assert_int_equal(f.event.tag, 42);
  resp_reply_free(f.event.reply);
  assert_int_equal(link_state_of(f.link), LINK_READY);
  fixture_end(&f);
}

TEST(a_server_that_knows_no_sharded_channels_refuses)
{
  fixture f;

  begin(&f);
  subscribe(&f, 5);
  peer_says(&f, "-ERR unknown command 'SSUBSCRIBE', with args beginning with: 'thing' \r\n");
  expect_event(&f, LINK_EVENT_REFUSED);
  assert_int_equal(f.event.tag, 5);
  resp_reply_free(f.event.reply);
  assert_int_equal(link_state_of(f.link), LINK_READY);
  fixture_end(&f);
}

TEST(a_channel_whose_slot_moves_ends_unasked)
{
  fixture f;

  begin(&f);
  peer_says(&f, GONE);
  expect_event_about(&f, LINK_EVENT_UNSUBSCRIBED, CHANNEL);
  subscribe(&f, 1);
  peer_says(&f, GONE STANDS);           /* no answer to the question that is under way */
  expect_event_about(&f, LINK_EVENT_UNSUBSCRIBED, CHANNEL);
  expect_event_about(&f, LINK_EVENT_SUBSCRIBED, CHANNEL);
  assert_int_equal(link_unanswered(f.link), 0);
  fixture_end(&f);
}

TEST(a_plain_answer_does_not_stand_for_a_sharded_one)
{
  fixture f;

  begin(&f);
  subscribe(&f, 1);
  peer_says(&f, "*3\r\n$9\r\nsubscribe\r\n$9\r\n" CHANNEL "\r\n:1\r\n");
  expect_fault(&f, DIBS_ERR_PROTOCOL, "about a channel");
  fixture_end(&f);
}

/* Whatever a server says to SUNSUBSCRIBE, the PONG behind it is the end, and the question
 * behind gets its own answer. */
TEST(a_channel_is_left_in_every_way_without_an_event)
{
  static const char *const ways[] = {
    GONE "+PONG\r\n", GONE ARRAY_PONG,
    GONE MOVED "+PONG\r\n",              /* taken away, and then not there to be left */
    GONE GONE "+PONG\r\n",
    MOVED "+PONG\r\n", "-CLUSTERDOWN The cluster is down\r\n+PONG\r\n",
  };

  for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
    fixture f;

    begin(&f);
    unsubscribe(&f);
    expect_output(&f, "*2\r\n$12\r\nSUNSUBSCRIBE\r\n$9\r\n" CHANNEL "\r\n"
                      "*1\r\n$4\r\nPING\r\n");
    subscribe(&f, 9);
    peer_says(&f, ways[i]);
    expect_nothing(&f);
    assert_int_equal(link_unanswered(f.link), 1);
    peer_says(&f, MOVED);
    expect_event(&f, LINK_EVENT_REFUSED);
    assert_int_equal(f.event.tag, 9);
    resp_reply_free(f.event.reply);
    fixture_end(&f);
  }
}

TEST(another_channel_may_end_while_one_is_left)
{
  fixture f;

  begin(&f);
  unsubscribe(&f);
  peer_says(&f, OTHER_GONE GONE "+PONG\r\n");
  expect_event_about(&f, LINK_EVENT_UNSUBSCRIBED, "thing:{o}");
  expect_nothing(&f);
  assert_int_equal(link_unanswered(f.link), 0);
  fixture_end(&f);
}

TEST(a_message_comes_through_while_the_channel_is_left)
{
  fixture f;

  begin(&f);
  unsubscribe(&f);
  peer_says(&f, SPEAKS GONE "+PONG\r\n");
  expect_event_about(&f, LINK_EVENT_MESSAGE, CHANNEL);
  expect_nothing(&f);
  fixture_end(&f);
}

TEST(any_other_answer_to_leaving_is_a_fault)
{
  static const char *const answers[] = { STANDS, "+OK\r\n", ":1\r\n",
    "*3\r\n$11\r\nunsubscribe\r\n$9\r\n" CHANNEL "\r\n:0\r\n",
    "*3\r\n$12\r\nsunsubscribe\r\n$-1\r\n:0\r\n" };

  for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
    fixture f;

    begin(&f);
    unsubscribe(&f);
    peer_says(&f, answers[i]);
    expect_fault(&f, DIBS_ERR_PROTOCOL, "about a channel");
    fixture_end(&f);
  }
}

TEST(an_inbox_with_or_without_channels_answers_a_ping)
{
  static const char *const pongs[] = { "+PONG\r\n", ARRAY_PONG };

  for (size_t i = 0; i < 2; i++) {
    fixture f;

    begin(&f);
    f.now = instant_add(f.now, SPAN_MS(10000));
    link_tick(f.link, f.now);
    peer_says(&f, pongs[i]);
    expect_nothing(&f);
    assert_int_equal(link_unanswered(f.link), 0);
    fixture_end(&f);
  }
}

/* Output that is half written would be a SUNSUBSCRIBE without the PONG that ends it: of all
 * sizes one is where the command has room and its PING has not. */
TEST(refused_memory_sends_nothing)
{
  char channel[2048];
  bool was_refused = false;

  memset(channel, 'c', sizeof(channel));
  for (size_t size = 0; size < sizeof(channel); size++) {
    fixture f;
    size_t written;
    bool is_sent;

    begin(&f);
    f.heap.fail_at = f.heap.asked + 1;
    f.heap.keeps_failing = true;
    is_sent = link_unsubscribe(f.link, channel, size, true, f.now) == DIBS_OK;
    was_refused = was_refused || !is_sent;
    link_output(f.link, &written);
    assert_int_equal(link_unanswered(f.link), is_sent ? 1 : 0);
    assert_true(is_sent ? written > size : written == 0);
    fixture_end(&f);
  }
  assert_true(was_refused);
}

RUN_TESTS(NULL, NULL)
