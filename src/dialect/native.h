/* SPDX-License-Identifier: MIT */
/* dialect - what our own wire protocol looks like: keys, lease strings, script calls,
 * their answers, inbox messages, tokens. doc/design/protocol.md.
 *
 * Pure text work, no state but the names of one client. May include script/, resp/,
 * base/. Lease strings travel as they are: `C:K:T`. */
#ifndef DIALECT_NATIVE_H
#define DIALECT_NATIVE_H

#include "base/base.h"
#include "resp/resp.h"
#include "script/script.h"

#define CLIENT_ID_SIZE 23        /* 22 characters of base64url and a zero */
#define LEASE_TEXT_SIZE 68       /* 22 + 1 + 20 + 1 + 20, a zero, rounded up */
#define NAME_MAX_BYTES 512
#define PREFIX_MAX_BYTES 64
#define KEY_TEXT_SIZE (PREFIX_MAX_BYTES + NAME_MAX_BYTES + 8)

/* One grant. ask and token 0: none. */
typedef struct lease_id {
  char client[CLIENT_ID_SIZE];
  uint64_t ask;     /* K */
  uint64_t token;   /* T */
} lease_id;

void lease_id_write(const lease_id *l, text *out);
bool lease_id_read(const char *bytes, size_t size, lease_id *ret_lease);
bool lease_id_equal(const lease_id *a, const lease_id *b);

typedef struct native {
  char prefix[PREFIX_MAX_BYTES + 1];
  char client[CLIENT_ID_SIZE];
} native;

/* Why a name or prefix is refused, or NULL when it is fine: a constant text. */
const char *native_name_fault(const void *name, size_t size);
const char *native_prefix_fault(const char *prefix);

/* `<p>:m:{N}`, or `<p>:m:N` where N carries a non-empty hash tag itself. */
void native_key(const native *n, const void *name, size_t size, text *out);
/* The name inside a key of ours; false for a key of another shape. */
bool native_key_name(const native *n, const char *key, size_t size,
                     const char **ret_name, size_t *ret_name_size);
void native_inbox(const native *n, text *out);             /* <p>:inbox:C */
void native_client_key(const native *n, const char *client, text *out); /* <p>:client:C */

/* ---- calls: append one command; false when memory is refused ---- */

typedef struct acquire_call {
  const void *name; size_t name_size;
  uint64_t ask;
  int64_t ttl_ms;
  bool waits;               /* false: a try */
  bool lingers;             /* stored as g: the holder may keep an idle lease */
  int64_t until_us;         /* server time after which the request has no effect; 0: none */
  int64_t estimate_us;      /* what this client expects TIME to say now; 0: not trusted,
                               the deadline rule must not be used */
  uint64_t floor;           /* the new token is above it */
  int64_t give_up_us;       /* waiters: server time after which the entry is dead; 0: never */
  const lease_id *detached; /* a lease of this client that was given into other hands, and
                               so is not disowned by a later ask; or NULL */
  const lease_id *watched;  /* a lease watched for its whole length, or NULL */
  uint64_t watched_renewals;
} acquire_call;

bool native_acquire(const native *n, buffer *out, bool with_text, const acquire_call *c);
/* `estimate_us` as in acquire_call; 0 puts the deadline of whom it grants in doubt. */
bool native_release(const native *n, buffer *out, bool with_text,
                    const void *name, size_t name_size, const lease_id *lease,
                    int64_t estimate_us);
bool native_cancel(const native *n, buffer *out, bool with_text,
                   const void *name, size_t name_size, uint64_t ask, int64_t until_us,
                   int64_t estimate_us, const lease_id *detached);
bool native_break(const native *n, buffer *out, bool with_text,
                  const void *name, size_t name_size, const lease_id *lease,
                  int64_t estimate_us);
bool native_inspect(const native *n, buffer *out, bool with_text,
                    const void *name, size_t name_size);

typedef struct renew_item {
  const void *name; size_t name_size;
  const lease_id *lease;
  int64_t ttl_ms;
} renew_item;

#define RENEW_BATCH_MAX 100
/* `estimate_us` as in acquire_call. */
bool native_renew(const native *n, buffer *out, bool with_text,
                  const renew_item *items, size_t count, int64_t estimate_us);

/* ---- answers: false when the reply has not the shape the script promises ---- */

typedef enum acquire_outcome {
  ACQUIRE_GRANTED = 1,  /* by this request */
  ACQUIRE_AGAIN,        /* granted to this K before; the lease is unchanged */
  ACQUIRE_WAITING,      /* queued */
  ACQUIRE_BUSY,         /* a try, and somebody has it or waits */
  ACQUIRE_ENDED,        /* this K is over: ask with a new one if still wanted */
  ACQUIRE_DEAF,         /* no subscriber on the inbox: not queued */
  ACQUIRE_LATE          /* past until_us: nothing was done */
} acquire_outcome;

typedef struct acquire_answer {
  acquire_outcome outcome;
  int64_t server_us;
  int64_t remaining_ms;   /* of the lease meant below, never more than its length */
  int64_t lease_ms;       /* its length */
  lease_id lease;         /* GRANTED, AGAIN: ours. WAITING, BUSY: the holder's; token 0
                             when nobody holds it */
  uint64_t renewals;      /* r of that lease */
  uint64_t rank;          /* WAITING: how many are ahead */
  bool holder_lingers;    /* BUSY */
} acquire_answer;

/* `ask` and `ttl_ms` of the call that was answered: a grant does not repeat them. */
bool native_acquire_answer(const native *n, uint64_t ask, int64_t ttl_ms,
                           const resp_reply *r, acquire_answer *ret);

typedef enum release_outcome {
  RELEASE_DONE = 1, RELEASE_EXPIRED, RELEASE_TAKEN
} release_outcome;

typedef struct release_answer {
  release_outcome outcome;
  lease_id taker;         /* RELEASE_TAKEN */
} release_answer;

bool native_release_answer(const resp_reply *r, release_answer *ret);  /* break too */
bool native_cancel_answer(const resp_reply *r);

typedef struct renew_answer {
  bool is_ours;
  int64_t remaining_ms;
  uint64_t waiters;
} renew_answer;

/* Reads the answer of item `i`. */
bool native_renew_answer(const resp_reply *r, size_t i, renew_answer *ret);
bool native_renew_server_us(const resp_reply *r, int64_t *ret_server_us);

typedef struct inspect_waiter {
  char client[CLIENT_ID_SIZE];
  uint64_t ask;
  int64_t queued_us;
} inspect_waiter;

#define INSPECT_WAITERS_MAX 100
typedef struct inspect_answer {
  int64_t server_us;
  bool is_held;
  lease_id lease;         /* present, or last grant with token */
  int64_t remaining_ms, lease_ms;
  uint64_t renewals;
  size_t waiter_count;    /* all live entries */
  size_t shown;
  inspect_waiter waiters[INSPECT_WAITERS_MAX];
} inspect_answer;

bool native_inspect_answer(const resp_reply *r, inspect_answer *ret);

/* ---- inbox messages ---- */

typedef enum inbox_word { INBOX_GRANT = 1, INBOX_WANT, INBOX_LOST } inbox_word;

typedef struct inbox_message {
  inbox_word word;
  lease_id lease;
  int64_t ttl_ms;          /* grant */
  uint64_t waiters;        /* grant */
  const char *name;        /* borrowed from the message */
  size_t name_size;
} inbox_message;

/* false for unknown words and broken messages: ignore them. */
bool inbox_message_read(const char *bytes, size_t size, inbox_message *ret);

/* ---- tokens: `lease:C:K:T:<name, percent-encoded>` ---- */

bool token_write(const lease_id *lease, const void *name, size_t size, text *out);
bool token_read(const char *token, lease_id *ret_lease,
                char ret_name[NAME_MAX_BYTES], size_t *ret_name_size);

#endif
