/* SPDX-License-Identifier: MIT */
/* test/sim/differential/model_side.c - the server without a process. */
#include "side.h"

#include <assert.h>
#include <stdlib.h>

#include "server/sim_server.h"

struct model {
  side side;
  sim_server *server;
  int64_t wall_us;
  sim_connection *connection[SIDE_CONNECTIONS];
  size_t taken[SIDE_CONNECTIONS];    /* of its output: the frame that was read last */
};

static void model_reset(void *self)
{
  struct model *m = self;
  sim_server_settings settings = { .seed = 1, .wall_us = m->wall_us };

  m->server = sim_server_free(m->server);
  m->server = sim_server_new(&settings);
  for (int i = 0; i < SIDE_CONNECTIONS; i++) {
    m->connection[i] = sim_server_accept(m->server);
    m->taken[i] = 0;
  }
}

static void model_clock(void *self, int64_t wall_us)
{
  struct model *m = self;

  m->wall_us = wall_us;
  sim_server_clock(m->server, wall_us);
}

static void model_set(void *self, side_condition which, bool is_on)
{
  static const sim_condition same[SIDE_CONDITIONS] = { SIM_OUT_OF_MEMORY, SIM_NO_REPLICAS,
                                                       SIM_READ_ONLY };
  struct model *m = self;

  sim_server_set(m->server, same[which], is_on);
}

static void model_send(void *self, int connection, const char *bytes, size_t size)
{
  struct model *m = self;

  sim_server_receive(m->server, m->connection[connection], bytes, size);
}

static frame model_read(void *self, int connection)
{
  struct model *m = self;
  sim_connection *c = m->connection[connection];
  const char *bytes;
  size_t size;
  frame f;

  sim_connection_sent(c, m->taken[connection]);
  bytes = sim_connection_output(c, &size);
  f = size > 0 ? frame_first(bytes, size) : (frame){ "", 0 };
  m->taken[connection] = f.size;
  return f;
}

static void model_hang_up(void *self, int connection)
{
  struct model *m = self;

  sim_server_hang_up(m->server, m->connection[connection]);
  m->connection[connection] = sim_server_accept(m->server);
  m->taken[connection] = 0;
}

static const char *model_unknown(void *self)
{
  struct model *m = self;

  return sim_server_unknown(m->server);
}

side *model_side_new(int64_t wall_us)
{
  struct model *m = calloc(1, sizeof(*m));

  assert(m != NULL);
  m->side = (side){ "model", m, model_reset, model_clock, model_set, model_send, model_read,
                    model_hang_up, model_unknown };
  m->wall_us = wall_us;
  model_reset(m);
  return &m->side;
}

side *model_side_free(side *s)
{
  struct model *m = s != NULL ? s->self : NULL;

  if (m == NULL)
    return NULL;
  m->server = sim_server_free(m->server);
  free(m);
  return NULL;
}
