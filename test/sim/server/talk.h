/* SPDX-License-Identifier: MIT */
/* test/sim/server/talk.h - what the tests of the simulated server share: words in, words
 * out, over connections that exist only as bytes. */
#ifndef TEST_SIM_SERVER_TALK_H
#define TEST_SIM_SERVER_TALK_H

#include "tests.h"

#include <stdint.h>

#include "base/base.h"
#include "server/sim_server.h"

#define START_US INT64_C(1700000000000000)

/* A server without data at START_US, and one connection to it; the state of each test. */
typedef struct talk {
  sim_server *server;
  sim_connection *own;
  char *said;
} talk;

int talk_set_up(void **state);
int talk_tear_down(void **state);       /* nothing that the model does not know was used */
int talk_tear_down_unknown(void **state);

/* Sends one line of words as people type them; what there is to read then, zero-terminated
 * until the next call. */
const char *talk_say_by(talk *t, sim_connection *c, const char *line);
const char *talk_say(talk *t, const char *line);
const char *talk_send(talk *t, sim_connection *c, const void *bytes, size_t size);
const char *talk_heard(talk *t, sim_connection *c);
/* The clock shows so many us after START_US. */
void talk_at(talk *t, int64_t us);

const memory *talk_memory(void);

#endif
