/* SPDX-License-Identifier: MIT */
/* cli/force.h - taking something away from whoever holds it, for administrators. */
#ifndef CLI_FORCE_H
#define CLI_FORCE_H

#include "cli/session.h"

/* Breaks the leases on the first operand: all of them, or the one with --fence. Asks on the
 * terminal unless `is_confirmed`; who broke what, and why, goes to the system log. */
int force_release(session *s, const arguments *a, bool is_confirmed);

#endif
