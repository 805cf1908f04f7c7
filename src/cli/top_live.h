/* SPDX-License-Identifier: MIT */
/* cli/top_live.h - dibs top while it goes on: its screen, or a recording without one. */
#ifndef CLI_TOP_LIVE_H
#define CLI_TOP_LIVE_H

#include "cli/session.h"
#include "cli/signals.h"
#include "cli/top_record.h"
#include "watch/top.h"

typedef struct top_live {
  session *session;
  signal_watch *signals;     /* begun before the session */
  const char *pattern;       /* NULL: all names */
  int32_t every_ms;
  enum watch_order order;
  bool shows_free;
  bool has_screen;
  top_record *record;        /* without a path: none */
  top_replay *replay;        /* what is shown, without a session; NULL */
  size_t replay_from;
  int signal;                /* that ended it; 0 */
} top_live;

/* With the screen open: until q or a signal; closes it. The exit code. */
int top_live_run(top_live *o);

/* Records until a signal, without a screen. */
int top_live_record(top_live *o);

#endif
