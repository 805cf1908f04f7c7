/* SPDX-License-Identifier: MIT */
/* test/script/share_model.h - section 9 of doc/design/protocol.md once more, for one shared
 * resource, written from the page and not from the scripts. The differential test holds the
 * scripts against it. */
#ifndef SCRIPT_SHARE_MODEL_H
#define SCRIPT_SHARE_MODEL_H

#include "dialect/native.h"

#include "era_model.h"

#define MODEL_CLIENTS 6
#define MODEL_MANY 256

struct model_holder {
  int client;
  uint64_t ask, units, token, renewals;
  char mode;
  int64_t deadline_us, length_ms;
  int flags;
};

struct model_place {
  bool is_tombstone, polls;
  uint64_t index, ask, units, min_token, nonce;
  int client;
  char mode;
  int64_t ttl_ms, give_up_us, queued_us;
};

enum model_kind { MODEL_NONE, MODEL_NEW, MODEL_RW, MODEL_SEM };

struct share_model {
  struct model_era era;
  enum model_kind kind;
  uint64_t token, limit, generation;
  int kept;
  size_t holder_count, place_count;
  struct model_holder holder[MODEL_MANY];
  struct model_place place[MODEL_MANY];       /* in order */
  bool has_queue;                             /* fields h and n are there */
  uint64_t head, next;
  bool hears[MODEL_CLIENTS];
  char messages[MODEL_CLIENTS][8192];
};

void model_client(int who, char out[CLIENT_ID_SIZE]);
void model_dump(const struct share_model *m, text *out);      /* as share_dump() */
uint64_t model_used(const struct share_model *m);

/* The lease in a waiting or busy answer is left out: model_ends_first() tells. But in
 * quarantine, which names nobody, it is there: `lease_ms` is not 0. */
acquire_answer model_acquire(struct share_model *m, int64_t now, int who, const share_call *c);
bool model_ends_first(const struct share_model *m, const lease_id *lease, int64_t now,
                      const acquire_answer *a);
/* `estimate_us`: what the client that asks for it takes the server's time for. */
bool model_release(struct share_model *m, int64_t now, int who, const lease_id *lease,
                   int64_t until_us, int64_t estimate_us);
bool model_token_release(struct share_model *m, int64_t now, int who, const lease_id *lease,
                         int64_t estimate_us);
int64_t model_cancel(struct share_model *m, int64_t now, int who, uint64_t ask,
                     int64_t until_us, int64_t estimate_us);
release_answer model_break(struct share_model *m, int64_t now, int who, const lease_id *lease,
                           int64_t estimate_us);
renew_answer model_renew(struct share_model *m, int64_t now, int who, const lease_id *lease,
                         int64_t ttl_ms, char mode, int64_t estimate_us);
bool model_set(struct share_model *m, int64_t now, share_set_what what, uint64_t permits,
               int64_t estimate_us, uint64_t *ret_limit);

#endif
