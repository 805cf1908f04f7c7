/* SPDX-License-Identifier: MIT */
/* test/trace/fleet.h - one engine before many servers, told apart by their ports. What a server
 * says is a function of the test; greetings and what only people look at are answered here.
 * Time passes by ticks when the engine asks for them, and never without end. */
#ifndef TEST_FLEET_H
#define TEST_FLEET_H

#include "tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "script/script.h"

#define FLEET_PORTS 512

struct peers {
  engine *engine;
  deployment deployment;
  instant now;
  int ports[ENGINE_LINKS_MAX];               /* 0: no connection */
  resp_reader *readers[ENGINE_LINKS_MAX];
  bool is_dead[FLEET_PORTS];
  int connects[FLEET_PORTS];
  int asked_for_map, scripts[FLEET_PORTS];
  bool was_asking[FLEET_PORTS];              /* ASKING came last */
  char lines[512];                           /* what was told, one word each */
  uint64_t id;
  /* The answer to words that are not known here; "" for none. */
  void (*answer)(struct peers *f, int port, const resp_reply *r, char *out, size_t size);
};

struct peers *peers_new(const char *url,
                        void (*answer)(struct peers *, int, const resp_reply *, char *, size_t));
void peers_free(struct peers *f);
void peers_pass(struct peers *f, int64_t ms);
void peers_lock(struct peers *f, const char *name, const char *other);  /* NULL: one name */
void peers_kill(struct peers *f, int port);
bool peers_says(const resp_reply *r, size_t i, const char *words);
bool peers_runs(const resp_reply *r, const script *s);
long long peers_us(const struct peers *f);
/* CLUSTER SLOTS: slots up to `last` are those of port 1, the rest of port `other`; 0: of nobody. */
void peers_slots(char *out, size_t size, int last, int other);

#endif
