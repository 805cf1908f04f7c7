/* SPDX-License-Identifier: MIT */
/* cli/aside.h - a call that waits for the server, beside a main thread that goes on
 * reading signals: Ctrl-C must not wait for a server that does not reply. */
#ifndef CLI_ASIDE_H
#define CLI_ASIDE_H

#include <stdbool.h>

#include "cli/signals.h"

/* Runs call(data) on a thread and waits for its end. Interrupted by a signal it waits a
 * little longer for the reply, then abandons the thread: false, and `data` stays the
 * thread's. `*ret_signal` is that signal, or 0. A system without threads runs it here. */
bool aside_run(void (*call)(void *data), void *data, signal_watch *signals,
               int *ret_signal);

/* Reads signals; the first that ends a wait is kept in `ret_signal`. Ctrl-Z stops us. */
void aside_read_signals(signal_watch *signals, int *ret_signal);

/* How long to wait for a reply after an interruption. */
#define ASIDE_PATIENCE_MS 350

#endif
