/* SPDX-License-Identifier: MIT */
/* test/live/fork_handlers_test.c - handlers of pthread_atfork() that the program has itself, with a
 * mutex under which its threads call the library: fork() returns, and they may call it, too. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static dibs_client *client;
static _Atomic bool is_over;
static dibs_status before = DIBS_ERR_SYSTEM, in_child = DIBS_ERR_SYSTEM;

static void prepare(void)
{
  dibs_hold *hold = NULL;

  (void)pthread_mutex_lock(&mutex);
  before = client == NULL ? DIBS_OK : dibs_lock(client, "before", NULL, &hold);
  if (hold != NULL)
    (void)dibs_release(hold);
}

static void go_on(void)
{
  (void)pthread_mutex_unlock(&mutex);
}

static void go_on_in_child(void)
{
  dibs_hold *hold = NULL;

  in_child = dibs_try_lock(client, "child", NULL, &hold);
#ifndef __SANITIZE_ADDRESS__
  /* The runtime of gcc's ASan before 14 may have a locked allocator in a child. */
  client = dibs_close(client);
#endif
  go_on();
}

static int setup(void **state)
{
  /* As a program does it, at its start. */
  if (pthread_atfork(prepare, go_on, go_on_in_child) != 0)
    return 1;
  (void)live_server_setup(state);
  client = live_open(live_url());
  return 0;
}

static int teardown(void **state)
{
  client = dibs_close(client);
  return live_server_teardown(state);
}

static void *lock_under_the_mutex(void *data)
{
  (void)data;
  while (!atomic_load(&is_over)) {
    dibs_hold *hold = NULL;

    (void)pthread_mutex_lock(&mutex);
    if (dibs_lock(client, "busy", NULL, &hold) != DIBS_OK || dibs_release(hold) != DIBS_OK)
      live_fault("the thread is disturbed");
    (void)pthread_mutex_unlock(&mutex);
    (void)poll(NULL, 0, 1);              /* the mutex is not fair */
  }
  return NULL;
}

TEST(fork_returns_while_a_thread_calls_under_a_mutex_of_the_handlers)
{
  pthread_t thread;
  int how;

  assert_int_equal(pthread_create(&thread, NULL, lock_under_the_mutex, NULL), 0);
  for (long run = live_times(100); run > 0; run--) {
    pid_t child = fork();

    if (child == 0)
      _exit(in_child == DIBS_ERR_FORKED ? 0 : 1);
    assert_int_equal(before, DIBS_OK);
    assert_int_equal(promise_waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
  }
  atomic_store(&is_over, true);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(live_faults(), 0);
}

int main(void)
{
  if (live_is_lost_to_tsan())
    return 0;

  (void)alarm(100);          /* a fork that does not return ends this program */
  return tests_run(setup, teardown, NULL, NULL);
}
