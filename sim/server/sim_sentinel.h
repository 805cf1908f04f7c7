/* SPDX-License-Identifier: MIT */
/* sim/server/sim_sentinel.h - a server that runs as Sentinel: what it answers about one
 * service, and what it tells those who listen. Who is down, who votes for whom and when is
 * its world's business. Connections, time and bytes are those of sim_server.h. */
#ifndef SIM_SENTINEL_H
#define SIM_SENTINEL_H

#include "server/sim_server.h"

/* From now on it knows only the commands of a sentinel, and this service. */
void sim_sentinel_watch(sim_server *s, const char *service, const char *host, int port,
                        int quorum, int64_t down_after_ms);
/* It knows another sentinel. */
void sim_sentinel_meet(sim_server *s, const char *host, int port);
/* It believes that the primary is there since `epoch`; told as +switch-master when that is
 * news. One not above the epoch it has is ignored: false. */
bool sim_sentinel_switch(sim_server *s, const char *host, int port, uint64_t epoch);
uint64_t sim_sentinel_epoch(const sim_server *s);

#endif
