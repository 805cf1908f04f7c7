/* SPDX-License-Identifier: MIT */
/* test/live/data_take_test.c - taking from lists that are empty still: each way in which it
 * can end, and that no element is ever taken by nobody, or by two. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/wait.h>
#include <unistd.h>

#include "deployment.h"
#include "one_client.h"

#define NAME "jobs"

#define run(...) test_server_command(live_server, __VA_ARGS__)

static dibs_wait_options waiting(int wait_ms, dibs_canceller *cancel)
{
  dibs_wait_options o = DIBS_WAIT_OPTIONS_INIT;

  o.wait_ms = wait_ms == 0 ? DIBS_FOREVER : wait_ms;
  o.cancel = cancel;
  return o;
}

static void clear(void)
{
  live_expect(client, dibs_data_delete(client, NAME, NULL), DIBS_OK);
}

/* ---- a take in another thread ---- */

struct taking {
  dibs_client *client;
  dibs_canceller *cancel;
  int wait_ms;
  pthread_t thread;
  _Atomic bool is_over;
  dibs_status status;
  dibs_value *element;
};

static void *take(void *data)
{
  struct taking *t = data;
  dibs_wait_options o = waiting(t->wait_ms, t->cancel);

  t->status = dibs_list_take(t->client, NAME, &o, &t->element);
  atomic_store(&t->is_over, true);
  return NULL;
}

static void take_begin(struct taking *t)
{
  assert_int_equal(pthread_create(&t->thread, NULL, take, t), 0);
}

static void take_end(struct taking *t, dibs_status status)
{
  assert_int_equal(pthread_join(t->thread, NULL), 0);
  live_expect(t->client, t->status, status);
}

/* It has found the list empty, and looks again: so it surely waits. */
static bool has_looked(void *looks)
{
  const char *line = strstr(run("INFO commandstats"), "cmdstat_llen:calls=");

  return line != NULL &&
         strtol(line + strlen("cmdstat_llen:calls="), NULL, 10) >= *(const long *)looks;
}

static void expect_looks(long looks)
{
  assert_true(live_until(LIVE_LONG_MS, has_looked, &looks));
}

static void forget_looks(void)
{
  (void)run("CONFIG RESETSTAT");
}

/* ---- how it ends ---- */

TEST(what_is_there_is_taken_at_once_and_in_order)
{
  dibs_wait_options o = waiting(1000, NULL);
  dibs_value *got = NULL;

  (void)run("RPUSH " NAME " a b");
  live_expect(client, dibs_list_take(client, NAME, NULL, &got), DIBS_OK);
  assert_string_equal(got->bytes, "a");
  got = dibs_value_free(got);
  live_expect(client, dibs_list_take(client, NAME, &o, &got), DIBS_OK);
  assert_string_equal(got->bytes, "b");
  got = dibs_value_free(got);
  assert_int_equal(test_server_integer(live_server, "EXISTS " NAME), 0);
}

/* The adder is another process, started before this one has threads. */
TEST(another_process_wakes_it)
{
  live_needs_one_server();
  struct taking t = { .wait_ms = LIVE_LONG_MS };
  int go[2], status;
  pid_t adder;

  assert_int_equal(pipe(go), 0);
  adder = fork();
  if (adder == 0) {
    dibs_client *mine = NULL;
    char byte;
    bool is_fine;

    (void)close(go[1]);
    is_fine = read(go[0], &byte, 1) == 1 && dibs_open(live_url(), NULL, &mine, NULL) == DIBS_OK &&
              dibs_list_add(mine, NAME, dibs_text("work"), NULL) == DIBS_OK;
    _exit(is_fine ? 0 : 1);
  }
  forget_looks();
  t.client = client;
  take_begin(&t);
  expect_looks(4);
  assert_false(atomic_load(&t.is_over));
  assert_int_equal(write(go[1], "g", 1), 1);
  take_end(&t, DIBS_OK);
  assert_string_equal(t.element->bytes, "work");
  t.element = dibs_value_free(t.element);
  assert_int_equal(promise_waitpid(adder, &status, 0), adder);
  assert_int_equal(status, 0);
  (void)close(go[0]);
  (void)close(go[1]);
}

TEST(a_canceller_ends_it_and_nothing_is_taken)
{
  live_needs_one_view();
  struct taking t = { .client = client };
  dibs_wait_options o;
  dibs_value *got = NULL;

  assert_int_equal(dibs_canceller_new(&t.cancel), DIBS_OK);
  forget_looks();
  take_begin(&t);
  expect_looks(3);
  dibs_cancel(t.cancel);
  take_end(&t, DIBS_CANCELLED);
  assert_null(t.element);
  (void)run("RPUSH " NAME " a");
  o = waiting(1000, t.cancel);             /* fired before: it does not even look */
  live_expect(client, dibs_list_take(client, NAME, &o, &got), DIBS_CANCELLED);
  assert_string_equal(run("LRANGE " NAME " 0 -1"), "[a]");
  t.cancel = dibs_canceller_free(t.cancel);
  clear();
}

TEST(who_waits_long_asks_seldom)
{
  live_needs_one_view();
  struct taking t = { .client = client, .wait_ms = 3000 };
  const char *line;
  long looks;

  forget_looks();
  take_begin(&t);
  take_end(&t, DIBS_TIMED_OUT);
  line = strstr(run("INFO commandstats"), "cmdstat_llen:calls=");
  assert_non_null(line);
  looks = strtol(line + strlen("cmdstat_llen:calls="), NULL, 10);
  assert_in_range(looks, 10, 40);          /* every 125 to 250 ms, and some sooner */
}

TEST(a_key_of_another_kind_is_told_also_meanwhile)
{
  live_needs_one_view();
  struct taking t = { .client = client };
  dibs_value *got = NULL;

  forget_looks();
  take_begin(&t);
  expect_looks(2);
  (void)run("SET " NAME " word");
  take_end(&t, DIBS_ERR_WRONG_TYPE);
  live_expect(client, dibs_list_take(client, NAME, NULL, &got), DIBS_ERR_WRONG_TYPE);
  clear();
}

TEST(what_cannot_be_is_refused)
{
  dibs_wait_options o = waiting(-1, NULL);
  dibs_value *got = NULL;

  live_expect(client, dibs_list_take(client, "", NULL, &got), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_list_take(client, NAME, &o, &got), DIBS_ERR_ARGUMENT);
  live_expect_words(client, "wait_ms");
  live_expect(client, dibs_list_take(client, NAME, NULL, NULL), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_list_take(NULL, NAME, NULL, &got), DIBS_ERR_ARGUMENT);
}

/* ---- with faults ---- */

TEST(a_cut_connection_while_it_waits_is_made_again)
{
  live_needs_one_server();
  struct test_proxy *proxy = test_proxy_start(live_server);
  struct taking t = { .client = live_open(test_proxy_url(proxy)) };

  forget_looks();
  take_begin(&t);
  expect_looks(3);
  forget_looks();
  test_proxy_cut(proxy);
  expect_looks(3);
  assert_false(atomic_load(&t.is_over));
  (void)run("RPUSH " NAME " a b");
  take_end(&t, DIBS_OK);
  assert_string_equal(t.element->bytes, "a");
  t.element = dibs_value_free(t.element);
  assert_string_equal(run("LRANGE " NAME " 0 -1"), "[b]");
  assert_null(dibs_close(t.client));
  proxy = test_proxy_stop(proxy);
  clear();
}

TEST(a_lost_element_is_told_as_unknown_and_no_other_is_taken)
{
  live_needs_one_server();
  struct test_proxy *proxy = test_proxy_start(live_server);
  dibs_client *mine = live_open(test_proxy_url(proxy));
  dibs_value *got = NULL;
  uint64_t size = 0;

  (void)run("RPUSH " NAME " a b c");
  live_expect(mine, dibs_list_take(mine, NAME, NULL, &got), DIBS_OK);   /* it is connected */
  got = dibs_value_free(got);
  test_proxy_lose_reply_to(proxy, "EVALSHA");
  live_expect(mine, dibs_list_take(mine, NAME, NULL, &got), DIBS_UNKNOWN);
  assert_null(got);
  assert_string_equal(run("LRANGE " NAME " 0 -1"), "[c]");
  test_proxy_lose_reply_to(proxy, "RPUSH");
  live_expect(mine, dibs_list_add(mine, NAME, dibs_text("d"), &size), DIBS_UNKNOWN);
  assert_string_equal(run("LRANGE " NAME " 0 -1"), "[c, d]");
  assert_null(dibs_close(mine));
  proxy = test_proxy_stop(proxy);
  clear();
}

TEST(without_a_server_it_is_unreachable)
{
  live_needs_one_server();
  client_is_impatient();
  struct taking t = { .client = client }, other = { .client = client };
  dibs_wait_options o = waiting(100, NULL);
  dibs_value *got = NULL;
  int64_t before;

  forget_looks();
  take_begin(&t);
  expect_looks(2);
  before = live_now_ms();
  test_server_kill9(live_server);
  take_end(&t, DIBS_ERR_UNREACHABLE);
  assert_in_range(live_now_ms() - before, 900, 2500);      /* connect_timeout_ms is 1 s */
  before = live_now_ms();
  live_expect(client, dibs_list_take(client, NAME, &o, &got), DIBS_ERR_UNREACHABLE);
  assert_in_range(live_now_ms() - before, 100, 600);
  assert_int_equal(dibs_canceller_new(&other.cancel), DIBS_OK);
  before = live_now_ms();
  take_begin(&other);
  dibs_cancel(other.cancel);
  take_end(&other, DIBS_CANCELLED);
  assert_in_range(live_now_ms() - before, 0, 600);
  other.cancel = dibs_canceller_free(other.cancel);
  test_server_restart(live_server, false);
}

/* The observation has no channel: nothing but itself makes the client search. */
TEST(a_take_finds_the_new_primary)
{
  static const struct test_set_options two = { .replicas = 1 };
  struct test_set *set = test_set_start(&two);
  dibs_options o = live_options();
  struct taking t = { .wait_ms = LIVE_LONG_MS };
  int64_t before;

  o.connect_timeout_ms = LIVE_LONG_MS;
  t.client = live_open_with(test_set_url(set), &o);
  live_expect(t.client, dibs_ping(t.client, 0, NULL), DIBS_OK);
  take_begin(&t);
  before = live_now_ms();
  while (test_server_integer(test_set_member(set, 0), "EVAL %s 0", "return "
                             "tonumber(redis.call('INFO', 'commandstats')"
                             ":match('cmdstat_llen:calls=(%d+)') or 0)") < 3)
    assert_true(live_now_ms() - before < LIVE_LONG_MS);
  test_server_kill9(test_set_member(set, 0));
  test_promote(test_set_member(set, 1));
  (void)test_server_command(test_set_member(set, 1), "RPUSH " NAME " a");
  take_end(&t, DIBS_OK);
  assert_string_equal(t.element->bytes, "a");
  t.element = dibs_value_free(t.element);
  assert_null(dibs_close(t.client));
  set = test_set_stop(set);
}

/* ---- many of them ---- */

enum { TAKERS = 6, ELEMENTS = 600 };

struct crowd {
  _Atomic int taken[ELEMENTS];
};

struct member {
  struct crowd *crowd;
  dibs_client *client;
  pthread_t thread;
};

static void *take_until_the_end(void *data)
{
  struct member *m = data;

  for (;;) {
    dibs_value *got = NULL;
    dibs_status status = dibs_list_take(m->client, NAME, NULL, &got);
    long number;

    if (status != DIBS_OK) {
      live_fault("%s", dibs_status_name(status));
      return NULL;
    }
    number = strtol(got->bytes, NULL, 10);
    got = dibs_value_free(got);
    if (number < 0)
      return NULL;
    promise_kept(atomic_fetch_add(&m->crowd->taken[number], 1) == 0, "%ld is taken twice",
                 number);
  }
}

TEST(each_element_is_taken_by_one)
{
  static struct crowd crowd;
  struct member members[TAKERS];

  for (int i = 0; i < TAKERS; i++) {
    members[i] = (struct member){ .crowd = &crowd, .client = live_open(live_url()) };
    assert_int_equal(pthread_create(&members[i].thread, NULL, take_until_the_end, &members[i]),
                     0);
  }
  for (int i = 0; i < ELEMENTS + TAKERS; i++) {
    char words[16];

    (void)snprintf(words, sizeof(words), "%d", i < ELEMENTS ? i : -1);
    live_expect(client, dibs_list_add(client, NAME, dibs_text(words), NULL), DIBS_OK);
  }
  for (int i = 0; i < TAKERS; i++) {
    assert_int_equal(pthread_join(members[i].thread, NULL), 0);
    assert_null(dibs_close(members[i].client));
  }
  assert_int_equal(live_faults(), 0);
  for (int i = 0; i < ELEMENTS; i++)
    promise_kept(atomic_load(&crowd.taken[i]) == 1, "%d is lost", i);
}

RUN_TESTS(setup, teardown)
