/* SPDX-License-Identifier: MIT */
/* dialect/native/election.h - elections on the wire: what a leader publishes, and what
 * observers request. doc/design/protocol.md 12. */
#ifndef DIALECT_NATIVE_ELECTION_H
#define DIALECT_NATIVE_ELECTION_H

#include "dialect/native.h"

#define ELECTION_CHANNEL_SIZE (KEY_TEXT_SIZE + 8)
#define ELECTION_VALUE_MAX 1024

void native_election_key(const protocol *n, const void *name, size_t size, text *out);
void native_election_channel(const protocol *n, const void *name, size_t size, text *out);

typedef struct publish_call {
  const void *name; size_t name_size;
  const lease_id *lease;
  uint64_t fence;
  uint64_t publication;           /* publication number: the newest counts */
  int64_t ttl_ms;             /* of the lease: the publication outlives it */
  const void *value; size_t value_size;
} publish_call;

bool native_elect_publish(const protocol *n, request *out, const publish_call *c);
/* *ret_reported false: the lease is not the caller's. */
bool native_elect_publish_answer(const resp_reply *r, bool *ret_reported);

/* Of `c`: name, lease, fence, ttl_ms. */
bool native_elect_clear(const protocol *n, request *out, const publish_call *c);

bool native_elect_look(const protocol *n, request *out, const void *name, size_t name_size);

typedef struct elect_answer {
  int64_t server_us;
  bool is_held;               /* the lock has an owner, ended or not */
  bool is_leaving;            /* its leader has resigned */
  lease_id lease;             /* the present or last lease; token 0: none */
  int64_t remaining_ms;       /* 0 or less: ended by the server's clock */
  int64_t lease_ms;
  uint64_t renewals;
  uint64_t epoch;             /* 0: no leader ever */
  bool is_published;          /* the holder of `lease` has published a value */
  const char *value;          /* borrowed from the reply; may be empty all the same */
  size_t value_size;
} elect_answer;

bool native_elect_look_answer(const resp_reply *r, elect_answer *ret);

#endif
