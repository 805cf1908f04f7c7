/* SPDX-License-Identifier: MIT */
/* dialect/dialect.h - one dialect of locks as a row: what it supports, and its calls. A row is
 * `native_dialect` of native/row.c, and so on; base/dialects.h lists them. A client calls the
 * functions of `protocol.dialect`; all answer in the native form. */
#ifndef DIALECT_H
#define DIALECT_H

#include "base/dialects.h"
#include "dialect/native.h"

/* What a format supports beside exclusive locks. */
typedef struct dialect_traits {
  const char *name;            /* as in `dialect=` */
  bool hands_over;             /* a release grants to the next waiter, with a message */
  bool has_shares, has_sets;   /* read/write locks and permits; several names in one script */
  bool has_lock_kinds;           /* several kinds of exclusive locks */
  bool has_quorums;            /* a majority of independent servers */
  bool token_is_fence;         /* of its fenced locks */
  bool is_sharded;             /* Cluster: sharded channels, if the server has them */
  int32_t look_first_ms, look_most_ms;   /* poll intervals of waiters; 0: long ones */
  int32_t readers_ttl_ms;        /* to which a peer may shorten a lease to read; 0: none does */
  const char *guide;
} dialect_traits;

/* What a user of a server needs for names of the dialect, beside the rights of `native`, which
 * each user has. Arguments of ACL SETUSER, with `%n` for the pattern of names, `%t` for the same in
 * braces unless it has one, `%p` for the prefix, `%r` for the registry. */
typedef struct dialect_rights {
  const char *keys, *channels;             /* "": none */
  const char *commands;                    /* those of `native` depend on features: admin/acl.c */
} dialect_rights;

/* NULL where a comment says so; functions of shares also for a dialect without them. */
typedef struct dialect_ops {
  dialect_traits traits;

  const char *(*cluster_name_fault)(const protocol *n, const void *name, size_t size);  /* NULL */
  /* One spelling of all names with one key, in the same bytes. NULL: each name has its own key. */
  void (*spell)(const void **name, size_t *size);
  /* The key in whose slot the lock is. Where locks are found by keys, it ends with the name. */
  void (*key)(const protocol *n, const void *name, size_t size, text *out);
  /* `mode` as in share_call; 0 for an exclusive lock. */
  void (*channel)(const protocol *n, const void *name, size_t size, char mode,
                  lock_kind kind, uint64_t ask, text *out);
  /* A second channel, of many locks, whose messages are the keys of free ones; NULL: none. */
  void (*side_channel)(const protocol *n, text *out);
  /* An owner in the form of the format, for people; NULL: it is the id that they see. */
  void (*owner_show)(const char client[CLIENT_ID_SIZE], uint64_t ask, text *out);

  bool (*acquire)(const protocol *n, request *out, const acquire_call *c);
  /* `copies_us`: server time until which a copy of the ask may arrive; 0: none can. */
  bool (*release)(const protocol *n, request *out, const void *name, size_t name_size,
                  const lease_id *lease, int64_t copies_us, int64_t estimate_us);
  /* As native_release_ifeq(); NULL: there is none. */
  bool (*release_ifeq)(const protocol *n, request *out, const void *name, size_t name_size,
                       const lease_id *lease, const lease_string *stored);
  bool (*cancel)(const protocol *n, request *out, const void *name, size_t name_size,
                 uint64_t ask, int64_t copies_us, int64_t estimate_us,
                 const lease_id *detached);
  bool (*break_lease)(const protocol *n, request *out, const void *name, size_t name_size,
                      const lease_id *lease, int64_t estimate_us);
  bool (*renew)(const protocol *n, request *out, const renew_item *items, size_t count,
                int64_t estimate_us);
  /* As native_raise(). */
  bool (*raise)(const protocol *n, request *out, const void *name, size_t name_size,
                const lease_id *lease, uint64_t token);
  bool (*inspect)(const protocol *n, request *out, const void *name, size_t name_size);
  bool (*inspect_answer)(const resp_reply *r, inspect_answer *ret);

  /* Shared names; native_share_answer() and similar functions read the answers. */
  uint64_t leased_permits_max;             /* of one ask, with a lease */
  bool (*share_acquire)(const protocol *n, request *out, const share_call *c);
  bool (*share_release)(const protocol *n, request *out, const share_ending *e);
  bool (*share_cancel)(const protocol *n, request *out, const share_ending *e);
  bool (*share_renew)(const protocol *n, request *out, const share_renew_item *items,
                      size_t count, int64_t estimate_us);
  bool (*share_raise)(const protocol *n, request *out, const void *name, size_t name_size,
                      const lease_id *lease, uint64_t token);
  bool (*share_set)(const protocol *n, request *out, const void *name, size_t name_size,
                    share_set_what what, uint64_t permits, int64_t estimate_us);

  const char *lock_type, *permits_type;    /* of the values of such keys; NULL: none */
  bool has_registry;                       /* keys begin with `<registry>:` */
  bool lists_all_keys;                     /* any key of the database may be a name */
  bool checks_owner;                       /* a value without an owner is no lock */
  dialect_rights rights;
} dialect_ops;

#define DIALECT_ROW(number, NAME, word) extern const dialect_ops word##_dialect;
DIALECTS(DIALECT_ROW)
#undef DIALECT_ROW

/* By its number in dibs_dialect; others are the native one. */
const dialect_ops *dialect_of_number(unsigned number);

/* A channel for each name, instead of one inbox for all. */
bool dialect_has_channels(const protocol *n);
const char *dialect_name_fault(const protocol *n, const void *name, size_t size);
void dialect_spell(const protocol *n, const void **name, size_t *size);
/* The most permits of one ask; at most DIBS_PERMITS_MAX. */
uint64_t dialect_permits_max(const protocol *n, lock_kind kind);

/* ---- keys that are locks, in foreign dialects ---- */

typedef enum list_kind { LIST_LOCKS, LIST_PERMITS, LIST_KINDS } list_kind;

/* The type of value of such keys; NULL: the format has no such names. */
const char *dialect_list_type(const protocol *n, list_kind kind);
/* A pattern of the server that matches all keys of names that `pattern` (NULL: any) matches. */
void dialect_list_match(const protocol *n, list_kind kind, const char *pattern, text *out);
/* Whether all keys of the database may be names. */
bool dialect_list_is_everything(const protocol *n);
/* The names that a key may stand for, in the key's own bytes; returns 0 to LIST_NAMES_MAX. */
enum { LIST_NAMES_MAX = 2 };
size_t dialect_list_names(const protocol *n, list_kind kind, const char *key, size_t size,
                          many_name ret_names[LIST_NAMES_MAX]);
/* By its first holder, as inspect shows it. Values of `plain` do not show it. */
bool dialect_list_is_owner(const protocol *n, const char *client);

#endif
