/* SPDX-License-Identifier: MIT */
/* test/live/degrade_place.h - the server of live.h, locks of this machine in a directory of the
 * test, and two clients with degrade=local, which the file's setup() opens. */
#ifndef TEST_DEGRADE_PLACE_H
#define TEST_DEGRADE_PLACE_H

#include <stdio.h>
#include <stdlib.h>

#include "live.h"

static dibs_client *a, *b;
static char runtime[] = "/tmp/dibs-degrade-XXXXXX";

static dibs_options local_options(void)
{
  dibs_options o = live_options();

  o.connect_timeout_ms = 200;
  o.degrade = DIBS_DEGRADE_LOCAL;
  return o;
}

static int teardown(void **state)
{
  (void)state;
  a = dibs_close(a);
  b = dibs_close(b);
  return 0;
}

static int group_setup(void **state)
{
  if (mkdtemp(runtime) == NULL || setenv("DIBS_LOCAL_DIR", runtime, 1) != 0)
    return 1;
  (void)unsetenv("DIBS_TEST_DEPLOYMENT");     /* about one server that is dead */
  return live_server_setup(state);
}

static int group_teardown(void **state)
{
  char command[64];

  (void)snprintf(command, sizeof(command), "rm -rf %s", runtime);
  (void)!system(command);
  return live_server_teardown(state);
}

#endif
