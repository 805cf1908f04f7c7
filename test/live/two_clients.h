/* SPDX-License-Identifier: MIT */
/* test/live/two_clients.h - the server of live.h and two clients of it, for all tests of a file,
 * which leave nothing behind. */
#ifndef TEST_TWO_CLIENTS_H
#define TEST_TWO_CLIENTS_H

#include "live.h"

static dibs_client *client, *other;

static int setup(void **state)
{
  (void)live_server_setup(state);
  client = live_open(live_url());
  other = live_open(live_url());
  return 0;
}

static int teardown(void **state)
{
  client = dibs_close(client);
  other = dibs_close(other);
  live_expect_clean(live_server);
  return live_server_teardown(state);
}

#endif
