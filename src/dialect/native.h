/* SPDX-License-Identifier: MIT */
/* dialect - the native wire protocol: keys, lease strings, script calls, their answers,
 * inbox messages, tokens. doc/design/protocol.md.
 *
 * Pure text functions, no state except the names of one client. May include request/,
 * script/, resp/, base/. Lease strings are sent unchanged: `C:K:T`. */
#ifndef DIALECT_NATIVE_H
#define DIALECT_NATIVE_H

#include "base/base.h"
#include "base/lock_kind.h"
#include "request/request.h"
#include "resp/resp.h"

#define CLIENT_ID_SIZE 23        /* 22 characters of base64url and a zero */
#define LEASE_TEXT_SIZE 80       /* 22 + 1 + 10 + 1 + 20 + 1 + 20, a zero, rounded up */
#define NAME_MAX_BYTES 512
#define PREFIX_MAX_BYTES 64
#define REGISTRY_MAX_BYTES PREFIX_MAX_BYTES
#define KEY_TEXT_SIZE (PREFIX_MAX_BYTES + NAME_MAX_BYTES + 8)

/* Two wall clocks that are further apart are in doubt; lua/native has the same number. */
#define CLOCKS_AGREE_US 250000

/* One grant. ask and token 0: none. A multi-lock (`many`) is a separate client in each of
 * its queues, `C.set`, with the inbox of C: so its asks and those of single locks of the
 * same process do not end each other. */
typedef struct lease_id {
  char client[CLIENT_ID_SIZE];
  uint32_t set;     /* 0: none; written `C.set:K:T` */
  uint64_t ask;     /* K */
  uint64_t token;   /* T */
} lease_id;

void lease_id_write(const lease_id *l, text *out);
bool lease_id_read(const char *bytes, size_t size, lease_id *ret_lease);
bool lease_id_equal(const lease_id *a, const lease_id *b);
/* Equal, or `l` is `id` after a raise by 1: lua/native/shared/is_grant.lua. */
bool lease_id_is_grant(const lease_id *l, const lease_id *id);
/* The lease without a client that a server in quarantine shows (protocol.md 16). */
bool lease_id_is_quarantine(const lease_id *l);

/* What a client and its server agree on; protocol.md 15. All zero: one server, EVAL. */
typedef struct protocol {
  const struct dialect_ops *dialect;       /* its row: dialect.h */
  char prefix[PREFIX_MAX_BYTES + 1];
  char registry[REGISTRY_MAX_BYTES + 1];   /* SPRING */
  char client[CLIENT_ID_SIZE];
  bool has_tags;            /* Cluster: inbox and era in the slot of the name */
  bool has_sharded_channels;
  bool uses_functions;      /* FCALL */
  bool is_voter;            /* one server of a quorum */
  int64_t quarantine_ms;    /* 0: no era guard */
} protocol;

/* The settings of a URL and options; the texts are copied. */
typedef struct protocol_settings {
  const struct dialect_ops *dialect;
  const char *prefix, *client;
  const char *registry;     /* SPRING; NULL: none */
  bool is_cluster, has_sharded_channels, uses_functions, is_quorum;
  span quarantine;          /* 0: no era guard */
} protocol_settings;

/* The only function that fills it; later has_sharded_channels may change. */
void protocol_init(protocol *n, const protocol_settings *s);

/* Why a name or prefix is refused, or NULL: a constant text. */
const char *native_name_fault(const void *name, size_t size);
const char *native_prefix_fault(const char *prefix);

/* `<p>:m:{N}`, or `<p>:m:N` if N has a non-empty hash tag itself. */
void native_key(const protocol *n, const void *name, size_t size, text *out);
/* The name in a key of dibs; false for a key of another form. */
bool native_key_name(const protocol *n, const char *key, size_t size,
                     const char **ret_name, size_t *ret_name_size);
void native_inbox(const protocol *n, text *out);             /* <p>:inbox:C */
/* Cluster: `<p>:inbox:{tag}:C`, in the slot of the name. */
void native_name_inbox(const protocol *n, const void *name, size_t size, text *out);
/* The same, with the parameters of `channel` in dialect_ops. */
void native_channel(const protocol *n, const void *name, size_t size, char mode,
                    lock_kind kind, uint64_t ask, text *out);
/* `<p>:era`, in a cluster `<p>:era:{tag}`: with the era guard, the last key of each script
 * that grants; protocol.md 16. */
void native_era_key(const protocol *n, const void *name, size_t size, text *out);
/* A client registration lasts three heartbeats, or as long as a lease that continues
 * without the client. */
#define CLIENT_REGISTRATION_MS 180000
void native_client_key(const protocol *n, const char *client, text *out); /* <p>:client:C */

/* ---- calls: each fills a request; false: no memory ---- */

/* As `estimate_us` of a request that waits to be sent: the sender writes the estimate. */
#define ESTIMATE_AT_SENDING (-1)

typedef struct acquire_call {
  const void *name; size_t name_size;
  uint64_t ask;
  int64_t ttl_ms;
  bool waits;               /* false: a try */
  bool polls;               /* waits without an inbox */
  uint64_t nonce;           /* waits: the message of its grant repeats it */
  bool lingers;             /* stored as g: the holder may park the lease */
  int64_t until_us;         /* server time after which the request has no effect; 0: none */
  int64_t estimate_us;      /* estimate of TIME; 0: not trusted,
                             * the deadline rule must not be used */
  uint64_t min_token;           /* the new token is above it */
  int64_t give_up_us;       /* waiters: server time after which the entry is dead; 0: never */
  const lease_id *detached; /* a detached lease of this client, which a later ask does not
                             * end; or NULL */
  const lease_id *watched;  /* a lease watched for its whole length, or NULL */
  uint64_t watched_renewals;
  lock_kind kind;           /* exclusive */
} acquire_call;

bool native_acquire(const protocol *n, request *out, const acquire_call *c);
/* `estimate_us` as in acquire_call; 0 puts the deadline of the new holder in doubt. */
bool native_release(const protocol *n, request *out, const void *name, size_t name_size,
                    const lease_id *lease, int64_t estimate_us);
/* The string of an uncontended lease, as its grant stored it. */
typedef struct lease_string {
  int64_t ttl_ms;
  bool lingers;
} lease_string;

/* The same without a script, for a server that has IFEQ; changes nothing where another string is
 * stored. protocol.md 23; native_release_ifeq_answer(). */
bool native_release_ifeq(const protocol *n, request *out, const void *name, size_t name_size,
                         const lease_id *lease, const lease_string *stored);
bool native_cancel(const protocol *n, request *out, const void *name, size_t name_size,
                   uint64_t ask, int64_t until_us, int64_t estimate_us,
                   const lease_id *detached);
bool native_break(const protocol *n, request *out, const void *name, size_t name_size,
                  const lease_id *lease, int64_t estimate_us);
bool native_inspect(const protocol *n, request *out, const void *name, size_t name_size);
/* The same for a client that doubts the server's clock: leases count until it could take them. */
bool native_inspect_in_doubt(const protocol *n, request *out, const void *name, size_t name_size);
/* Gives the lease `token`, which is higher. native_cancel_answer(): 1 or 0. */
bool native_raise(const protocol *n, request *out, const void *name, size_t name_size,
                  const lease_id *lease, uint64_t token);
bool native_share_raise(const protocol *n, request *out, const void *name, size_t name_size,
                        const lease_id *lease, uint64_t token);

typedef struct renew_item {
  const void *name; size_t name_size;
  const lease_id *lease;
  int64_t ttl_ms;
} renew_item;

#define RENEW_BATCH_MAX 100
/* `estimate_us` as in acquire_call. */
bool native_renew(const protocol *n, request *out, const renew_item *items, size_t count,
                  int64_t estimate_us);

/* ---- answers: false when the reply has another form ---- */

typedef enum acquire_outcome {
  ACQUIRE_GRANTED = 1,  /* by this request */
  ACQUIRE_AGAIN,        /* granted to this K before; the lease is unchanged */
  ACQUIRE_WAITING,      /* queued */
  ACQUIRE_BUSY,         /* a try, and the name has a holder or waiters */
  ACQUIRE_ENDED,        /* this K has ended: ask with a new one if needed */
  ACQUIRE_NO_SUBSCRIBER,         /* no subscriber on the inbox: not queued */
  ACQUIRE_LATE,         /* past until_us: not executed */
  ACQUIRE_TOO_MANY,     /* shared: more units than the limit, in `units` */
  ACQUIRE_NOT_SET,      /* shared: the semaphore has no limit yet */
  ACQUIRE_OTHER_LIMIT   /* shared: than that of the call; it is in `units` */
} acquire_outcome;

typedef struct acquire_answer {
  acquire_outcome outcome;
  int64_t server_us;
  int64_t remaining_ms;   /* of the lease below, never more than its length */
  int64_t lease_ms;       /* its length */
  lease_id lease;         /* GRANTED, AGAIN: ours. WAITING, BUSY: the holder's; token 0
                           * without a holder */
  uint64_t renewals;      /* r of that lease */
  uint64_t rank;          /* WAITING: the waiters before it */
  bool holder_lingers;    /* BUSY */
  uint64_t units;         /* shared: permits granted; TOO_MANY, OTHER_LIMIT: the limit */
  uint64_t last_token;    /* shared, WAITING and BUSY: of the last grant */
  bool is_short;          /* GRANTED: now, for the whole ttl, as a string */
} acquire_answer;

/* `ask` and `ttl_ms` are those of the call: a grant does not repeat them. */
bool native_acquire_answer(const protocol *n, uint64_t ask, int64_t ttl_ms,
                           const resp_reply *r, acquire_answer *ret);

/* The outcome of a lease, as release, break and renew answer it. */
typedef enum release_outcome {
  RELEASE_DONE = 1,  /* it was there, or was released before and is the last grant */
  RELEASE_GONE,      /* the name is free; another client may have had it since */
  RELEASE_TAKEN,     /* another lease is there */
  RELEASE_UNTAKEN    /* the name is free, and this was the last grant: break and renew */
} release_outcome;

typedef struct release_answer {
  release_outcome outcome;
  lease_id taker;         /* RELEASE_TAKEN */
  uint64_t heard;         /* RELEASE_DONE: subscribers reached, perhaps this client too; 0
                           * where a queue has the next waiter */
  bool has_ifeq;          /* RELEASE_DONE: the server has SET .. IFEQ */
} release_answer;

bool native_release_answer(const resp_reply *r, release_answer *ret);  /* break too */
/* false: neither form. `ret_is_done`: it was the lease's string; otherwise nothing was done. */
bool native_release_ifeq_answer(const resp_reply *r, bool *ret_is_done);
bool native_cancel_answer(const resp_reply *r);

typedef struct renew_answer {
  bool is_ours;
  release_outcome gone;   /* the outcome of a lease that has ended */
  int64_t remaining_ms;
  uint64_t waiters;
} renew_answer;

/* Reads the answer of item `i`. */
bool native_renew_answer(const resp_reply *r, size_t i, renew_answer *ret);
/* A multi-lock has what all its members have; its outcome is the worst of theirs. Begin
 * with renew_answer_of_set(). */
renew_answer renew_answer_of_set(void);
void renew_answer_add(renew_answer *set, const renew_answer *member);
bool native_renew_server_us(const resp_reply *r, int64_t *ret_server_us);

typedef struct inspect_waiter {
  char client[CLIENT_ID_SIZE];
  uint64_t ask;
  int64_t queued_us;
  char mode;              /* as in inspect_holder */
  uint64_t units;
} inspect_waiter;

typedef struct inspect_holder {
  lease_id lease;
  char mode;              /* 'x' exclusive, 'r' read, 'w' write, 'p' permits */
  uint64_t units;
  int64_t remaining_ms, lease_ms;
  uint64_t renewals;
} inspect_holder;

typedef enum native_kind { NATIVE_MUTEX, NATIVE_RWLOCK, NATIVE_SEMAPHORE } native_kind;

#define INSPECT_WAITERS_MAX 100
#define INSPECT_HOLDERS_MAX 100
typedef struct inspect_answer {
  int64_t server_us;
  native_kind kind;
  uint64_t last_token;    /* of the present or last grant; 0: none */
  uint64_t limit, used;   /* units; limit 0 for locks */
  uint64_t generation;
  size_t holder_count;    /* all */
  size_t shown_holders;
  size_t waiter_count;    /* all live entries */
  size_t shown;
  int64_t wall_us;        /* the client's clock when it came: set by the caller */
  inspect_holder holders[INSPECT_HOLDERS_MAX];   /* by token */
  inspect_waiter waiters[INSPECT_WAITERS_MAX];
} inspect_answer;

bool native_inspect_answer(const resp_reply *r, inspect_answer *ret);

/* ---- shared resources: rwlock, semaphore; protocol.md 9 ----
 *
 * Each ask `C:K` is a holder of its own: a client may have many at once. */

typedef struct share_call {
  const void *name; size_t name_size;
  uint64_t ask;
  char mode;                /* 'r', 'w', 'p' */
  uint64_t units;           /* 'p': permits, 0: all free ones (a try); otherwise 1 */
  uint64_t limit;           /* 'p': set for a new semaphore, else compared; 0: none */
  int64_t ttl_ms;
  bool waits, polls;
  uint64_t nonce;
  int64_t until_us, estimate_us, give_up_us;       /* these and `nonce` as in acquire_call */
  uint64_t min_token;
  const lease_id *watched;
  uint64_t watched_renewals;
  lock_kind kind;           /* 'p': SEMAPHORE or COUNTER */
} share_call;

/* The end of a lease, or of an ask. */
typedef struct share_ending {
  const void *name; size_t name_size;
  lease_id lease;           /* of an ask: its client and number */
  lock_kind kind;           /* as in share_call */
  uint64_t units;           /* permits of the lease; 0: not known */
  int64_t ttl_ms;           /* UNLEASED: may be repeated for this time; 0: never */
  int64_t copies_us;        /* server time until which a copy of the ask may arrive; 0: none */
  int64_t estimate_us;
} share_ending;

/* native_share_answer() reads the answer: GRANTED carries length and units explicitly. */
bool native_share_acquire(const protocol *n, request *out, const share_call *c);
bool native_share_answer(const protocol *n, uint64_t ask, const resp_reply *r,
                         acquire_answer *ret);
/* Ends the lease; native_release_answer(): DONE or GONE. `until_us`: also leaves a
 * tombstone for late copies of the ask; 0: none are possible. */
bool native_share_release(const protocol *n, request *out, const void *name,
                          size_t name_size, const lease_id *lease, int64_t until_us,
                          int64_t estimate_us);
/* Ends the ask in any state, with a tombstone; native_cancel_answer(). */
bool native_share_cancel(const protocol *n, request *out, const void *name,
                         size_t name_size, uint64_t ask, int64_t until_us,
                         int64_t estimate_us);

typedef struct share_renew_item {
  const void *name; size_t name_size;
  const lease_id *lease;
  int64_t ttl_ms;           /* 0: not lengthened */
  char mode;                /* the wanted mode: 'r' on a write lease downgrades it */
  uint64_t units;           /* permits of the lease; 0: not known */
  bool is_of_token;         /* its kind is not known, and `mode` is 'w' */
} share_renew_item;

/* native_renew_answer(), native_renew_server_us(). */
bool native_share_renew(const protocol *n, request *out, const share_renew_item *items,
                        size_t count, int64_t estimate_us);

typedef enum share_set_what { SHARE_SET, SHARE_SET_IF_ABSENT, SHARE_DELETE } share_set_what;
/* Answer: {1, limit} done; {0, limit} not done (it has one; DELETE: in use). */
bool native_share_set(const protocol *n, request *out, const void *name, size_t name_size,
                      share_set_what what, uint64_t permits, int64_t estimate_us);
bool native_share_set_answer(const resp_reply *r, bool *ret_done, uint64_t *ret_limit);

/* ---- multi-locks; protocol.md 10 ---- */

#define MANY_NAMES_MAX 100

typedef struct many_name { const void *name; size_t size; } many_name;

typedef struct many_call {
  const many_name *names; size_t count;     /* in any order: sorted by keys */
  uint32_t set;
  uint64_t ask;
  int64_t ttl_ms;
  bool waits, polls;
  uint64_t nonce;
  bool keeps;               /* after three rounds: keep free names before the busy one */
  int64_t until_us, estimate_us, give_up_us;
  uint64_t min_token;
  const lease_id *watched;  /* of the busy name of the last answer */
  uint64_t watched_renewals;
} many_call;

bool native_many_acquire(const protocol *n, request *out, const many_call *c);
/* GRANTED and AGAIN: one lease, the same string on each name. WAITING and BUSY: of the
 * busy name, whose index is in *ret_busy. */
bool native_many_answer(const protocol *n, const many_call *c, const resp_reply *r,
                        acquire_answer *ret, size_t *ret_busy);
/* Each name as native_release() does; answers the worst outcome. */
bool native_many_release(const protocol *n, request *out, const many_name *names,
                         size_t count, const lease_id *lease, int64_t estimate_us);
bool native_many_cancel(const protocol *n, request *out, const many_name *names,
                        size_t count, uint32_t set, uint64_t ask, int64_t until_us,
                        int64_t estimate_us);
/* All or none; as native_raise(). */
bool native_many_raise(const protocol *n, request *out, const many_name *names, size_t count,
                       const lease_id *lease, uint64_t token);

/* ---- inbox messages ---- */

/* SHARE: a grant on a shared resource; the others but GRANT also there. RELEASED comes before the
 * LOST of a lease that was released by its token. */
typedef enum inbox_word {
  INBOX_GRANT = 1, INBOX_WANT, INBOX_LOST, INBOX_SHARE, INBOX_RELEASED
} inbox_word;

typedef struct inbox_message {
  inbox_word word;
  bool has_nonce;          /* grant, share; scripts of protocol version 1 send none */
  uint64_t nonce;
  lease_id lease;
  int64_t ttl_ms;          /* grant, share */
  uint64_t waiters;        /* grant, share */
  uint64_t units;          /* share */
  const char *name;        /* borrowed from the message */
  size_t name_size;
} inbox_message;

/* false for unknown and malformed messages: ignore them. */
bool inbox_message_read(const char *bytes, size_t size, inbox_message *ret);

/* ---- tokens: `lease:C:K:T:<name, percent-encoded>`, `share:...` for shared resources,
 *      `many:C.set:K:T:<name>:<name>...` ---- */

typedef enum token_kind { TOKEN_LEASE = 1, TOKEN_SHARE, TOKEN_MANY } token_kind;

bool token_write(token_kind kind, const lease_id *lease, const many_name *names, size_t count,
                 text *out);

#define TOKEN_MAX_BYTES 2048    /* longer ones are neither written nor read */
typedef struct token_parts {
  token_kind kind;
  lease_id lease;
  size_t count;
  many_name names[MANY_NAMES_MAX];         /* into `bytes` */
  char bytes[TOKEN_MAX_BYTES];
} token_parts;

/* `ret` is valid only with true. A `:` in the name of a lease may be unescaped. */
bool token_read(const char *token, token_parts *ret);

#endif
