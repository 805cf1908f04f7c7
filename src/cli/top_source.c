/* SPDX-License-Identifier: MIT */
/* cli/top_source.c - readings of the servers for dibs top. */
#include "cli/top_source.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/message.h"
#include "fleet/class.h"

_Static_assert(WATCH_CLASS_SIZE == FLEET_CLASS_SIZE, "a class name fits");

bool top_source_reading(const sampler *s, const dibs_fleet *before, top_reading *ret_reading)
{
  top_reading r = { .at_ms = sampler_now_ms(), .is_up = s->status == DIBS_OK,
                    .round_trip_us = s->round_trip_us, .class_of = fleet_class_name };
  struct timespec now;
  struct tm local;

  if (!watch_copy(&s->table, &r.table))
    return false;
  clock_gettime(CLOCK_REALTIME, &now);
  if (localtime_r(&now.tv_sec, &local) != NULL)
    strftime(r.when, sizeof(r.when), "%H:%M:%S", &local);
  snprintf(r.url, sizeof(r.url), "%s", dibs_url(s->client));
  if (!r.is_up)
    printable(s->error.text, r.error, sizeof(r.error));
  r.sums = watch_sum(&r.table, r.at_ms);
  r.has_fleet = s->fleet != NULL;
  if (s->fleet != NULL) {
    r.clients = s->fleet->clients;
    r.classes = watch_classes(before, s->fleet, &r.class_count);
  }
  *ret_reading = r;
  return true;
}
