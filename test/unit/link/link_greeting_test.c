/* SPDX-License-Identifier: MIT */
/* Unit: link/greeting.c - the handshake goes out in one go, and each way it can fail has
 * its own status; a password stays inside. */
#include "tests.h"
#include "link_fixture.h"

TEST(commands_greet_in_one_go)
{
  fixture f;

  fixture_begin(&f, LINK_COMMANDS);
  f.settings.user = "ann";
  f.settings.password = "secret";
  f.settings.database = 3;
  fixture_open(&f);
  assert_int_equal(link_state_of(f.link), LINK_GREETING);
  expect_output(&f, "*3\r\n$4\r\nAUTH\r\n$3\r\nann\r\n$6\r\nsecret\r\n"
                    "*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n"
                    "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$6\r\ndibs:x\r\n"
                    "*1\r\n$4\r\nTIME\r\n");
  peer_says(&f, "+OK\r\n+OK\r\n+OK\r\n");
  expect_nothing(&f);
  assert_int_equal(link_state_of(f.link), LINK_GREETING);
  peer_says(&f, TIME_ANSWER);
  expect_event(&f, LINK_EVENT_READY);
  assert_true(f.event.server_us == INT64_C(1700000000123456));
  assert_true(f.event.sent_at.ns == f.now.ns);
  assert_int_equal(link_state_of(f.link), LINK_READY);
  assert_int_equal(link_unanswered(f.link), 0);
  fixture_end(&f);
}

TEST(an_inbox_subscribes_and_selects_nothing)
{
  fixture f;

  fixture_begin(&f, LINK_INBOX);
  f.settings.password = "secret";
  f.settings.user = "";
  f.settings.database = 3;
  fixture_open(&f);
  expect_output(&f, "*2\r\n$4\r\nAUTH\r\n$6\r\nsecret\r\n"
                    "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$6\r\ndibs:x\r\n"
                    "*2\r\n$9\r\nSUBSCRIBE\r\n$8\r\ndibs:in1\r\n");
  peer_says(&f, "+OK\r\n+OK\r\n" SUBSCRIBED);
  expect_event(&f, LINK_EVENT_READY);
  assert_int_equal(link_state_of(f.link), LINK_READY);
  fixture_end(&f);
}

TEST(no_name_no_login_is_only_time)
{
  static const char *const no_users[] = { NULL, "" };

  for (size_t i = 0; i < 2; i++) {
    fixture f;

    fixture_begin(&f, LINK_COMMANDS);
    f.settings.client_name = NULL;
    f.settings.user = no_users[i];
    fixture_open(&f);
    expect_output(&f, "*1\r\n$4\r\nTIME\r\n");
    fixture_end(&f);
  }
}

TEST(a_user_without_a_password_logs_in_with_an_empty_one)
{
  static const link_role roles[] = { LINK_COMMANDS, LINK_INBOX, LINK_SCOUT };

  for (size_t i = 0; i < 3; i++) {
    static const char wanted[] = "*3\r\n$4\r\nAUTH\r\n$3\r\nann\r\n$0\r\n\r\n";
    const char *said;
    size_t size;
    fixture f;

    fixture_begin(&f, roles[i]);
    f.settings.user = "ann";
    fixture_open(&f);
    said = link_output(f.link, &size);
    assert_true(size > sizeof(wanted) && memcmp(said, wanted, sizeof(wanted) - 1) == 0);
    peer_says(&f, "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
    expect_fault(&f, DIBS_ERR_AUTH, "WRONGPASS");
    fixture_end(&f);
  }
}

TEST(a_refused_name_is_no_matter)
{
  fixture f;

  fixture_begin(&f, LINK_COMMANDS);
  fixture_open(&f);
  peer_says(&f, "-NOPERM this user has no permissions to run the 'client|setname' command\r\n"
                TIME_ANSWER);
  expect_event(&f, LINK_EVENT_READY);
  fixture_end(&f);
}

/* Opens, lets the peer say `answer`, expects a fault. */
static void check_fault(link_role role, const char *password, const char *answer,
                        dibs_status status, const char *words)
{
  fixture f;

  fixture_begin(&f, role);
  f.settings.password = password;
  fixture_open(&f);
  peer_says(&f, answer);
  expect_fault(&f, status, words);
  fixture_end(&f);
}

TEST(wrong_credentials_are_an_auth_fault)
{
  check_fault(LINK_COMMANDS, "pw", "-WRONGPASS invalid username-password pair\r\n",
              DIBS_ERR_AUTH, "WRONGPASS invalid username-password pair\" (check user and password");
  check_fault(LINK_COMMANDS, "pw", "-ERR Client sent AUTH, but no password is set\r\n",
              DIBS_ERR_AUTH, "no password is set");
  check_fault(LINK_INBOX, "pw", "-ERR invalid password\r\n", DIBS_ERR_AUTH, "AUTH");
  check_fault(LINK_COMMANDS, NULL, "-NOAUTH Authentication required.\r\n",
              DIBS_ERR_AUTH, "NOAUTH Authentication required.\" (check user and password");
}

TEST(a_forbidden_channel_is_denied)
{
  check_fault(LINK_INBOX, "pw", "+OK\r\n+OK\r\n-NOPERM this user has no permissions to access "
              "one of the channels used as arguments\r\n", DIBS_ERR_DENIED, "SUBSCRIBE");
  check_fault(LINK_COMMANDS, "pw", "+OK\r\n+OK\r\n-NOPERM no TIME for you\r\n",
              DIBS_ERR_DENIED, "no TIME for you\" (`dibs acl` prints");
}

TEST(a_server_that_is_not_ready_is_unreachable)
{
  check_fault(LINK_COMMANDS, "pw", "-LOADING Redis is loading the dataset in memory\r\n",
              DIBS_ERR_UNREACHABLE, "LOADING");
  check_fault(LINK_INBOX, NULL, "+OK\r\n-LOADING Redis is loading the dataset in memory\r\n",
              DIBS_ERR_UNREACHABLE, "LOADING");
  check_fault(LINK_COMMANDS, NULL, "-ERR max number of clients reached\r\n",
              DIBS_ERR_UNREACHABLE, "max number of clients");
  check_fault(LINK_COMMANDS, "pw", "-ERR max number of clients + cluster connections reached\r\n",
              DIBS_ERR_UNREACHABLE, "max number of clients");
  check_fault(LINK_COMMANDS, NULL, "-DENIED Redis is running in protected mode\r\n",
              DIBS_ERR_DENIED, "protected mode");
}

TEST(another_kind_of_peer_is_a_protocol_fault)
{
  check_fault(LINK_COMMANDS, NULL, "HTTP/1.1 400 Bad Request\r\n", DIBS_ERR_PROTOCOL,
              "HTTP/1.1 400");
  check_fault(LINK_COMMANDS, NULL, "SSH-2.0-OpenSSH_9.2\r\n", DIBS_ERR_PROTOCOL, "SSH-2.0");
  check_fault(LINK_COMMANDS, "pw", "*1\r\n$4\r\nAUTH\r\n", DIBS_ERR_PROTOCOL, "handshake");
  check_fault(LINK_COMMANDS, NULL, "+OK\r\n*2\r\n:1\r\n:2\r\n", DIBS_ERR_PROTOCOL, "handshake");
  check_fault(LINK_COMMANDS, NULL, "+OK\r\n*2\r\n$1\r\n1\r\n$7\r\n1000000\r\n",
              DIBS_ERR_PROTOCOL, "handshake");
  check_fault(LINK_COMMANDS, NULL, "+OK\r\n+OK\r\n", DIBS_ERR_PROTOCOL, "handshake");
  check_fault(LINK_INBOX, NULL, "+OK\r\n*3\r\n$9\r\nsubscribe\r\n$8\r\ndibs:in2\r\n:1\r\n",
              DIBS_ERR_PROTOCOL, "handshake");
  check_fault(LINK_INBOX, NULL, "+OK\r\n*3\r\n$9\r\nsubscribe\r\n$7\r\ndibs:in\r\n:1\r\n",
              DIBS_ERR_PROTOCOL, "handshake");
  check_fault(LINK_INBOX, NULL, "+OK\r\n*3\r\n:1\r\n:2\r\n:3\r\n", DIBS_ERR_PROTOCOL, "handshake");
}

TEST(an_answer_that_repeats_the_password_is_not_shown)
{
  fixture f;

  fixture_begin(&f, LINK_COMMANDS);
  f.settings.password = "hunter2";
  fixture_open(&f);
  peer_says(&f, "-ERR unknown command `AUTH`, with args beginning with: `hunter2`\r\n");
  expect_event(&f, LINK_EVENT_FAULT);
  assert_int_equal(f.event.status, DIBS_ERR_AUTH);
  assert_null(strstr(f.event.text, "hunter2"));
  fixture_end(&f);
}

TEST(an_empty_password_hides_nothing)
{
  check_fault(LINK_COMMANDS, "", "-WRONGPASS invalid\r\n", DIBS_ERR_AUTH, "WRONGPASS invalid");
}

/* The heap aborts when a released block still has the password. */
TEST(no_freed_memory_keeps_the_password)
{
  char long_name[5000];

  memset(long_name, 'n', sizeof(long_name) - 1);
  long_name[sizeof(long_name) - 1] = 0;
  for (int way = 0; way < 4; way++) {
    fixture f;
    size_t size;
    fixture_begin(&f, LINK_COMMANDS);
    f.heap.secret = "hunter2";
    f.settings.password = "hunter2";
    f.settings.client_name = way == 3 ? long_name : NULL;
    fixture_open(&f);
    link_output(f.link, &size);
    if (way == 1)
      link_written(f.link, size);        /* all sent */
    if (way == 2)
      link_closed(f.link);               /* nothing sent */
    if (way == 1) {
      peer_says(&f, "+OK\r\n" TIME_ANSWER);
      expect_event(&f, LINK_EVENT_READY);
    }
    fixture_end(&f);
  }
}

static bool greets(failing_heap *heap, void *data)
{
  memory m = FAILING_HEAP_AS(memory, heap);
  link_role role = *(const link_role *)data;
  link_settings settings = {
    .memory = &m, .role = role, .user = "u", .password = "p", .database = 1,
    .client_name = "n", .channel = "dibs:in1", .answer_timeout = SPAN_MS(1) };
  const char *answers = role == LINK_INBOX ? "+OK\r\n+OK\r\n" SUBSCRIBED
                                           : "+OK\r\n+OK\r\n+OK\r\n" TIME_ANSWER;
  link *l = link_new(&settings);
  link_event event;
  bool is_ready = false;

  if (l == NULL)
    return false;
  if (link_opened(l, (instant){ 1 }) == DIBS_OK) {
    link_received(l, answers, strlen(answers), (instant){ 2 });
    assert_true(link_next_event(l, (instant){ 2 }, &event));
    is_ready = event.kind == LINK_EVENT_READY;
    if (!is_ready)
      assert_int_equal(event.status, DIBS_ERR_NO_MEMORY);
  } else {
    assert_int_equal(link_state_of(l), LINK_DOWN);
    assert_false(link_next_event(l, (instant){ 2 }, &event));
  }
  link_free(l);
  return is_ready;
}

static bool changes_credentials(failing_heap *heap, void *data)
{
  memory m = FAILING_HEAP_AS(memory, heap);
  link_settings settings = { .memory = &m, .user = "u", .password = "old" };
  link *l = link_new(&settings);
  bool is_changed;
  size_t size;
  const char *said;

  (void)data;
  if (l == NULL)
    return false;
  is_changed = link_set_credentials(l, "v", "new");
  if (link_opened(l, (instant){ 1 }) != DIBS_OK) {
    link_free(l);
    return false;
  }
  said = link_output(l, &size);
  assert_int_equal(memcmp(said, is_changed ? "*3\r\n$4\r\nAUTH\r\n$1\r\nv\r\n$3\r\nnew"
                                           : "*3\r\n$4\r\nAUTH\r\n$1\r\nu\r\n$3\r\nold", 28), 0);
  link_free(l);
  return is_changed;
}

TEST(refused_memory_leaves_the_credentials_as_they_were)
{
  failing_heap_try_all(changes_credentials, NULL);
}

/* The heap aborts when a released block still has the secret. */
TEST(old_credentials_are_wiped)
{
  static const char *const secrets[] = { "hunter2", "ann-the-user" };

  for (size_t i = 0; i < 2; i++) {
    fixture f;

    fixture_begin(&f, LINK_COMMANDS);
    f.heap.secret = secrets[i];
    f.settings.user = "ann-the-user";
    f.settings.password = "hunter2";
    fixture_open(&f);
    assert_true(link_set_credentials(f.link, NULL, NULL));
    link_closed(f.link);
    assert_int_equal(link_opened(f.link, f.now), DIBS_OK);
    expect_output(&f, "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$6\r\ndibs:x\r\n"
                      "*1\r\n$4\r\nTIME\r\n");
    fixture_end(&f);
  }
}

TEST(credentials_that_come_in_a_handshake_do_not_show_the_old_ones)
{
  fixture f;

  fixture_begin(&f, LINK_COMMANDS);
  f.settings.password = "hunter2";
  fixture_open(&f);
  assert_true(link_set_credentials(f.link, NULL, "hunter3"));
  peer_says(&f, "-ERR unknown command `AUTH`, with args beginning with: `hunter2`\r\n");
  expect_event(&f, LINK_EVENT_FAULT);
  assert_null(strstr(f.event.text, "hunter2"));
  assert_int_equal(link_opened(f.link, f.now), DIBS_OK);
  peer_says(&f, "-WRONGPASS invalid\r\n");
  expect_fault(&f, DIBS_ERR_AUTH, "WRONGPASS invalid");
  fixture_end(&f);
}

TEST(the_same_password_again_leaves_the_servers_words_visible)
{
  fixture f;

  fixture_begin(&f, LINK_COMMANDS);
  f.settings.password = "hunter2";
  fixture_open(&f);
  assert_true(link_set_password(f.link, "hunter2"));
  peer_says(&f, "-WRONGPASS invalid\r\n");
  expect_fault(&f, DIBS_ERR_AUTH, "WRONGPASS invalid");
  fixture_end(&f);
}

TEST(refused_memory_breaks_it_off_cleanly)
{
  link_role roles[] = { LINK_COMMANDS, LINK_INBOX };

  failing_heap_try_all(greets, &roles[0]);
  failing_heap_try_all(greets, &roles[1]);
}

RUN_TESTS(NULL, NULL)
