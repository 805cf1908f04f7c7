/* SPDX-License-Identifier: MIT */
/* local/notice.c - the only output of the library on standard error: a program that names
 * no server, and handles no events, uses the private one. */
#include "local/local.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

void local_notice(const char *message)
{
  static atomic_flag is_written = ATOMIC_FLAG_INIT;
  const struct iovec pieces[] = {
    { (void *)(uintptr_t)"dibs: ", 6 },
    { (void *)(uintptr_t)message, strlen(message) },
    { (void *)(uintptr_t)"\n", 1 },
  };

  if (!atomic_flag_test_and_set(&is_written))
    (void)!writev(STDERR_FILENO, pieces, 3);
}
