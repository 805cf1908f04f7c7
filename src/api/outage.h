/* SPDX-License-Identifier: MIT */
/* api/outage.h - the times without a server, of a client with degrade=local.
 *
 * One is of all names that the same servers decide about: of a slot of a Cluster, otherwise of the
 * whole client. It begins when the engine ends a request because no server answers. The key of the
 * name with which it began is asked for, in a Cluster at the node of its slot, in a quorum at all
 * servers: the outage ends with the reply, or those of a majority. The question, repeated until
 * then, also makes the engine reconnect. An outage that no claim needs for 30 s is forgotten.
 *
 * All functions need the mutex. */
#ifndef API_OUTAGE_H
#define API_OUTAGE_H

#include "api/question.h"

typedef struct outage outage;

/* Of the names that are decided together with that of `cl`; NULL: none is known. */
outage *outage_of(const claim *cl);
/* Whether a request that ended with it has found no server that decides. */
bool outage_is_shown(const client_record *c, dibs_status status);
/* false: no memory. */
bool outage_begin(claim *cl);
/* When the next question is due, or never. */
instant outages_ask_at(const client_record *c);
/* The questions that are due. The reply calls degrade_outage_over(). */
void outages_ask(client_record *c, instant now);
/* Servers have decided: an outage that begins when none is known is another one, and reported. */
void outages_are_past(client_record *c);
void outages_free(client_record *c);

#endif
