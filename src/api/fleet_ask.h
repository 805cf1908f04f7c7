/* SPDX-License-Identifier: MIT */
/* api/fleet_ask.h - one question about the fleet, to the server of a key, or to all of a quorum;
 * internal to api/. */
#ifndef API_FLEET_ASK_H
#define API_FLEET_ASK_H

#include "api/question.h"

/* false: no memory. */
typedef bool (*fleet_visit)(void *data, const resp_reply *reply);

/* Calls `visit` for each reply. */
dibs_status fleet_ask(client_record *c, const resp_argument *words, size_t count,
                      fleet_visit visit, void *data);
/* The time of a server, us since 1970. */
dibs_status fleet_server_time(client_record *c, int64_t *ret_us);

#endif
