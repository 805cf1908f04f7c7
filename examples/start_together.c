/* SPDX-License-Identifier: MIT */
/* start_together - a release goes live when three checks are done, wherever they run: each
 * counts a latch down, the server waits for zero. */
#include <dibs/dibs.h>

#include <inttypes.h>
#include <stdio.h>

enum { CHECKS = 3, WAIT_MS = 10000 };

static dibs_status check(dibs_client *client, const char *name)
{
  int64_t left = 0;
  /* Named: a check that is started again by its job scheduler counts once. */
  dibs_status status = dibs_latch_down(client, "example:release", 1, name, &left);

  if (status == DIBS_OK)
    printf("%s is done, %" PRId64 " left\n", name, left);
  return status;
}

static dibs_status go_live(dibs_client *client)
{
  dibs_wait_options options = DIBS_WAIT_OPTIONS_INIT;
  dibs_status status;

  options.wait_ms = WAIT_MS;
  status = dibs_latch_await(client, "example:release", &options);
  if (status == DIBS_OK)
    printf("live\n");
  return status;
}

int main(void)
{
  static const char *const checks[CHECKS] = { "database", "cache", "smoke-test" };
  dibs_client *client = NULL;
  dibs_error error = DIBS_ERROR_INIT;
  dibs_status status = dibs_open(NULL, NULL, &client, &error);

  if (status != DIBS_OK) {
    fprintf(stderr, "start_together: %s\n", error.text);
    return 1;
  }
  status = dibs_latch_set(client, "example:release", CHECKS);
  if (status == DIBS_BUSY)         /* armed by somebody else: the same release */
    status = DIBS_OK;
  for (int i = 0; i < CHECKS && status == DIBS_OK; i++)
    status = check(client, checks[i]);
  if (status == DIBS_OK)
    status = go_live(client);
  if (status != DIBS_OK)
    fprintf(stderr, "start_together: %s\n", dibs_status_text(status));
  client = dibs_close(client);
  return status == DIBS_OK ? 0 : 1;
}
