/* SPDX-License-Identifier: MIT */
/* cli/take_before.h - what has to be known before something is taken. */
#ifndef CLI_TAKE_BEFORE_H
#define CLI_TAKE_BEFORE_H

#include <dibs/inspect.h>

#include "cli/session.h"
#include "cli/signals.h"
#include "cli/target.h"

/* Looks whether a `dibs run` around this process would be waited for by its own command.
 * `until_ms`: the end of the wait, by clock_ms(); 0: it has none. `*ret_code`: 0, or what to
 * exit with after saying why; `*ret_signal`: 0, or what interrupted it. false when a thread
 * was abandoned in the client. */
bool take_before(session *s, const target *t, int64_t until_ms, signal_watch *signals,
                 int *ret_signal, int *ret_code);

/* Whether a `dibs run` around this process holds the name, or a part of its permits. */
bool take_is_held_around(const session *s, const dibs_inspection *i);

/* Returns the exit code. */
int take_say_held_around(const char *name);

#endif
