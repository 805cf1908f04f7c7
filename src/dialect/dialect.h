/* SPDX-License-Identifier: MIT */
/* dialect/dialect.h - what the dialects of locks have in common: each call is made by
 * the scripts of the one that `native.dialect` names, and all answer in the native form. */
#ifndef DIALECT_H
#define DIALECT_H

#include "dialect/native.h"

/* What a format can carry beside exclusive locks. */
typedef struct dialect_traits {
  const char *name;            /* as in `dialect=` */
  bool hands_over;             /* the server gives the lock to the next, and tells that one */
  bool has_shares, has_sets;   /* read/write locks and permits; several names by one script */
  bool has_flavours;           /* several kinds of exclusive locks */
  bool has_quorums;            /* a majority of independent servers */
  bool is_silent;              /* nobody is told that a lock is free */
  bool is_sharded;             /* Cluster: channels of one slot, where the server has them */
  int32_t look_first_ms, look_most_ms;   /* who waits looks so often by himself; 0: seldom */
  const char *guide;
} dialect_traits;

const dialect_traits *dialect_traits_of(const native *n);
/* A name of its own channel for what concerns it, instead of one inbox for all. */
bool dialect_has_channels(const native *n);
/* A second channel, of many locks, whose messages are the keys of those that are free; false:
 * there is none. */
bool dialect_side_channel(const native *n, text *out);
const char *dialect_name_fault(const native *n, const void *name, size_t size);

/* The key in whose slot the lock is. */
void dialect_key(const native *n, const void *name, size_t size, text *out);
/* `mode` as in share_call; of an exclusive lock 0. */
void dialect_channel(const native *n, const void *name, size_t size, char mode,
                     lock_flavour flavour, uint64_t ask, text *out);

bool dialect_acquire(const native *n, buffer *out, bool with_text, const acquire_call *c);
/* `copies_us`: server time until when a copy of the ask may still come; 0: there is none. */
bool dialect_release(const native *n, buffer *out, bool with_text, const void *name,
                     size_t name_size, const lease_id *lease, int64_t copies_us,
                     int64_t estimate_us);
bool dialect_cancel(const native *n, buffer *out, bool with_text, const void *name,
                    size_t name_size, uint64_t ask, int64_t copies_us, int64_t estimate_us,
                    const lease_id *detached);
bool dialect_break(const native *n, buffer *out, bool with_text, const void *name,
                   size_t name_size, const lease_id *lease, int64_t estimate_us);
bool dialect_renew(const native *n, buffer *out, bool with_text, const renew_item *items,
                   size_t count, int64_t estimate_us);
/* As native_raise(). */
bool dialect_raise(const native *n, buffer *out, bool with_text, const void *name,
                   size_t name_size, const lease_id *lease, uint64_t token);
bool dialect_inspect(const native *n, buffer *out, bool with_text, const void *name,
                     size_t name_size);
/* How the format writes an owner, for people; nothing where it is the id that they see. */
void dialect_owner_show(const native *n, const char *client, uint64_t ask, text *out);
bool dialect_inspect_answer(const native *n, const resp_reply *r, inspect_answer *ret);

/* ---- which keys are locks; of dialects that are not ours ---- */

typedef enum list_kind { LIST_LOCKS, LIST_PERMITS, LIST_KINDS } list_kind;

/* The type of value by which they are found; NULL: the format has none such, or does not tell. */
const char *dialect_list_type(const native *n, list_kind kind);
/* A pattern of the server that has all keys in it of names that `pattern` (NULL: any) can mean. */
void dialect_list_match(const native *n, list_kind kind, const char *pattern, text *out);
/* Whether all keys of the database may be names. */
bool dialect_list_is_everything(const native *n);
/* The names that a key may stand for, in the key's own bytes; how many: 0 to LIST_NAMES_MAX. */
enum { LIST_NAMES_MAX = 2 };
size_t dialect_list_names(const native *n, list_kind kind, const char *key, size_t size,
                          many_name ret_names[LIST_NAMES_MAX]);
/* By its first holder, as inspect tells it. Of the values of `plain` nobody can tell. */
bool dialect_list_is_owner(const native *n, const char *client);

/* ---- what shares a name; answers are read by native_share_answer() and its like ---- */

bool dialect_share_acquire(const native *n, buffer *out, bool with_text, const share_call *c);
bool dialect_share_release(const native *n, buffer *out, bool with_text,
                           const share_ending *e);
bool dialect_share_cancel(const native *n, buffer *out, bool with_text, const share_ending *e);
bool dialect_share_renew(const native *n, buffer *out, bool with_text,
                         const share_renew_item *items, size_t count, int64_t estimate_us);
bool dialect_share_raise(const native *n, buffer *out, bool with_text, const void *name,
                         size_t name_size, const lease_id *lease, uint64_t token);
bool dialect_share_set(const native *n, buffer *out, bool with_text, const void *name,
                       size_t name_size, share_set_what what, uint64_t permits,
                       int64_t estimate_us);
/* Of one ask at most; DIBS_PERMITS_MAX at most. */
uint64_t dialect_permits_max(const native *n, lock_flavour flavour);

#endif
