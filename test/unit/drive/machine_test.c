/* SPDX-License-Identifier: MIT */
/* test/unit/drive/machine_test.c - a machine without the clock of leases. */
#include "tests.h"

#include "real_clock.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "drive/drive.h"

static int fault;                        /* of CLOCK_BOOTTIME; 0: none */

/* In place of libc's, also for the library. */
int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
  if (clock != CLOCK_BOOTTIME || fault == 0)
    return real_clock_gettime(clock, ret_time);
  errno = fault;
  return -1;
}

static dibs_status may_open(char *ret_words, size_t size)
{
  text why = text_over(ret_words, size);

  return drive_may_open(&why);
}

TEST(a_client_needs_the_clock_of_leases)
{
  char words[200] = "";

  fault = EPERM;                         /* by a seccomp filter */
  assert_int_equal(may_open(words, sizeof(words)), DIBS_ERR_SYSTEM);
  assert_non_null(strstr(words, "CLOCK_BOOTTIME"));
  assert_non_null(strstr(words, "Operation not permitted"));
  assert_non_null(strstr(words, "seccomp"));
}

TEST(where_it_is_read_a_client_may_be_opened)
{
  char words[200] = "";

  fault = 0;
  assert_int_equal(may_open(words, sizeof(words)), DIBS_OK);
  assert_string_equal(words, "");
}

RUN_TESTS(NULL, NULL)
