/* SPDX-License-Identifier: MIT */
/* test/script/share_story.h - what the stories of readers, writers and permits say of the stage. */
#ifndef SCRIPT_SHARE_STORY_H
#define SCRIPT_SHARE_STORY_H

#include "shares.h"
#include "stage.h"

/* Before a test: as stage_clear(), and nobody mistakes the time. */
int share_clear(void **state);
/* The same; the clock is the test's from START_US on. */
int share_clear_clock(void **state);

void share_hear(int first, int last);
/* `who` has been told of a share of 30 s by exactly this ask. */
lease_id share_told(int who, uint64_t ask, uint64_t units);
void share_nothing_told(int who);

#endif
