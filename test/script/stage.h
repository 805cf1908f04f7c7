/* SPDX-License-Identifier: MIT */
/* test/script/stage.h - the one world of a test program: made before its first test, empty
 * at the start of each. */
#ifndef SCRIPT_STAGE_H
#define SCRIPT_STAGE_H

#include "world.h"

/* The clocks of tests that set them begin here. */
#define START_US 1700000000123456

extern struct world *w;

/* For the group; the second lets tests ask for digests of what is stored. */
int stage_start(void **state);
int stage_start_with_debug(void **state);
int stage_stop(void **state);
/* In place of tests_run() and RUN_TESTS_EACH(): the program is skipped where the server lacks
 * what its mode needs. */
#define stage_run(start, stop, before, after) \
  (stage_is_skipped() ? 0 : tests_run((start), (stop), (before), (after)))
#define RUN_STAGE(start, stop, before, after)                                                \
  int main(void)                                                                             \
  {                                                                                          \
    return stage_run(start, stop, before, after);                                            \
  }
bool stage_is_skipped(void);
/* Before a test. Memory that a test has filled is empty again. */
int stage_clear(void **state);
/* After it: ordinary operation leaves nothing in the server's error statistics. */
int stage_check_errors(void **state);

/* A server with room for nothing more, and one with room again. */
void stage_fill_memory(void);
void stage_empty_memory(void);

/* The commands that scripts called since the last time, less the `own` ones of the test, and
 * `looks` at the era where there is a guard. */
long long stage_commands(int own, int looks);

/* Sends what is in the world's buffer. Valid until the next call. */
const resp_reply *stage_send(void);
/* The same, which must not be refused; the key is gone or has its retention. */
const resp_reply *stage_send_kept(const char *key);

#endif
