/* SPDX-License-Identifier: MIT */
/* Unit: link/answer.c, link.c - answers meet their commands by order; messages of our
 * channel come through; nothing of an old connection ever does. */
#include "tests.h"
#include "link_fixture.h"

TEST(answers_meet_their_commands_in_order)
{
  fixture f;

  fixture_begin(&f, LINK_COMMANDS);
  fixture_make_ready(&f);
  for (uint64_t tag = 1; tag <= 3; tag++) {
    f.now.ns += 5;
    assert_int_equal(send_words(&f, "X", tag), DIBS_OK);
  }
  assert_int_equal(link_unanswered(f.link), 3);
  expect_output(&f, "*1\r\n$1\r\nX\r\n*1\r\n$1\r\nX\r\n*1\r\n$1\r\nX\r\n");
  f.now.ns += 100;
  peer_says(&f, ":1\r\n-ERR two\r\n");
  for (uint64_t tag = 1; tag <= 2; tag++) {
    expect_event(&f, LINK_EVENT_ANSWER);
    assert_int_equal(f.event.tag, tag);
    assert_int_equal(f.now.ns - f.event.sent_at.ns, 100 + 5 * (3 - (int64_t)tag));
    assert_int_equal(resp_root(f.event.reply)->kind, tag == 1 ? RESP_INTEGER : RESP_ERROR);
    resp_reply_free(f.event.reply);
  }
  expect_nothing(&f);
  assert_int_equal(link_unanswered(f.link), 1);
  fixture_end(&f);
}

TEST(an_answer_to_no_command_is_a_protocol_fault)
{
  fixture f;

  fixture_begin(&f, LINK_COMMANDS);
  fixture_make_ready(&f);
  assert_int_equal(send_words(&f, "X", 1), DIBS_OK);
  peer_says(&f, ":1\r\n+SURPLUS\r\n");
  expect_event(&f, LINK_EVENT_ANSWER);
  resp_reply_free(f.event.reply);
  expect_fault(&f, DIBS_ERR_PROTOCOL, "SURPLUS");
  fixture_end(&f);
}

TEST(a_server_that_says_why_it_hangs_up_is_unreachable)
{
  fixture f;

  fixture_begin(&f, LINK_COMMANDS);
  fixture_make_ready(&f);
  peer_says(&f, "-LOADING Redis is loading the dataset in memory\r\n");
  expect_fault(&f, DIBS_ERR_UNREACHABLE, "LOADING");
  fixture_end(&f);
}

TEST(garbage_behind_an_answer_does_not_hide_the_answer)
{
  fixture f;

  fixture_begin(&f, LINK_COMMANDS);
  fixture_make_ready(&f);
  assert_int_equal(send_words(&f, "X", 1), DIBS_OK);
  assert_int_equal(send_words(&f, "X", 2), DIBS_OK);
  peer_says(&f, ":1\r\ngarbage");
  expect_event(&f, LINK_EVENT_ANSWER);
  resp_reply_free(f.event.reply);
  expect_fault(&f, DIBS_ERR_PROTOCOL, "garbage");
  fixture_end(&f);
}

TEST(after_a_close_nothing_old_comes_out)
{
  fixture f;

  fixture_begin(&f, LINK_COMMANDS);
  fixture_make_ready(&f);
  assert_int_equal(send_words(&f, "X", 1), DIBS_OK);
  peer_says(&f, ":1\r\n:2");            /* one whole answer, and a half */
  link_closed(f.link);
  expect_nothing(&f);
  assert_int_equal(link_unanswered(f.link), 0);
  assert_int_equal(link_opened(f.link, f.now), DIBS_OK);
  expect_nothing(&f);
  peer_says(&f, "+OK\r\n" TIME_ANSWER);
  expect_event(&f, LINK_EVENT_READY);
  assert_int_equal(send_words(&f, "Y", 9), DIBS_OK);
  peer_says(&f, "+yes\r\n");
  expect_event(&f, LINK_EVENT_ANSWER);
  assert_int_equal(f.event.tag, 9);
  resp_reply_free(f.event.reply);
  fixture_end(&f);
}

TEST(a_fault_that_nobody_took_is_forgotten_with_its_connection)
{
  fixture f;

  fixture_begin(&f, LINK_COMMANDS);
  fixture_make_ready(&f);
  f.now = instant_add(f.now, SPAN_MS(60000));
  link_tick(f.link, f.now);
  f.now = instant_add(f.now, SPAN_MS(60000));
  link_tick(f.link, f.now);
  assert_int_equal(link_state_of(f.link), LINK_DOWN);
  link_closed(f.link);
  expect_nothing(&f);
  assert_int_equal(link_opened(f.link, f.now), DIBS_OK);
  expect_nothing(&f);
  fixture_end(&f);
}

TEST(messages_of_our_channel_come_through)
{
  fixture f;

  fixture_begin(&f, LINK_INBOX);
  fixture_make_ready(&f);
  peer_says(&f, MESSAGE("$2\r\nhi\r\n") MESSAGE("$0\r\n\r\n"));
  expect_event(&f, LINK_EVENT_MESSAGE);
  assert_string_equal(resp_child(f.event.reply, resp_root(f.event.reply), 2)->bytes, "hi");
  resp_reply_free(f.event.reply);
  expect_event(&f, LINK_EVENT_MESSAGE);
  assert_int_equal(resp_child(f.event.reply, resp_root(f.event.reply), 2)->size, 0);
  resp_reply_free(f.event.reply);
  expect_nothing(&f);
  fixture_end(&f);
}

TEST(a_message_right_behind_the_handshake_is_not_lost)
{
  fixture f;

  fixture_begin(&f, LINK_INBOX);
  fixture_open(&f);
  peer_says(&f, "+OK\r\n" SUBSCRIBED MESSAGE("$2\r\nhi\r\n"));
  expect_event(&f, LINK_EVENT_READY);
  expect_event(&f, LINK_EVENT_MESSAGE);
  resp_reply_free(f.event.reply);
  fixture_end(&f);
}

TEST(messages_that_are_no_texts_are_dropped)
{
  fixture f;

  fixture_begin(&f, LINK_INBOX);
  fixture_make_ready(&f);
  peer_says(&f, "*3\r\n$7\r\nmessage\r\n:7\r\n$2\r\nhi\r\n" MESSAGE(":5\r\n"));
  expect_nothing(&f);
  assert_int_equal(link_state_of(f.link), LINK_READY);
  fixture_end(&f);
}

TEST(other_pushes_on_the_inbox_are_a_protocol_fault)
{
  static const char *const pushes[] = {
    "*3\r\n$11\r\nunsubscribe\r\n$8\r\ndibs:in1\r\n:0\r\n", "+OK\r\n", "*0\r\n",
    "*3\r\n:1\r\n:2\r\n:3\r\n", "*2\r\n$4\r\npong\r\n$0\r\n\r\n",
  };

  for (size_t i = 0; i < sizeof(pushes) / sizeof(pushes[0]); i++) {
    fixture f;
    fixture_begin(&f, LINK_INBOX);
    fixture_make_ready(&f);
    peer_says(&f, pushes[i]);
    expect_fault(&f, DIBS_ERR_PROTOCOL, "no command");
    fixture_end(&f);
  }
}

TEST(too_many_unanswered_commands_are_refused)
{
  fixture f;
  size_t sent = 0;

  fixture_begin(&f, LINK_COMMANDS);
  fixture_make_ready(&f);
  while (sent < 1000000 && send_words(&f, "X", sent) == DIBS_OK) {
    take_output(&f);
    sent++;
  }
  assert_int_equal(sent, 65536);
  assert_int_equal(link_unanswered(f.link), 65536);
  peer_says(&f, ":1\r\n");
  expect_event(&f, LINK_EVENT_ANSWER);
  resp_reply_free(f.event.reply);
  assert_int_equal(send_words(&f, "X", 1), DIBS_OK);
  fixture_end(&f);
}

TEST(output_that_nobody_takes_is_bounded)
{
  static char kilobytes[64001];
  fixture f;
  size_t sent = 0;
  size_t size;

  memset(kilobytes, 'x', sizeof(kilobytes) - 1);
  fixture_begin(&f, LINK_COMMANDS);
  fixture_make_ready(&f);
  while (sent < 1000 && send_words(&f, kilobytes, sent) == DIBS_OK)
    sent++;
  assert_in_range(sent, 100, 135);
  assert_int_equal(link_unanswered(f.link), sent);
  link_output(f.link, &size);
  assert_true(size <= (size_t)8 << 20);
  fixture_end(&f);
}

static bool converses(failing_heap *heap, void *data)
{
  memory m = FAILING_HEAP_AS(memory, heap);
  link_settings settings = { .memory = &m };
  resp_argument word = RESP_TEXT("X");
  link *l = link_new(&settings);
  link_event event = { .kind = LINK_EVENT_FAULT };
  request b;
  size_t answers = 0;
  instant now = { 1 };

  (void)data;
  request_init(&b, &m);
  if (l != NULL && link_opened(l, now) == DIBS_OK && request_command(&b, &word, 1)) {
    link_received(l, TIME_ANSWER, strlen(TIME_ANSWER), now);
    for (uint64_t tag = 0; link_next_event(l, now, &event); tag++) {
      if (event.kind == LINK_EVENT_FAULT)
        break;
      if (event.kind == LINK_EVENT_ANSWER) {
        assert_int_equal(event.tag, tag - 1);
        resp_reply_free(event.reply);
        answers++;
      }
      if (tag >= 20 || link_send(l, &b, tag, now) != DIBS_OK)
        break;
      link_received(l, "+OK\r\n", 5, now);
    }
  }
  request_deinit(&b);
  link_free(l);
  return answers == 20;
}

TEST(refused_memory_breaks_no_order)
{
  failing_heap_try_all(converses, NULL);
}

RUN_TESTS(NULL, NULL)
