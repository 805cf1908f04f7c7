/* SPDX-License-Identifier: MIT */
/* cli/top_live.h - the screen of dibs top. */
#ifndef CLI_TOP_LIVE_H
#define CLI_TOP_LIVE_H

#include "cli/session.h"
#include "cli/signals.h"
#include "watch/top.h"

typedef struct top_live {
  session *session;
  signal_watch *signals;     /* begun before the session */
  const char *pattern;       /* NULL: all names */
  int32_t every_ms;
  enum watch_order order;
  bool shows_free;
  int signal;                /* that ended it; 0 */
} top_live;

/* With the screen open: until q or a signal; closes it. The exit code. */
int top_live_run(top_live *o);

#endif
