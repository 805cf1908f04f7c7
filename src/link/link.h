/* SPDX-License-Identifier: MIT */
/* link - one connection as a state machine, without the socket.
 *
 * Owns the handshake (AUTH, SELECT, CLIENT SETNAME, ROLE where roles change; then TIME;
 * SUBSCRIBE or PING on an inbox; PING for a probe, because sentinels do not know TIME),
 * the pipeline of unanswered commands, the answer deadline, PING when idle. Bytes and time
 * are input; bytes, events and a deadline are output. May include request/, resp/, base/.
 *
 * Invariants: answers are matched to commands by order only; nothing is sent before the
 * handshake is complete; after a fault or close no event of the old connection is reported. */
#ifndef LINK_H
#define LINK_H

#include "base/base.h"
#include "request/request.h"
#include "resp/resp.h"

typedef enum link_role { LINK_COMMANDS = 0, LINK_INBOX = 1, LINK_SCOUT = 2 } link_role;
typedef enum link_state { LINK_DOWN, LINK_GREETING, LINK_READY } link_state;

typedef struct link_settings {
  const memory *memory;
  link_role role;
  const char *user;          /* NULL or "": AUTH password alone */
  const char *password;      /* NULL: AUTH user "", which a user with nopass needs; without a
                              * user no AUTH */
  int database;              /* 0: no SELECT */
  const char *client_name;   /* CLIENT SETNAME; a refusal is ignored */
  const char *channel;       /* LINK_INBOX: subscribed before it is ready; NULL: none,
                              * channels come by link_subscribe() (Cluster) */
  bool checks_role;          /* a replica is a fault: DIBS_ERR_READ_ONLY. A forbidden or
                              * unknown ROLE is ignored */
  bool uses_functions;       /* scripts by FCALL */
  span answer_timeout;       /* a later answer is a fault */
  span idle_ping;            /* PING after this time without traffic */
} link_settings;

typedef enum link_event_kind {
  LINK_EVENT_READY = 1,   /* handshake complete; server_us is known on LINK_COMMANDS */
  LINK_EVENT_ANSWER,      /* to the command with `tag` */
  LINK_EVENT_MESSAGE,     /* `reply` is the whole push: resp_child(.., 1) the channel,
                             (.., 2) the payload, both strings */
  LINK_EVENT_SUBSCRIBED,  /* a channel of link_subscribe() is subscribed: `reply` names it
                           * in resp_child(.., 1); `tag` is that of the call */
  LINK_EVENT_UNSUBSCRIBED,/* a channel of link_subscribe() ended because its slot moved */
  LINK_EVENT_REFUSED,     /* the server refused a channel of link_subscribe(): `reply` is
                           * the error, MOVED among others, which does not name the channel;
                           * `tag` is that of the call, and `channel` says which */
  LINK_EVENT_FAULT        /* must be disconnected: status and text have the reason */
} link_event_kind;

typedef struct link_event {
  link_event_kind kind;
  uint64_t tag;
  uint64_t channel;       /* LINK_EVENT_REFUSED: fnv1a() of the channel */
  instant sent_at;        /* LINK_EVENT_ANSWER: when link_send() was called;
                           * LINK_EVENT_READY: when TIME was sent */
  resp_reply *reply;      /* owned by the receiver */
  int64_t server_us;      /* LINK_EVENT_READY on LINK_COMMANDS */
  dibs_status status;
  const char *text;       /* borrowed until the next call */
} link_event;

typedef struct link link;

link *link_new(const link_settings *settings);    /* texts are copied; NULL: no memory */
link *link_free(link *l);

link_state link_state_of(const link *l);

/* The transport is up: writes the handshake. */
dibs_status link_opened(link *l, instant now);
/* The transport is gone: discards all unanswered commands and unread bytes. */
void link_closed(link *l);

/* Encodes and sends (link must be READY). DIBS_ERR_NO_MEMORY: not sent. */
dibs_status link_send(link *l, const request *command, uint64_t tag, instant now);
size_t link_unanswered(const link *l);
/* When the oldest unanswered command was sent; INSTANT_NEVER: none. */
instant link_unanswered_since(const link *l);

/* Further channels of a LINK_INBOX, READY; sharded: SSUBSCRIBE. Lost when it closes:
 * subscribe again. The event has `tag`. DIBS_ERR_NO_MEMORY: not sent. */
dibs_status link_subscribe(link *l, const void *channel, size_t size, bool is_sharded,
                           uint64_t tag, instant now);
dibs_status link_unsubscribe(link *l, const void *channel, size_t size, bool is_sharded,
                             instant now);
/* For the next opening. Copied; the old ones are wiped. false: no memory. */
bool link_set_credentials(link *l, const char *user, const char *password);
bool link_set_password(link *l, const char *password);
/* The same in two steps, for several links: all keep them, then all take them. */
bool link_keep_credentials(link *l, const char *user, const char *password);
void link_take_credentials(link *l);
void link_drop_credentials(link *l);
/* Since its last opening, before the server had answered: the answer is about the old ones. */
bool link_was_rekeyed(const link *l);

void link_received(link *l, const void *bytes, size_t size, instant now);
bool link_next_event(link *l, instant now, link_event *ret_event);

const char *link_output(const link *l, size_t *ret_size);
void link_written(link *l, size_t size);

/* When link_tick() must be called at the latest. */
instant link_deadline(const link *l);
void link_tick(link *l, instant now);             /* may raise a FAULT event, send PING */

#endif
