/* SPDX-License-Identifier: MIT */
/* lock/lock_kind.h - what a program may ask for; the word that api, engine and lock share. */
#ifndef LOCK_KIND_H
#define LOCK_KIND_H

typedef enum lock_kind {
  LOCK_MUTEX = 0, LOCK_READ, LOCK_WRITE, LOCK_PERMITS, LOCK_MANY
} lock_kind;

#define LINGER_AUTO ((span){ -1 })    /* where it pays */

#endif
