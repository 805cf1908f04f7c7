/* SPDX-License-Identifier: MIT */
/* Unit: link/link.c - a late answer is a fault, a quiet connection is asked for a sign. */
#include "tests.h"
#include "link_fixture.h"

static void pass(fixture *f, int64_t ms)
{
  f->now = instant_add(f->now, SPAN_MS(ms));
}

TEST(a_link_that_is_down_has_no_deadline)
{
  fixture f;

  fixture_begin(&f, LINK_COMMANDS);
  f.link = link_new(&f.settings);
  assert_true(instant_is_never(link_deadline(f.link)));
  link_tick(f.link, INSTANT_NEVER);
  expect_nothing(&f);
  fixture_end(&f);
}

TEST(an_unanswered_handshake_times_out)
{
  fixture f;

  fixture_begin(&f, LINK_INBOX);
  fixture_open(&f);
  assert_true(link_deadline(f.link).ns == instant_add(f.now, SPAN_MS(2000)).ns);
  pass(&f, 1999);
  link_tick(f.link, f.now);
  expect_nothing(&f);
  pass(&f, 1);
  link_tick(f.link, f.now);
  expect_fault(&f, DIBS_ERR_UNREACHABLE, "no answer within 2000 ms (command_timeout)");
  fixture_end(&f);
}

TEST(the_oldest_command_sets_the_deadline)
{
  fixture f;

  fixture_begin(&f, LINK_COMMANDS);
  fixture_make_ready(&f);
  assert_int_equal(send_words(&f, "A", 1), DIBS_OK);
  pass(&f, 1500);
  assert_int_equal(send_words(&f, "B", 2), DIBS_OK);
  assert_true(link_deadline(f.link).ns == instant_add(f.now, SPAN_MS(500)).ns);
  peer_says(&f, "+OK\r\n");
  expect_event(&f, LINK_EVENT_ANSWER);
  resp_reply_free(f.event.reply);
  assert_true(link_deadline(f.link).ns == instant_add(f.now, SPAN_MS(2000)).ns);
  pass(&f, 2000);
  link_tick(f.link, f.now);
  expect_fault(&f, DIBS_ERR_UNREACHABLE, "no answer");
  fixture_end(&f);
}

TEST(a_quiet_connection_is_pinged_once)
{
  fixture f;

  fixture_begin(&f, LINK_COMMANDS);
  fixture_make_ready(&f);
  assert_true(link_deadline(f.link).ns == instant_add(f.now, SPAN_MS(10000)).ns);
  pass(&f, 10000);
  link_tick(f.link, f.now);
  link_tick(f.link, f.now);
  expect_output(&f, "*1\r\n$4\r\nPING\r\n");
  peer_says(&f, "+PONG\r\n");
  expect_nothing(&f);
  assert_int_equal(link_unanswered(f.link), 0);
  assert_true(link_deadline(f.link).ns == instant_add(f.now, SPAN_MS(10000)).ns);
  fixture_end(&f);
}

TEST(an_inbox_answers_a_ping_in_its_own_way)
{
  fixture f;

  fixture_begin(&f, LINK_INBOX);
  fixture_make_ready(&f);
  pass(&f, 10000);
  link_tick(f.link, f.now);
  expect_output(&f, "*1\r\n$4\r\nPING\r\n");
  peer_says(&f, MESSAGE("$2\r\nhi\r\n") "*2\r\n$4\r\npong\r\n$0\r\n\r\n");
  expect_event(&f, LINK_EVENT_MESSAGE);
  resp_reply_free(f.event.reply);
  expect_nothing(&f);
  assert_int_equal(link_unanswered(f.link), 0);
  fixture_end(&f);
}

TEST(traffic_puts_the_ping_off)
{
  fixture f;

  fixture_begin(&f, LINK_INBOX);
  fixture_make_ready(&f);
  pass(&f, 9000);
  peer_says(&f, MESSAGE("$2\r\nhi\r\n"));
  expect_event(&f, LINK_EVENT_MESSAGE);
  resp_reply_free(f.event.reply);
  pass(&f, 9999);
  link_tick(f.link, f.now);
  expect_output(&f, "");
  fixture_end(&f);
}

TEST(messages_do_not_stand_for_a_pong)
{
  fixture f;

  fixture_begin(&f, LINK_INBOX);
  fixture_make_ready(&f);
  pass(&f, 10000);
  link_tick(f.link, f.now);
  pass(&f, 1999);
  peer_says(&f, MESSAGE("$2\r\nhi\r\n"));
  expect_event(&f, LINK_EVENT_MESSAGE);
  resp_reply_free(f.event.reply);
  pass(&f, 1);
  link_tick(f.link, f.now);
  expect_fault(&f, DIBS_ERR_UNREACHABLE, "no answer");
  fixture_end(&f);
}

TEST(a_forbidden_ping_is_a_sign_of_life_on_commands_only)
{
  fixture f;

  fixture_begin(&f, LINK_COMMANDS);
  fixture_make_ready(&f);
  pass(&f, 10000);
  link_tick(f.link, f.now);
  peer_says(&f, "-NOPERM this user has no permissions to run the 'ping' command\r\n");
  expect_nothing(&f);
  assert_int_equal(link_state_of(f.link), LINK_READY);
  fixture_end(&f);

  fixture_begin(&f, LINK_INBOX);
  fixture_make_ready(&f);
  pass(&f, 10000);
  link_tick(f.link, f.now);
  peer_says(&f, "+PONG\r\n");            /* what an unsubscribed connection says */
  expect_fault(&f, DIBS_ERR_PROTOCOL, "PING");
  fixture_end(&f);
}

TEST(no_timeouts_means_no_deadlines)
{
  fixture f;

  fixture_begin(&f, LINK_COMMANDS);
  f.settings.answer_timeout = SPAN_MS(0);
  f.settings.idle_ping = SPAN_MS(0);
  fixture_open(&f);
  assert_true(instant_is_never(link_deadline(f.link)));
  peer_says(&f, "+OK\r\n" TIME_ANSWER);
  expect_event(&f, LINK_EVENT_READY);
  assert_true(instant_is_never(link_deadline(f.link)));
  fixture_end(&f);
}

TEST(a_ping_without_memory_is_a_fault)
{
  fixture f;
  char words[300];
  size_t size;

  memset(words, 'w', sizeof(words) - 1);
  words[sizeof(words) - 1] = 0;
  fixture_begin(&f, LINK_COMMANDS);
  fixture_make_ready(&f);
  /* Commands answered before they were sent: output that fills the buffer to the brim. */
  do {
    assert_int_equal(send_words(&f, words, 1), DIBS_OK);
    peer_says(&f, "+OK\r\n");
    expect_event(&f, LINK_EVENT_ANSWER);
    resp_reply_free(f.event.reply);
    link_output(f.link, &size);
    words[0] = 0;
  } while (size < 250);
  f.heap.fail_at = 1;
  f.heap.keeps_failing = true;
  for (int pings = 0; link_state_of(f.link) == LINK_READY && pings < 1000; pings++) {
    pass(&f, 10000);
    link_tick(f.link, f.now);
    peer_says(&f, "+PONG\r\n");
    if (link_next_event(f.link, f.now, &f.event))
      break;
  }
  assert_int_equal(f.event.kind, LINK_EVENT_FAULT);
  assert_int_equal(f.event.status, DIBS_ERR_NO_MEMORY);
  fixture_end(&f);
}

RUN_TESTS(NULL, NULL)
