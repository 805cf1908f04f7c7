/* SPDX-License-Identifier: MIT */
/* test/live/barrier_test.c - barriers of the finished library: generations among many
 * processes' worth of clients, parties that die, give up or lose their connection. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "deployment.h"
#include "live.h"
#include "proxy.h"

enum { TEAM = 4, MISSED_MS = 10000 };    /* within which a dead party is missed */

static dibs_client *client, *other;

static int setup(void **state)
{
  (void)live_server_setup(state);
  client = live_open(live_url());
  other = live_open(live_url());
  return 0;
}

/* Whatever the tests did: no key is for ever, and nobody listens any more. */
static int teardown(void **state)
{
  client = dibs_close(client);
  other = dibs_close(other);
  assert_string_equal(
    test_server_command(live_server, "EVAL %s 0",
                        "for _, key in ipairs(redis.call('KEYS', '*')) do "
                        "if redis.call('PTTL', key) < 0 then return key end end return 'none'"),
    "none");
  assert_string_equal(test_server_command(live_server, "PUBSUB CHANNELS [^_]*"), "[]");
  return live_server_teardown(state);
}

/* ---- a party in the background ---- */

struct party {
  _Atomic int calls;
  _Atomic int status;
  dibs_error error;
  dibs_barrier_info info;
  dibs_request *request;
};

static void party_ended(const dibs_error *error, const dibs_barrier_info *info, void *data)
{
  struct party *p = data;

  if (info != NULL)
    p->info = *info;
  p->error = *error;
  atomic_store(&p->status, (int)error->status);
  (void)atomic_fetch_add(&p->calls, 1);
}

static void party_begin(struct party *p, dibs_client *c, const char *name, uint32_t parties,
                        const dibs_wait_options *options)
{
  memset(p, 0, sizeof(*p));
  live_expect(c, dibs_barrier_await_async(c, name, parties, options, party_ended, p,
                                          &p->request), DIBS_OK);
}

static bool is_reported(void *data)
{
  struct party *p = data;

  return atomic_load(&p->calls) > 0;
}

static void expect_party(struct party *p, dibs_status wanted)
{
  if (!live_until(LIVE_LONG_MS, is_reported, p))
    fail_msg("nothing told");
  assert_int_equal(atomic_load(&p->status), wanted);
  assert_int_equal(atomic_load(&p->calls), 1);
}

struct count { const char *name; uint32_t wanted; };

static bool have_arrived(void *data)
{
  struct count *n = data;
  dibs_barrier_info info = { .size = sizeof(info) };

  return dibs_barrier_get(other, n->name, &info) == DIBS_OK && info.arrived == n->wanted;
}

static void expect_arrived(const char *name, uint32_t wanted)
{
  struct count n = { name, wanted };

  assert_true(live_until(LIVE_LONG_MS, have_arrived, &n));
}

static dibs_wait_options within(int wait_ms)
{
  dibs_wait_options o = DIBS_WAIT_OPTIONS_INIT;

  o.wait_ms = wait_ms == 0 ? DIBS_FOREVER : wait_ms;
  return o;
}

/* ---- tests ---- */

static _Atomic int reached[TEAM];

static void *team_run(void *data)
{
  int me = (int)(intptr_t)data;
  dibs_client *c = live_open(live_url());
  dibs_status status;
  long rounds = live_times(50);

  for (int round = 0; round < rounds; round++) {
    dibs_barrier_info info = { .size = sizeof(info) };
    dibs_wait_options o = within(LIVE_LONG_MS);

    atomic_store(&reached[me], round + 1);
    /* Without a passage there is no promise to check; the others of this round fail, too. */
    status = dibs_barrier_await(c, "team", TEAM, &o, &info);
    if (status != DIBS_OK) {
      live_fault("party %d, round %d: %s", me, round, dibs_status_name(status));
      break;
    }
    if (info.generation != (uint64_t)round || info.arrived != TEAM || info.index >= TEAM)
      live_fault("generation %d of round %d", (int)info.generation, round);
    for (int i = 0; i < TEAM; i++)
      promise_kept(atomic_load(&reached[i]) > round, "party %d went on without party %d",
                   me, i);
  }
  (void)dibs_close(c);
  return NULL;
}

TEST(nobody_goes_on_before_all_have_come_again_and_again)
{
  live_needs_answer(dibs_barrier_reset(client, "probe"));
  pthread_t threads[TEAM];
  int before = live_faults();

  for (intptr_t i = 0; i < TEAM; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, team_run, (void *)i), 0);
  for (int i = 0; i < TEAM; i++)
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  assert_int_equal(live_faults(), before);
}

/* Elsewhere the channel is another one. */
static bool is_listened_to(void *channel)
{
  return live_place() != LIVE_ONE ||
         strstr(test_server_command(live_server, "PUBSUB NUMSUB %s", (const char *)channel),
                " 1]") != NULL;
}

TEST(many_parties_of_one_client_pass_by_one_message)
{
  live_needs_answer(dibs_barrier_reset(client, "probe"));
  static struct party parties[100];
  struct count all = { "many", 100 };
  uint64_t before;

  for (int i = 0; i < 99; i++)
    party_begin(&parties[i], client, "many", 100, NULL);
  all.wanted = 99;
  assert_true(live_until(LIVE_LONG_MS, have_arrived, &all));
  assert_true(live_until(LIVE_LONG_MS, is_listened_to, "dibs:barrier:{many}"));
  before = live_stats(client).messages;
  party_begin(&parties[99], other, "many", 100, NULL);
  for (int i = 0; i < 100; i++)
    expect_party(&parties[i], DIBS_OK);
  assert_int_equal(live_stats(client).messages - before, 1);
  assert_int_equal(parties[99].info.index, 99);
}

/* A process of its own, killed while it waits. */
static pid_t fork_party(const char *name, uint32_t parties)
{
  pid_t pid = fork();

  if (pid == 0) {
    dibs_client *c = NULL;
    dibs_status status = dibs_open(live_url(), NULL, &c, NULL);

    if (status == DIBS_OK)
      status = dibs_barrier_await(c, name, parties, NULL, NULL);
    _exit((int)status);
  }
  assert_true(pid > 0);
  return pid;
}

TEST(a_party_killed_while_it_waits_breaks_the_barrier_within_10_s)
{
  live_needs_answer(dibs_barrier_reset(client, "probe"));
  struct party waiting, late;
  pid_t pid = fork_party("kill", 3);
  int64_t killed_at;

  party_begin(&waiting, client, "kill", 3, NULL);
  expect_arrived("kill", 2);
  killed_at = live_now_ms();
  (void)kill(pid, SIGKILL);
  (void)promise_waitpid(pid, NULL, 0);
  expect_party(&waiting, DIBS_BROKEN);
  assert_in_range(live_now_ms() - killed_at, 0, MISSED_MS);
  assert_true(waiting.info.is_broken);
  party_begin(&late, other, "kill", 3, NULL);
  expect_party(&late, DIBS_BROKEN);
}

TEST(who_gives_up_breaks_it_for_the_others_until_a_reset)
{
  live_needs_answer(dibs_barrier_reset(client, "probe"));
  struct party waiting, after;
  dibs_wait_options o = within(200);
  dibs_barrier_info info = { .size = sizeof(info) };

  party_begin(&waiting, client, "give up", 3, NULL);
  expect_arrived("give up", 1);
  live_expect(other, dibs_barrier_await(other, "give up", 3, &o, NULL), DIBS_TIMED_OUT);
  expect_party(&waiting, DIBS_BROKEN);
  live_expect(other, dibs_barrier_await(other, "give up", 3, NULL, &info), DIBS_BROKEN);
  assert_true(info.is_broken);
  live_expect(other, dibs_barrier_reset(other, "give up"), DIBS_OK);
  live_expect(other, dibs_barrier_get(other, "give up", &info), DIBS_OK);
  assert_false(info.is_broken);
  assert_int_equal(info.generation, 1);
  party_begin(&after, client, "give up", 2, NULL);
  live_expect(other, dibs_barrier_await(other, "give up", 2, NULL, &info), DIBS_OK);
  expect_party(&after, DIBS_OK);
  assert_int_equal(info.generation, 1);
}

TEST(who_cannot_tell_that_it_gives_up_does_not_know)
{
  live_needs_one_server();
  struct test_proxy *proxy = test_proxy_start(live_server);
  dibs_client *far = live_open(live_url_by(proxy));
  dibs_wait_options o = within(300);
  struct party lonely;

  party_begin(&lonely, far, "deaf", 2, &o);
  expect_arrived("deaf", 1);
  test_proxy_black_hole(proxy, TEST_BOTH);
  expect_party(&lonely, DIBS_UNKNOWN);
  assert_non_null(strstr(lonely.error.text, "may still be released with it"));
  live_expect(other, dibs_barrier_await(other, "deaf", 2, NULL, NULL), DIBS_OK);
  test_proxy_pass(proxy, TEST_BOTH);
  far = dibs_close(far);
  proxy = test_proxy_stop(proxy);
}

TEST(cancelling_breaks_it_too)
{
  live_needs_answer(dibs_barrier_reset(client, "probe"));
  struct party waiting, cancelled, by_request;
  dibs_wait_options o = DIBS_WAIT_OPTIONS_INIT;
  dibs_canceller *stop = NULL;

  live_expect(client, dibs_canceller_new(&stop), DIBS_OK);
  o.cancel = stop;
  party_begin(&waiting, client, "cancel", 3, NULL);
  party_begin(&cancelled, client, "cancel", 3, &o);
  expect_arrived("cancel", 2);
  dibs_cancel(stop);
  expect_party(&cancelled, DIBS_CANCELLED);
  expect_party(&waiting, DIBS_BROKEN);
  live_expect(client, dibs_barrier_reset(client, "cancel"), DIBS_OK);
  party_begin(&waiting, client, "cancel", 3, NULL);
  party_begin(&by_request, client, "cancel", 3, NULL);
  expect_arrived("cancel", 2);
  assert_int_equal(dibs_request_cancel(by_request.request), DIBS_OK);
  expect_party(&by_request, DIBS_CANCELLED);
  assert_int_equal(dibs_request_cancel(by_request.request), DIBS_ERR_STALE);
  expect_party(&waiting, DIBS_BROKEN);
  live_expect(client, dibs_barrier_await(client, "cancel", 3, &o, NULL), DIBS_CANCELLED);
  stop = dibs_canceller_free(stop);
}

TEST(who_was_disconnected_at_the_end_learns_that_it_passed)
{
  live_needs_one_server();
  struct test_proxy *proxy = test_proxy_start(live_server);
  dibs_options options = live_options();
  dibs_client *far;
  struct party away;

  options.connect_timeout_ms = LIVE_LONG_MS;
  far = live_open_with(live_url_by(proxy), &options);
  party_begin(&away, far, "away", 2, NULL);
  expect_arrived("away", 1);
  test_proxy_refuse(proxy, true);
  test_proxy_cut(proxy);
  live_expect(other, dibs_barrier_await(other, "away", 2, NULL, NULL), DIBS_OK);
  assert_int_equal(atomic_load(&away.calls), 0);
  test_proxy_refuse(proxy, false);
  expect_party(&away, DIBS_OK);
  far = dibs_close(far);
  proxy = test_proxy_stop(proxy);
}

/* As SECURITY.md has it for those who need no barriers. */
TEST(who_may_not_hear_the_channel_asks_and_passes)
{
  live_needs_one_server();
  char url[256];
  dibs_client *far;
  struct party mute;
  struct live_ask ask;
  dibs_lock_options o = live_lock_options(30000, 0);
  dibs_hold *hold;
  int64_t released_at;

  assert_string_equal(test_server_command(live_server, "ACL SETUSER mute on >pass "
                                          "~dibs:* resetchannels &dibs:inbox:* +@all"), "OK");
  (void)snprintf(url, sizeof(url), "unix://mute:pass@%s", test_server_socket(live_server));
  far = live_open(url);
  party_begin(&mute, far, "mute", 2, NULL);
  expect_arrived("mute", 1);
  /* Its inbox is not the worse for it: locks are handed over by message. */
  hold = live_lock(other, "mute", 30000);
  live_ask_begin(&ask, far, "mute", &o);
  live_expect_waiters(live_server, "mute", 1);
  released_at = live_now_ms();
  live_expect(other, dibs_release(hold), DIBS_OK);
  hold = live_ask_granted(&ask, LIVE_LONG_MS);
  assert_in_range(ask.ended_at_ms - released_at, 0, 200);
  live_expect(far, dibs_release(hold), DIBS_OK);
  live_expect(other, dibs_barrier_await(other, "mute", 2, NULL, NULL), DIBS_OK);
  expect_party(&mute, DIBS_OK);
  assert_in_range(live_stats(far).connects, 1, 4);
  far = dibs_close(far);
}

static bool has_passed_more(const struct test_proxy_counts *counts, void *data)
{
  return counts->passed_to_server > *(uint64_t *)data;
}

TEST(who_gives_up_when_all_had_just_come_has_passed)
{
  live_needs_one_server();
  struct test_proxy *proxy = test_proxy_start(live_server);
  dibs_client *far = live_open(live_url_by(proxy));
  dibs_wait_options o = within(300);
  struct party late;
  uint64_t before;

  party_begin(&late, far, "just", 2, &o);
  expect_arrived("just", 1);
  test_proxy_hold(proxy, TEST_TO_CLIENT);
  live_expect(other, dibs_barrier_await(other, "just", 2, NULL, NULL), DIBS_OK);
  before = test_proxy_counts(proxy).passed_to_server;
  assert_true(test_proxy_wait(proxy, LIVE_LONG_MS, has_passed_more, &before));
  test_proxy_pass(proxy, TEST_TO_CLIENT);
  expect_party(&late, DIBS_OK);
  assert_int_equal(late.info.arrived, 2);
  far = dibs_close(far);
  proxy = test_proxy_stop(proxy);
}

TEST(an_arrival_whose_answer_was_lost_counts_once)
{
  live_needs_one_server();
  struct test_proxy *proxy = test_proxy_start(live_server);
  dibs_client *far = live_open(live_url_by(proxy));
  dibs_barrier_info info = { .size = sizeof(info) };
  struct party twice, second;

  live_expect(far, dibs_ping(far, 0, NULL), DIBS_OK);
  test_proxy_lose_reply_to(proxy, "$4\r\n9000");       /* how long a party may be silent */
  party_begin(&twice, far, "twice", 3, NULL);
  assert_true(test_proxy_wait_for_cuts(proxy, 1, LIVE_LONG_MS));
  expect_arrived("twice", 1);
  party_begin(&second, other, "twice", 3, NULL);
  expect_arrived("twice", 2);
  assert_int_equal(atomic_load(&twice.calls), 0);
  live_expect(other, dibs_barrier_await(other, "twice", 3, NULL, &info), DIBS_OK);
  expect_party(&twice, DIBS_OK);
  expect_party(&second, DIBS_OK);
  assert_int_equal(twice.info.index, 0);
  far = dibs_close(far);
  proxy = test_proxy_stop(proxy);
}

/* Other parties do not pass with it, so that is said, and what the server said. */
TEST(an_arrival_that_the_server_refuses_has_not_been_made)
{
  live_needs_one_server();
  /* From 7.2 on, as WAITAOF is, the server names user and command. */
  const char *words = test_server_knows(live_server, "waitaof")
                        ? "User reader has no permissions to run the 'hset' command"
                        : "can't run this command";
  dibs_wait_options o = within(300);
  char url[256];
  dibs_client *reader;

  test_server_command(live_server, "ACL SETUSER reader on >pass ~* &* +@all -hset");
  (void)snprintf(url, sizeof(url), "unix://reader:pass@%s", test_server_socket(live_server));
  reader = live_open(url);
  live_expect(reader, dibs_barrier_await(reader, "refused", 2, NULL, NULL), DIBS_ERR_DENIED);
  live_expect_words(reader, words);
  live_expect(other, dibs_barrier_await(other, "refused", 2, &o, NULL), DIBS_TIMED_OUT);
  reader = dibs_close(reader);
}

TEST(another_number_of_parties_is_refused)
{
  live_needs_answer(dibs_barrier_reset(client, "probe"));
  struct party waiting;

  party_begin(&waiting, client, "number", 3, NULL);
  expect_arrived("number", 1);
  live_expect(other, dibs_barrier_await(other, "number", 2, NULL, NULL), DIBS_ERR_ARGUMENT);
  live_expect_words(other, "3");
  live_expect(other, dibs_barrier_reset(other, "number"), DIBS_OK);
  expect_party(&waiting, DIBS_BROKEN);
}

TEST(what_is_wrong_is_said_at_once)
{
  live_needs_keys();
  dibs_barrier_info info = { .size = 0 };
  dibs_wait_options o = within(-1);

  live_expect(client, dibs_barrier_await(client, "a", 0, NULL, NULL), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_barrier_await(client, "a", 10001, NULL, NULL), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_barrier_await(client, "", 2, NULL, NULL), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_barrier_await(client, "a", 2, &o, NULL), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_barrier_await(client, "a", 1, NULL, &info), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_barrier_await_async(client, "a", 2, NULL, NULL, NULL, NULL),
              DIBS_ERR_ARGUMENT);
  info.size = sizeof(info);
  live_expect(client, dibs_barrier_get(client, "never used", &info), DIBS_ERR_NOT_SET);
  live_expect(client, dibs_barrier_get(client, "a", NULL), DIBS_ERR_ARGUMENT);
  test_server_command(live_server, "SET dibs:b:{text} x PX 100000");
  live_expect(client, dibs_barrier_await(client, "text", 2, NULL, NULL), DIBS_ERR_WRONG_TYPE);
}

TEST(a_smaller_record_of_an_older_program_is_filled_as_far_as_it_goes)
{
  live_needs_answer(dibs_barrier_reset(client, "probe"));
  dibs_barrier_info info;

  memset(&info, 0x55, sizeof(info));
  info.size = offsetof(dibs_barrier_info, parties);
  live_expect(client, dibs_barrier_await(client, "alone", 1, NULL, &info), DIBS_OK);
  assert_int_equal(info.generation, 0);
  assert_int_equal(info.parties, 0x55555555);
}

RUN_TESTS(setup, teardown)
