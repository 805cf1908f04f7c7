/* SPDX-License-Identifier: MIT */
/* cli/terminfo.h - what terminfo knows of the terminal. */
#ifndef CLI_TERMINFO_H
#define CLI_TERMINFO_H

#include <stdbool.h>

/* Whether TERM is in terminfo. newterm() leaks if it is not. */
bool terminfo_is_known(void);

#endif
