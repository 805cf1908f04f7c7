/* SPDX-License-Identifier: MIT */
/* test/live/shared_packets_test.c - commands of calls that were woken together share packets, and
 * their threads sleep for replies only. Counted at the client's own socket and by the kernel,
 * so that no time is measured. Nor does a call get lost between the threads. */
#include "tests.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live.h"

enum { THREADS = 64, PAIRS = 100, FD_MAX = 256 };

static dibs_client *client;

static int setup(void **state)
{
  (void)live_server_setup(state);
  client = live_open(test_server_tcp_url(live_server));
  return 0;
}

static int teardown(void **state)
{
  client = dibs_close(client);
  return live_server_teardown(state);
}

/* Packets with data that all TCP sockets of this process have sent. */
static long packets_sent(void)
{
  long sum = 0;

  for (int fd = 0; fd < FD_MAX; fd++) {
    struct tcp_info info = { .tcpi_state = 0 };
    socklen_t size = sizeof(info);

    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0)
      sum += (long)info.tcpi_data_segs_out;
  }
  return sum;
}

static void *lock_and_release(void *data)
{
  char name[32];

  (void)snprintf(name, sizeof(name), "own-%d", (int)(intptr_t)data);
  for (int i = 0; i < PAIRS; i++) {
    dibs_hold *hold = NULL;
    dibs_status status = dibs_lock(client, name, NULL, &hold);

    if (status == DIBS_OK)
      status = dibs_release(hold);
    if (status != DIBS_OK)
      live_fault("%s was not locked and released: %s", name, dibs_status_name(status));
  }
  return NULL;
}

/* Each time a thread of this process slept: for a reply, or for a mutex. */
static long sleeps(void)
{
  struct rusage used;

  assert_int_equal(getrusage(RUSAGE_SELF, &used), 0);
  return used.ru_nvcsw;
}

static void all_threads(void *(*run)(void *))
{
  pthread_t threads[THREADS];

  for (intptr_t i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, run, (void *)i), 0);
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  assert_int_equal(live_faults(), 0);
}

/* A packet for each command gives 1, and mutexes that are waited for 3 sleeps a pair or more.
 * How many threads run at once depends on other work. */
TEST(the_commands_of_many_threads_share_packets)
{
  double shared = 0, slept = 100;

  for (int attempt = 0; attempt < 8 && (shared < 4 || slept > 2.3); attempt++) {
    long packets = packets_sent(), before = sleeps();

    all_threads(lock_and_release);
    shared = 2.0 * THREADS * PAIRS / (double)(packets_sent() - packets);
    slept = (double)(sleeps() - before) / (THREADS * PAIRS);
    print_message("# %.1f commands in a packet, %.2f sleeps a pair\n", shared, slept);
  }
  assert_true(shared >= 4);
  assert_true(slept <= 2.3);
}

/* ---- calls of all kinds at once ---- */

static atomic_bool is_over;

static void on_lock(const dibs_error *error, dibs_hold *hold, void *data)
{
  (void)data;
  if (error->status != DIBS_OK || dibs_release_async(hold, NULL, NULL) != DIBS_OK)
    live_fault("a callback got %s", dibs_status_name(error->status));
}

static void *other_calls(void *data)
{
  int kind = (int)(intptr_t)data;
  char name[32];

  (void)snprintf(name, sizeof(name), "other-%d", kind);
  while (!atomic_load(&is_over)) {
    dibs_client_info stats = DIBS_CLIENT_INFO_INIT;

    if (kind % 3 == 0 && dibs_client_get_info(client, &stats) != DIBS_OK)
      live_fault("no figures");
    if (kind % 3 == 1 && dibs_ping(client, LIVE_LONG_MS, NULL) != DIBS_OK)
      live_fault("no reply");
    if (kind % 3 == 2 && dibs_lock_async(client, name, NULL, on_lock, NULL, NULL) != DIBS_OK)
      live_fault("no request");
    (void)usleep(200);
  }
  return NULL;
}

static void *children(void *data)
{
  (void)data;
  while (!atomic_load(&is_over)) {
#ifdef __SANITIZE_THREAD__
    pid_t child = -1;                    /* TSan takes the parent's threads for the child's */
#else
    pid_t child = fork();
#endif

    if (child == 0)
      _exit(dibs_ping(client, 1, NULL) == DIBS_ERR_FORKED ? 0 : 1);
    if (child > 0) {
      int status = 0;

      if (promise_waitpid(child, &status, 0) != child || status != 0)
        live_fault("the child was not told");
    }
    (void)usleep(2000);
  }
  return NULL;
}

/* A call that no thread begins, or whose end no thread reports, sleeps for ever. */
TEST(no_call_is_lost_among_others_and_forks)
{
  pthread_t others[4];

  for (intptr_t i = 0; i < 4; i++)
    assert_int_equal(pthread_create(&others[i], NULL, i < 3 ? other_calls : children,
                                    (void *)i), 0);
  for (int i = 0; i < 3; i++)
    all_threads(lock_and_release);
  atomic_store(&is_over, true);
  for (int i = 0; i < 4; i++)
    assert_int_equal(pthread_join(others[i], NULL), 0);
  assert_int_equal(live_faults(), 0);
}

static dibs_client *closing;

static void *until_closed(void *data)
{
  dibs_status status = DIBS_OK;
  char name[32];

  (void)snprintf(name, sizeof(name), "closing-%d", (int)(intptr_t)data % 48);
  while (status == DIBS_OK) {
    dibs_hold *hold = NULL;

    status = dibs_lock(closing, name, NULL, &hold);
    if (status == DIBS_OK)
      status = dibs_release(hold);
  }
  if (status != DIBS_ERR_CLOSED && status != DIBS_ERR_STALE && status != DIBS_UNKNOWN)
    live_fault("%s: %s", name, dibs_status_name(status));
  return NULL;
}

TEST(a_close_ends_all_of_them)
{
  for (int i = 0; i < 5; i++) {
    pthread_t threads[THREADS];

    closing = live_open(test_server_tcp_url(live_server));
    for (intptr_t t = 0; t < THREADS; t++)
      assert_int_equal(pthread_create(&threads[t], NULL, until_closed, (void *)t), 0);
    while (live_stats(closing).granted < 1000)
      (void)usleep(1000);
    assert_null(dibs_close(closing));
    for (int t = 0; t < THREADS; t++)
      assert_int_equal(pthread_join(threads[t], NULL), 0);
  }
  assert_int_equal(live_faults(), 0);
}

int main(void)
{
  if (live_is_beyond(LIVE_ONE))
    return 0;

  return tests_run(setup, teardown, NULL, NULL);
}
