/* SPDX-License-Identifier: MIT */
/* test/peers/overlap.c - one walk over all intervals in the order in which they began; those
 * that have not ended are kept in a short list. */
#include "overlap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INSIDE_MAX = 64 };

void intervals_add(struct intervals *i, struct interval one)
{
  if (i->count == i->room) {
    i->room = i->room == 0 ? 1024 : 2 * i->room;
    i->all = realloc(i->all, i->room * sizeof(i->all[0]));
    if (i->all == NULL)
      abort();
  }
  i->all[i->count++] = one;
}

bool intervals_read(struct intervals *i, const char *path, int who, bool is_shared)
{
  struct interval one = { .who = who, .is_shared = is_shared };
  FILE *file = fopen(path, "re");
  long long enter, leave;
  int fields;

  if (file == NULL)
    return false;
  while ((fields = fscanf(file, "%lld %lld", &enter, &leave)) == 2 && enter <= leave) {
    one.enter_ns = enter;
    one.exit_ns = leave;
    intervals_add(i, one);
  }
  (void)fclose(file);
  return fields == EOF;
}

void intervals_deinit(struct intervals *i)
{
  free(i->all);
  *i = (struct intervals){ 0 };
}

static int by_enter(const void *a, const void *b)
{
  const struct interval *x = a, *y = b;

  return (x->enter_ns > y->enter_ns) - (x->enter_ns < y->enter_ns);
}

struct overlaps intervals_check(struct intervals *i, size_t permits)
{
  struct interval inside[INSIDE_MAX];
  struct overlaps o = { 0 };
  size_t n = 0;

  if (i->count > 0)
    qsort(i->all, i->count, sizeof(i->all[0]), by_enter);
  for (size_t k = 0; k < i->count; k++) {
    const struct interval *one = &i->all[k];
    size_t kept = 0, against = 0;

    for (size_t j = 0; j < n; j++)
      if (inside[j].exit_ns > one->enter_ns)
        inside[kept++] = inside[j];
    n = kept;
    for (size_t j = 0; j < n; j++)
      against += !(one->is_shared && inside[j].is_shared);
    if (against >= permits && o.count++ == 0) {
      o.first[0] = inside[n - 1];
      o.first[1] = *one;
    }
    o.handovers += k > 0 && i->all[k - 1].who != one->who;
    if (n < INSIDE_MAX)
      inside[n++] = *one;
    o.inside_max = n > o.inside_max ? n : o.inside_max;
  }
  return o;
}

struct shares intervals_shares(const struct intervals *i)
{
  int64_t first[2] = { INT64_MAX, INT64_MAX }, last[2] = { INT64_MIN, INT64_MIN }, from, to;
  struct shares s = { { 0, 0 } };

  for (size_t k = 0; k < i->count; k++) {
    const struct interval *one = &i->all[k];

    if (one->enter_ns < first[one->who])
      first[one->who] = one->enter_ns;
    if (one->enter_ns > last[one->who])
      last[one->who] = one->enter_ns;
  }
  from = first[0] > first[1] ? first[0] : first[1];
  to = last[0] < last[1] ? last[0] : last[1];
  for (size_t k = 0; k < i->count; k++)
    s.of[i->all[k].who] += i->all[k].enter_ns >= from && i->all[k].enter_ns <= to;
  return s;
}
