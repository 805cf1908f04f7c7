/* SPDX-License-Identifier: MIT */
/* drive/errand.h - runs what can block for long and cannot be interrupted, a name server or a
 * disk, on a short-lived detached thread.
 *
 * Thread and caller own the record together: the last one to release it frees it. It may outlive
 * its client when the errand is slow, so it is not in the client's memory. */
#ifndef DRIVE_ERRAND_H
#define DRIVE_ERRAND_H

#include <stdatomic.h>
#include <stdbool.h>

/* The first member of a record of plain memory, zeroed. */
typedef struct errand {
  atomic_int owners;
  atomic_bool is_done;               /* publishes what run() has written */
  int fd;                            /* readable when it is done */
  const char *thread;                /* its name */
  void (*run)(struct errand *e);
  void (*free)(struct errand *e);    /* the whole record */
} errand;

/* Starts it; false: no descriptor or thread, and `e` is freed. */
bool errand_begin(errand *e, const char *thread, void (*run)(errand *e),
                  void (*release)(errand *e));
bool errand_is_done(const errand *e);
errand *errand_let_go(errand *e);    /* NULL allowed; returns NULL; never blocks */
void errand_drop(errand *e);         /* in a forked child: closes its copy of the descriptor */

#endif
