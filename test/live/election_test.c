/* SPDX-License-Identifier: MIT */
/* test/live/election_test.c - elections of the finished library: who leads, what observers
 * hear and by how many messages, leaders that resign, die or are ousted. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live.h"
#include "proxy.h"

static dibs_client *client, *other, *watcher;

static int setup(void **state)
{
  (void)live_server_setup(state);
  client = live_open(live_url());
  other = live_open(live_url());
  watcher = live_open(live_url());
  return 0;
}

/* Whatever the tests did: no key is for ever, and nobody listens any more. */
static int teardown(void **state)
{
  client = dibs_close(client);
  other = dibs_close(other);
  watcher = dibs_close(watcher);
  assert_string_equal(
    test_server_command(live_server, "EVAL %s 0",
                        "for _, key in ipairs(redis.call('KEYS', '*')) do "
                        "if redis.call('PTTL', key) < 0 then return key end end return 'none'"),
    "none");
  assert_string_equal(test_server_command(live_server, "PUBSUB CHANNELS [^_]*"), "[]");
  return live_server_teardown(state);
}

/* ---- what an observer was told ---- */

enum { TOLD_MAX = 256 };

struct seen {
  pthread_mutex_t mutex;
  int count;
  struct {
    dibs_status status;                /* not DIBS_OK: the server is not seen */
    bool is_known, is_led, is_published;
    uint64_t epoch;
    char value[32], client[24], node[128];
  } told[TOLD_MAX];
  int64_t at_ms[TOLD_MAX];
};

static void on_leader(const dibs_error *error, const dibs_leader *leader, void *data)
{
  struct seen *s = data;

  if (leader == NULL)
    return;
  (void)pthread_mutex_lock(&s->mutex);
  if (s->count < TOLD_MAX) {
    s->told[s->count].status = error->status;
    (void)snprintf(s->told[s->count].node, 128, "%s", error->node);
    s->told[s->count].is_known = leader->is_known;
    s->told[s->count].is_published = leader->is_published;
    s->told[s->count].is_led = leader->is_led;
    s->told[s->count].epoch = leader->epoch;
    (void)snprintf(s->told[s->count].value, 32, "%s", leader->value);
    (void)snprintf(s->told[s->count].client, 24, "%s", leader->party->client);
    s->at_ms[s->count++] = live_now_ms();
  }
  (void)pthread_mutex_unlock(&s->mutex);
}

struct wanted { struct seen *seen; const char *value; };

static int told_count(struct seen *s)
{
  int count;

  (void)pthread_mutex_lock(&s->mutex);
  count = s->count;
  (void)pthread_mutex_unlock(&s->mutex);
  return count;
}

/* The last told is a leader with this value; NULL: nobody. */
static bool is_last(void *data)
{
  struct wanted *w = data;
  struct seen *s = w->seen;
  bool is_so = false;

  (void)pthread_mutex_lock(&s->mutex);
  if (s->count > 0)
    is_so = w->value == NULL ? !s->told[s->count - 1].is_led
                             : s->told[s->count - 1].is_led &&
                                 strcmp(s->told[s->count - 1].value, w->value) == 0;
  (void)pthread_mutex_unlock(&s->mutex);
  return is_so;
}

static void expect_told(struct seen *s, const char *value)
{
  struct wanted w = { s, value };

  if (!live_until(LIVE_LONG_MS, is_last, &w))
    fail_msg("not told: %s", value != NULL ? value : "nobody");
}

/* How often this leader was told; never twice in a row the same. A look between a grant and
 * the telling of the value sees a leader with none: whether there was one is chance. */
static int times_told(struct seen *s, const char *value)
{
  int times = 0;

  (void)pthread_mutex_lock(&s->mutex);
  for (int i = 0; i < s->count; i++) {
    times += s->told[i].is_led && strcmp(s->told[i].value, value) == 0;
    if (i > 0)
      assert_memory_not_equal(&s->told[i], &s->told[i - 1], sizeof(s->told[i]));
  }
  (void)pthread_mutex_unlock(&s->mutex);
  return times;
}

static dibs_observer *observe(dibs_client *c, const char *name, struct seen *s)
{
  dibs_observer *observer = NULL;

  memset(s, 0, sizeof(*s));
  (void)pthread_mutex_init(&s->mutex, NULL);
  live_expect(c, dibs_observe(c, name, on_leader, s, NULL, &observer), DIBS_OK);
  return observer;
}

/* The observer has its first state, and the server tells it of all that follows. */
static dibs_observer *observe_settled(const char *name, struct seen *s)
{
  dibs_observer *observer = observe(watcher, name, s);

  expect_told(s, NULL);
  while (test_server_integer(live_server, "EVAL %s 0 dibs:elect:{%s}",
                             "return redis.call('PUBSUB', 'NUMSUB', ARGV[1])[2]", name) == 0)
    (void)poll(NULL, 0, 1);
  return observer;
}

struct heard { uint64_t messages; };

static bool has_heard(void *data)
{
  const struct heard *h = data;

  return live_stats(watcher).messages >= h->messages;
}

/* So many messages have come to the watcher since, and no more. */
static void expect_messages(const dibs_client_info *before, int count)
{
  struct heard h = { before->messages + (uint64_t)count };

  assert_true(live_until(LIVE_LONG_MS, has_heard, &h));
  assert_int_equal(live_stats(watcher).messages - before->messages, count);
}

/* ---- campaigns ---- */

static dibs_hold *lead_for(dibs_client *c, const char *name, const char *value, int ttl_ms)
{
  dibs_lock_options o = live_lock_options(ttl_ms, LIVE_LONG_MS);
  dibs_hold *hold = NULL;

  o.flags = DIBS_LOCK_NO_OWNER;
  live_expect(c, dibs_acquire(c, DIBS_LEAD(name, value), &o, &hold), DIBS_OK);
  assert_non_null(hold);
  return hold;
}

static dibs_hold *lead(dibs_client *c, const char *name, const char *value)
{
  return lead_for(c, name, value, 30000);
}

static void on_elected(const dibs_error *error, dibs_hold *hold, void *data)
{
  struct live_ask *a = data;

  (void)pthread_mutex_lock(&a->mutex);
  a->status = error->status;
  a->hold = hold;
  a->callbacks++;
  (void)pthread_cond_broadcast(&a->changed);
  (void)pthread_mutex_unlock(&a->mutex);
}

static void stand(struct live_ask *a, dibs_client *c, const char *name, const char *value,
                  const dibs_lock_options *o)
{
  live_ask_init(a);
  live_expect(c, dibs_acquire_async(c, DIBS_LEAD(name, value), o, on_elected, a, &a->request),
              DIBS_OK);
}

static void expect_leader(dibs_client *c, const char *name, const char *value, uint64_t epoch)
{
  dibs_leader *leader = NULL;

  live_expect(c, dibs_get_leader(c, name, &leader), DIBS_OK);
  assert_int_equal(leader->is_led, value != NULL);
  assert_string_equal(leader->value, value != NULL ? value : "");
  assert_true(leader->epoch == epoch);
  assert_int_equal(leader->value_size, strlen(leader->value));
  leader = dibs_leader_free(leader);
}

/* ---- leading ---- */

/* In a cluster who he is stands on another node, which may be told a moment later. */
static bool is_shown_as_me(void *name)
{
  dibs_leader *leader = NULL;
  bool is_me = dibs_get_leader(other, name, &leader) == DIBS_OK &&
               leader->party->pid == getpid();

  (void)dibs_leader_free(leader);
  return is_me;
}

TEST(a_leader_is_seen_as_soon_as_its_campaign_returns)
{
  dibs_leader *leader = NULL;
  dibs_hold *hold;
  uint64_t epoch;

  expect_leader(other, "first", NULL, 0);
  hold = lead(client, "first", "10.0.0.1:80");
  epoch = dibs_hold_fence(hold);
  live_expect(other, dibs_get_leader(other, "first", &leader), DIBS_OK);
  assert_true(leader->is_led);
  assert_string_equal(leader->value, "10.0.0.1:80");
  assert_true(leader->epoch == epoch);
  assert_in_range(leader->remaining_ms, 1, 30000);
  leader = dibs_leader_free(leader);
  assert_true(live_until(live_place() == LIVE_CLUSTER ? LIVE_LONG_MS : 0, is_shown_as_me,
                         (void *)(uintptr_t)"first"));
  assert_int_equal(dibs_release(hold), DIBS_OK);
  expect_leader(other, "first", NULL, epoch);
}

TEST(a_plain_lock_of_the_same_name_leads_without_a_value)
{
  dibs_hold *hold = live_lock(client, "plain", 30000), *none = NULL;
  dibs_leader *leader = NULL;

  live_expect(other, dibs_get_leader(other, "plain", &leader), DIBS_OK);
  assert_true(leader->is_led);
  assert_string_equal(leader->value, "");
  leader = dibs_leader_free(leader);
  assert_int_equal(dibs_publish(hold, "x"), DIBS_ERR_ARGUMENT);
  live_expect_refused(other, acquire_now(other, DIBS_LEAD("plain", "b"), NULL, &none),
                      DIBS_BUSY);
  live_expect(client, dibs_release(hold), DIBS_OK);
}

TEST(only_changes_are_told)
{
  struct seen seen;
  dibs_observer *observer = observe(watcher, "changes", &seen);
  dibs_hold *hold;
  int last;

  expect_told(&seen, NULL);
  hold = lead(client, "changes", "one");
  expect_told(&seen, "one");
  assert_int_equal(dibs_publish(hold, "one"), DIBS_OK);
  assert_int_equal(dibs_publish(hold, "two"), DIBS_OK);
  expect_told(&seen, "two");
  last = told_count(&seen) - 1;
  assert_true(seen.told[last].epoch == dibs_hold_fence(hold));
  live_expect(client, dibs_release(hold), DIBS_OK);
  expect_told(&seen, NULL);
  assert_true(seen.told[last + 1].epoch == seen.told[last].epoch);
  assert_int_equal(told_count(&seen), last + 2);
  assert_int_equal(times_told(&seen, "one"), 1);
  assert_int_equal(times_told(&seen, "two"), 1);
  observer = dibs_observer_free(observer);
}

TEST(a_resigning_is_heard_by_one_message_and_one_look)
{
  live_needs_one_view();
  struct seen seen;
  dibs_observer *observer = observe_settled("resign", &seen);
  dibs_client_info before = live_stats(watcher);
  dibs_hold *hold = lead(client, "resign", "here");

  expect_messages(&before, 1);
  expect_told(&seen, "here");
  before = live_stats(watcher);
  live_expect(client, dibs_release(hold), DIBS_OK);
  expect_told(&seen, NULL);
  expect_messages(&before, 1);
  /* A look by the clock may fall in between, and one be counted that was asked before. */
  assert_in_range(live_stats(watcher).commands - before.commands, 1, 3);
  observer = dibs_observer_free(observer);
}

TEST(the_next_candidate_leads_and_is_heard_by_one_message_more)
{
  live_needs_one_view();
  struct seen seen;
  dibs_observer *observer = observe_settled("next", &seen);
  dibs_lock_options o = live_lock_options(30000, 0);
  dibs_client_info at_first = live_stats(watcher);
  dibs_hold *hold = lead(client, "next", "first");
  struct live_ask second;
  dibs_client_info before = DIBS_CLIENT_INFO_INIT;

  stand(&second, other, "next", "second", &o);
  live_expect_waiters(live_server, "next", 1);
  expect_told(&seen, "first");
  expect_messages(&at_first, 1);
  before = live_stats(watcher);
  live_expect(client, dibs_release(hold), DIBS_OK);
  expect_told(&seen, "second");
  expect_messages(&before, 2);
  hold = live_ask_granted(&second, LIVE_LONG_MS);
  expect_leader(client, "next", "second", dibs_hold_fence(hold));
  live_expect(other, dibs_release(hold), DIBS_OK);
  observer = dibs_observer_free(observer);
}

TEST(a_client_that_closes_resigns)
{
  live_needs_one_view();
  struct seen seen;
  dibs_observer *observer = observe_settled("close", &seen);
  dibs_client *closing = live_open(live_url());
  dibs_client_info before = live_stats(watcher);

  (void)lead(closing, "close", "here");
  expect_told(&seen, "here");
  expect_messages(&before, 1);
  before = live_stats(watcher);
  closing = dibs_close(closing);
  expect_told(&seen, NULL);
  expect_messages(&before, 1);
  observer = dibs_observer_free(observer);
}

/* ---- leaders that die ---- */

static pid_t fork_leader(const char *name, int ttl_ms)
{
  pid_t pid = fork();

  if (pid == 0) {
    dibs_lock_options o = live_lock_options(ttl_ms, LIVE_LONG_MS);
    dibs_client *c = NULL;
    dibs_hold *hold = NULL;

    if (dibs_open(live_url(), NULL, &c, NULL) == DIBS_OK &&
        dibs_acquire(c, DIBS_LEAD(name, "doomed"), &o, &hold) == DIBS_OK)
      (void)poll(NULL, 0, -1);
    _exit(1);
  }
  assert_true(pid > 0);
  return pid;
}

TEST(a_crash_is_seen_within_one_lease_and_the_next_leads)
{
  enum { TTL_MS = 1500, SLACK_MS = 1000 };     /* slack for a machine with much to do */
  struct seen seen;
  dibs_observer *observer = observe(watcher, "crash", &seen);
  dibs_lock_options o = live_lock_options(TTL_MS, 0);
  pid_t pid = fork_leader("crash", TTL_MS);
  struct live_ask next;
  int64_t killed_at;
  int before;

  expect_told(&seen, "doomed");
  stand(&next, other, "crash", "next", &o);
  live_expect_waiters(live_server, "crash", 1);
  before = told_count(&seen);
  killed_at = live_now_ms();
  (void)kill(pid, SIGKILL);
  (void)promise_waitpid(pid, NULL, 0);
  expect_told(&seen, "next");
  assert_string_not_equal(seen.told[before].value, "doomed");
  assert_in_range(seen.at_ms[before] - killed_at, 0, TTL_MS + SLACK_MS);
  live_expect(other, dibs_release(live_ask_granted(&next, LIVE_LONG_MS)), DIBS_OK);
  observer = dibs_observer_free(observer);
}

/* As the server sees it after its clock was set back by an hour: a lease that does not end. */
TEST(a_dead_lease_that_the_servers_clock_keeps_alive_is_over_for_who_watched_it)
{
  live_needs_keys();
  enum { TTL_MS = 500, SLACK_MS = 1000 };
  char lease[96];
  struct seen seen;
  dibs_observer *observer;

  (void)snprintf(lease, sizeof(lease), "AAAAAAAAAAAAAAAAAAAAAA:1:%lld 3600000 %d 0 0",
                 (long long)live_wall_us(), TTL_MS);
  test_server_command(live_server, "SET dibs:m:{watched} %s PX 3600000", lease);
  observer = observe(watcher, "watched", &seen);
  expect_told(&seen, "");
  assert_string_equal(seen.told[0].client, "AAAAAAAAAAAAAAAAAAAAAA");
  expect_told(&seen, NULL);
  assert_int_equal(told_count(&seen), 2);
  assert_in_range(seen.at_ms[1] - seen.at_ms[0], TTL_MS, TTL_MS + SLACK_MS);
  observer = dibs_observer_free(observer);
}

TEST(a_leader_that_was_ousted_cannot_tell_any_more)
{
  dibs_hold *hold = lead(client, "ousted", "old"), *next;
  dibs_inspection *in = NULL;

  live_expect(other, dibs_inspect(other, dibs_text("ousted"), &in), DIBS_OK);
  live_expect(other, dibs_break(other, dibs_text("ousted"), in->lease), DIBS_OK);
  in = dibs_inspection_free(in);
  assert_int_equal(dibs_publish(hold, "still here?"), DIBS_LOST);
  next = lead(other, "ousted", "new");
  assert_int_equal(dibs_publish(hold, "still here?"), DIBS_LOST);
  expect_leader(watcher, "ousted", "new", dibs_hold_fence(next));
  assert_true(dibs_release(hold) > DIBS_OK);
  expect_leader(watcher, "ousted", "new", dibs_hold_fence(next));
  live_expect(other, dibs_release(next), DIBS_OK);
  assert_int_equal(dibs_publish(next, "gone"), DIBS_ERR_STALE);
}

/* ---- observers that are away ---- */

TEST(who_was_disconnected_hears_when_it_is_back)
{
  live_needs_one_server();
  struct test_proxy *proxy = test_proxy_start(live_server);
  dibs_client *far = live_open(live_url_by(proxy));
  struct seen seen;
  dibs_observer *observer = observe(far, "away", &seen);
  dibs_hold *hold;

  expect_told(&seen, NULL);
  hold = lead(client, "away", "one");
  expect_told(&seen, "one");
  test_proxy_refuse(proxy, true);
  test_proxy_cut(proxy);
  assert_int_equal(dibs_publish(hold, "two"), DIBS_OK);
  assert_int_equal(times_told(&seen, "two"), 0);
  test_proxy_refuse(proxy, false);
  expect_told(&seen, "two");
  live_expect(client, dibs_release(hold), DIBS_OK);
  expect_told(&seen, NULL);
  observer = dibs_observer_free(observer);
  far = dibs_close(far);
  proxy = test_proxy_stop(proxy);
}

struct fault_wanted { struct seen *seen; bool is_fault; };

static bool has_fault(void *data)
{
  const struct fault_wanted *w = data;
  bool is_so;

  (void)pthread_mutex_lock(&w->seen->mutex);
  is_so = w->seen->count > 0 &&
          (w->seen->told[w->seen->count - 1].status != DIBS_OK) == w->is_fault;
  (void)pthread_mutex_unlock(&w->seen->mutex);
  return is_so;
}

/* The last report says that the server is not seen; or that it is. */
static void expect_fault(struct seen *s, bool is_fault)
{
  struct fault_wanted w = { s, is_fault };

  assert_true(live_until(LIVE_LONG_MS, has_fault, &w));
}

static dibs_client *open_far(const struct test_proxy *proxy)
{
  dibs_options options = live_options();

  options.connect_timeout_ms = 1000;
  return live_open_with(live_url_by(proxy), &options);
}

TEST(who_cannot_see_the_server_is_told_once_and_once_when_it_is_back)
{
  live_needs_one_server();
  struct test_proxy *proxy = test_proxy_start(live_server);
  dibs_client *far = open_far(proxy);
  dibs_hold *hold = lead(client, "unseen", "one");
  struct seen seen;
  dibs_observer *observer = observe(far, "unseen", &seen);
  int first;

  expect_told(&seen, "one");
  first = told_count(&seen);
  test_proxy_refuse(proxy, true);
  test_proxy_cut(proxy);
  expect_fault(&seen, true);
  assert_int_equal(seen.told[first].status, DIBS_ERR_UNREACHABLE);
  assert_true(seen.told[first].is_known && seen.told[first].is_led);
  assert_string_equal(seen.told[first].value, "one");
  assert_string_not_equal(seen.told[first].node, "");
  test_proxy_refuse(proxy, false);
  expect_fault(&seen, false);
  expect_told(&seen, "one");             /* as it is now, though it has not changed */
  assert_int_equal(told_count(&seen), first + 2);
  live_expect(client, dibs_release(hold), DIBS_OK);
  expect_told(&seen, NULL);
  observer = dibs_observer_free(observer);
  far = dibs_close(far);
  proxy = test_proxy_stop(proxy);
}

TEST(who_never_saw_the_server_is_told_that_nothing_is_known)
{
  live_needs_one_server();
  struct test_proxy *proxy = test_proxy_start(live_server);
  dibs_client *far = open_far(proxy);
  dibs_observer *observer = NULL;
  struct pollfd ready = { .events = POLLIN };
  dibs_leader *leader = NULL;

  test_proxy_refuse(proxy, true);
  test_proxy_cut(proxy);
  live_expect(far, dibs_observe(far, "unknown", NULL, NULL, NULL, &observer), DIBS_OK);
  ready.fd = dibs_observer_fd(observer);
  assert_int_equal(poll(&ready, 1, LIVE_LONG_MS), 1);
  assert_int_equal(dibs_observer_next(observer, &leader), DIBS_OK);
  assert_int_equal(leader->error->status, DIBS_ERR_UNREACHABLE);
  assert_string_not_equal(leader->error->text, "");
  assert_false(leader->is_known || leader->is_led || leader->epoch != 0);
  leader = dibs_leader_free(leader);
  assert_int_equal(dibs_observer_next(observer, &leader), DIBS_BUSY);
  test_proxy_refuse(proxy, false);
  assert_int_equal(poll(&ready, 1, LIVE_LONG_MS), 1);
  assert_int_equal(dibs_observer_next(observer, &leader), DIBS_OK);
  assert_int_equal(leader->error->status, DIBS_OK);
  assert_true(leader->is_known && !leader->is_led);
  leader = dibs_leader_free(leader);
  observer = dibs_observer_free(observer);
  far = dibs_close(far);
  proxy = test_proxy_stop(proxy);
}

TEST(an_empty_value_is_told_apart_from_none_yet)
{
  dibs_hold *hold = live_lock(client, "empty", 30000);
  dibs_leader *leader = NULL;

  live_expect(other, dibs_get_leader(other, "empty", &leader), DIBS_OK);
  assert_true(leader->is_known && leader->is_led && !leader->is_published);
  assert_int_equal(leader->error->status, DIBS_OK);
  leader = dibs_leader_free(leader);
  live_expect(client, dibs_release(hold), DIBS_OK);
  hold = lead(client, "empty", "");
  live_expect(other, dibs_get_leader(other, "empty", &leader), DIBS_OK);
  assert_true(leader->is_led && leader->is_published);
  assert_string_equal(leader->value, "");
  leader = dibs_leader_free(leader);
  live_expect(client, dibs_release(hold), DIBS_OK);
  live_expect(other, dibs_get_leader(other, "empty", &leader), DIBS_OK);
  assert_false(leader->is_led || leader->is_published);
  leader = dibs_leader_free(leader);
}

TEST(a_telling_whose_answer_was_lost_is_told_once)
{
  live_needs_one_server();
  struct test_proxy *proxy = test_proxy_start(live_server);
  dibs_options options = live_options();
  dibs_client *far;
  struct seen seen;
  dibs_observer *observer = observe(watcher, "lost", &seen);
  dibs_hold *hold;

  options.command_timeout_ms = 5000;
  far = live_open_with(live_url_by(proxy), &options);
  hold = lead(far, "lost", "one");
  expect_told(&seen, "one");
  test_proxy_lose_reply_to(proxy, "$3\r\ntwo");
  live_expect(far, dibs_publish(hold, "two"), DIBS_OK);
  assert_int_equal(test_proxy_counts(proxy).cuts, 1);
  expect_told(&seen, "two");
  live_expect(far, dibs_release(hold), DIBS_OK);
  expect_told(&seen, NULL);
  assert_int_equal(times_told(&seen, "two"), 1);
  observer = dibs_observer_free(observer);
  far = dibs_close(far);
  proxy = test_proxy_stop(proxy);
}

/* ---- many ---- */

enum { CANDIDATES = 16 };

static _Atomic int leaders;

static void *run_for_office(void *data)
{
  char value[16];
  dibs_client *c = live_open(live_url());

  (void)snprintf(value, sizeof(value), "c%d", (int)(intptr_t)data);
  for (long i = 0; i < live_times(3); i++) {
    dibs_hold *hold = lead(c, "many", value);
    dibs_leader *leader = NULL;

    promise_kept(atomic_fetch_add(&leaders, 1) == 0, "%s leads beside another", value);
    if (dibs_get_leader(c, "many", &leader) != DIBS_OK)
      live_fault("%s is not told who leads", value);
    else
      promise_kept(strcmp(leader->value, value) == 0 &&
                   leader->epoch == dibs_hold_fence(hold),
                   "%s leads with %llu and sees %s with %llu", value,
                   (unsigned long long)dibs_hold_fence(hold), leader->value,
                   (unsigned long long)leader->epoch);
    leader = dibs_leader_free(leader);
    (void)atomic_fetch_sub(&leaders, 1);
    if (dibs_release(hold) != DIBS_OK)
      live_fault("%s: a release", value);
  }
  c = dibs_close(c);
  return NULL;
}

TEST(of_many_candidates_one_leads_at_a_time_and_epochs_grow)
{
  pthread_t threads[CANDIDATES];
  struct seen seen;
  dibs_observer *observer = observe(watcher, "many", &seen);
  int before = live_faults();

  for (intptr_t i = 0; i < CANDIDATES; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, run_for_office, (void *)i), 0);
  for (int i = 0; i < CANDIDATES; i++)
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  expect_told(&seen, NULL);
  observer = dibs_observer_free(observer);
  assert_int_equal(live_faults(), before);
  assert_true(seen.count > 1);
  for (int i = 1; i < seen.count; i++)
    promise_kept(seen.told[i].epoch >= seen.told[i - 1].epoch, "epoch %llu after %llu",
                 (unsigned long long)seen.told[i].epoch,
                 (unsigned long long)seen.told[i - 1].epoch);
}

TEST(candidates_of_one_client_follow_each_other_with_their_own_values)
{
  dibs_lock_options o = live_lock_options(30000, 0);
  dibs_hold *hold = lead(client, "inside", "a");
  uint64_t first = dibs_hold_fence(hold);
  struct live_ask second;

  stand(&second, client, "inside", "b", &o);
  live_expect(client, dibs_release(hold), DIBS_OK);
  hold = live_ask_granted(&second, LIVE_LONG_MS);
  PROMISE_GROWN(dibs_hold_fence(hold), first);
  expect_leader(other, "inside", "b", dibs_hold_fence(hold));
  first = dibs_hold_fence(hold);
  live_expect(client, dibs_release(hold), DIBS_OK);
  expect_leader(other, "inside", NULL, first);
}

static bool leads_with(void *value)
{
  dibs_leader *leader = NULL;
  bool is_so = dibs_get_leader(other, "nested", &leader) == DIBS_OK &&
               strcmp(leader->value, value) == 0;

  (void)dibs_leader_free(leader);
  return is_so;
}

TEST(a_nested_campaign_of_one_owner_does_not_resign_for_both)
{
  char value[] = "outer";
  dibs_lock_options o = live_lock_options(30000, 0);
  dibs_hold *outer = NULL, *inner = NULL;
  uint64_t epoch;

  live_expect(client, dibs_acquire(client, DIBS_LEAD("nested", "outer"), &o, &outer), DIBS_OK);
  epoch = dibs_hold_fence(outer);
  live_expect(client, dibs_acquire(client, DIBS_LEAD("nested", "inner"), &o, &inner), DIBS_OK);
  expect_leader(other, "nested", "inner", epoch);
  live_expect(client, dibs_release(inner), DIBS_OK);
  assert_true(live_until(LIVE_LONG_MS, leads_with, value));
  expect_leader(other, "nested", "outer", epoch);
  assert_int_equal(dibs_publish(outer, "again"), DIBS_OK);
  expect_leader(other, "nested", "again", epoch);
  live_expect(client, dibs_acquire(client, DIBS_LEAD("nested", "last"), &o, &inner), DIBS_OK);
  live_expect(client, dibs_release(outer), DIBS_OK);
  expect_leader(other, "nested", "last", epoch);
  live_expect(client, dibs_release(inner), DIBS_OK);
  expect_leader(other, "nested", NULL, epoch);
}

/* ---- ends of a campaign ---- */

TEST(a_campaign_ends_by_time_cancelling_or_its_own_faults)
{
  dibs_lock_options o = live_lock_options(30000, 300);
  dibs_hold *hold = lead(client, "ends", "a"), *none = NULL;
  struct live_ask ask;
  char words[DIBS_LEADER_VALUE_MAX + 2];

  live_expect_refused(other, dibs_acquire(other, DIBS_LEAD("ends", "b"), &o, &none),
                      DIBS_TIMED_OUT);
  stand(&ask, other, "ends", "b", &o);
  assert_true(live_ask_wait(&ask, LIVE_LONG_MS));
  live_refused(ask.status, DIBS_TIMED_OUT);
  o.wait_ms = DIBS_FOREVER;
  stand(&ask, other, "ends", "b", &o);
  assert_int_equal(dibs_request_cancel(ask.request), DIBS_OK);
  assert_true(live_ask_wait(&ask, LIVE_LONG_MS));
  assert_int_equal(ask.status, DIBS_CANCELLED);
  o.linger_ms = 100;
  live_expect(other, dibs_acquire(other, DIBS_LEAD("ends", "b"), &o, &none),
              DIBS_ERR_ARGUMENT);
  memset(words, 'x', sizeof(words));
  words[sizeof(words) - 1] = 0;
  live_expect(other, dibs_acquire(other, DIBS_LEAD("ends", words), NULL, &none),
              DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_publish(hold, words), DIBS_ERR_ARGUMENT);
  words[DIBS_LEADER_VALUE_MAX] = 0;
  live_expect(client, dibs_publish(hold, words), DIBS_OK);
  live_expect(other, dibs_acquire(other, DIBS_LEAD("", "b"), NULL, &none), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_release(hold), DIBS_OK);
  assert_null(none);
}

TEST(a_campaign_that_cannot_be_told_gives_its_lock_back)
{
  live_needs_keys();
  struct live_ask ask;
  dibs_hold *none = NULL;

  /* The election's key is of a kind that no value can be put into. */
  test_server_command(live_server, "SET dibs:e:{untold} x PX 100000");
  live_expect(client, dibs_acquire(client, DIBS_LEAD("untold", "a"), NULL, &none),
              DIBS_ERR_WRONG_TYPE);
  live_expect_free(other, "untold", LIVE_LONG_MS);
  stand(&ask, client, "untold", "a", NULL);
  assert_true(live_ask_wait(&ask, LIVE_LONG_MS));
  assert_int_equal(ask.status, DIBS_ERR_WRONG_TYPE);
  assert_null(ask.hold);
  live_expect_free(other, "untold", LIVE_LONG_MS);
}

struct publishing { dibs_client *client; uint64_t granted; };

static bool is_granted(void *data)
{
  const struct publishing *p = data;

  return live_stats(p->client).granted > p->granted;
}

static const struct test_proxy_chances unheard = { .word = "unheard", .silence = 10000 };

static dibs_client *patient_client(struct test_proxy *proxy)
{
  dibs_options slow = live_options();

  slow.command_timeout_ms = LIVE_LONG_MS;
  return live_open_with(test_proxy_url(proxy), &slow);
}

/* It is elected; the publication is lost, and repeated by the next connection. */
TEST(a_campaign_is_cancelled_while_it_publishes)
{
  live_needs_one_server();
  struct test_proxy *proxy = test_proxy_start(live_server);
  struct publishing p = { .client = patient_client(proxy) };
  dibs_lock_options o = live_lock_options(60000, LIVE_LONG_MS);
  dibs_canceller *canceller;
  struct live_ask ask;

  for (int by_canceller = 0; by_canceller < 2; by_canceller++) {
    live_expect_ok(dibs_canceller_new(&canceller));
    o.cancel = by_canceller != 0 ? canceller : NULL;
    p.granted = live_stats(p.client).granted;
    test_proxy_chance(proxy, &unheard);
    stand(&ask, p.client, "given up", "unheard", &o);
    assert_true(live_until(LIVE_LONG_MS, is_granted, &p));
    if (by_canceller == 0)
      live_expect(p.client, dibs_request_cancel(ask.request), DIBS_OK);
    else
      dibs_cancel(canceller);
    test_proxy_chance(proxy, NULL);
    test_proxy_cut(proxy);
    assert_true(live_ask_wait(&ask, LIVE_LONG_MS));
    assert_int_equal(ask.status, DIBS_CANCELLED);
    assert_null(ask.hold);
    live_expect(p.client, dibs_request_cancel(ask.request), DIBS_ERR_STALE);
    live_expect_free(other, "given up", LIVE_LONG_MS);
    canceller = dibs_canceller_free(canceller);
  }
  p.client = dibs_close(p.client);
  proxy = test_proxy_stop(proxy);
}

struct blocking {
  dibs_client *client;
  const dibs_lock_options *options;
  dibs_status status;
  dibs_hold *hold;
};

static void *lead_blocking(void *data)
{
  struct blocking *b = data;

  b->status = dibs_acquire(b->client, DIBS_LEAD("given up", "unheard"), b->options, &b->hold);
  return NULL;
}

TEST(a_blocking_campaign_is_cancelled_while_it_publishes)
{
  live_needs_one_server();
  struct test_proxy *proxy = test_proxy_start(live_server);
  struct publishing p = { .client = patient_client(proxy) };
  dibs_lock_options o = live_lock_options(60000, LIVE_LONG_MS);
  struct blocking b = { .client = p.client, .options = &o };
  pthread_t thread;

  live_expect_ok(dibs_canceller_new(&o.cancel));
  test_proxy_chance(proxy, &unheard);
  assert_int_equal(pthread_create(&thread, NULL, lead_blocking, &b), 0);
  assert_true(live_until(LIVE_LONG_MS, is_granted, &p));
  dibs_cancel(o.cancel);
  test_proxy_chance(proxy, NULL);
  test_proxy_cut(proxy);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(b.status, DIBS_CANCELLED);
  assert_null(b.hold);
  live_expect_free(other, "given up", LIVE_LONG_MS);
  o.cancel = dibs_canceller_free(o.cancel);
  p.client = dibs_close(p.client);
  proxy = test_proxy_stop(proxy);
}

static dibs_status lead_in_vain(dibs_client *c, bool is_async, const dibs_lock_options *o)
{
  dibs_hold *none = NULL;
  struct live_ask ask;
  dibs_status status;

  if (!is_async) {
    status = dibs_acquire(c, DIBS_LEAD("cut off", "unheard"), o, &none);
  } else {
    stand(&ask, c, "cut off", "unheard", o);
    assert_true(live_ask_wait(&ask, LIVE_LONG_MS));
    status = ask.status;
    none = ask.hold;
  }
  assert_null(none);
  return status;
}

/* What the program does not get is reported by the result alone. The connection is silent from the
 * publication on. */
TEST(a_hold_that_is_lost_before_its_publication_is_the_result_of_the_call)
{
  live_needs_one_server();

  for (int is_async = 0; is_async < 2; is_async++) {
    struct test_proxy *proxy = test_proxy_start(live_server);
    dibs_client *far = live_open(test_proxy_url(proxy));
    dibs_lock_options o = live_lock_options(300, LIVE_LONG_MS);
    struct live_loss loss = { 0 };

    live_report_loss(&o, &loss);
    live_expect(far, dibs_ping(far, 0, NULL), DIBS_OK);
    test_proxy_chance(proxy, &unheard);
    live_expect(far, lead_in_vain(far, is_async != 0, &o), DIBS_LOST);
    test_proxy_chance(proxy, NULL);
    far = dibs_close(far);                 /* runs what is left of callbacks */
    assert_int_equal(atomic_load(&loss.count), 0);
    proxy = test_proxy_stop(proxy);
    live_expect_free(other, "cut off", LIVE_LONG_MS);
  }
}

/* ---- observers by descriptor, without a thread, freed in strange moments ---- */

static dibs_leader *next_of(dibs_observer *observer)
{
  struct pollfd ready = { .fd = dibs_observer_fd(observer), .events = POLLIN };
  dibs_leader *leader = NULL;

  assert_int_equal(poll(&ready, 1, LIVE_LONG_MS), 1);
  assert_int_equal(dibs_observer_next(observer, &leader), DIBS_OK);
  assert_int_equal(poll(&ready, 1, 0), 0);
  return leader;
}

TEST(changes_are_taken_by_a_descriptor)
{
  dibs_observer *observer = NULL;
  dibs_leader *leader;
  dibs_hold *hold;

  live_expect(watcher, dibs_observe(watcher, "fd", NULL, NULL, NULL, &observer), DIBS_OK);
  leader = next_of(observer);
  assert_false(leader->is_led);
  leader = dibs_leader_free(leader);
  assert_int_equal(dibs_observer_next(observer, &leader), DIBS_BUSY);
  hold = lead(client, "fd", "here");
  while ((leader = next_of(observer))->value_size == 0)
    leader = dibs_leader_free(leader);            /* elected, and about to tell */
  assert_string_equal(leader->value, "here");
  leader = dibs_leader_free(leader);
  live_expect(client, dibs_release(hold), DIBS_OK);
  leader = dibs_leader_free(next_of(observer));
  observer = dibs_observer_free(observer);
}

static bool is_not_readable(void *observer)
{
  struct pollfd ready = { .fd = dibs_observer_fd(observer), .events = POLLIN };

  return poll(&ready, 1, 0) == 0;
}

TEST(a_change_that_is_taken_back_leaves_the_descriptor_unreadable)
{
  dibs_hold *hold = lead(client, "back", "one");
  dibs_observer *observer = NULL;
  struct pollfd ready = { .events = POLLIN };
  dibs_leader *leader;

  live_expect(watcher, dibs_observe(watcher, "back", NULL, NULL, NULL, &observer), DIBS_OK);
  ready.fd = dibs_observer_fd(observer);
  leader = dibs_leader_free(next_of(observer));
  live_expect(client, dibs_publish(hold, "two"), DIBS_OK);
  assert_int_equal(poll(&ready, 1, LIVE_LONG_MS), 1);
  live_expect(client, dibs_publish(hold, "one"), DIBS_OK);
  assert_true(live_until(LIVE_LONG_MS, is_not_readable, observer));
  assert_int_equal(dibs_observer_next(observer, &leader), DIBS_BUSY);
  live_expect(client, dibs_publish(hold, "three"), DIBS_OK);
  leader = next_of(observer);
  assert_string_equal(leader->value, "three");
  leader = dibs_leader_free(leader);
  live_expect(client, dibs_release(hold), DIBS_OK);
  observer = dibs_observer_free(observer);
}

TEST(an_observer_works_without_a_thread)
{
  dibs_options options = live_options();
  struct pollfd ready = { .events = POLLIN };
  dibs_client *bare;
  dibs_observer *observer;
  struct seen seen;
  struct wanted here = { &seen, "here" };
  dibs_hold *hold = lead(client, "bare", "here");

  options.flags |= DIBS_CLIENT_NO_THREAD;
  bare = live_open_with(live_url(), &options);
  observer = observe(bare, "bare", &seen);
  ready.fd = dibs_fd(bare);
  while (!is_last(&here)) {
    int64_t left = live_process(bare);
    (void)poll(&ready, 1, left < 0 || left > 100 ? 100 : (int)left);
  }
  observer = dibs_observer_free(observer);
  live_expect(client, dibs_release(hold), DIBS_OK);
  hold = lead(bare, "bare", "bare");
  expect_leader(other, "bare", "bare", dibs_hold_fence(hold));
  live_expect(bare, dibs_release(hold), DIBS_OK);
  bare = dibs_close(bare);
}

static dibs_observer *_Atomic self;
static _Atomic int self_calls;

static void free_self(const dibs_error *error, const dibs_leader *leader, void *data)
{
  (void)error;
  (void)leader;
  (void)data;
  while (atomic_load(&self) == NULL)
    (void)poll(NULL, 0, 1);
  (void)dibs_observer_free(atomic_load(&self));
  (void)atomic_fetch_add(&self_calls, 1);
}

static bool is_freed(void *data)
{
  dibs_leader *none = NULL;

  return atomic_load(&self_calls) > 0 && dibs_observer_next(data, &none) == DIBS_ERR_STALE;
}

TEST(an_observer_may_be_freed_in_its_callback_and_twice)
{
  dibs_observer *observer = NULL;

  live_expect(watcher, dibs_observe(watcher, "self", free_self, NULL, NULL, &observer), DIBS_OK);
  atomic_store(&self, observer);
  assert_true(live_until(LIVE_LONG_MS, is_freed, observer));
  assert_int_equal(atomic_load(&self_calls), 1);
  assert_null(dibs_observer_free(observer));
  assert_int_equal(dibs_observer_fd(observer), -1);
}

TEST(a_client_may_be_closed_with_observers_left)
{
  dibs_client *closing = live_open(live_url());
  struct seen seen, unseen;
  dibs_observer *observer = observe(closing, "left", &seen);
  dibs_observer *second = observe(closing, "left", &unseen);

  expect_told(&seen, NULL);
  assert_int_not_equal(dibs_observer_fd(second), -1);
  closing = dibs_close(closing);
  assert_null(dibs_observer_free(observer));
  assert_null(dibs_observer_free(second));
}

TEST(a_forked_child_neither_leads_nor_observes)
{
  struct seen seen;
  dibs_observer *observer = observe(watcher, "fork", &seen);
  dibs_hold *hold = lead(client, "fork", "parent");
  int status = -1;
  pid_t pid;

  expect_told(&seen, "parent");
  pid = fork();
  if (pid == 0) {
    dibs_leader *none = NULL;
    dibs_hold *got = NULL;
    bool is_right = dibs_publish(hold, "child") == DIBS_ERR_FORKED &&
                    dibs_release(hold) == DIBS_ERR_FORKED &&
                    dibs_acquire(client, DIBS_LEAD("fork", "child"), NULL,
                                 &got) == DIBS_ERR_FORKED &&
                    dibs_observer_next(observer, &none) == DIBS_ERR_FORKED &&
                    dibs_observer_free(observer) == NULL &&
                    dibs_close(watcher) == NULL && dibs_close(client) == NULL;
    _exit(is_right ? 0 : 1);
  }
  assert_int_equal(promise_waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
  expect_leader(other, "fork", "parent", dibs_hold_fence(hold));
  live_expect(client, dibs_release(hold), DIBS_OK);
  expect_told(&seen, NULL);
  observer = dibs_observer_free(observer);
}

RUN_TESTS(setup, teardown)
