/* SPDX-License-Identifier: MIT */
/* transfer - money moves between two accounts under both their locks, taken as one: a
 * transfer the other way round at the same time is no deadlock. */
#include <dibs/dibs.h>

#include <stdio.h>

static dibs_status transfer(dibs_client *client, const char *from, const char *to, int amount)
{
  const dibs_bytes accounts[] = { dibs_text(from), dibs_text(to) };
  dibs_hold *hold = NULL;
  dibs_status status = dibs_acquire(client, DIBS_LOCKS(accounts, 2), NULL, &hold);

  if (status != DIBS_OK)
    return status;
  printf("%d from %s to %s, fence %llu for both\n", amount, from, to,
         (unsigned long long)dibs_hold_fence(hold));
  return dibs_release(hold);
}

int main(void)
{
  dibs_client *client = NULL;
  dibs_error error = DIBS_ERROR_INIT;
  dibs_status status = dibs_open(NULL, NULL, &client, &error);

  if (status != DIBS_OK) {
    fprintf(stderr, "transfer: %s\n", error.text);
    return 1;
  }
  status = transfer(client, "example:account:1", "example:account:2", 100);
  if (status == DIBS_OK)
    status = transfer(client, "example:account:2", "example:account:1", 30);
  if (status != DIBS_OK)
    fprintf(stderr, "transfer: %s\n", dibs_status_text(status));
  client = dibs_close(client);
  return status == DIBS_OK ? 0 : 1;
}
