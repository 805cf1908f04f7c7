/* SPDX-License-Identifier: MIT */
/* test/lib/one_server.h - the deployment of an engine that talks to one server, which the test
 * itself plays: two links, commands and inbox. */
#ifndef TEST_ONE_SERVER_H
#define TEST_ONE_SERVER_H

#include "base/plain_memory.h"
#include "topo/topo.h"

#define ONE_SERVER_LINKS 2       /* 0: commands; 1: inbox */

static inline const deployment *one_server(void)
{
  static char host[] = "server";
  static server_url seed = { .memory = PLAIN_MEMORY,
                             .transport = SERVER_TCP, .host = host, .port = 7000 };
  static deployment one = { .kind = DEPLOYMENT_SINGLE, .seed_count = 1, .seeds = &seed };

  return &one;
}

#endif
