/* SPDX-License-Identifier: MIT */
/* settings - readers of a configuration go together, whoever changes it is alone, and reads
 * on without letting another writer in between. Start several. */
#include <dibs/dibs.h>

#include <stdio.h>

enum { READS = 3 };

static dibs_status read_settings(dibs_client *client)
{
  dibs_hold *hold = NULL;
  dibs_status status = dibs_acquire(client, DIBS_READ("example:settings"), NULL, &hold);

  if (status != DIBS_OK)
    return status;
  printf("reading, with whoever reads besides\n");
  return dibs_release(hold);
}

static dibs_status change_settings(dibs_client *client)
{
  dibs_hold *hold = NULL;
  dibs_status status = dibs_acquire(client, DIBS_WRITE("example:settings"), NULL, &hold);

  if (status != DIBS_OK)
    return status;
  printf("writing alone, fence %llu\n", (unsigned long long)dibs_hold_fence(hold));
  status = dibs_downgrade(hold); /* readers come in, no writer does */
  printf("reading what was just written\n");
  if (status != DIBS_OK)
    (void)dibs_release(hold);
  return status != DIBS_OK ? status : dibs_release(hold);
}

int main(void)
{
  dibs_client *client = NULL;
  dibs_error error = DIBS_ERROR_INIT;
  dibs_status status = dibs_open(NULL, NULL, &client, &error);

  if (status != DIBS_OK) {
    fprintf(stderr, "settings: %s\n", error.text);
    return 1;
  }
  for (int i = 0; i < READS && status == DIBS_OK; i++)
    status = read_settings(client);
  if (status == DIBS_OK)
    status = change_settings(client);
  if (status != DIBS_OK)
    fprintf(stderr, "settings: %s\n", dibs_status_text(status));
  client = dibs_close(client);
  return status == DIBS_OK ? 0 : 1;
}
