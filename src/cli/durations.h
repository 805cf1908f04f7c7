/* SPDX-License-Identifier: MIT */
/* cli/durations.h - time spans as people write and read them. */
#ifndef CLI_DURATIONS_H
#define CLI_DURATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DURATION_SIZE 32

/* Reads "500ms", "10s", "5m", "1h30m", "2d", "1.5s"; a bare number is seconds. false when
 * it is none of these, or more than DIBS_MS_MAX. */
bool duration_read(const char *text, int32_t *ret_ms);

/* "0:12", "2:41", "1:02:03", "3d 1:02:03". */
void duration_as_clock(int64_t ms, char ret_text[DURATION_SIZE]);

/* "850ms", "24.1s", "2m05s", "3h00m": for what is still to come. */
void duration_as_span(int64_t ms, char ret_text[DURATION_SIZE]);

#endif
