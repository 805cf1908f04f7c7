/* SPDX-License-Identifier: MIT */
/* test/script/world.h - one server, a few clients with inboxes, and one lock called
 * "orders": every native script called as the library calls it, every answer read as the
 * library reads it. After each call the key is checked to have its retention (I16). */
#ifndef SCRIPT_WORLD_H
#define SCRIPT_WORLD_H

#include "dialect/native.h"

#define WORLD_CLIENTS 6
#define WORLD_NAME "orders"
#define WORLD_KEY "dibs:m:{orders}"
#define HOUR_MS 3600000

enum { ANNA, BERT, CARL, DORA, EMIL, FRED };

struct world;

/* Starts a server with these more arguments (NULL: none), and loads the scripts. */
struct world *world_new(const char *const *arguments);
struct world *world_free(struct world *w);
/* Empties the server, silences all inboxes, forgets the error counts. */
void world_clear(struct world *w);

const struct test_server *world_server(const struct world *w);
const protocol *world_native(const struct world *w, int who);
/* From now on all clients ask for an era guard of so long; 0: as the mode says. */
void world_guard(struct world *w, int64_t quarantine_ms);
int64_t world_time_us(struct world *w);

/* From now on the scripts read their time from the test, not from TIME: the same texts
 * with that one call replaced. The rest of the server keeps its own clock. */
void world_set_time(struct world *w, int64_t us);

/* ---- inboxes ---- */

/* A client without it cannot queue: world_acquire() answers ACQUIRE_NO_SUBSCRIBER. */
void world_listen(struct world *w, int who);
void world_deafen(struct world *w, int who);
/* A monitor on a pattern: PUBLISH counts it, the protocol must not (F11). */
void world_listen_pattern(struct world *w, const char *pattern);
/* All messages since the last call, each with "\n" behind; in a buffer of the world. */
const char *world_messages(struct world *w, int who);

/* ---- calls ---- */

/* Waits, 30 s, trusts the server's clock. */
acquire_call world_call(struct world *w, uint64_t ask);
acquire_answer world_send(struct world *w, int who, const acquire_call *c);
acquire_answer world_acquire(struct world *w, int who, uint64_t ask);
acquire_answer world_try(struct world *w, int who, uint64_t ask);
/* From now on this lease of `who` is in other hands (NULL: none is); copied. */
void world_detach(struct world *w, int who, const lease_id *lease);
/* By how much those who release, break and cancel mistake the server's time from now on. */
void world_mistake(struct world *w, int64_t us);
release_answer world_release(struct world *w, int who, const lease_id *lease);
/* By its token: with a limit, which does not pass here. */
release_answer world_token_release(struct world *w, int who, const lease_id *lease);
release_answer world_break(struct world *w, int who, const lease_id *lease);
/* 1 when a lease was given up, else 0. */
int64_t world_cancel(struct world *w, int who, uint64_t ask, int64_t until_us);
renew_answer world_renew(struct world *w, int who, const lease_id *lease, int64_t ttl_ms);
renew_answer world_token_renew(struct world *w, int who, const lease_id *lease, int64_t ttl_ms);
/* The same by a client that expects the server's time to be this; 0: in doubt. */
renew_answer world_renew_at(struct world *w, int who, const lease_id *lease, int64_t ttl_ms,
                            int64_t estimate_us);
inspect_answer world_inspect(struct world *w, int who);

/* An empty buffer to write commands to. */
buffer *world_buffer(struct world *w);
/* The raw reply to a command in RESP bytes; freed by the next call. */
const resp_reply *world_raw(struct world *w, const buffer *command);
/* The error that a call is refused with, as the server wrote it; "" when it is not. */
const char *world_acquire_error(struct world *w, int who, const acquire_call *c);
const char *world_release_error(struct world *w, int who, const lease_id *lease);

/* ---- what is stored ---- */

/* Puts a lease of `who` there whose deadline lies `left_ms` from now, as a string. */
lease_id world_plant(struct world *w, int who, uint64_t ask, int64_t left_ms,
                     int64_t length_ms, int flags);
/* "string", "hash", "none". */
const char *world_type(struct world *w);
/* Error replies the server has counted since world_clear(). */
long long world_errors(struct world *w);

const char *lease_text(const lease_id *l);    /* in one of 8 rotating buffers */

#endif
