/* SPDX-License-Identifier: MIT */
/* test/script/ear.h - one who listens on a channel of the stage's server, and counts. */
#ifndef SCRIPT_EAR_H
#define SCRIPT_EAR_H

void ear_open(const char *channel);
void ear_close(void);
/* How many messages came since the last call. */
int ear_count(void);

#endif
