/* SPDX-License-Identifier: MIT */
/* engine/fleet_link.h - the report to the totals of all clients that is on its way. */
#ifndef ENGINE_FLEET_LINK_H
#define ENGINE_FLEET_LINK_H

#include "engine/server.h"
#include "fleet/fleet.h"

/* The report that is on its way; fleet_link.c. */
#define FLEET_PARTS_MAX (FLEET_CLASSES_MAX + 3)
typedef struct fleet_link {
  bool is_open;
  bool is_off;              /* the server does not allow it */
  bool has_warned;
  instant give_up_at;
  size_t count;
  struct fleet_part {
    int state;
    bool carries_text, was_lost, is_farewell;
    unsigned attempts;
    instant try_at;
    const server *sent_to;
    const server *wants;    /* OPEN: it is not connected */
  } parts[FLEET_PARTS_MAX];
} fleet_link;

void fleet_link_advance(engine *e, instant now);
instant fleet_link_deadline(const engine *e);
bool fleet_link_is_open(const engine *e);
/* The last report, sent before the farewell; its replies count as farewells. */
void fleet_link_farewell(engine *e, instant now);
/* Cluster: it has a key of the report. */
bool fleet_link_wants(const engine *e, const server *s);
void fleet_link_lost(engine *e, const server *s);
void fleet_link_answered(engine *e, uint64_t tag, const resp_reply *reply, instant now);

#endif
