/* SPDX-License-Identifier: MIT */
/* test/live/other_client.h - the server of live.h and one client of it beside those that each test
 * of a file opens and closes itself; in the end nothing is left on the server. */
#ifndef TEST_OTHER_CLIENT_H
#define TEST_OTHER_CLIENT_H

#include "live.h"

static dibs_client *other;

static int setup(void **state)
{
  (void)live_server_setup(state);
  other = live_open(live_url());
  return 0;
}

static int teardown(void **state)
{
  other = dibs_close(other);
  live_expect_clean(live_server);
  return live_server_teardown(state);
}

#endif
