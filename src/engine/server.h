/* SPDX-License-Identifier: MIT */
/* engine/server.h - a server that may have names. */
#ifndef ENGINE_SERVER_H
#define ENGINE_SERVER_H

#include "engine/connection.h"
#include "engine/report.h"
#include "lock/lock.h"

/* A server that may have names: a route of a lock table. */
struct server {
  size_t number;
  lock_table *locks;
  size_t route;
  server_url url;
  bool has_url;             /* false: not found yet */
  bool is_out;              /* Cluster: it serves no slot (any more) */
  connection *commands, *inbox, *acks;      /* NULL: not wanted yet; Cluster: or no longer */
  bool is_announced;        /* on this or an earlier connection: the registration may be there */
  bool memory_was_checked;
  instant announce_again_at;
  bool farewell_was_sent;
  bool was_decided;         /* it has answered a request for a lock */
  instant refused_at;       /* its last reply was BUSY or the like; 0: it was not */
  bool has_answered;        /* since a request last waited for a server, of a quorum for this one */
  link_report report;
  bool refusal_is_reported; /* of a channel of observations */
};

bool servers_init(engine *e);                         /* false: no memory */
void servers_free(engine *e);
server *server_find(const engine *e, const server_url *url);
server *server_get(engine *e, const server_url *url); /* creates it; Cluster; NULL: no memory */
/* The server has moved to `url`. */
void server_move(engine *e, server *s, const server_url *url, instant now);
server *server_of_key(const engine *e, const char *key, size_t size);   /* NULL: unknown */
server *server_of_command(const engine *e, const request *command);      /* NULL: unknown */
/* It has answered any request: whether it refuses all of them for now. */
void server_answered(server *s, const resp_node *reply, instant now);
bool server_is_ready(const server *s);                /* NULL: false */
const server *server_any_ready(const engine *e);
void server_advance(engine *e, server *s, instant now);  /* connects, sends */
/* It serves nothing: ends its connections and frees their numbers. */
void server_part(engine *e, server *s, instant now);

/* `s` has answered a request for a lock. */
void server_decided(engine *e, server *s, instant now);

/* ---- presence.c ---- */
void presence_announce(engine *e, server *s, instant now);
void presence_extend(engine *e, instant now);
/* Cluster: this server has the client registration, and locks are in use. */
bool presence_wants_link(const engine *e, const server *s);
bool presence_farewell(engine *e, server *s, instant now);  /* false: no reply to wait for */
void presence_memory_answered(engine *e, server *s, const resp_reply *reply);

#endif
