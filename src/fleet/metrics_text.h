/* SPDX-License-Identifier: MIT */
/* fleet/metrics_text.h - metrics as text: heads, and rows of classes, for the library and the
 * command. */
#ifndef FLEET_METRICS_TEXT_H
#define FLEET_METRICS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include <dibs/metrics.h>

#include "base/metrics.h"

enum metric {
#define METRIC_ID(name, type, unit, labels, help) METRIC_##name,
  METRICS_OF_CLASSES(METRIC_ID)
  METRICS_OF_CLIENT(METRIC_ID)
  METRICS_OF_FLEET(METRIC_ID)
#undef METRIC_ID
};

typedef struct metrics_out {
  bool is_classic;            /* Prometheus' text format 0.0.4; false: OpenMetrics 1.0 */
  void (*add)(const char *bytes, size_t size, void *data);     /* whole lines */
  /* Adds a class name with what a label wants escaped, and lines come in pieces; NULL: they are
   * those of fleet_class_name(), which need none. */
  void (*add_label)(const char *name, void *data);
  void *data;
} metrics_out;

/* How a wait and a hold ended: label values, and the same in the history. */
extern const char *const fleet_wait_words[DIBS_FLEET_WAITS];
extern const char *const fleet_end_words[DIBS_FLEET_ENDS];

const char *metric_name(enum metric m);
/* HELP, TYPE, and what else comes before the samples of a metric. */
void metrics_head(const metrics_out *out, enum metric m);
/* All metrics of METRICS_OF_CLASSES. */
void metrics_classes(const metrics_out *out, const dibs_fleet_row *const *rows, size_t count);

/* The whole text of one client; `has_end`: with the last line of OpenMetrics. */
void metrics_client(const metrics_out *out, const dibs_metrics *m, bool has_end);

#endif
