/* SPDX-License-Identifier: MIT */
/* watch/classes.c - rates and quantiles of each class, from two readings of the totals. */
#include <stdlib.h>
#include <string.h>

#include "watch/watch.h"

int64_t watch_quantile_us(const dibs_fleet_times *t, double share)
{
  uint64_t below = 0;

  for (size_t i = 0; i < DIBS_FLEET_BUCKETS && t->count > 0; i++) {
    below += t->buckets[i];
    /* The last bucket has no bound. */
    if ((double)below >= share * (double)t->count)
      return dibs_fleet_bound_us(i < DIBS_FLEET_BUCKETS - 1 ? i : i - 1);
  }
  return -1;
}

static const dibs_fleet_row *row_of(const dibs_fleet *f, const dibs_fleet_row *like)
{
  for (size_t i = 0; f != NULL && i < f->count; i++) {
    if (f->rows[i]->kind == like->kind && strcmp(f->rows[i]->class_name, like->class_name) == 0)
      return f->rows[i];
  }
  return NULL;
}

static void set_rates(watch_class *c, const dibs_fleet_row *change, double seconds)
{
  uint64_t failed = 0, lost = 0;

  for (size_t k = DIBS_FLEET_BUSY; k < DIBS_FLEET_WAITS; k++)
    failed += change->waits[k].count;
  for (size_t k = DIBS_FLEET_LOST; k < DIBS_FLEET_ENDS; k++)
    lost += change->holds[k].count;
  c->has_rates = true;
  c->granted = (double)change->waits[DIBS_FLEET_OK].count / seconds;
  c->failed = (double)failed / seconds;
  c->lost = (double)lost * 60 / seconds;
  c->wait_p50_us = watch_quantile_us(&change->waits[DIBS_FLEET_OK], 0.5);
  c->wait_p99_us = watch_quantile_us(&change->waits[DIBS_FLEET_OK], 0.99);
  c->hold_p99_us = watch_quantile_us(&change->holds[DIBS_FLEET_RELEASED], 0.99);
}

watch_class *watch_classes(const dibs_fleet *before, const dibs_fleet *after, size_t *ret_count)
{
  int64_t us = before == NULL ? 0 : after->server_us - before->server_us;
  watch_class *all = after->count == 0 ? NULL : calloc(after->count, sizeof(*all));

  for (size_t i = 0; i < after->count && all != NULL; i++) {
    const dibs_fleet_row *r = after->rows[i];
    watch_text name = { 0 };
    dibs_fleet_row change;

    watch_add_safe(&name, r->class_name, strlen(r->class_name));
    if (name.used > 0)
      memcpy(all[i].name, name.bytes,
             name.used < WATCH_CLASS_SIZE ? name.used : WATCH_CLASS_SIZE - 1);
    watch_text_free(&name);
    all[i].kind = r->kind;
    all[i].holding = r->holding;
    all[i].waiting = r->waiting;
    all[i].wait_p50_us = all[i].wait_p99_us = all[i].hold_p99_us = -1;
    if (us >= WATCH_RATES_MS * INT64_C(1000) &&
        dibs_fleet_change(row_of(before, r), r, &change) == DIBS_OK)
      set_rates(&all[i], &change, (double)us / 1e6);
  }
  *ret_count = all == NULL ? 0 : after->count;
  return all;
}
