/* SPDX-License-Identifier: MIT */
/* fleet/metrics_client.c - the numbers of one client as text. */
#include <string.h>

#include <dibs/version.h>

#include "fleet/metrics_text.h"

static void add(const metrics_out *out, const char *words)
{
  out->add(words, strlen(words), out->data);
}

void metrics_client(const metrics_out *out, const dibs_metrics *m, bool has_end)
{
  metrics_head(out, METRIC_dibs_build_info);
  add(out, "dibs_build_info{version=\"" DIBS_VERSION "\"} 1\n");
  metrics_classes(out, m->rows, m->count);
  if (has_end)
    add(out, "# EOF\n");
}
