/* SPDX-License-Identifier: MIT */
/* api/handle.h - dibs_hold and dibs_request: numbers in the form of pointers. A client has
 * one too, by which its holds find it, or its end.
 *
 * One table for the whole process. A handle has its place and the generation of the place,
 * so that an ended handle is recognized for ever, without its client. A pointer of 32 bits has
 * room for 12 bits of the generation: there only until its place has had 4096 others. Memory of
 * the table is never freed. No mutex: any thread can read it, while another thread holds any lock,
 * and in a forked child.
 *
 * A pin keeps the place from being used for another handle. It does not keep `owner`
 * alive: a claim's handles end with the mutex held, so check again with the mutex; a
 * client is pinned by all calls that use its handle, and dibs_close() waits for them. */
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
  _Atomic uint64_t epoch;           /* fork_epoch() of the creator */
  void *owner;                      /* the object of the handle; read only while pinned */
  _Atomic(const void *) client;     /* the client's own handle value */
  /* Facts of a hold, read without its client's mutex. */
  _Atomic int64_t valid_until_ns;
  _Atomic uint64_t fence;
  _Atomic int depth;
  _Atomic uint32_t units;
  _Atomic int condition;            /* dibs_hold_condition */
  _Atomic bool may_park;            /* its claim has a parking record; retake.c */
  _Atomic int fd;                   /* -1: not created */
  _Atomic uint64_t durability;      /* durability_word() */
} handle;

/* The facts of a live handle at one moment. */
typedef struct handle_view {
  uint64_t epoch, fence;
  int64_t valid_until_ns;
  uint32_t units;
  uint64_t durability;
  int depth, condition;
} handle_view;

/* A thread that still has an older handle of this place, and reads a fact of the new one, then
 * reads in `word` that its own has ended. */
#define fact_set(fact, value) atomic_store_explicit((fact), (value), memory_order_release)

/* Durability of a hold in one word. */
static inline uint64_t durability_word(dibs_durability_kind kind, uint32_t acknowledged,
                                       uint32_t wanted)
{
  return (uint64_t)kind << 56 | (uint64_t)(acknowledged & 0xfffffff) << 28 | (wanted & 0xfffffff);
}

handle *handle_new(handle_kind kind, void *owner, const void *client);   /* NULL: no memory */
void *handle_value(const handle *h);                    /* the value for the program */
/* NULL when it has ended or never existed. The thread cannot be cancelled before its last
 * handle_unpin(): each call unpins in the thread that pinned. */
handle *handle_pin(const void *value, handle_kind kind);
/* Of a hold that may be parked: pins its client only. `owner` must be read with the client's
 * mutex, after handle_is(). NULL: it may not, or one of them has ended. */
handle *handle_pin_client_if_parks(const void *value, handle **ret_client);
bool handle_is(const handle *h, const void *value, handle_kind kind);    /* still live? */
void handle_unpin(handle *h);
/* Makes its value stale. Called once, by its owner. */
void handle_end(handle *h);
/* Makes its value stale and gives it the next one, for a hold that is not held now. Only if
 * there is one. */
bool handle_has_next(const handle *h);
void handle_renew(handle *h);
/* After handle_end(): waits for earlier pins. */
void handle_wait(const handle *h);
bool handle_look(const void *value, handle_kind kind, handle_view *ret_view);

#endif
