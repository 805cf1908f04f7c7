/* SPDX-License-Identifier: MIT */
/* test/script/era_story.h - failovers on the stage: what the server has becomes that of a new
 * primary, as far as scripts can tell. */
#ifndef SCRIPT_ERA_STORY_H
#define SCRIPT_ERA_STORY_H

#include "stage.h"

#define QUARANTINE_MS 40000
#define QUARANTINE_US (QUARANTINE_MS * INT64_C(1000))
#define ERA_KEY "dibs:era"

/* Before a test: the guard is on, the test has the clock, and an old era is over. */
int era_clear(void **state);
/* Another replication id: as if this were a replica that was promoted. */
void era_change(void);
/* The clock is this much behind START_US. */
void era_at(int64_t us);
/* It names nobody, and the end of the quarantine. */
void assert_quarantined(const acquire_answer *a, acquire_outcome outcome, int64_t remaining_ms);

#endif
