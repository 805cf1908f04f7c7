/* SPDX-License-Identifier: MIT */
/* test/script/set_story.h - what the stories of sets say: who hears, who holds, who waits. */
#ifndef SCRIPT_SET_STORY_H
#define SCRIPT_SET_STORY_H

#include "members.h"
#include "stage.h"

void hear(void);                                /* everybody */
void assert_held(char letter, const lease_id *l);
void assert_free(char letter);
/* As it stands in members_queue(); set 0: none. In one of 8 rotating buffers. */
const char *entry(int who, int set, int ask);

#endif
