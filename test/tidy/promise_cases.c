/* SPDX-License-Identifier: MIT */
/* test/tidy/promise_cases.c - a test program that sees a broken promise, or none, in one of the
 * places from where test/lib/promise.h must hear of it. For promise_test.py.
 *
 *   promise_cases kept | main | cmocka | thread | child | unwaited | grandchild | exec */
#include "tests.h"
#include "promise.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *self;

static void *see(void *data)
{
  PROMISE_GROWN(1, 1);
  return data;
}

TEST(see_in_test)
{
  (void)see(state);
}

TEST(pass)
{
}

static void clean_up(void)
{
  (void)printf("# cleaned up\n");
  (void)fflush(stdout);
}

static pid_t fork_and_see(const char *how)
{
  pid_t child;

  (void)fflush(NULL);
  child = fork();
  if (child != 0)
    return child;
  if (strcmp(how, "grandchild") == 0)
    (void)waitpid(fork_and_see("child"), NULL, 0);
  else if (strcmp(how, "exec") == 0)
    (void)execl(self, self, "main", (char *)NULL);
  else
    (void)see(NULL);
  _exit(0);
}

/* Those of `unwaited` and `grandchild` are not asked how they ended. */
static void leave_to_children(const char *how)
{
  pid_t child = fork_and_see(how);
  int status = 0;

  if (strcmp(how, "unwaited") == 0 || strcmp(how, "grandchild") == 0)
    (void)waitpid(child, NULL, 0);
  else
    (void)promise_waitpid(child, &status, 0);
}

int main(int argc, char **argv)
{
  const char *how = argc > 1 ? argv[1] : "";
  pthread_t thread;

  self = argv[0];
  promise_clean_up_by(clean_up);
  if (strcmp(how, "cmocka") == 0)
    return tests_run(NULL, NULL, NULL, NULL);
  (void)printf("1..1\n");
  if (strcmp(how, "kept") == 0)
    PROMISE_GROWN(2, 1);
  else if (strcmp(how, "main") == 0)
    (void)see(NULL);
  else if (strcmp(how, "thread") != 0)
    leave_to_children(how);
  else if (pthread_create(&thread, NULL, see, NULL) == 0)
    (void)pthread_join(thread, NULL);
  (void)printf("ok 1 - the program goes on\n");
  return 0;
}
