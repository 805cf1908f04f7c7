/* SPDX-License-Identifier: MIT */
/* mutex - a nightly job of which one may run at a time, and which is not worth a wait of more than
 * two seconds. Start it twice at once. */
#include <dibs/dibs.h>

#include <stdio.h>

int main(void)
{
  dibs_lock_options options = DIBS_LOCK_OPTIONS_INIT;
  dibs_client *client = NULL;
  dibs_hold *hold = NULL;
  dibs_error error = DIBS_ERROR_INIT;
  dibs_status status = dibs_open(NULL, NULL, &client, &error);

  if (status != DIBS_OK) {
    fprintf(stderr, "mutex: %s\n", error.text);
    return 1;
  }
  options.wait_ms = 2000;             /* without it: as long as it takes */
  options.note = "nightly report";    /* `dibs who example:nightly` shows it */
  status = dibs_lock(client, "example:nightly", &options, &hold);
  if (status == DIBS_OK) {
    printf("alone, fence %llu\n", (unsigned long long)dibs_hold_fence(hold));
    status = dibs_release(hold);      /* DIBS_LOST: it was not alone until the end */
  } else if (status == DIBS_TIMED_OUT) {
    printf("another one runs\n");
  }
  if (status != DIBS_OK && status != DIBS_TIMED_OUT)
    fprintf(stderr, "mutex: %s\n", dibs_status_text(status));
  client = dibs_close(client);
  return status == DIBS_OK || status == DIBS_TIMED_OUT ? 0 : 1;
}
