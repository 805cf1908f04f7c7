/* SPDX-License-Identifier: MIT */
/* cli/notify.h - reports the state of this process to systemd, as sd_notify(3). */
#ifndef CLI_NOTIFY_H
#define CLI_NOTIFY_H

#include <stdint.h>

typedef struct notify {
  int fd;                  /* -1: nothing is reported */
  int64_t watchdog_ms;     /* between two reports; 0: none are needed */
} notify;

/* Nothing is reported unless `is_wanted` and NOTIFY_SOCKET is set. */
void notify_begin(notify *n, int is_wanted);
void notify_send(const notify *n, const char *format, ...)
  __attribute__((format(printf, 2, 3)));
void notify_end(notify *n);

#endif
