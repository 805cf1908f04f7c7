/* SPDX-License-Identifier: MIT */
/* Unit: link/greeting.c - what a scout and an inbox without a channel say in the handshake,
 * and that a replica is left at once where roles change. */
#include "tests.h"
#include "link_fixture.h"

#define REPLICA "*5\r\n$5\r\nslave\r\n$8\r\n10.0.0.7\r\n:6380\r\n$9\r\nconnected\r\n:14\r\n"
#define PRIMARY "*3\r\n$6\r\nmaster\r\n:14\r\n*0\r\n"
#define NAMES "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$6\r\ndibs:x\r\n"

static void open_checked(fixture *f, link_role role)
{
  fixture_begin(f, role);
  f->settings.checks_role = true;
  fixture_open(f);
  take_output(f);
}

TEST(a_scout_proves_its_peer_by_ping_and_selects_nothing)
{
  fixture f;

  fixture_begin(&f, LINK_SCOUT);
  f.settings.password = "secret";
  f.settings.database = 3;
  f.settings.checks_role = true;
  fixture_open(&f);
  expect_output(&f, "*2\r\n$4\r\nAUTH\r\n$6\r\nsecret\r\n" NAMES "*1\r\n$4\r\nPING\r\n");
  peer_says(&f, "+OK\r\n+OK\r\n");
  expect_nothing(&f);
  peer_says(&f, "+PONG\r\n");
  expect_event(&f, LINK_EVENT_READY);
  assert_int_equal(send_words(&f, "ROLE", 4), DIBS_OK);
  peer_says(&f, REPLICA);
  expect_event(&f, LINK_EVENT_ANSWER);
  assert_int_equal(f.event.tag, 4);
  resp_reply_free(f.event.reply);
  fixture_end(&f);
}

enum { MAP_ELEMENTS = 300000 };

static void says_a_long_map(fixture *f)
{
  static char map[MAP_ELEMENTS * 4 + 16];
  int used = snprintf(map, sizeof(map), "*%d\r\n", MAP_ELEMENTS);

  for (int i = 0; i < MAP_ELEMENTS; i++)
    used += snprintf(map + used, sizeof(map) - (size_t)used, ":1\r\n");
  assert_int_equal(send_words(f, "MAP", 4), DIBS_OK);
  peer_says(f, map);
}

/* The map of a Cluster has up to 18 elements for each of 16384 ranges. */
TEST(a_scout_takes_a_longer_answer_than_other_links)
{
  fixture f;

  fixture_begin(&f, LINK_SCOUT);
  fixture_make_ready(&f);
  says_a_long_map(&f);
  expect_event(&f, LINK_EVENT_ANSWER);
  resp_reply_free(f.event.reply);
  fixture_end(&f);
  fixture_begin(&f, LINK_COMMANDS);
  fixture_make_ready(&f);
  says_a_long_map(&f);
  expect_fault(&f, DIBS_ERR_PROTOCOL, "more elements than 16384");
  fixture_end(&f);
}

TEST(an_inbox_without_a_channel_proves_its_peer_by_ping)
{
  fixture f;

  fixture_begin(&f, LINK_INBOX);
  f.settings.channel = NULL;
  fixture_open(&f);
  expect_output(&f, NAMES "*1\r\n$4\r\nPING\r\n");
  peer_says(&f, "+OK\r\n+PONG\r\n");
  expect_event(&f, LINK_EVENT_READY);
  fixture_end(&f);
}

TEST(another_proof_than_pong_is_a_fault)
{
  static const struct { const char *said; dibs_status status; const char *words; } cases[] = {
    { "+OK\r\n+OK\r\n", DIBS_ERR_PROTOCOL, "handshake" },
    { "+OK\r\n$4\r\nPONG\r\n", DIBS_ERR_PROTOCOL, "handshake" },
    { "+OK\r\n*2\r\n$4\r\npong\r\n$0\r\n\r\n", DIBS_ERR_PROTOCOL, "handshake" },
    { "+OK\r\n-NOPERM no ping\r\n", DIBS_ERR_DENIED, "refuses PING" },
    { "+OK\r\n-NOAUTH Authentication required.\r\n", DIBS_ERR_AUTH, "refuses PING" },
    { "+OK\r\n-LOADING wait\r\n", DIBS_ERR_UNREACHABLE, "refuses PING" },
  };

  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    fixture f;

    fixture_begin(&f, LINK_SCOUT);
    fixture_open(&f);
    peer_says(&f, cases[i].said);
    expect_fault(&f, cases[i].status, cases[i].words);
    fixture_end(&f);
  }
}

TEST(role_is_asked_in_front_of_the_proof)
{
  fixture f;

  fixture_begin(&f, LINK_COMMANDS);
  f.settings.checks_role = true;
  fixture_open(&f);
  expect_output(&f, NAMES "*1\r\n$4\r\nROLE\r\n*1\r\n$4\r\nTIME\r\n");
  peer_says(&f, "+OK\r\n" PRIMARY);
  expect_nothing(&f);
  assert_int_equal(link_state_of(f.link), LINK_GREETING);
  peer_says(&f, TIME_ANSWER);
  expect_event(&f, LINK_EVENT_READY);
  assert_true(f.event.server_us == INT64_C(1700000000123456));
  fixture_end(&f);

  fixture_begin(&f, LINK_INBOX);
  f.settings.checks_role = true;
  fixture_open(&f);
  expect_output(&f, NAMES "*1\r\n$4\r\nROLE\r\n"
                          "*2\r\n$9\r\nSUBSCRIBE\r\n$8\r\ndibs:in1\r\n");
  peer_says(&f, "+OK\r\n" PRIMARY SUBSCRIBED);
  expect_event(&f, LINK_EVENT_READY);
  fixture_end(&f);
}

TEST(a_replica_is_left_and_its_primary_named)
{
  static const link_role roles[] = { LINK_COMMANDS, LINK_INBOX };

  for (size_t i = 0; i < 2; i++) {
    fixture f;

    open_checked(&f, roles[i]);
    /* What it says to the proof behind comes with it, and matters no more. */
    peer_says(&f, "+OK\r\n" REPLICA TIME_ANSWER);
    expect_fault(&f, DIBS_ERR_READ_ONLY, "replica, its primary is \"10.0.0.7:6380\"");
    fixture_end(&f);
  }
}

TEST(whoever_is_no_primary_is_left)
{
  static const struct { const char *said; const char *words; } cases[] = {
    { "*2\r\n$8\r\nsentinel\r\n*0\r\n", "\"sentinel\"" },
    { "*1\r\n$5\r\nslave\r\n", "\"slave\"" },
    { "*3\r\n$5\r\nslave\r\n:1\r\n:6379\r\n", "\"slave\"" },
    { "*3\r\n$5\r\nslave\r\n$1\r\nh\r\n$4\r\n6379\r\n", "\"slave\"" },
    { "*1\r\n$6\r\nMASTER\r\n", "\"MASTER\"" },
  };

  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    fixture f;

    open_checked(&f, LINK_COMMANDS);
    peer_says(&f, "+OK\r\n");
    peer_says(&f, cases[i].said);
    expect_fault(&f, DIBS_ERR_READ_ONLY, cases[i].words);
    fixture_end(&f);
  }
}

TEST(a_forbidden_or_unknown_role_is_passed_over)
{
  static const char *const answers[] = {
    "-NOPERM this user has no permissions to run the 'role' command\r\n",
    "-ERR unknown command `ROLE`, with args beginning with: \r\n",
    "-ERR unknown command 'ROLE'\r\n" };

  for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
    fixture f;

    open_checked(&f, LINK_COMMANDS);
    peer_says(&f, "+OK\r\n");
    peer_says(&f, answers[i]);
    peer_says(&f, TIME_ANSWER);
    expect_event(&f, LINK_EVENT_READY);
    fixture_end(&f);
  }
}

TEST(what_else_a_peer_says_to_role_is_a_fault)
{
  static const struct { const char *said; dibs_status status; } cases[] = {
    { "+OK\r\n", DIBS_ERR_PROTOCOL }, { "*0\r\n", DIBS_ERR_PROTOCOL },
    { "*-1\r\n", DIBS_ERR_PROTOCOL }, { "*1\r\n:1\r\n", DIBS_ERR_PROTOCOL },
    { "$6\r\nmaster\r\n", DIBS_ERR_PROTOCOL },
    { "-NOAUTH Authentication required.\r\n", DIBS_ERR_AUTH },
    { "-DENIED Redis is running in protected mode\r\n", DIBS_ERR_DENIED },
    { "-ERR max number of clients reached\r\n", DIBS_ERR_UNREACHABLE },
    { "-ERR what\r\n", DIBS_ERR_SERVER },
  };

  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    fixture f;

    open_checked(&f, LINK_COMMANDS);
    peer_says(&f, "+OK\r\n");
    peer_says(&f, cases[i].said);
    peer_says(&f, TIME_ANSWER);
    expect_fault(&f, cases[i].status, "");
    fixture_end(&f);
  }
}

TEST(a_scout_that_is_idle_is_pinged_as_commands_are)
{
  fixture f;

  fixture_begin(&f, LINK_SCOUT);
  fixture_make_ready(&f);
  f.now = instant_add(f.now, SPAN_MS(10000));
  link_tick(f.link, f.now);
  expect_output(&f, "*1\r\n$4\r\nPING\r\n");
  peer_says(&f, "+PONG\r\n");
  expect_nothing(&f);
  assert_int_equal(link_state_of(f.link), LINK_READY);
  fixture_end(&f);
}

static bool greets(failing_heap *heap, void *data)
{
  memory m = FAILING_HEAP_AS(memory, heap);
  link_role role = *(const link_role *)data;
  link_settings settings = { .memory = &m, .role = role, .checks_role = true,
                             .client_name = "n", .answer_timeout = SPAN_MS(1) };
  static const char *const answers[] = {
    [LINK_COMMANDS] = "+OK\r\n" PRIMARY TIME_ANSWER,
    [LINK_INBOX] = "+OK\r\n" PRIMARY "+PONG\r\n", [LINK_SCOUT] = "+OK\r\n+PONG\r\n" };
  link *l = link_new(&settings);
  link_event event;
  bool is_ready = false;

  if (l == NULL)
    return false;
  if (link_opened(l, (instant){ 1 }) == DIBS_OK) {
    link_received(l, answers[role], strlen(answers[role]), (instant){ 2 });
    assert_true(link_next_event(l, (instant){ 2 }, &event));
    is_ready = event.kind == LINK_EVENT_READY;
    if (!is_ready)
      assert_int_equal(event.status, DIBS_ERR_NO_MEMORY);
  }
  link_free(l);
  return is_ready;
}

TEST(refused_memory_breaks_it_off_cleanly)
{
  link_role roles[] = { LINK_COMMANDS, LINK_INBOX, LINK_SCOUT };

  for (size_t i = 0; i < 3; i++)
    failing_heap_try_all(greets, &roles[i]);
}

RUN_TESTS(NULL, NULL)
