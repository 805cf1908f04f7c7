/* SPDX-License-Identifier: MIT */
/* cli/top_about.h - what is known of one name, as lines for the screen of dibs top. */
#ifndef CLI_TOP_ABOUT_H
#define CLI_TOP_ABOUT_H

#include "cli/sampler.h"

/* Holders, queue, what the holders wait for, history. Asks the server; waits for it. Printable
 * lines, owned by the caller; NULL: no memory. */
char *top_about(sampler *s, const char *name, size_t size);

#endif
