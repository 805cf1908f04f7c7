/* SPDX-License-Identifier: MIT */
/* told_of_loss - a worker that saves its work when the library reports that its lock ends soon, and
 * stops when it is lost. The lease of half a second is not renewed here, so that there is a loss to
 * see. */
#include <dibs/dibs.h>

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>

static void on_change(dibs_hold *hold, const dibs_hold_info *now, dibs_change why, void *data)
{
  char text[512] = "";

  (void)dibs_hold_why(hold, text, sizeof(text));     /* the worker releases it */
  if (why == DIBS_CHANGE_ENDS_SOON)
    printf("ends in %d ms: save the work now\n", (int)now->valid_ms);
  if (why == DIBS_CHANGE_LOST)
    printf("lost: %s\n", text);
  atomic_store((atomic_bool *)data, why == DIBS_CHANGE_LOST);
}

int main(void)
{
  static atomic_bool must_stop;      /* static: on_change may run until dibs_close() has returned */
  dibs_lock_options options = DIBS_LOCK_OPTIONS_INIT;
  dibs_client *client = NULL;
  dibs_hold *hold = NULL;
  dibs_status status;

  if (dibs_open(NULL, NULL, &client, NULL) != DIBS_OK)
    return 1;
  options.on_change = on_change;
  options.on_change_data = &must_stop;
  options.warn_ms = 200;
  options.ttl_ms = 500;
  options.flags = DIBS_LOCK_FIXED;   /* a real worker leaves both out */
  if (dibs_lock(client, "example:job", &options, &hold) != DIBS_OK)
    return 1;
  while (!atomic_load(&must_stop))
    (void)poll(NULL, 0, 10);         /* a step of the work */
  status = dibs_release(hold);       /* also of a lost hold; it says what became of it */
  printf("released: %s\n", dibs_status_name(status));
  client = dibs_close(client);
  return status == DIBS_LOST || status == DIBS_TAKEN ? 0 : 1;
}
