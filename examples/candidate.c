/* SPDX-License-Identifier: MIT */
/* candidate - becomes the leader when no other copy leads, and works until it leads no more. */
#include <dibs/dibs.h>

#include <poll.h>
#include <stdio.h>

enum { STEPS = 3, STEP_MS = 20 };

int main(void)
{
  dibs_client *client = NULL;
  dibs_hold *leading = NULL;
  dibs_error error = DIBS_ERROR_INIT;
  dibs_status status = dibs_open(NULL, NULL, &client, &error);
  struct pollfd lost = { .events = POLLIN };

  if (status != DIBS_OK) {
    fprintf(stderr, "candidate: %s\n", error.text);
    return 1;
  }
  status = dibs_acquire(client, DIBS_LEAD("example:candidates", "10.0.0.7:8080"), NULL, &leading);
  if (status == DIBS_OK) {
    printf("leads, epoch %llu\n", (unsigned long long)dibs_hold_fence(leading));
    lost.fd = dibs_hold_fd(leading);  /* readable: it leads no more */
    for (int step = 0; step < STEPS && poll(&lost, 1, STEP_MS) == 0; step++)
      continue;                       /* what only the leader does */
    status = dibs_release(leading);   /* the next candidate leads */
  }
  if (status != DIBS_OK)
    fprintf(stderr, "candidate: %s\n", dibs_status_text(status));
  client = dibs_close(client);
  return status == DIBS_OK ? 0 : 1;
}
