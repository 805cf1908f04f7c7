/* SPDX-License-Identifier: MIT */
/* A program in a simulated world, built outside of the tree. */
#include <dibs/sim.h>
#include <stdio.h>

static dibs_status said = DIBS_ERR_CLOSED;

static void worker(void *data)
{
  dibs_client *client = NULL;
  dibs_hold *hold = NULL;

  (void)data;
  if (dibs_open("redis://server", NULL, &client, NULL) == DIBS_OK &&
      dibs_lock(client, "job", NULL, &hold) == DIBS_OK)
    said = dibs_release(hold);
  client = dibs_close(client);
}

int main(void)
{
  dibs_sim *sim = dibs_sim_new(NULL);
  int has_ended;

  (void)dibs_sim_start(sim, "worker", worker, NULL);
  has_ended = dibs_sim_run(sim, 60000);
  sim = dibs_sim_free(sim);
  puts(said == DIBS_OK ? "DIBS_OK" : dibs_status_text(said));
  return has_ended ? 0 : 1;
}
