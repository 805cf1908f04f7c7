/* SPDX-License-Identifier: MIT */
/* cli/password.h - the password of a file, a pipe or a terminal. */
#ifndef CLI_PASSWORD_H
#define CLI_PASSWORD_H

#include "cli/session.h"

/* For --askpass and --pass-file. Returns 0, or an exit code after saying why. */
int password_find(session *s);

#endif
