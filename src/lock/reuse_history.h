/* SPDX-License-Identifier: MIT */
/* lock/reuse_history.h - the reuse history of names between two locks: which names this client
 * alone takes repeatedly, so that parking pays (DIBS_LINGER_AUTO); which others take from it each
 * time, so that parking costs; and which were just reported free to others. A guess: a small
 * table, where names with the same place replace each other; a wrong guess costs a round trip,
 * never a lock. */
#ifndef LOCK_REUSE_HISTORY_H
#define LOCK_REUSE_HISTORY_H

#include "base/base.h"

typedef struct reuse_record {
  uint64_t name;           /* hash of the name; 0: unused */
  instant released_at;
  unsigned taken;          /* consecutive grants, each soon after the last release */
  unsigned revoked;        /* consecutive revocations of the parked lease */
  unsigned pause;          /* grants until it is parked again */
  instant yield_until;     /* until then other clients ask first */
} reuse_record;

#define REUSE_RECORDS 256
typedef struct reuse_history { reuse_record all[REUSE_RECORDS]; } reuse_history;

/* The server granted it to this client. */
void reuse_taken(reuse_history *h, const void *name, size_t size, instant now);
/* This client released or parked it. `is_wanted`: another client waits for it. */
void reuse_released(reuse_history *h, const void *name, size_t size, bool is_wanted, instant now);
/* A parked lease: another client wanted it; or this client took it again. */
void reuse_revoked(reuse_history *h, const void *name, size_t size);
void reuse_paid(reuse_history *h, const void *name, size_t size);

/* Until then other clients that know that it is free ask first. */
void reuse_yields(reuse_history *h, const void *name, size_t size, instant until);
/* 0: they need not. */
instant reuse_yield_until(const reuse_history *h, const void *name, size_t size);

/* `is_auto`: only if parking pays; else unless it costs. */
bool reuse_says_linger(const reuse_history *h, const void *name, size_t size, bool is_auto);

#endif
