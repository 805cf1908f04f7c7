/* SPDX-License-Identifier: MIT */
/* test/live/two_clients.h - the server of live.h and two clients of it, for all tests of a file,
 * which leave nothing behind. */
#ifndef TEST_TWO_CLIENTS_H
#define TEST_TWO_CLIENTS_H

#include "live.h"

static dibs_client *client, *other;

/* `client` with these options, `other` with those of live.h. */
static int two_clients(void **state, const dibs_options *options)
{
  (void)live_server_setup(state);
  client = live_open_with(live_url(), options);
  other = live_open(live_url());
  return 0;
}

static inline int setup(void **state)
{
  dibs_options o = live_options();

  return two_clients(state, &o);
}

static int teardown(void **state)
{
  client = dibs_close(client);
  other = dibs_close(other);
  live_expect_clean(live_server);
  return live_server_teardown(state);
}

#endif
