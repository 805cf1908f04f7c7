/* SPDX-License-Identifier: MIT */
/* cli/local.h - servers of one's own: dibs local, dibs sandbox. */
#ifndef CLI_LOCAL_H
#define CLI_LOCAL_H

#include <dibs/dibs.h>

/* Says why a server was not started or found; the exit code. */
int local_fault(dibs_status status, const dibs_error *error);

#endif
