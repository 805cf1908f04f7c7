/* SPDX-License-Identifier: MIT */
/* cli/init.h - dibs as the first process of a container.
 *
 * The kernel drops what pid 1 does not handle, such as TERM, and gives it all orphans. So pid 1
 * only reaps, passes signals on and ends with the code of its child, which is the command
 * proper and like any other process. */
#ifndef CLI_INIT_H
#define CLI_INIT_H

#include <stdbool.h>

/* As pid 1: returns in a child of it. Else does nothing. Before there are threads. */
void init_begin(void);

/* Whether this process is the child of such an init. */
bool init_is_parent(void);

#endif
