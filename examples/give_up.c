/* SPDX-License-Identifier: MIT */
/* give_up - waits for a lock until a signal comes: dibs_cancel() in a signal handler. Two
 * clients stand for two programs here; the alarm stands for Ctrl-C. */
#include <dibs/dibs.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static dibs_canceller *canceller;

static void on_signal(int number)
{
  (void)number;
  dibs_cancel(canceller);
}

static dibs_status wait_for_it(dibs_client *client)
{
  dibs_lock_options options = DIBS_LOCK_OPTIONS_INIT;
  dibs_hold *hold = NULL;
  dibs_status status;

  options.cancel = canceller;
  status = dibs_lock(client, "example:busy", &options, &hold);
  if (status == DIBS_OK)
    (void)dibs_release(hold);
  return status;
}

int main(void)
{
  dibs_client *one = NULL, *two = NULL;
  dibs_hold *hold = NULL;
  dibs_status status;
  struct sigaction action;

  memset(&action, 0, sizeof(action));
  action.sa_handler = on_signal;
  if (sigaction(SIGALRM, &action, NULL) != 0 ||
      dibs_canceller_new(&canceller) != DIBS_OK)
    return 1;
  if (dibs_open(NULL, NULL, &one, NULL) != DIBS_OK ||
      dibs_open(NULL, NULL, &two, NULL) != DIBS_OK)
    return 1;
  if (dibs_lock(one, "example:busy", NULL, &hold) != DIBS_OK)
    return 1;
  alarm(1);
  status = wait_for_it(two);
  printf("waited until the signal: %s\n", dibs_status_name(status));
  (void)dibs_release(hold);
  dibs_close(two);
  dibs_close(one);
  dibs_canceller_free(canceller);
  return status == DIBS_CANCELLED ? 0 : 1;
}
