/* SPDX-License-Identifier: MIT */
/* test/live/quorum_test.c - the library over five independent servers: taking turns, fences
 * that grow, what the loss of a minority and of a majority means, and that silent servers
 * cost nothing. */
#include "tests.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "deployment.h"
#include "live.h"

enum { SERVERS = 5, TTL_MS = 2000 };

static struct test_quorum *servers;
static dibs_client *client, *other;

static int setup(void **state)
{
  (void)state;
  servers = test_quorum_start(SERVERS, NULL, NULL);
  client = live_open(test_quorum_url(servers));
  other = live_open(test_quorum_url(servers));
  return 0;
}

static int teardown(void **state)
{
  (void)state;
  client = dibs_close(client);
  other = dibs_close(other);
  servers = test_quorum_stop(servers);
  return 0;
}

TEST(a_lock_of_a_majority_excludes_others)
{
  dibs_hold *hold = live_lock(client, "one", TTL_MS);

  live_refused_beside(hold, live_try(other, "one"), DIBS_BUSY);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  live_expect_free(other, "one", LIVE_LONG_MS);
}

/* ---- break ---- */

static char broken[96];

static void lease_seen_by(dibs_client *c, const char *name)
{
  dibs_inspection *seen = NULL;

  live_expect(c, dibs_inspect(c, dibs_text(name), &seen), DIBS_OK);
  (void)snprintf(broken, sizeof(broken), "%s", seen->lease);
  seen = dibs_inspection_free(seen);
}

static bool is_subscribed(void *data)
{
  const char *channels = test_server_command(data, "PUBSUB CHANNELS dibs:inbox:*");

  return strstr(channels, dibs_client_id(client)) != NULL;
}

static dibs_hold *listening(struct live_loss *loss)
{
  dibs_lock_options options = live_lock_options(LIVE_LONG_MS * 4, LIVE_LONG_MS);
  dibs_hold *hold = NULL;

  live_report_loss(&options, loss);
  live_expect(client, dibs_lock(client, "stuck", &options, &hold), DIBS_OK);
  for (int i = 0; i < SERVERS; i++)
    assert_true(live_until(LIVE_LONG_MS, is_subscribed, test_quorum_server(servers, i)));
  return hold;
}

/* A lease that was broken is not taken again for a minute. */
TEST(a_break_at_a_majority_one_after_the_other_ends_it)
{
  struct live_loss loss = { 0 };
  dibs_hold *hold = listening(&loss);

  for (int i = 0; i < SERVERS / 2 + 1; i++) {
    dibs_client *one = live_open(test_server_url(test_quorum_server(servers, i)));

    lease_seen_by(one, "stuck");
    live_expect(one, dibs_break(one, dibs_text("stuck"), broken), DIBS_OK);
    one = dibs_close(one);
  }
  assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
  assert_int_equal(dibs_release(hold), DIBS_LOST);
}

TEST(a_break_goes_to_all_servers_at_once)
{
  struct live_loss loss = { 0 };
  dibs_hold *hold = listening(&loss);

  lease_seen_by(other, "stuck");
  live_expect(other, dibs_break(other, dibs_text("stuck"), broken), DIBS_OK);
  assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
  assert_int_equal(dibs_release(hold), DIBS_LOST);
  live_expect(other, dibs_break(other, dibs_text("stuck"), broken), DIBS_LOST);
  hold = live_lock(other, "stuck", TTL_MS);
  live_expect(other, dibs_break(other, dibs_text("stuck"), broken), DIBS_TAKEN);
  live_expect_ok(dibs_release(hold));
}

/* Another thread of the holder waits for it. That is often faster than the second look. */
TEST(a_break_of_what_its_client_takes_again_is_unknown)
{
  dibs_lock_options options = live_lock_options(LIVE_LONG_MS * 4, LIVE_LONG_MS);
  dibs_status status = DIBS_OK;

  for (int i = 0; i < 20 && status == DIBS_OK; i++) {
    struct live_loss loss = { 0 };
    dibs_hold *hold = listening(&loss);
    struct live_ask ask;

    live_ask_begin(&ask, client, "stuck", &options);
    lease_seen_by(other, "stuck");
    status = dibs_break(other, dibs_text("stuck"), broken);
    if (status == DIBS_UNKNOWN)
      live_expect_words(other, "it kept or repaired it, or took it again");
    assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
    assert_int_equal(dibs_release(hold), DIBS_LOST);
    hold = live_ask_granted(&ask, LIVE_LONG_MS);
    (void)dibs_release(hold);
  }
  assert_int_equal(status, DIBS_UNKNOWN);
}

/* The lock was lost, so what one server refused is not the result. */
TEST(a_break_that_one_server_refuses_is_unknown_if_its_client_takes_it_again)
{
  dibs_lock_options options = live_lock_options(LIVE_LONG_MS * 4, LIVE_LONG_MS);
  dibs_status status = DIBS_OK;

  for (int i = 0; i < 20 && status == DIBS_OK; i++) {
    struct live_loss loss = { 0 };
    dibs_hold *hold = listening(&loss);
    struct live_ask ask;

    live_ask_begin(&ask, client, "stuck", &options);
    lease_seen_by(other, "stuck");
    (void)test_server_command(test_quorum_server(servers, 0), "ACL SETUSER default -set");
    status = dibs_break(other, dibs_text("stuck"), broken);
    (void)test_server_command(test_quorum_server(servers, 0), "ACL SETUSER default +set");
    assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
    assert_int_equal(dibs_release(hold), DIBS_LOST);
    hold = live_ask_granted(&ask, LIVE_LONG_MS);
    (void)dibs_release(hold);
  }
  assert_int_equal(status, DIBS_UNKNOWN);
}

/* The reason comes before what the second look found. */
TEST(a_break_that_servers_refuse_says_why)
{
  dibs_hold *hold = live_lock(client, "stuck", LIVE_LONG_MS * 4);

  lease_seen_by(other, "stuck");
  for (int i = 0; i < SERVERS / 2 + 1; i++)
    (void)test_server_command(test_quorum_server(servers, i), "ACL SETUSER default -set");
  live_expect(other, dibs_break(other, dibs_text("stuck"), broken), DIBS_ERR_DENIED);
  for (int i = 0; i < SERVERS / 2 + 1; i++)
    (void)test_server_command(test_quorum_server(servers, i), "ACL SETUSER default +set");
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
  live_expect_ok(dibs_release(hold));
}

static bool is_ended(void *server)
{
  return live_lease_end_us(server, "stuck") == 0;
}

/* Takes the right to look from a majority as soon as the lease has ended there. */
static void *forbid_looks(void *data)
{
  (void)data;
  for (int i = 0; i < SERVERS / 2 + 1; i++) {
    (void)live_until(LIVE_LONG_MS, is_ended, test_quorum_server(servers, i));
    (void)test_server_command(test_quorum_server(servers, i),
                              "ACL SETUSER default -eval -evalsha");
  }
  return NULL;
}

/* Repeated where a busy machine forbade it too late. */
TEST(a_break_whose_second_look_is_refused_is_unknown)
{
  dibs_status status = DIBS_OK;

  for (int i = 0; i < 20 && status == DIBS_OK; i++) {
    dibs_hold *hold = live_lock(client, "stuck", LIVE_LONG_MS * 4);
    pthread_t thread;

    lease_seen_by(other, "stuck");
    assert_int_equal(pthread_create(&thread, NULL, forbid_looks, NULL), 0);
    status = dibs_break(other, dibs_text("stuck"), broken);
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (int k = 0; k < SERVERS / 2 + 1; k++)
      (void)test_server_command(test_quorum_server(servers, k),
                                "ACL SETUSER default +eval +evalsha");
    assert_int_equal(dibs_release(hold), DIBS_LOST);
  }
  assert_int_equal(status, DIBS_UNKNOWN);
}

/* With those that are silent now, where its leases were not broken, the holder has a majority. */
TEST(a_break_counts_servers_that_do_not_answer_as_the_holders)
{
  dibs_hold *hold = live_lock(client, "stuck", LIVE_LONG_MS * 4);

  for (int i = 0; i < SERVERS / 2; i++)
    test_server_pause(test_quorum_server(servers, i));
  lease_seen_by(other, "stuck");
  (void)test_server_command(test_quorum_server(servers, SERVERS - 1), "ACL SETUSER default -set");
  live_expect(other, dibs_break(other, dibs_text("stuck"), broken), DIBS_ERR_DENIED);
  (void)test_server_command(test_quorum_server(servers, SERVERS - 1), "ACL SETUSER default +set");
  for (int i = 0; i < SERVERS / 2; i++)
    test_server_resume(test_quorum_server(servers, i));
  (void)dibs_release(hold);              /* the server refused its renewal, too */
}

TEST(a_break_of_readers_is_refused)
{
  dibs_lock_options options = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *hold = NULL;

  live_expect(client, dibs_acquire(client, DIBS_READ("page"), &options, &hold), DIBS_OK);
  lease_seen_by(other, "page");
  live_expect(other, dibs_break(other, dibs_text("page"), broken), DIBS_ERR_UNSUPPORTED);
  live_expect_words(other, "one server after the other");
  live_expect_ok(dibs_release(hold));
}

TEST(waiters_are_handed_the_lock_on_with_growing_fences)
{
  dibs_lock_options options = live_lock_options(TTL_MS, LIVE_LONG_MS);
  uint64_t fence = 0;

  for (int i = 0; i < 20; i++) {
    dibs_hold *hold = live_lock(i % 2 == 0 ? client : other, "turns", TTL_MS);
    struct live_ask ask;
    dibs_hold *next;

    PROMISE_GROWN(dibs_hold_fence(hold), fence);
    live_ask_begin(&ask, i % 2 == 0 ? other : client, "turns", &options);
    assert_int_equal(dibs_release(hold), DIBS_OK);
    next = live_ask_granted(&ask, LIVE_LONG_MS);
    fence = dibs_hold_fence(next);
    assert_int_equal(dibs_release(next), DIBS_OK);
  }
}

static dibs_inspection *inspect(const char *name)
{
  dibs_inspection *in = NULL;

  live_expect(other, dibs_inspect(other, dibs_text(name), &in), DIBS_OK);
  return in;
}

/* Servers with a lower token get that of the fence after the grant. */
static bool is_fence_shown(void *hold)
{
  dibs_inspection *in = inspect("shown");
  bool is_it = in->holder_count == 1 && in->fence == dibs_hold_fence(hold);

  in = dibs_inspection_free(in);
  return is_it;
}

/* A minority is nothing: a client that died has left it, or one that asks at the same time. */
TEST(a_holder_of_a_minority_is_not_shown)
{
  for (int i = 0; i < SERVERS; i++) {
    dibs_client *alone = live_open(test_server_url(test_quorum_server(servers, i)));
    dibs_hold *left = live_lock(alone, "shown", LIVE_LONG_MS), *hold;
    dibs_inspection *in = inspect("shown");

    assert_false(in->is_held);
    assert_int_equal(in->holder_count, 0);
    in = dibs_inspection_free(in);
    hold = live_lock(client, "shown", TTL_MS);
    in = inspect("shown");
    assert_int_equal(in->holder_count, 1);
    in = dibs_inspection_free(in);
    assert_true(live_until(LIVE_LONG_MS, is_fence_shown, hold));
    assert_int_equal(dibs_release(hold), DIBS_OK);
    assert_int_equal(dibs_release(left), DIBS_OK);
    alone = dibs_close(alone);
  }
}

static bool count_one(const dibs_inspection *inspection, void *count)
{
  *(int *)count += inspection->is_held;
  return true;
}

static bool count_name(dibs_family family, const char *name, size_t size, void *count)
{
  (void)family;
  (void)name;
  (void)size;
  ++*(int *)count;
  return true;
}

static dibs_client *open_with_guard(void)
{
  dibs_options o = live_options();

  o.quarantine_ms = TTL_MS;
  return live_open_with(test_quorum_url(servers), &o);
}

/* In quarantine it does not get back what it has lost. */
TEST(a_server_that_was_restarted_empty_hides_no_name)
{
  client = dibs_close(client);
  client = open_with_guard();
  for (int i = 0; i < SERVERS; i++) {
    struct test_server *server = test_quorum_server(servers, i);
    dibs_client *reader;
    dibs_hold *hold;
    int held = 0, names = 0;

    test_server_kill9(server);
    hold = live_lock(client, "hidden", LIVE_LONG_MS);
    test_server_restart(server, false);
    reader = open_with_guard();
    live_expect(reader, dibs_list(reader, NULL, count_one, &held), DIBS_OK);
    live_expect(reader, dibs_list_names(reader, DIBS_FAMILY_LOCK, NULL, count_name, &names),
                DIBS_OK);
    assert_int_equal(held, 1);
    assert_int_equal(names, 1);
    reader = dibs_close(reader);
    assert_int_equal(dibs_release(hold), DIBS_OK);
  }
}

static void scan_is_allowed(int i, bool is_allowed)
{
  (void)test_server_command(test_quorum_server(servers, i % SERVERS),
                            is_allowed ? "ACL SETUSER default +scan"
                                       : "ACL SETUSER default -scan");
}

struct listing {
  int first;                       /* and the next one begin to refuse with the first name */
  struct test_server *down;        /* then, too */
  dibs_client *reader;
  int held;
  dibs_status status;
  atomic_bool is_reduced;
};

static bool count_and_reduce(const dibs_inspection *inspection, void *data)
{
  struct listing *l = data;

  if (l->held++ == 0) {
    scan_is_allowed(l->first, false);
    scan_is_allowed(l->first + 1, false);
    test_server_kill9(l->down);
    atomic_store(&l->is_reduced, true);
  }
  return inspection->is_held;
}

static void *list_all(void *data)
{
  struct listing *l = data;

  l->status = dibs_list(l->reader, NULL, count_and_reduce, l);
  return NULL;
}

static bool is_reduced(void *data)
{
  return atomic_load(&((struct listing *)data)->is_reduced);
}

/* Those that refused are asked again with the one that was down, and refuse again. */
TEST(a_list_waits_for_a_majority_beside_servers_that_refuse)
{
  for (int first = 0; first < SERVERS; first++) {
    struct listing l = { .first = first, .reader = live_open(test_quorum_url(servers)),
                         .down = test_quorum_server(servers, (first + 2) % SERVERS) };
    dibs_hold *hold = live_lock(client, "listed", LIVE_LONG_MS);
    pthread_t thread;

    live_expect_ok(dibs_client_set_call_timeout(l.reader, LIVE_LONG_MS));
    assert_int_equal(pthread_create(&thread, NULL, list_all, &l), 0);
    assert_true(live_until(LIVE_LONG_MS, is_reduced, &l));
    test_server_restart(l.down, false);
    assert_int_equal(pthread_join(thread, NULL), 0);
    live_expect(l.reader, l.status, DIBS_OK);
    assert_int_equal(l.held, 1);
    scan_is_allowed(first, true);
    scan_is_allowed(first + 1, true);
    l.reader = dibs_close(l.reader);
    live_expect_ok(dibs_release(hold));
  }
}

TEST(a_list_that_a_majority_refuses_says_why)
{
  int held = 0;

  for (int i = 0; i < SERVERS / 2 + 1; i++)
    scan_is_allowed(i, false);
  live_expect(client, dibs_list(client, NULL, count_one, &held), DIBS_ERR_DENIED);
  for (int i = 0; i < SERVERS / 2 + 1; i++)
    scan_is_allowed(i, true);
  live_expect(client, dibs_list(client, NULL, count_one, &held), DIBS_OK);
}

/* They queue at one server, which is another one for each name. */
TEST(the_waiters_of_any_queue_server_are_shown)
{
  dibs_lock_options options = live_lock_options(TTL_MS, LIVE_LONG_MS);

  for (int i = 0; i < 2 * SERVERS; i++) {
    int64_t limit = live_now_us() + LIVE_LONG_MS * 1000;
    char name[] = { 'q', (char)('a' + i), 0 };
    dibs_hold *hold = live_lock(client, name, TTL_MS);
    uint64_t seen = 0;
    struct live_ask ask;

    live_ask_begin(&ask, other, name, &options);
    while (seen == 0 && live_now_us() < limit) {
      dibs_inspection *in = inspect(name);

      seen = in->waiter_count;
      assert_int_equal(in->holder_count, 1);
      in = dibs_inspection_free(in);
    }
    assert_int_equal(seen, 1);
    assert_int_equal(dibs_release(hold), DIBS_OK);
    assert_int_equal(dibs_release(live_ask_granted(&ask, LIVE_LONG_MS)), DIBS_OK);
  }
}

static int64_t p99_us(int rounds)
{
  static int64_t took[1000];

  for (int i = 0; i < rounds; i++) {
    int64_t begun = live_now_us();

    assert_int_equal(dibs_release(live_lock(client, "fast", TTL_MS)), DIBS_OK);
    took[i] = live_now_us() - begun;
  }
  (void)live_median(took, (size_t)rounds);         /* sorts */
  return took[rounds * 99 / 100 - 1];
}

static bool two_silent_servers_cost_little(void)
{
  int64_t healthy, silent;

  (void)p99_us(100);
  healthy = p99_us(500);
  test_server_pause(test_quorum_server(servers, 1));
  test_server_pause(test_quorum_server(servers, 3));
  (void)p99_us(100);
  silent = p99_us(500);
  test_server_resume(test_quorum_server(servers, 1));
  test_server_resume(test_quorum_server(servers, 3));
  print_message("# p99 of acquire and release: %lld us, with 2 of 5 silent %lld us\n",
                (long long)healthy, (long long)silent);
  return silent <= 2 * healthy + 5000;
}

/* What a busy machine adds to both is not what is looked for: a few ms are always allowed, and
 * a burst of other work shows in one measurement of three, while one that waits for a server
 * would take half a second in each. */
TEST(two_silent_servers_cost_nothing)
{
  bool is_so = false;

  for (int attempt = 0; attempt < 3 && !is_so; attempt++)
    is_so = two_silent_servers_cost_little();
  assert_true(is_so);
}

TEST(a_hold_outlives_a_minority_and_is_lost_with_the_majority)
{
  struct live_loss loss = { .count = 0 };
  dibs_lock_options options = live_lock_options(TTL_MS, 0);
  dibs_hold *hold;

  live_report_loss(&options, &loss);
  hold = live_lock_with(client, "kept", &options);
  test_server_kill9(test_quorum_server(servers, 0));
  test_server_kill9(test_quorum_server(servers, 4));
  assert_false(live_loss_wait(&loss, 2 * TTL_MS));
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
  live_refused_beside(hold, live_try(other, "kept"), DIBS_BUSY);
  test_server_kill9(test_quorum_server(servers, 2));
  assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
  assert_int_equal(loss.count, 1);
  assert_int_not_equal(dibs_release(hold), DIBS_OK);
}

TEST(too_few_servers_are_told)
{
  for (int i = 0; i < 3; i++)
    test_server_kill9(test_quorum_server(servers, i));
  assert_int_equal(live_try(client, "few"), DIBS_ERR_UNREACHABLE);
  live_expect_words(client, "servers took part");
}

/* All servers are stopped, which is the same as far away: they may be well, and others may have
 * the lock there. So it is no outage, in which a lock of the machine replaces theirs. */
TEST(a_short_time_is_no_outage_for_locks_of_this_machine)
{
  char directory[] = "/tmp/dibs-quorum-XXXXXX";
  dibs_options options = live_options();
  dibs_lock_options brief = live_lock_options(TTL_MS, 50);
  dibs_client *short_client;
  dibs_hold *hold;

  assert_non_null(mkdtemp(directory));
  assert_int_equal(setenv("DIBS_LOCAL_DIR", directory, 1), 0);
  options.connect_timeout_ms = options.command_timeout_ms = LIVE_LONG_MS;
  options.degrade = DIBS_DEGRADE_LOCAL;
  short_client = live_open_with(test_quorum_url(servers), &options);
  live_expect_ok(dibs_client_set_call_timeout(short_client, 50));
  for (int i = 0; i < SERVERS; i++)
    test_server_pause(test_quorum_server(servers, i));
  live_refused(dibs_lock(short_client, "short", &brief, &hold), DIBS_ERR_UNREACHABLE);
  live_expect_words(short_client, "which may be too short");
  live_refused(dibs_try_lock(short_client, "short", NULL, &hold), DIBS_ERR_UNREACHABLE);
  live_expect_words(short_client, "which may be too short");
  for (int i = 0; i < SERVERS; i++)
    test_server_resume(test_quorum_server(servers, i));
  short_client = dibs_close(short_client);
  assert_int_equal(unsetenv("DIBS_LOCAL_DIR"), 0);
  (void)rmdir(directory);
}

/* ---- for the sanitizers: one thread wakes another, whose question may be over already ---- */

enum { ASKING = 4, ASKS = 60 };

static void *ask_often(void *data)
{
  char name[16];

  (void)snprintf(name, sizeof(name), "ask %d", (int)(intptr_t)data);
  for (long i = 0; i < live_times(ASKS); i++) {
    dibs_inspection *in = NULL;
    dibs_status status = dibs_inspect(client, dibs_text(name), &in);

    if (status != DIBS_OK)
      live_fault("a look at %s: %s", name, dibs_status_name(status));
    in = dibs_inspection_free(in);
    (void)live_try(client, name);
  }
  return NULL;
}

TEST(threads_ask_all_servers_at_once)
{
  pthread_t threads[ASKING];

  for (intptr_t i = 0; i < ASKING; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, ask_often, (void *)i), 0);
  for (int i = 0; i < ASKING; i++)
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  assert_int_equal(live_faults(), 0);
}

RUN_TESTS_EACH(NULL, NULL, setup, teardown)
