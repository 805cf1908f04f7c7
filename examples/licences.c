/* SPDX-License-Identifier: MIT */
/* licences - a tool of which only three may run in the whole company: each run takes a permit, and
 * the first one makes the semaphore. Start four. */
#include <dibs/dibs.h>

#include <stdio.h>

enum { LICENCES = 3, WAIT_MS = 10000 };

int main(void)
{
  dibs_lock_options options = DIBS_LOCK_OPTIONS_INIT;
  dibs_client *client = NULL;
  dibs_hold *hold = NULL;
  dibs_error error = DIBS_ERROR_INIT;
  dibs_status status = dibs_open(NULL, NULL, &client, &error);

  if (status != DIBS_OK) {
    fprintf(stderr, "licences: %s\n", error.text);
    return 1;
  }
  options.wait_ms = WAIT_MS;
  options.note = "licences example";
  status = dibs_acquire(client, DIBS_PERMIT_OF("example:licences", LICENCES), &options, &hold);
  if (status == DIBS_OK) {
    printf("one of %d runs\n", LICENCES);
    status = dibs_release(hold);      /* a crash would cost one ttl */
  } else if (status == DIBS_TIMED_OUT) {
    printf("no licence was free for ten seconds\n");
  }
  client = dibs_close(client);
  return status == DIBS_OK || status == DIBS_TIMED_OUT ? 0 : 1;
}
