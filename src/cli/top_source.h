/* SPDX-License-Identifier: MIT */
/* cli/top_source.h - readings of the servers for dibs top. */
#ifndef CLI_TOP_SOURCE_H
#define CLI_TOP_SOURCE_H

#include "cli/sampler.h"
#include "watch/top.h"

/* What the sampler read last, with rates since `before` (NULL: none). `ret_reading` is freed by
 * top_reading_free(). false: memory is refused. */
bool top_source_reading(const sampler *s, const dibs_fleet *before, top_reading *ret_reading);

#endif
