/* SPDX-License-Identifier: MIT */
/* cli/run_schedule.h - when a command is sent a signal to stop, and when it is killed.
 *
 * Pure arithmetic. A lease can end on the server while the wrapper gets no message; so the
 * order is counted backwards from the last instant at which the hold may be believed:
 *
 *     last renewal                            signal           kill      valid ends
 *     |---- renewals every ttl/3, retried ----|-- kill_after --|- margin -|
 *
 * A renewal that succeeds moves the right end, and with it everything. The command is
 * dead before another client can get the lock, even if the server does not reply. */
#ifndef CLI_RUN_SCHEDULE_H
#define CLI_RUN_SCHEDULE_H

#include <stdint.h>

typedef struct kill_schedule {
  int64_t kill_after_ms; /* from signal to kill */
  int64_t margin_ms;     /* from kill to the end, for the kernel to carry it out */
} kill_schedule;

/* What is due: milliseconds from now, 0 when it is due at once. */
typedef struct kill_times {
  int64_t signal_in_ms;
  int64_t kill_in_ms;
} kill_times;

/* Fits the wanted time between signal and kill into a lease of `ttl_ms`: at most a third
 * of it, so that several renewals can fail before anything happens. */
kill_schedule kill_schedule_for(int64_t ttl_ms, int64_t kill_after_ms);

kill_times kill_schedule_at(const kill_schedule *s, int64_t valid_ms);

#endif
