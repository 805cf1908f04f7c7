/* SPDX-License-Identifier: MIT */
/* test/live/fork_unmarked_test.c - a child of fork() where the kernel refuses MADV_WIPEONFORK, and
 * where it takes the advice and does not follow it, as qemu-user: it is a child all the same. */
#include "tests.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live.h"

static int answer;                       /* to the advice */
static int asked;

/* In place of libc's, also for the library. */
int madvise(void *at, size_t size, int advice)
{
  if (advice != MADV_WIPEONFORK)
    return (int)syscall(SYS_madvise, at, size, advice);
  asked++;
  errno = EINVAL;
  return answer;
}

/* Of a child of the program below. */
static int look_in_a_child(dibs_client *client, dibs_hold *hold)
{
  pid_t child = fork();
  int status = 0;

  if (child == 0) {
    dibs_hold *another = NULL;

    _exit((dibs_hold_state(hold) != DIBS_HOLD_GONE ? 1 : 0) |
          (dibs_release(hold) != DIBS_ERR_FORKED ? 2 : 0) |
          (dibs_lock(client, "b", NULL, &another) != DIBS_ERR_FORKED ? 4 : 0));
  }
  if (child < 0 || promise_waitpid(child, &status, 0) != child || !WIFEXITED(status))
    return 8;
  return WEXITSTATUS(status);
}

/* The epoch is made once in a process, so each answer has a program of its own. */
static int run(const char *url)
{
  dibs_client *client = NULL;
  dibs_hold *hold = NULL;
  int wrong;

  if (dibs_open(url, NULL, &client, NULL) != DIBS_OK ||
      dibs_lock(client, "a", NULL, &hold) != DIBS_OK)
    return 16;
  wrong = look_in_a_child(client, hold) | (asked == 0 ? 32 : 0);
  if (dibs_release(hold) != DIBS_OK)
    wrong |= 64;
  dibs_close(client);
  return wrong;
}

static void expect_a_child(int says)
{
  const char *url = live_url();
  pid_t program;
  int status;

  (void)fflush(NULL);
  program = fork();
  if (program == 0) {
    answer = says;
    _exit(run(url));
  }
  assert_int_equal(promise_waitpid(program, &status, 0), program);
  assert_int_equal(status, 0);
}

TEST(an_advice_that_is_taken_and_not_followed)
{
  expect_a_child(0);
}

TEST(an_advice_that_is_refused)
{
  expect_a_child(-1);
}

int main(void)
{
  if (live_is_lost_to_tsan())
    return 0;

  return tests_run(live_server_setup, live_server_teardown, NULL, NULL);
}
