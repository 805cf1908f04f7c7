/* SPDX-License-Identifier: MIT */
/* test/script/model.h - the native protocol once more, for one lock, written from
 * doc/design/protocol.md and not from the scripts: what each request must answer, change
 * and tell. The differential test holds the scripts against it. */
#ifndef SCRIPT_MODEL_H
#define SCRIPT_MODEL_H

#include "dialect/native.h"

#include "era_model.h"

#define MODEL_CLIENTS 6

struct model_entry {
  bool is_there, is_tombstone;
  uint64_t index, ask, min_token, nonce;
  int64_t ttl_ms, give_up_us, queued_us;
  int flags;
  bool polls;
};

struct model {
  struct model_era era;
  bool exists;                /* the key */
  bool has_queue;             /* a hash, even if nobody is in it */
  bool is_held;
  int client;                 /* of the lease, or of the last grant; -1: none, -2: nobody's */
  uint64_t ask, token;
  int64_t deadline_us, length_ms;
  uint64_t renewals;
  int flags;
  uint64_t head, next;
  struct model_entry entry[MODEL_CLIENTS];
  bool hears[MODEL_CLIENTS];
  char detached[MODEL_CLIENTS][LEASE_TEXT_SIZE];   /* leases in other hands */
  char messages[MODEL_CLIENTS][1024];
};

/* The lease string of what is stored; "" when there never was one. */
void model_lease(const struct model *m, char out[LEASE_TEXT_SIZE]);
/* The same texts as the server's dump (model_test.c). */
void model_dump(const struct model *m, text *out);
void model_client(int who, char out[CLIENT_ID_SIZE]);

acquire_answer model_acquire(struct model *m, int64_t now, int who, const acquire_call *c);
/* `estimate_us`: what the client that asks for it takes the server's time for. */
release_answer model_release(struct model *m, int64_t now, const char *lease,
                             int64_t estimate_us);
release_answer model_token_release(struct model *m, int64_t now, const char *lease,
                                   int64_t estimate_us);
release_answer model_break(struct model *m, int64_t now, const char *lease,
                           int64_t estimate_us);
int64_t model_cancel(struct model *m, int64_t now, int who, uint64_t ask, int64_t until_us,
                     int64_t estimate_us);
renew_answer model_renew(struct model *m, int64_t now, const char *lease, int64_t ttl_ms,
                         int64_t estimate_us);

#endif
