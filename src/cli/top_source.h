/* SPDX-License-Identifier: MIT */
/* cli/top_source.h - readings of the servers for dibs top. */
#ifndef CLI_TOP_SOURCE_H
#define CLI_TOP_SOURCE_H

#include "cli/sampler.h"
#include "watch/top.h"

/* What the sampler read last, with rates since `before` (NULL: none). `ret_reading` is freed by
 * top_reading_free(). false: memory is refused. */
bool top_source_reading(const sampler *s, const dibs_fleet *before, top_reading *ret_reading);

/* ---- a thread that reads in an interval ---- */

typedef struct top_source top_source;

/* Reads every `every_ms`, at a bounded cost. `wake_fd`, an eventfd, is written when there is news.
 * NULL: no memory or thread. */
top_source *top_source_start(dibs_client *client, const char *pattern, int32_t every_ms,
                             int wake_fd);
top_source *top_source_stop(top_source *s);      /* may last as long as a call; NULL allowed */

/* The latest reading, once; false: there is no new one. Frees what was in `reading`. */
bool top_source_take(top_source *s, top_reading *reading);

/* The next reading is now. */
void top_source_hurry(top_source *s);

/* From now on also reads about that name; NULL: about none. */
void top_source_look(top_source *s, const char *name, size_t size);

/* The latest about it, as lines, once; NULL: nothing new. Owned by the caller. */
char *top_source_about(top_source *s);

#endif
