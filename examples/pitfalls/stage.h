/* SPDX-License-Identifier: MIT */
/* stage.h - a private server and three programs on it, moved step by step by whoever
 * writes the schedule. Each has a connection of its own to speak to the server by hand, and
 * a dibs client. Every step is printed with its answer, and so is what broke. */
#ifndef STAGE_H
#define STAGE_H

#include <stdbool.h>

#include <dibs/dibs.h>

typedef enum actor { ANNA, BERT, CORA, ACTORS } actor;

typedef struct stage stage;

/* Ends the program with 2 when it cannot have a server. */
stage *stage_open(void);
stage *stage_close(stage *s);
int stage_breaks(const stage *s);      /* so far */

/* ---- by hand: commands as for hiredis, only with %s and %d ---- */

/* The answer as redis-cli would show it; valid until the 8th later call. */
const char *by_hand(stage *s, actor who, const char *format, ...)
  __attribute__((format(printf, 3, 4)));
/* Waits until the key's time to live is over. */
void sleeps_past(stage *s, actor who, const char *key);

/* ---- with dibs: the lock called "shop" ---- */

/* Waits its turn; `ttl_ms` 0: the default; `flags` as in dibs_lock_options. */
dibs_status locks(stage *s, actor who, int ttl_ms, unsigned flags);
dibs_status tries(stage *s, actor who);
dibs_hold_condition asks_its_hold(stage *s, actor who);
dibs_status releases(stage *s, actor who);
/* Works on until the library has renewed the lease so often. */
void works_past_renewals(stage *s, actor who, unsigned count);

/* ---- what they do with it ---- */

/* Two at work at once is what a lock is to prevent: said, and counted. */
void begins_work(stage *s, actor who);
void ends_work(stage *s, actor who);
/* A process of its own does this as `who`, and is killed behind it by SIGKILL. */
void is_killed_after(stage *s, actor who, void (*steps)(stage *s));

void remark(const stage *s, actor who, const char *words);
void breaks(stage *s, const char *words);      /* another way to break */

#endif
