/* SPDX-License-Identifier: MIT */
/* licences - a tool of which only four may run in the whole company: each run takes a
 * permit, a batch takes two at once. */
#include <dibs/dibs.h>

#include <stdio.h>

enum { LICENCES = 4, WAIT_MS = 10000 };

static dibs_status run_with(dibs_client *client, unsigned permits)
{
  dibs_lock_options options = DIBS_LOCK_OPTIONS_INIT;
  dibs_hold *hold = NULL;
  dibs_status status;

  options.wait_ms = WAIT_MS;
  options.note = "licences example";
  status = dibs_acquire_permits(client, "example:licences", permits, &options, &hold);
  if (status != DIBS_OK)
    return status;
  printf("running with %u\n", (unsigned)dibs_hold_units(hold));
  return dibs_release(hold); /* all of them, once; a crash would cost one ttl */
}

int main(void)
{
  dibs_client *client = NULL;
  dibs_error error = DIBS_ERROR_INIT;
  dibs_status status = dibs_open_with_error(NULL, NULL, &client, &error);

  if (status != DIBS_OK) {
    fprintf(stderr, "licences: %s\n", error.text);
    return 1;
  }
  /* Once, by whoever administrates: also while others hold permits. */
  status = dibs_semaphore_set(client, dibs_text("example:licences"), LICENCES, 0, NULL);
  if (status == DIBS_OK)
    status = run_with(client, 1);
  if (status == DIBS_OK)
    status = run_with(client, 2);
  if (status == DIBS_TIMED_OUT)
    printf("no licence was free for ten seconds\n");
  client = dibs_close(client);
  return status == DIBS_OK || status == DIBS_TIMED_OUT ? 0 : 1;
}
