/* SPDX-License-Identifier: MIT */
/* cli/force.h - ends leases of other clients, for administrators. */
#ifndef CLI_FORCE_H
#define CLI_FORCE_H

#include "cli/session.h"

typedef struct force_order {
  const char *name, *reason;   /* reason NULL: none was given */
  uint64_t only_fence;         /* 0: any */
  bool is_confirmed;           /* else asks on the terminal */
} force_order;

/* Breaks the leases on the name: all of them, or the one with that fence. The user, the lock
 * and the reason go to the system log. */
int force_release(session *s, const force_order *o);

#endif
