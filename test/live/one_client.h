/* SPDX-License-Identifier: MIT */
/* test/live/one_client.h - the server of live.h and one client of it, for all tests of a file. */
#ifndef TEST_ONE_CLIENT_H
#define TEST_ONE_CLIENT_H

#include "live.h"

static dibs_client *client;

/* Define it where commands carry some megabytes, on a busy machine. */
#ifndef ONE_CLIENT_COMMAND_MS
#define ONE_CLIENT_COMMAND_MS (live_options().command_timeout_ms)
#endif

static int setup(void **state)
{
  dibs_options o = live_options();

  o.command_timeout_ms = ONE_CLIENT_COMMAND_MS;
  (void)live_server_setup(state);
  client = live_open_with(live_url(), &o);
  return 0;
}

static int teardown(void **state)
{
  client = dibs_close(client);
  return live_server_teardown(state);
}

/* The client of this test gives up after connect_timeout_ms without a server. */
static void client_is_impatient(void) __attribute__((unused));
static void client_is_impatient(void)
{
  dibs_options o = live_options();

  o.degrade = DIBS_DEGRADE_FAIL;
  client = dibs_close(client);
  client = live_open_with(live_url(), &o);
}

#endif
