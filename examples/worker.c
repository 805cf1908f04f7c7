/* SPDX-License-Identifier: MIT */
/* worker - takes the same job in turn with all other workers, and stops in time when the
 * lock is lost. Start it twice. */
#include <dibs/dibs.h>

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>

enum { ROUNDS = 3, STEP_MS = 20, STEPS = 5 };

/* One step of the work, cut short when the hold's descriptor turns readable. */
static bool do_step(int lost_fd)
{
  struct pollfd lost = { .fd = lost_fd, .events = POLLIN };

  return poll(&lost, 1, STEP_MS) == 0;
}

static dibs_status do_job(dibs_client *client, int round)
{
  dibs_hold *hold = NULL;
  dibs_status status = dibs_lock(client, "example:job", NULL, &hold);
  int step = 0;

  if (status != DIBS_OK)
    return status;
  while (step < STEPS && do_step(dibs_hold_fd(hold)))
    step++;
  printf("round %d: %d of %d steps, fence %llu\n", round, step, STEPS,
         (unsigned long long)dibs_hold_fence(hold));
  return dibs_release(hold); /* DIBS_LOST and its like: the work may have overlapped */
}

int main(void)
{
  dibs_client *client = NULL;
  dibs_error error = DIBS_ERROR_INIT;
  dibs_status status = dibs_open(NULL, NULL, &client, &error);

  if (status != DIBS_OK) {
    fprintf(stderr, "worker: %s\n", error.text);
    return 1;
  }
  for (int round = 1; round <= ROUNDS && status == DIBS_OK; round++)
    status = do_job(client, round);
  if (status != DIBS_OK)
    fprintf(stderr, "worker: %s: %s\n", dibs_status_name(status),
            dibs_status_text(status));
  client = dibs_close(client);
  return status == DIBS_OK ? 0 : 1;
}
