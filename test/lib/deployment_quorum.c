/* SPDX-License-Identifier: MIT */
/* test/lib/deployment_quorum.c - independent servers. */
#include "deployment_parts.h"

#include <stdio.h>
#include <stdlib.h>

struct test_quorum {
  struct group group;
  char url[URL_SIZE];
};

struct test_quorum *test_quorum_start(int count, const struct test_server_options *server,
                                      struct test_network *network)
{
  struct test_quorum *q = calloc(1, sizeof(*q));
  int used = 0;

  if (q == NULL)
    test_bail_out("no memory");
  group_init(&q->group, server, network);
  group_add_arguments(&q->group, server != NULL ? server->arguments : NULL);
  for (int i = 0; i < count; i++) {
    (void)group_add(&q->group);
    used += snprintf(q->url + used, sizeof(q->url) - (size_t)used, "%s%s", i > 0 ? " " : "",
                     test_server_tcp_url(q->group.servers[i]));
  }
  return q;
}

struct test_quorum *test_quorum_stop(struct test_quorum *q)
{
  if (q != NULL)
    group_stop(&q->group);
  free(q);
  return NULL;
}

int test_quorum_count(const struct test_quorum *q) { return q->group.count; }
const char *test_quorum_url(const struct test_quorum *q) { return q->url; }

struct test_server *test_quorum_server(const struct test_quorum *q, int which)
{
  return group_server(&q->group, which);
}
