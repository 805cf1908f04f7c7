/* SPDX-License-Identifier: MIT */
/* Questions that an oracle asks the server behind everybody's back. */
#include "explore.h"

#include <stdio.h>
#include <string.h>

#include "world/world.h"

const char *truth_ask(trial *t, const char *verb, const char *key, size_t *ret_size)
{
  char command[256];
  int used = snprintf(command, sizeof(command), "*2\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n",
                      strlen(verb), verb, strlen(key), key);

  return sim_server_ask(world_server(t->sim), command, (size_t)used, ret_size);
}

const char *truth_command(trial *t, const char *command, size_t *ret_size)
{
  char bytes[512], words[400];
  size_t count = 1;
  int used = 0;

  for (const char *at = command; (at = strchr(at, ' ')) != NULL; at++)
    count++;
  used = snprintf(bytes, sizeof(bytes), "*%zu\r\n", count);
  (void)snprintf(words, sizeof(words), "%s", command);
  for (char *rest = NULL, *word = strtok_r(words, " ", &rest); word != NULL;
       word = strtok_r(NULL, " ", &rest))
    used += snprintf(bytes + used, sizeof(bytes) - (size_t)used, "$%zu\r\n%s\r\n",
                     strlen(word), word);
  return sim_server_ask(world_server(t->sim), bytes, (size_t)used, ret_size);
}

bool truth_is_live(trial *t, const waiter *w)
{
  static const char head[] = "*3\r\n$6\r\nPUBSUB\r\n$6\r\nNUMSUB\r\n";
  char command[160], inbox[64];
  size_t size = 0;
  const char *bytes;
  int used;

  if (w->give_up_us != 0 && host_wall_us(world_host(t->sim)) > w->give_up_us)
    return false;
  (void)snprintf(inbox, sizeof(inbox), EXPLORE_PREFIX ":inbox:%.22s", w->client);
  used = snprintf(command, sizeof(command), "%s$%zu\r\n%s\r\n", head, strlen(inbox), inbox);
  bytes = sim_server_ask(world_server(t->sim), command, (size_t)used, &size);
  return size > 4 && memcmp(bytes + size - 4, ":0\r\n", 4) != 0;
}
