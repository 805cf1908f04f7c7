/* SPDX-License-Identifier: MIT */
/* test/live/low_descriptors_test.c - a program without stdin, stdout and stderr: the library uses
 * none of their numbers, and what the program puts there later does no harm. Closed descriptors,
 * and threads that the system refuses. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live.h"

enum { TTL_MS = 600 };

/* The child has no descriptor to complain to. */
#define CHECK(fact) \
  do { \
    if (!(fact)) \
      _exit(__LINE__ % 250 + 1); \
  } while (0)

static void check_that_they_are_free(void)
{
  for (int fd = 0; fd <= 2; fd++)
    CHECK(fcntl(fd, F_GETFD) == -1 && errno == EBADF);
}

static bool renewed_twice(void *client)
{
  dibs_client_info stats = DIBS_CLIENT_INFO_INIT;

  (void)dibs_process(client, NULL);      /* a client with threads refuses */
  return dibs_client_get_info(client, &stats) == DIBS_OK && stats.renewed >= 2;
}

/* Renewals and hand-overs need every descriptor of the client. */
static void use_as_a_daemon(const char *url, uint32_t flags)
{
  dibs_options o = live_options();
  dibs_lock_options lock = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_canceller *canceller = NULL;
  dibs_observer *observer = NULL;
  dibs_client *c = NULL;
  dibs_hold *hold = NULL, *more = NULL;
  int null;

  o.flags |= flags;
  o.connect_timeout_ms = o.command_timeout_ms = LIVE_LONG_MS;
  CHECK(dibs_canceller_new(&canceller) == DIBS_OK);
  lock.cancel = canceller;
  CHECK(dibs_open(url, &o, &c, NULL) == DIBS_OK);
  CHECK(dibs_lock(c, "low", &lock, &hold) == DIBS_OK);
  CHECK(dibs_hold_fd(hold) > 2);
  if (live_place() != LIVE_QUORUM) {
    CHECK(dibs_observe(c, "election", NULL, NULL, NULL, &observer) == DIBS_OK);
    CHECK(dibs_observer_fd(observer) > 2);
  }
  check_that_they_are_free();
  null = open("/dev/null", O_RDWR);
  CHECK(null == 0 && dup2(null, 1) == 1 && dup2(null, 2) == 2);
  CHECK(live_until(LIVE_LONG_MS, renewed_twice, c));
  CHECK(dibs_lock(c, "another", &lock, &more) == DIBS_OK);
  CHECK(dibs_release(more) == DIBS_OK);
  CHECK(dibs_release(hold) == DIBS_OK);
  observer = dibs_observer_free(observer);
  c = dibs_close(c);
  canceller = dibs_canceller_free(canceller);
  for (int fd = 0; fd <= 2; fd++)
    CHECK(close(fd) == 0);               /* the library did not close them */
}

static void use_a_sandbox(void)
{
  dibs_sandbox *sandbox = NULL;
  char url[512];
  dibs_status status = dibs_sandbox_start(&sandbox, url, sizeof(url), NULL);

  CHECK(status == DIBS_OK || status == DIBS_ERR_CONFIG);          /* built without */
  check_that_they_are_free();
  CHECK(status != DIBS_OK || fcntl(3, F_GETFD) >= 0);
  sandbox = dibs_sandbox_stop(sandbox);
}

static void run_without_stdio(void (*run)(void))
{
  int status = 0;
  pid_t child;

  (void)fflush(NULL);
  child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    for (int fd = 0; fd <= 2; fd++)
      (void)close(fd);
    run();
    _exit(0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  if (status != 0)
    fail_msg("status %x: 1 + the line, modulo 250, is %d", (unsigned)status,
             WEXITSTATUS(status));
}

static void with_threads(void)
{
  use_as_a_daemon(live_url(), 0);
  use_as_a_daemon(live_url(), DIBS_CLIENT_PROCESS_CALLBACKS);
}

static void without_threads(void)
{
  use_as_a_daemon(live_url(), DIBS_CLIENT_NO_THREAD);
}

TEST(a_daemon_may_open_0_1_and_2_after_its_client)
{
  run_without_stdio(with_threads);
  run_without_stdio(without_threads);
}

TEST(a_sandbox_leaves_0_1_and_2_free)
{
  run_without_stdio(use_a_sandbox);
}

/* ---- a program that closes all descriptors that it does not know ---- */

static _Atomic int losses;

static void lost(dibs_hold *hold, const dibs_loss *loss, void *data)
{
  (void)hold;
  (void)loss;
  (void)data;
  losses++;
}

static bool is_lost(void *client)
{
  (void)dibs_process(client, NULL);
  return losses == 1;
}

static void outlive_descriptors(const char *url, uint32_t flags)
{
  dibs_options o = live_options();
  dibs_lock_options lock = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_error error = DIBS_ERROR_INIT;
  dibs_client *c = NULL;
  dibs_hold *hold = NULL;
  dibs_status status;

  losses = 0;
  o.flags |= flags;
  o.connect_timeout_ms = o.command_timeout_ms = 200;
  o.close_timeout_ms = 200;
  lock.on_lost = lost;
  CHECK(dibs_open(url, &o, &c, NULL) == DIBS_OK);
  CHECK(dibs_lock(c, "closed", &lock, &hold) == DIBS_OK);
  CHECK(live_until(LIVE_LONG_MS, renewed_twice, c));
  for (int fd = 3; fd < 256; fd++)
    (void)syscall(SYS_close, fd);        /* close() is a race with dibs-io for ThreadSanitizer */
  CHECK(live_until(LIVE_LONG_MS, is_lost, c));
  CHECK(dibs_release(hold) == DIBS_LOST);
  lock.wait_ms = 200;
  status = dibs_lock(c, "then", &lock, &hold);
  CHECK(status == DIBS_ERR_UNREACHABLE || status == DIBS_UNKNOWN);
  CHECK(dibs_client_error(c, 0, &error) == DIBS_OK);
  CHECK(live_place() == LIVE_QUORUM ||
        strstr(error.text, "has closed descriptors of this client") != NULL);
  c = dibs_close(c);
}

static void outlive_with_threads(void)
{
  outlive_descriptors(live_url(), 0);
}

static void outlive_in_a_loop(void)
{
  outlive_descriptors(live_url(), DIBS_CLIENT_PROCESS_CALLBACKS);
}

static void outlive_without_threads(void)
{
  outlive_descriptors(live_url(), DIBS_CLIENT_NO_THREAD);
}

/* Calls end at their limits, a loss is told, and the client can be closed. */
TEST(a_client_outlives_its_descriptors)
{
  run_without_stdio(outlive_with_threads);
  run_without_stdio(outlive_in_a_loop);
  run_without_stdio(outlive_without_threads);
}

enum { NUMBERS = 256 };

static void close_all(bool ret_were_open[NUMBERS])
{
  for (int fd = 3; fd < NUMBERS; fd++) {
    ret_were_open[fd] = fcntl(fd, F_GETFD) >= 0;
    (void)syscall(SYS_close, fd);
  }
}

/* The first client does not notice before it sends something. */
static void open_another(const char *url, uint32_t flags)
{
  dibs_options o = live_options();
  dibs_lock_options lock = live_lock_options(LIVE_LONG_MS, LIVE_LONG_MS);
  dibs_client *c = NULL, *next = NULL;
  dibs_hold *hold = NULL, *own = NULL;
  bool were_open[NUMBERS] = { false };
  char name[32];

  (void)snprintf(name, sizeof(name), "before-%x", flags);      /* it stays taken for a ttl */
  o.flags |= flags;
  o.close_timeout_ms = 200;
  close_all(were_open);                /* of the test: what is open then is the client's */
  CHECK(dibs_open(url, &o, &c, NULL) == DIBS_OK);
  CHECK(dibs_lock(c, name, &lock, &hold) == DIBS_OK);
  CHECK(dibs_hold_fd(hold) > 2);
  close_all(were_open);
  CHECK(dibs_open(url, &o, &next, NULL) == DIBS_OK);
  CHECK(dibs_lock(next, "after", &lock, &own) == DIBS_OK);
  CHECK(dibs_hold_fd(own) > 2);
  for (int fd = 3; fd < NUMBERS; fd++)
    CHECK(!were_open[fd] || fcntl(fd, F_GETFD) == -1);
  CHECK(dibs_release(hold) == DIBS_UNKNOWN);
  c = dibs_close(c);
  CHECK(fcntl(dibs_hold_fd(own), F_GETFD) >= 0);
  CHECK(dibs_release(own) == DIBS_OK);
  next = dibs_close(next);
}

static void open_another_with_threads(void)
{
  open_another(live_url(), 0);
}

static void open_another_in_a_loop(void)
{
  open_another(live_url(), DIBS_CLIENT_PROCESS_CALLBACKS);
}

static void open_another_without_threads(void)
{
  open_another(live_url(), DIBS_CLIENT_NO_THREAD);
}

/* Otherwise both would send and read by one socket. For ThreadSanitizer a number that dibs-io
 * of the first client uses, and that the second one has for a moment, is one file with a
 * race. */
TEST(no_client_gets_a_number_of_one_before_it)
{
#ifndef __SANITIZE_THREAD__
  run_without_stdio(open_another_with_threads);
  run_without_stdio(open_another_in_a_loop);
#else
  (void)open_another_with_threads;
  (void)open_another_in_a_loop;
#endif
  run_without_stdio(open_another_without_threads);
}

/* Sockets that are refused, that end and are replaced, and all other descriptors of clients.
 * Returns the number of one that was made when there were some others. */
static int one_round(void)
{
  dibs_options o = live_options();
  dibs_lock_options lock = live_lock_options(LIVE_LONG_MS, LIVE_LONG_MS);
  dibs_canceller *canceller = NULL;
  dibs_observer *observer = NULL;
  dibs_client *c = NULL, *wrong = NULL;
  dibs_hold *hold = NULL;
  int fd;

  o.connect_timeout_ms = o.command_timeout_ms = LIVE_LONG_MS;
  live_expect_ok(dibs_canceller_new(&canceller));
  lock.cancel = canceller;
  live_expect_ok(dibs_open(live_url(), &o, &c, NULL));
  live_expect_ok(dibs_lock(c, "numbers", &lock, &hold));
  fd = dibs_hold_fd(hold);
  if (live_place() != LIVE_QUORUM) {
    live_expect_ok(dibs_observe(c, "election", NULL, NULL, NULL, &observer));
    assert_true(dibs_observer_fd(observer) > fd);
  }
  for (int i = 0; i < 3; i++) {
    live_tell_all("CLIENT KILL TYPE normal SKIPME yes");
    live_expect_ok(dibs_ping(c, LIVE_LONG_MS, NULL));
  }
  live_expect_ok(dibs_release(hold));
  o.connect_timeout_ms = 20;
  live_expect_ok(dibs_open("unix:///nowhere/of/dibs", &o, &wrong, NULL));
  assert_int_equal(dibs_ping(wrong, 50, NULL), DIBS_ERR_UNREACHABLE);
  wrong = dibs_close(wrong);
  observer = dibs_observer_free(observer);
  c = dibs_close(c);
  canceller = dibs_canceller_free(canceller);
  return fd;
}

/* One that is not given back is none for the rest of the process. Each round uses at least nine; a
 * thread of the round before may have one still. */
TEST(closed_clients_give_their_numbers_back)
{
  int first = one_round(), last = first;

  for (int i = 0; i < 10; i++)
    last = one_round();
  assert_in_range(last, 3, first + 5);
}

/* ---- a process that may start no thread ---- */

static void on_lock(const dibs_error *error, dibs_hold *hold, void *data)
{
  (void)error;
  (void)hold;
  (void)data;
}

static void check_advice(const char *text, const char *thread)
{
  CHECK(strstr(text, thread) != NULL && strstr(text, "ulimit -u") != NULL);
}

/* Root may always start threads; so this is a user without rights afterwards. */
static void start_no_thread(void)
{
  dibs_options o = live_options();
  dibs_lock_options lock = live_lock_options(TTL_MS, LIVE_LONG_MS);
  struct rlimit none = { 0, 0 };
  dibs_error error = DIBS_ERROR_INIT;
  dibs_client *c = NULL, *late = NULL;
  dibs_hold *hold = NULL;

  CHECK(dibs_open(live_url(), &o, &c, NULL) == DIBS_OK);
  CHECK(setrlimit(RLIMIT_NPROC, &none) == 0);
  CHECK(geteuid() != 0 || setuid(65534) == 0);
  lock.on_lost = lost;
  CHECK(dibs_lock(c, "threads", &lock, &hold) == DIBS_ERR_SYSTEM && hold == NULL);
  CHECK(dibs_client_error(c, 0, &error) == DIBS_OK);
  check_advice(error.text, "dibs-callback");
  CHECK(dibs_lock_async(c, "threads", NULL, on_lock, NULL, NULL) == DIBS_ERR_SYSTEM);
  CHECK(dibs_open(live_url(), &o, &late, &error) == DIBS_ERR_SYSTEM && late == NULL);
  check_advice(error.text, "dibs-io");
  o.flags |= DIBS_CLIENT_NO_THREAD;
  CHECK(dibs_open(live_url(), &o, &late, NULL) == DIBS_OK);
  late = dibs_close(late);
  c = dibs_close(c);
}

TEST(a_thread_that_is_refused_is_named)
{
  run_without_stdio(start_no_thread);
}

static void check_no_descriptor_for(dibs_client *c, const char *wants_it)
{
  dibs_error error = DIBS_ERROR_INIT;

  CHECK(dibs_client_error(c, 0, &error) == DIBS_OK && error.status == DIBS_ERR_SYSTEM);
  CHECK(strstr(error.text, "no descriptor left for ") != NULL);
  CHECK(strstr(error.text, wants_it) != NULL && strstr(error.text, "ulimit -n") != NULL);
}

static void get_no_descriptor(void)
{
  dibs_options o = live_options();
  dibs_lock_options lock = live_lock_options(TTL_MS, LIVE_LONG_MS);
  struct rlimit none = { 0, 0 };
  dibs_observer *observer = NULL;
  dibs_client *c = NULL;
  dibs_hold *hold = NULL;

  CHECK(dibs_open(live_url(), &o, &c, NULL) == DIBS_OK);
  if (live_place() != LIVE_QUORUM)
    CHECK(dibs_observe(c, "election", NULL, NULL, NULL, &observer) == DIBS_OK);
  CHECK(dibs_lock(c, "descriptors", &lock, &hold) == DIBS_OK);
  CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
  CHECK(dibs_hold_fd(hold) == -1);
  check_no_descriptor_for(c, "a hold");
  CHECK(dibs_release(hold) == DIBS_OK);
  if (observer != NULL) {
    CHECK(dibs_observer_fd(observer) == -1);
    check_no_descriptor_for(c, "an observer");
  }
  observer = dibs_observer_free(observer);
  c = dibs_close(c);
}

TEST(so_is_a_descriptor)
{
  run_without_stdio(get_no_descriptor);
}

RUN_TESTS(live_server_setup, live_server_teardown)
