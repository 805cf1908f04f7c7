/* SPDX-License-Identifier: MIT */
/* api/handle.h - dibs_hold and dibs_request: numbers dressed as pointers. A client has one
 * too, for its holds to find it or its end.
 *
 * One table for the whole process. A handle carries its place and the place's generation,
 * so that one that has ended is recognized for ever, whatever happened to its client.
 * Memory of the table is never given back. No mutex: looking works in any thread, while
 * any other holds any lock, and in a forked child.
 *
 * A pin keeps the place from getting a new tenant. It does not keep `owner` alive: a
 * claim's handles end with the mutex held, so look again with it; a client's is pinned by
 * all who came to it by a handle, and dibs_close() waits for them. */
#ifndef API_HANDLE_H
#define API_HANDLE_H

#include <dibs/lock.h>

#include <stdatomic.h>

#include "base/base.h"

typedef enum handle_kind {
  HANDLE_HOLD = 1, HANDLE_REQUEST, HANDLE_WAIT, HANDLE_OBSERVER, HANDLE_CLIENT
} handle_kind;

typedef struct handle {
  _Atomic uint64_t word;            /* generation << 32 | retired << 31 | pins */
  _Atomic uint32_t next_free;       /* place + 1; 0: none */
  uint32_t place;
  _Atomic int kind;
  _Atomic uint64_t epoch;           /* fork_epoch() of the maker */
  void *owner;                      /* what it stands for; read only while pinned */
  const void *client;               /* the client's own handle value; likewise */
  /* What a hold answers without its client's mutex. */
  _Atomic int64_t valid_until_ns;
  _Atomic uint64_t fence;
  _Atomic int depth;
  _Atomic uint32_t units;
  _Atomic int condition;            /* dibs_hold_condition */
  _Atomic int fd;                   /* -1: not made yet */
  _Atomic uint64_t durability;      /* durability_word() */
} handle;

/* What was true of a living handle at one moment. */
typedef struct handle_view {
  uint64_t epoch, fence;
  int64_t valid_until_ns;
  uint32_t units;
  uint64_t durability;
  int depth, condition;
} handle_view;

/* What a hold got, in one word. */
static inline uint64_t durability_word(dibs_durability_kind kind, uint32_t acknowledged,
                                       uint32_t wanted)
{
  return (uint64_t)kind << 56 | (uint64_t)(acknowledged & 0xfffffff) << 28 | (wanted & 0xfffffff);
}

handle *handle_new(handle_kind kind, void *owner, const void *client);   /* NULL: memory */
void *handle_value(const handle *h);                    /* what the program gets */
/* NULL when it has ended or never was. */
handle *handle_pin(const void *value, handle_kind kind);
bool handle_is(const handle *h, const void *value, handle_kind kind);    /* still */
void handle_unpin(handle *h);
/* Makes its value stale. Once, by its owner. */
void handle_end(handle *h);
/* After handle_end(): waits for those that had pinned it before. */
void handle_wait(const handle *h);
bool handle_look(const void *value, handle_kind kind, handle_view *ret_view);

#endif
