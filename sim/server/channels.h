/* SPDX-License-Identifier: MIT */
/* sim/server/channels.h - who listens to what. */
#ifndef SIM_SERVER_CHANNELS_H
#define SIM_SERVER_CHANNELS_H

#include "server/parts.h"

void channels_join(sim_connection *c, channel_kind kind, slice name);
void channels_leave(sim_connection *c, channel_kind kind, slice name);
/* Any one that it listens to; false: none. */
bool channels_first(const sim_connection *c, channel_kind kind, slice *ret_name);
size_t channels_count(const sim_server *s, channel_kind kind);
/* The names in use, as an array. `pattern` may be NULL. */
void channels_list(const sim_server *s, channel_kind kind, const slice *pattern, reply *r);

#endif
