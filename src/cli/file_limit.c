/* SPDX-License-Identifier: MIT */
/* cli/file_limit.c - a limit of the file size is an error of write(), not the end. */
#include "cli/file_limit.h"

#include <signal.h>

static struct sigaction before;

void file_limit_outlive(void)
{
  const struct sigaction ignored = { .sa_handler = SIG_IGN };

  (void)sigaction(SIGXFSZ, &ignored, &before);
}

void file_limit_restore(void)
{
  (void)sigaction(SIGXFSZ, &before, NULL);
}
