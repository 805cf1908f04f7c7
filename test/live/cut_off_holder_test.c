/* SPDX-License-Identifier: MIT */
/* test/live/cut_off_holder_test.c - a holder that is cut off hears of its loss once, and
 * before the server may give the lock away (S7); also over half-open TCP. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "live.h"
#include "proxy.h"

enum { HOLDS = 9, TTL_MS = 1000 };

struct held {
  char name[32];
  dibs_hold *hold;
  struct live_loss loss;
  int fd;
  int64_t ends_at_us;      /* on the server, and last looked at when it was still reached */
};

static struct test_proxy *proxy;
static struct held all[HOLDS];

static int setup(void **state)
{
  (void)live_server_setup(state);
  proxy = test_proxy_start(live_server);
  return 0;
}

static int teardown(void **state)
{
  proxy = test_proxy_stop(proxy);
  return live_server_teardown(state);
}

static void take_all(dibs_client *client, const char *stem)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);

  memset(all, 0, sizeof(all));
  for (int i = 0; i < HOLDS; i++) {
    (void)snprintf(all[i].name, sizeof(all[i].name), "%s:%d", stem, i);
    live_report_loss(&o, &all[i].loss);
    all[i].hold = live_lock_with(client, all[i].name, &o);
    all[i].fd = dibs_hold_fd(all[i].hold);
    assert_true(all[i].fd >= 0);
  }
}

static bool is_readable(int fd)
{
  struct pollfd look = { .fd = fd, .events = POLLIN };

  return poll(&look, 1, 0) == 1;
}

/* Looks at every hold until all are told lost; nobody may believe too long. */
static void watch_until_lost(void)
{
  int64_t end = live_now_ms() + LIVE_LONG_MS;
  int lost = 0;

  while (lost < HOLDS && live_now_ms() < end) {
    lost = 0;
    for (int i = 0; i < HOLDS; i++) {
      int64_t looked_at_us = live_wall_us();

      promise_kept(dibs_hold_state(all[i].hold) == DIBS_HOLD_GONE ||
                   looked_at_us <= all[i].ends_at_us,
                   "%s is believed %lld us after its end", all[i].name,
                   (long long)(looked_at_us - all[i].ends_at_us));
      lost += live_loss_wait(&all[i].loss, 0);
    }
    (void)poll(NULL, 0, 1);
  }
  assert_int_equal(lost, HOLDS);
}

static void expect_told_in_time(void)
{
  int64_t late_us[HOLDS];

  for (int i = 0; i < HOLDS; i++) {
    struct pollfd rings = { .fd = all[i].fd, .events = POLLIN };

    late_us[i] = atomic_load(&all[i].loss.at_us) - all[i].ends_at_us;
    assert_int_equal(poll(&rings, 1, LIVE_LONG_MS), 1);
    assert_int_equal(dibs_hold_state(all[i].hold), DIBS_HOLD_GONE);
    assert_int_equal(dibs_hold_valid_ms(all[i].hold), 0);
    assert_int_equal(atomic_load(&all[i].loss.count), 1);
  }
  assert_true(live_max(late_us, HOLDS) < 500000);
  assert_true(live_median(late_us, HOLDS) <= 0);
}

static void expect_told_once(void)
{
  for (int i = 0; i < HOLDS; i++) {
    dibs_status status = dibs_release(all[i].hold);

    assert_true(status == DIBS_LOST || status == DIBS_TAKEN);
    promise_kept(atomic_load(&all[i].loss.count) <= 1, "%s: told twice", all[i].name);
    assert_int_equal(atomic_load(&all[i].loss.count), 1);
  }
}

/* Called when the server can renew no more. */
static void expect_losses(void)
{
  for (int i = 0; i < HOLDS; i++) {
    all[i].ends_at_us = live_lease_end_us(live_server, all[i].name);
    assert_true(all[i].ends_at_us > 0);
    assert_false(is_readable(all[i].fd));
  }
  watch_until_lost();
  expect_told_in_time();
}

TEST(a_black_hole_is_told_lost_in_time)
{
  live_needs_one_server();
  dibs_client *client = live_open(live_url_by(proxy));

  take_all(client, "hole");
  test_proxy_black_hole(proxy, TEST_BOTH);
  expect_losses();
  test_proxy_pass(proxy, TEST_BOTH);
  expect_told_once();
  client = dibs_close(client);
}

TEST(a_black_hole_after_renewals_is_told_lost_in_time)
{
  live_needs_one_server();
  dibs_client *client = live_open(live_url_by(proxy));

  take_all(client, "renewed hole");
  while (live_stats(client).renewed < 3 * HOLDS)
    (void)poll(NULL, 0, 1);
  test_proxy_black_hole(proxy, TEST_TO_CLIENT);      /* renewed there, not known here */
  (void)test_proxy_wait_for_drops(proxy, TEST_TO_CLIENT, 1, LIVE_LONG_MS);
  test_proxy_black_hole(proxy, TEST_TO_SERVER);
  expect_losses();
  test_proxy_pass(proxy, TEST_BOTH);
  expect_told_once();
  client = dibs_close(client);
}

TEST(a_refusing_server_is_told_lost_in_time)
{
  live_needs_one_server();
  dibs_client *client = live_open(live_url_by(proxy));

  take_all(client, "refused");
  test_proxy_refuse(proxy, true);
  test_proxy_cut(proxy);
  expect_losses();
  test_proxy_refuse(proxy, false);
  expect_told_once();
  client = dibs_close(client);
}

/* The state alone, for a program that never asks for a callback or descriptor. */
TEST(a_holder_without_callback_sees_its_loss)
{
  live_needs_one_server();
  dibs_client *client = live_open(live_url_by(proxy));
  dibs_hold *hold = live_lock(client, "seen", 500);
  int64_t before = live_now_ms(), valid = dibs_hold_valid_ms(hold);

  assert_in_range(valid, 1, 500);
  test_proxy_black_hole(proxy, TEST_BOTH);
  while (dibs_hold_state(hold) != DIBS_HOLD_GONE && live_now_ms() < before + LIVE_LONG_MS)
    (void)poll(NULL, 0, 1);
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_GONE);
  assert_int_equal(dibs_hold_valid_ms(hold), 0);
  assert_true(is_readable(dibs_hold_fd(hold)));      /* made after the loss */
  test_proxy_pass(proxy, TEST_BOTH);
  assert_int_equal(dibs_release(hold), DIBS_LOST);
  client = dibs_close(client);
}

TEST(a_loss_is_no_loss_when_the_server_comes_back_in_time)
{
  live_needs_one_server();
  dibs_client *client = live_open(live_url_by(proxy));
  struct live_loss loss = { .count = 0 };
  dibs_lock_options o = live_lock_options(5000, LIVE_LONG_MS);
  dibs_hold *hold;
  uint64_t renewed;

  live_report_loss(&o, &loss);
  hold = live_lock_with(client, "back in time", &o);
  test_proxy_cut(proxy);
  renewed = live_stats(client).renewed;
  while (live_stats(client).renewed == renewed && dibs_hold_state(hold) != DIBS_HOLD_GONE)
    (void)poll(NULL, 0, 1);
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
  assert_int_equal(atomic_load(&loss.count), 0);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  client = dibs_close(client);
}

/* ---- TCP without an end ---- */

struct socket_options {
  int fd, no_delay, keep_alive;
  unsigned user_timeout;
};

/* The socket of this process that is connected to `port`. */
static bool find_socket(int port, struct socket_options *ret)
{
  for (int fd = 3; fd < 1024; fd++) {
    struct sockaddr_in peer;
    socklen_t size = sizeof(peer), int_size = sizeof(int);

    if (getpeername(fd, (struct sockaddr *)&peer, &size) != 0 ||
        peer.sin_family != AF_INET || ntohs(peer.sin_port) != port)
      continue;
    *ret = (struct socket_options){ .fd = fd };
    (void)getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &ret->no_delay, &int_size);
    (void)getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &ret->keep_alive, &int_size);
    (void)getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ret->user_timeout, &int_size);
    return true;
  }
  return false;
}

static bool connected_again(const struct test_proxy_counts *counts, void *data)
{
  return counts->connections > *(uint64_t *)data;
}

TEST(half_open_tcp_is_left_and_told_lost_in_time)
{
  live_needs_one_server();
  dibs_client *client = live_open(live_tcp_url_by(proxy));
  uint64_t connections;

  take_all(client, "tcp");
  connections = test_proxy_counts(proxy).connections;
  test_proxy_black_hole(proxy, TEST_BOTH);
  expect_losses();
  /* A renewal went out within ttl / 3; its answer is late one command timeout after. */
  assert_true(test_proxy_wait(proxy, TTL_MS / 3 + 500 + 500, connected_again, &connections));
  test_proxy_pass(proxy, TEST_BOTH);
  expect_told_once();
  client = dibs_close(client);
}

TEST(a_new_connection_has_all_socket_options_of_the_first)
{
  live_needs_one_server();
  dibs_client *client = live_open(live_tcp_url_by(proxy));
  struct socket_options first, second;
  uint64_t connections;

  assert_int_equal(live_try(client, "options"), DIBS_OK);
  assert_true(find_socket(test_proxy_port(proxy), &first));
  connections = test_proxy_counts(proxy).connections;
  test_proxy_cut(proxy);
  live_expect_free(client, "options", LIVE_LONG_MS);
  assert_true(test_proxy_wait(proxy, LIVE_LONG_MS, connected_again, &connections));
  assert_true(find_socket(test_proxy_port(proxy), &second));
  assert_int_equal(first.no_delay, 1);
  assert_int_equal(first.keep_alive, 1);
  assert_int_equal(second.no_delay, first.no_delay);
  assert_int_equal(second.keep_alive, first.keep_alive);
  assert_int_equal(second.user_timeout, first.user_timeout);
  client = dibs_close(client);
}

RUN_TESTS(setup, teardown)
