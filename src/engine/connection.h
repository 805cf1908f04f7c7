/* SPDX-License-Identifier: MIT */
/* engine/connection.h - one connection, and the plan of it. */
#ifndef ENGINE_CONNECTION_H
#define ENGINE_CONNECTION_H

#include "engine/engine.h"
#include "link/link.h"

typedef struct server server;

typedef enum plan_state {
  PLAN_OFF = 1,       /* not wanted (yet) */
  PLAN_CONNECTING,    /* transport, then the handshake */
  PLAN_READY,
  PLAN_BACK_OFF
} plan_state;

typedef enum purpose {
  FOR_COMMANDS = 1, FOR_INBOX, FOR_ACKS,    /* of a server */
  FOR_SCOUT, FOR_SENTINEL_NEWS              /* of the topology */
} purpose;

/* One connection and its plan. */
typedef struct connection {
  purpose purpose;
  int number;               /* of the link, for the driver */
  server *server;           /* NULL: of topology */
  int probe;
  const server_url *url;    /* its target; owned by the server or the finder */
  link *link;
  plan_state state;
  instant until;            /* CONNECTING: give up; BACK_OFF: try again */
  unsigned failures;        /* in a row */
  unsigned refusals;        /* in a row: connected, but to a replica */
  bool is_left;             /* READY: a write was refused by a replica; nothing more is sent */
  bool report_connect, report_disconnect;
  bool was_ready;
  instant ready_at;         /* since when, if READY */
  bool has_worked;          /* ever: opened again, it is a reconnection */
  dibs_status refusal;      /* that other files may end: they are read again before the next
                               attempt. DIBS_OK: none */
  bool is_resolving;        /* engine_resolving() */
  char files[160];          /* engine_files() */
  bool is_done;             /* freed after its last effect */
} connection;

/* NULL: no memory, or no free number. */
connection *connection_new(engine *e, purpose p, server *s, const server_url *url);
connection *connection_free(engine *e, connection *c);
connection *connection_of(const engine *e, int number);   /* NULL: not wanted */
void connection_want(engine *e, connection *c, instant now);
void connection_drop(engine *e, connection *c, dibs_status why, const char *words, instant now);
void connection_lost(engine *e, connection *c, dibs_status why, const char *words, instant now);
/* Not wanted any more: closed without a report, freed unless it belongs to a server. */
void connection_end(engine *e, connection *c);
/* Of a READY one, by which a replica has refused a write: it ends with its last reply. */
void connection_leave_replica(connection *c, instant now);
void connection_tick(engine *e, connection *c, instant now);
instant connection_deadline(const connection *c);
/* Sentinels have another one. */
bool connection_has_login_of_servers(const engine *e, purpose p);
/* What engine_set_credentials() got, and no file's. */
bool connection_has_program_login(const engine *e, const connection *c);
bool connection_is_ready(const connection *c);        /* NULL: false */
bool connection_send(engine *e, connection *c, const request *command, uint64_t tag, instant now);
bool connection_send_asking(engine *e, connection *c, const request *command, uint64_t tag,
                            instant now);

#endif
