/* SPDX-License-Identifier: MIT */
/* test/live/process_state_test.c - what the tests of the private server believe of processes
 * that end: once gone, gone for every later look. */
#include "tests.h"

#include <stdint.h>

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process_state.h"
#include "promise.h"

#define REST " 1 7 7 0 -1 4194304 100 0 0 0 1 2 0 0 20 0 "

enum { ROUNDS = 200, MORE_LOOKS = 20 };

TEST(each_step_behind_the_end_is_gone)
{
  assert_false(process_line_says_gone("7 (server) S" REST "4 0 99"));
  assert_false(process_line_says_gone("7 (server) D" REST "1 0 99"));
  assert_false(process_line_says_gone("7 (ser) Z ver) S" REST "1 0 99"));
  assert_false(process_line_says_gone("7 (server) Z" REST "3 0 99"));   /* threads are ending */
  assert_true(process_line_says_gone("7 (server) Z" REST "1 0 99"));
  assert_true(process_line_says_gone("7 (server) X" REST "0 0 99"));    /* being reaped */
  assert_true(process_line_says_gone(""));                              /* reaped meanwhile */
}

TEST(a_parent_is_found_behind_any_name)
{
  assert_int_equal(process_field("7 (ser) ver 1 2) S 42 7 7 0", 4), 42);
  assert_int_equal(process_field("7 (server) S 42", 20), -1);
  assert_int_equal(parent_of(getpid()), getppid());
}

static void *kill_and_reap(void *pid)
{
  const pid_t *child = pid;

  (void)kill(*child, SIGKILL);
  (void)promise_waitpid(*child, NULL, 0);
  return NULL;
}

/* The looks fall on all steps of the end, the reaping among them. */
TEST(who_is_gone_stays_gone_while_it_is_reaped)
{
  for (int round = 0; round < ROUNDS; round++) {
    pthread_t thread;
    pid_t parent = getpid(), child = fork();

    if (child == 0) {
      if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent)
        (void)pause();
      _exit(1);
    }
    assert_false(is_gone(child));
    assert_int_equal(pthread_create(&thread, NULL, kill_and_reap, &child), 0);
    for (unsigned looks = 1; !is_gone(child); looks++)
      if (looks % 64 == 0)
        (void)sched_yield();
    for (int look = 0; look < MORE_LOOKS; look++)
      assert_true(is_gone(child));
    assert_int_equal(pthread_join(thread, NULL), 0);
  }
}

RUN_TESTS(NULL, NULL)
