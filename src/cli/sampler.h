/* SPDX-License-Identifier: MIT */
/* cli/sampler.h - reads the servers for the screens and the exporter, at a bounded cost.
 *
 * Thread: the caller's; one at a time. */
#ifndef CLI_SAMPLER_H
#define CLI_SAMPLER_H

#include <dibs/dibs.h>

#include "watch/watch.h"

#define SAMPLER_SERVERS 64
#define SAMPLER_FINDINGS 1024

typedef struct sampler {
  dibs_client *client;
  const char *pattern;       /* NULL: all names */
  size_t budget;             /* inspections in one sample; 0: all names */
  watch_table table;
  dibs_fleet *fleet;         /* NULL: not read, or not allowed */
  watch_finding findings[SAMPLER_FINDINGS];
  size_t finding_count;
  watch_server servers[SAMPLER_SERVERS];
  size_t server_count;
  bool wants_findings;
  int64_t walked_ms, examined_ms;   /* 0: never */
  int64_t sampled_ms;
  uint64_t round_trip_us;
  double seconds;
  dibs_status status;        /* of the last sample */
  dibs_error error;
} sampler;

int64_t sampler_now_ms(void);

/* Walks over the names every 5 s, inspects `budget` of them, and reads the totals. After a fault
 * the rows of the sample before stay. */
dibs_status sampler_read(sampler *s);

void sampler_write_metrics(const sampler *s, size_t names_max, watch_text *out);
void sampler_free(sampler *s);

#endif
