/* SPDX-License-Identifier: MIT */
/* test/trace/fleet.h - one engine before many servers, told apart by their ports. What a server
 * says is a function of the test; greetings and what only people look at are answered here.
 * Time passes by ticks when the engine asks for them, and never without end. */
#ifndef TEST_FLEET_H
#define TEST_FLEET_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/engine.h"
#include "script/script.h"

#define FLEET_PORTS 16

struct fleet {
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
  void (*answer)(struct fleet *f, int port, const resp_reply *r, char *out, size_t size);
};

struct fleet *fleet_new(const char *url,
                        void (*answer)(struct fleet *, int, const resp_reply *, char *, size_t));
void fleet_free(struct fleet *f);
void fleet_pass(struct fleet *f, int64_t ms);
void fleet_lock(struct fleet *f, const char *name, const char *other);  /* NULL: one name */
void fleet_kill(struct fleet *f, int port);
bool fleet_says(const resp_reply *r, size_t i, const char *words);
bool fleet_runs(const resp_reply *r, const script *s);
long long fleet_us(const struct fleet *f);
/* CLUSTER SLOTS: slots up to `last` are those of port 1, the rest of port `other`; 0: of nobody. */
void fleet_slots(char *out, size_t size, int last, int other);

#endif
