/* SPDX-License-Identifier: MIT */
/* test/lib/deployment_group.c - several servers with the same options, and where they are. */
#include "deployment_parts.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "now.h"

void group_init(struct group *g, const struct test_server_options *server,
                struct test_network *network)
{
  if (server != NULL)
    g->options = *server;
  g->options.arguments = g->arguments;
  g->network = network;
  if (g->options.has_tls && g->options.authority == NULL) {
    g->own_authority = test_authority_make();
    g->options.authority = g->own_authority;
  }
}

static void add_word(struct group *g, const char *word)
{
  if (g->argument_count + 1 >= GROUP_ARGUMENTS)
    test_bail_out("too many arguments for a deployment");
  g->arguments[g->argument_count++] = word;
  g->arguments[g->argument_count] = NULL;
}

void group_argument(struct group *g, const char *name, const char *value)
{
  add_word(g, name);
  add_word(g, value);
}

void group_number(struct group *g, const char *name, int value)
{
  char *text = g->numbers[g->number_count];

  if (g->number_count == GROUP_NUMBERS)
    test_bail_out("too many numbers for a deployment");
  g->number_count++;
  (void)snprintf(text, sizeof(g->numbers[0]), "%d", value);
  group_argument(g, name, text);
}

void group_add_arguments(struct group *g, const char *const *more)
{
  while (more != NULL && *more != NULL)
    add_word(g, *more++);
}

int group_add(struct group *g)
{
  int which = g->count, host = g->first_host + which;

  if (which == TEST_MEMBERS_MAX)
    test_bail_out("a deployment of more than %d servers", TEST_MEMBERS_MAX);
  if (g->network != NULL) {
    g->options.network = test_network_descriptor(g->network, host);
    g->options.address = test_network_address(g->network, host);
  }
  g->servers[which] = test_server_start_with(&g->options);
  return g->count++;
}

void group_stop(struct group *g)
{
  for (int i = 0; i < g->count; i++)
    g->servers[i] = test_server_stop(g->servers[i]);
  g->own_authority = test_authority_free(g->own_authority);
}

struct test_server *group_server(const struct group *g, int which)
{
  if (which < 0 || which >= g->count)
    test_bail_out("there is no member %d", which);
  return g->servers[which];
}

bool group_is_living(const struct group *g, int which)
{
  const struct test_server *s = g->servers[which];

  return s->pid != 0 && !s->is_paused;
}

int group_with_port(const struct group *g, int port)
{
  for (int i = 0; i < g->count; i++)
    if (test_server_port(g->servers[i]) == port)
      return i;
  return -1;
}

void group_url(const struct group *g, const char *scheme, int count, char *ret_url,
               size_t size)
{
  int used = snprintf(ret_url, size, "%s://", scheme);

  for (int i = 0; i < count && i < g->count; i++)
    used += snprintf(ret_url + used, size - (size_t)used, "%s%s:%d", i > 0 ? "," : "",
                     test_server_address(g->servers[i]), test_server_port(g->servers[i]));
}

static bool ask_member(void *data, int node, const char *command, char *ret_text, size_t size)
{
  const struct group *g = data;
  const char *said = test_server_command(g->servers[node], command);

  (void)snprintf(ret_text, size, "%s", said);
  return strcmp(said, "(gone)") != 0;
}

void group_former_init(struct group_former *ret_former, const struct group *g)
{
  memset(ret_former, 0, sizeof(*ret_former));
  ret_former->former = (former){ .ask = ask_member, .data = (void *)(uintptr_t)g,
                                 .nodes = ret_former->nodes, .count = g->count,
                                 .until = test_now_ms() + FORM_MS };
  for (int i = 0; i < g->count; i++) {
    ret_former->nodes[i].address = test_server_address(g->servers[i]);
    ret_former->nodes[i].port = test_server_port(g->servers[i]);
  }
}
