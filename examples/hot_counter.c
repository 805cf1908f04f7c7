/* SPDX-License-Identifier: MIT */
/* hot_counter - one process takes the same lock a thousand times: with lingering it asks
 * the server a few times only, and still lets go as soon as somebody else wants it. */
#include <dibs/dibs.h>

#include <stdio.h>

enum { TIMES = 1000, LINGER_MS = 1000 };

static dibs_status count_up(dibs_client *client, int *counter)
{
  dibs_lock_options options = DIBS_LOCK_OPTIONS_INIT;
  dibs_hold *hold = NULL;
  dibs_status status;

  options.linger_ms = LINGER_MS;
  status = dibs_lock(client, "example:counter", &options, &hold);
  if (status != DIBS_OK)
    return status;
  ++*counter;
  return dibs_release(hold);
}

int main(void)
{
  dibs_client *client = NULL;
  dibs_client_info stats = DIBS_CLIENT_INFO_INIT;
  dibs_error error = DIBS_ERROR_INIT;
  int counter = 0;
  dibs_status status = dibs_open(NULL, NULL, &client, &error);

  if (status != DIBS_OK) {
    fprintf(stderr, "hot_counter: %s\n", error.text);
    return 1;
  }
  while (counter < TIMES && status == DIBS_OK)
    status = count_up(client, &counter);
  stats.size = sizeof(stats);
  (void)dibs_client_get_info(client, &stats);
  printf("%d times, %llu of them without the server\n", counter,
         (unsigned long long)stats.granted_local);
  client = dibs_close(client);
  return status == DIBS_OK ? 0 : 1;
}
