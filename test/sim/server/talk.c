/* SPDX-License-Identifier: MIT */
/* What the tests of the simulated server share. */
#include "talk.h"
#include "base/plain_memory.h"

#include <stdlib.h>
#include <string.h>

int talk_set_up(void **state)
{
  talk *t = calloc(1, sizeof(*t));

  if (t == NULL)
    return -1;
  t->server = sim_server_new(&(sim_server_settings){ .seed = 7, .wall_us = START_US });
  t->own = sim_server_accept(t->server);
  *state = t;
  return 0;
}

int talk_tear_down_unknown(void **state)
{
  talk *t = *state;

  t->server = sim_server_free(t->server);
  free(t->said);
  free(t);
  return 0;
}

int talk_tear_down(void **state)
{
  talk *t = *state;
  const char *unknown = sim_server_unknown(t->server);

  if (unknown != NULL)
    print_error("the model does not know %s\n", unknown);
  return unknown == NULL ? talk_tear_down_unknown(state) : -1;
}

const char *talk_heard(talk *t, sim_connection *c)
{
  size_t size;
  const char *bytes = sim_connection_output(c, &size);

  free(t->said);
  t->said = malloc(size + 1);
  assert_non_null(t->said);
  memcpy(t->said, bytes, size);
  t->said[size] = 0;
  sim_connection_sent(c, size);
  return t->said;
}

const char *talk_send(talk *t, sim_connection *c, const void *bytes, size_t size)
{
  sim_server_receive(t->server, c, bytes, size);
  return talk_heard(t, c);
}

const char *talk_say_by(talk *t, sim_connection *c, const char *line)
{
  sim_server_receive(t->server, c, line, strlen(line));
  return talk_send(t, c, "\r\n", 2);
}

const char *talk_say(talk *t, const char *line) { return talk_say_by(t, t->own, line); }

void talk_at(talk *t, int64_t us) { sim_server_clock(t->server, START_US + us); }

const memory *talk_memory(void)
{
  static const memory plain = PLAIN_MEMORY;

  return &plain;
}
