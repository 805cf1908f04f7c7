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
#define LEASE_TEXT_SIZE 80       /* 22 + 1 + 10 + 1 + 20 + 1 + 20, a zero, rounded up */
#define NAME_MAX_BYTES 512
#define PREFIX_MAX_BYTES 64
#define REGISTRY_MAX_BYTES PREFIX_MAX_BYTES
#define KEY_TEXT_SIZE (PREFIX_MAX_BYTES + NAME_MAX_BYTES + 8)

/* One grant. ask and token 0: none. A set of names (`many`) is a client of its own in each
 * of its queues, `C.set`, with the inbox of C: so its asks and those of single locks of
 * the same process do not disown each other. */
typedef struct lease_id {
  char client[CLIENT_ID_SIZE];
  uint32_t set;     /* 0: none; written `C.set:K:T` */
  uint64_t ask;     /* K */
  uint64_t token;   /* T */
} lease_id;

void lease_id_write(const lease_id *l, text *out);
bool lease_id_read(const char *bytes, size_t size, lease_id *ret_lease);
bool lease_id_equal(const lease_id *a, const lease_id *b);

/* Whose wire format the locks of a client have. */
typedef enum dialect_kind {
  DIALECT_NATIVE, DIALECT_REDISSON, DIALECT_SPRING, DIALECT_PLAIN
} dialect_kind;

/* Of exclusive locks, where the format has several; native ones are fair and fenced. UNLEASED
 * are permits that nothing gives back but a release. */
typedef enum lock_flavour {
  FLAVOUR_PLAIN, FLAVOUR_FAIR, FLAVOUR_SPIN, FLAVOUR_FENCED, FLAVOUR_UNLEASED
} lock_flavour;

/* What a client and the server it talks to have agreed on; protocol.md 15. All zero: one
 * server, EVAL. */
typedef struct native {
  dialect_kind dialect;
  char prefix[PREFIX_MAX_BYTES + 1];
  char registry[REGISTRY_MAX_BYTES + 1];   /* SPRING */
  char client[CLIENT_ID_SIZE];
  bool has_tags;            /* Cluster: inbox and era beside the name */
  bool has_sharded_channels;
  bool uses_functions;      /* FCALL */
  bool is_voter;            /* one server of a quorum */
  int64_t quarantine_ms;    /* 0: no era guard */
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
/* Cluster: `<p>:inbox:{tag}:C`, in the slot of the name. */
void native_name_inbox(const native *n, const void *name, size_t size, text *out);
/* `<p>:era`, in Cluster `<p>:era:{tag}`: one of the keys of each script that makes owners,
 * the last, where the era guard is on; protocol.md 16. */
void native_era_key(const native *n, const void *name, size_t size, text *out);
void native_client_key(const native *n, const char *client, text *out); /* <p>:client:C */

/* ---- calls: append one command; false when memory is refused ---- */

typedef struct acquire_call {
  const void *name; size_t name_size;
  uint64_t ask;
  int64_t ttl_ms;
  bool waits;               /* false: a try */
  bool polls;               /* waits without an inbox */
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
  lock_flavour flavour;
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
/* The lease becomes the same with `token`, which is higher. native_cancel_answer(): 1 or 0. */
bool native_raise(const native *n, buffer *out, bool with_text, const void *name,
                  size_t name_size, const lease_id *lease, uint64_t token);
bool native_share_raise(const native *n, buffer *out, bool with_text, const void *name,
                        size_t name_size, const lease_id *lease, uint64_t token);

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
  ACQUIRE_LATE,         /* past until_us: nothing was done */
  ACQUIRE_TOO_MANY,     /* shared: more units than the limit, which is in `units` */
  ACQUIRE_NOT_SET       /* shared: the semaphore has no limit yet */
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
  uint64_t units;         /* shared: permits granted; TOO_MANY: the limit */
  uint64_t last_token;    /* shared, WAITING and BUSY: of the last grant to anybody */
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
  uint64_t heard;         /* RELEASE_DONE: who were told that it is free, ourselves perhaps
                             among them; 0 where a queue says who is next */
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
  uint64_t units;           /* 'p': permits, 0: all that are free (a try); else 1 */
  int64_t ttl_ms;
  bool waits, polls;
  int64_t until_us, estimate_us, give_up_us;       /* as in acquire_call */
  uint64_t floor;
  const lease_id *watched;
  uint64_t watched_renewals;
  lock_flavour flavour;     /* 'p': UNLEASED or PLAIN */
} share_call;

/* A lease that is given back, or an ask that is given up. */
typedef struct share_ending {
  const void *name; size_t name_size;
  lease_id lease;           /* of an ask: its client and number */
  lock_flavour flavour;     /* as in share_call */
  uint64_t units;           /* permits of the lease; 0: not known */
  int64_t ttl_ms;           /* UNLEASED: so long it may be asked again; 0: it is not */
  int64_t copies_us;        /* until when, by the server, a copy of the ask may come; 0: none */
  int64_t estimate_us;
} share_ending;

/* native_share_answer() reads the answer: GRANTED carries length and units explicitly. */
bool native_share_acquire(const native *n, buffer *out, bool with_text, const share_call *c);
bool native_share_answer(const native *n, uint64_t ask, const resp_reply *r,
                         acquire_answer *ret);
/* Ends the lease (native_release_answer(); nobody in particular takes it, so never TAKEN).
 * `until_us`: also leaves a tombstone for late copies of the ask; 0: none are possible. */
bool native_share_release(const native *n, buffer *out, bool with_text, const void *name,
                          size_t name_size, const lease_id *lease, int64_t until_us,
                          int64_t estimate_us);
/* Ends the ask wherever it stands, with a tombstone; native_cancel_answer(). */
bool native_share_cancel(const native *n, buffer *out, bool with_text, const void *name,
                         size_t name_size, uint64_t ask, int64_t until_us,
                         int64_t estimate_us);

typedef struct share_renew_item {
  const void *name; size_t name_size;
  const lease_id *lease;
  int64_t ttl_ms;           /* 0: not lengthened */
  char mode;                /* as wanted now: 'r' on a write lease downgrades it */
  uint64_t units;           /* permits that it has; 0: not known */
} share_renew_item;

/* native_renew_answer(), native_renew_server_us(). */
bool native_share_renew(const native *n, buffer *out, bool with_text,
                        const share_renew_item *items, size_t count, int64_t estimate_us);

typedef enum share_set_what { SHARE_SET, SHARE_SET_IF_ABSENT, SHARE_DELETE } share_set_what;
/* Answer: {1, limit} done; {0, limit} not done (it has one; DELETE: in use). */
bool native_share_set(const native *n, buffer *out, bool with_text, const void *name,
                      size_t name_size, share_set_what what, uint64_t permits,
                      int64_t estimate_us);
bool native_share_set_answer(const resp_reply *r, bool *ret_done, uint64_t *ret_limit);

/* ---- several names at once; protocol.md 10 ---- */

#define MANY_NAMES_MAX 100

typedef struct many_name { const void *name; size_t size; } many_name;

typedef struct many_call {
  const many_name *names; size_t count;     /* in any order: keys are what is sorted */
  uint32_t set;
  uint64_t ask;
  int64_t ttl_ms;
  bool waits, polls;
  bool keeps;               /* after three rounds: hold what is free before the busy one */
  int64_t until_us, estimate_us, give_up_us;
  uint64_t floor;
  const lease_id *watched;  /* of the name that was the busy one in the last answer */
  uint64_t watched_renewals;
} many_call;

bool native_many_acquire(const native *n, buffer *out, bool with_text, const many_call *c);
/* GRANTED and AGAIN: one lease, the same string on each name. WAITING and BUSY: of the busy
 * name, whose index is in *ret_busy. */
bool native_many_answer(const native *n, const many_call *c, const resp_reply *r,
                        acquire_answer *ret, size_t *ret_busy);
/* Each name as native_release() does; the worst outcome. */
bool native_many_release(const native *n, buffer *out, bool with_text,
                         const many_name *names, size_t count, const lease_id *lease,
                         int64_t estimate_us);
bool native_many_cancel(const native *n, buffer *out, bool with_text,
                        const many_name *names, size_t count, uint32_t set, uint64_t ask,
                        int64_t until_us, int64_t estimate_us);

/* ---- inbox messages ---- */

/* SHARE: a grant on a shared resource; WANT and LOST also there. */
typedef enum inbox_word { INBOX_GRANT = 1, INBOX_WANT, INBOX_LOST, INBOX_SHARE } inbox_word;

typedef struct inbox_message {
  inbox_word word;
  lease_id lease;
  int64_t ttl_ms;          /* grant, share */
  uint64_t waiters;        /* grant, share */
  uint64_t units;          /* share */
  const char *name;        /* borrowed from the message */
  size_t name_size;
} inbox_message;

/* false for unknown words and broken messages: ignore them. */
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

/* `ret` is of use only when it is one. A `:` in the name of a lease may stand as it is. */
bool token_read(const char *token, token_parts *ret);

#endif
