/* SPDX-License-Identifier: MIT */
/* cli/interrupt.c - a blocking call that a signal ends by its canceller. */
#include "cli/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>

#include "cli/cli.h"
#include "cli/signals.h"

static dibs_canceller *canceller;
static volatile sig_atomic_t seen;

static volatile sig_atomic_t is_by_terminal;

static void cancel(int number, siginfo_t *info, void *context)
{
  int error = errno;

  (void)context;
  seen = number;
  is_by_terminal = info->si_code == SI_KERNEL;
  dibs_cancel(canceller);
  errno = error;
}

dibs_canceller *interrupt_begin(void)
{
  static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
  struct sigaction before, action = { .sa_sigaction = cancel, .sa_flags = SA_SIGINFO };

  if (dibs_canceller_new(&canceller) != DIBS_OK)
    return NULL;
  for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
    if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
      sigaction(numbers[i], &action, NULL);
  }
  return canceller;
}

int interrupt_code(void)
{
  return signals_leave((int)seen, is_by_terminal != 0);
}
