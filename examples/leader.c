/* SPDX-License-Identifier: MIT */
/* leader - one of several copies of a service is active and says where it is to be found;
 * all see who it is. Start it twice: the second leads when the first resigns, or dies. */
#include <dibs/dibs.h>

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

enum { TTL_MS = 5000, WAIT_MS = 60000, STEPS = 3, STEP_MS = 50 };

static void on_leader(const dibs_error *error, const dibs_leader *leader, void *data)
{
  (void)data;
  if (leader == NULL)
    fprintf(stderr, "leader: %s\n", error->text);
  else if (error->status != DIBS_OK)
    fprintf(stderr, "leader: cannot see the server: %s\n", error->text);
  else if (leader->is_led && !leader->is_published)
    printf("a leader is elected, and about to say where\n");
  else if (leader->is_led)
    printf("the leader is at %s, epoch %" PRIu64 "\n", leader->value, leader->epoch);
  else
    printf("there is no leader\n");
}

/* The work of a leader: it stops as soon as the descriptor says that it leads no more. */
static void serve(dibs_hold *leading)
{
  struct pollfd lost = { .fd = dibs_hold_fd(leading), .events = POLLIN };

  for (int step = 0; step < STEPS && poll(&lost, 1, STEP_MS) == 0; step++) {
    /* ... what only one may do; each write carries dibs_hold_fence(leading) ... */
  }
}

static dibs_status run(dibs_client *client)
{
  dibs_lock_options options = DIBS_LOCK_OPTIONS_INIT;
  dibs_hold *leading = NULL;
  dibs_status status;
  char address[64];

  snprintf(address, sizeof(address), "process %ld", (long)getpid());
  options.ttl_ms = TTL_MS;
  options.wait_ms = WAIT_MS;
  status = dibs_acquire(client, DIBS_LEAD("example:service", address), &options, &leading);
  if (status != DIBS_OK)
    return status;
  serve(leading);
  return dibs_release(leading);
}

int main(void)
{
  dibs_client *client = NULL;
  dibs_observer *observer = NULL;
  dibs_error error = DIBS_ERROR_INIT;
  dibs_status status = dibs_open(NULL, NULL, &client, &error);

  if (status != DIBS_OK) {
    fprintf(stderr, "leader: %s\n", error.text);
    return 1;
  }
  status = dibs_observe(client, "example:service", on_leader, NULL, NULL, &observer);
  if (status == DIBS_OK)
    status = run(client);
  observer = dibs_observer_free(observer);
  if (status != DIBS_OK)
    fprintf(stderr, "leader: %s\n", dibs_status_text(status));
  client = dibs_close(client);
  return status == DIBS_OK ? 0 : 1;
}
