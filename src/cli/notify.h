/* SPDX-License-Identifier: MIT */
/* cli/notify.h - tells systemd how far we are, by the datagrams of sd_notify(3). */
#ifndef CLI_NOTIFY_H
#define CLI_NOTIFY_H

#include <stdint.h>

typedef struct notify {
  int fd;                  /* -1: nobody wants to know */
  int64_t watchdog_ms;     /* how often it wants to hear from us; 0: not */
} notify;

/* Nobody wants to know, unless `is_wanted` and NOTIFY_SOCKET is set. */
void notify_begin(notify *n, int is_wanted);
void notify_tell(const notify *n, const char *format, ...)
  __attribute__((format(printf, 2, 3)));
void notify_end(notify *n);

#endif
