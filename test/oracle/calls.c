/* SPDX-License-Identifier: MIT */
/* test/oracle/calls.c - C10, C12, C13 and whether the history is whole. */
#include "history_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void check_whole(const struct history *h, const struct expectations *e, struct findings *f)
{
  (void)e;
  f->examined[CHECK_WHOLE] = h->count;
  if (h->flaw[0] != '\0')
    findings_add(f, CHECK_WHOLE, NULL, 0, "%s", h->flaw);
}

/* ---- C12 ---- */

struct lateness { const struct history *h; int64_t slack_ns, worst_ns; struct findings *f; };

static void look_at_call(struct lateness *l, uint16_t worker, int64_t began, int64_t ended,
                         uint32_t deadline_ms, const size_t *lines, const char *what)
{
  int64_t late;

  if (deadline_ms == 0)
    return;
  l->f->examined[CHECK_BOUNDED]++;
  late = ended - began - deadline_ms * 1000000LL;
  if (late <= 0)
    return;
  late -= history_stalled_ns(l->h, worker, began, ended);
  if (late > l->worst_ns)
    l->worst_ns = late;
  if (late <= l->slack_ns)
    return;
  /* A machine that the runner saw stall may have stalled the library's threads as well. */
  late -= history_stalled_ns(l->h, RUNNER, began, ended);
  if (late > l->slack_ns)
    findings_add(l->f, CHECK_BOUNDED, lines, 2, "%s of w%02u came back %.1f ms late", what,
                 worker, (double)late / 1e6);
}

static void look_at_asks(struct lateness *l, int64_t end)
{
  for (size_t i = 0; i < l->h->ask_count; i++) {
    const struct ask *a = &l->h->asks[i];
    bool has_ended = a->ended_ns != INT64_MAX;
    int64_t last = history_last_ns(l->h, a->worker, a->life);

    /* Without an outcome: its process was killed, or still waits at the end of it all. */
    if (!has_ended && last < end)
      continue;
    look_at_call(l, a->worker, a->invoked_ns, has_ended ? a->ended_ns : end, a->deadline_ms,
                 (size_t[]){ a->invoke_at, a->end_at }, "an ask");
  }
}

static void look_at_releases(struct lateness *l)
{
  for (size_t i = 0; i < l->h->count; i++) {
    const struct record *r = &l->h->records[i];
    const struct grant *g;

    if (r->op != OP_RELEASE || r->phase != PHASE_INVOKE)
      continue;
    g = history_grant_of(l->h, r);
    if (g != NULL && g->released_ns != 0)
      look_at_call(l, r->worker, r->at_ns, g->released_ns, r->deadline_ms,
                   (size_t[]){ i, g->end_at }, "a release");
  }
}

void check_bounded(const struct history *h, const struct expectations *e, struct findings *f)
{
  struct lateness l = { h, (e->late_ms_max == 0 ? 50 : e->late_ms_max) * 1000000LL, 0, f };

  look_at_asks(&l, h->count == 0 ? 0 : h->records[h->count - 1].at_ns);
  look_at_releases(&l);
  (void)snprintf(f->notes[CHECK_BOUNDED], sizeof(f->notes[0]), "at worst %.1f ms late",
                 (double)l.worst_ns / 1e6);
}

/* ---- C10 ---- */

/* What one life of a worker used at its four looks; -1: no such look. */
struct use { int64_t of[4][PHASE_INFO + 1]; uint16_t worker, life; size_t at; };

static struct use *use_of(struct use *all, size_t *count, const struct record *r)
{
  for (size_t i = *count; i > 0; i--)
    if (all[i - 1].worker == r->worker && all[i - 1].life == r->life)
      return &all[i - 1];
  memset(&all[*count], 0xff, sizeof(all[0]));
  all[*count].worker = r->worker;
  all[*count].life = r->life;
  return &all[(*count)++];
}

/* Sanitizers keep what was freed for a while. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { RSS_KIB_MAX = 131072 };
#else
enum { RSS_KIB_MAX = 4096 };
#endif

static void judge_use(const struct use *u, const struct expectations *e, struct findings *f)
{
  int64_t most_kib = e->rss_kib_max > RSS_KIB_MAX ? e->rss_kib_max : RSS_KIB_MAX;
  int64_t fds_more = e->fds_more > 0 ? e->fds_more : 4;
  static const char *const names[] = { "descriptors", "threads" };

  f->examined[CHECK_LEAKS]++;
  for (int what = USAGE_FDS; what <= USAGE_THREADS; what++) {
    int64_t before = u->of[what][PHASE_INVOKE], after = u->of[what][PHASE_OK];

    if (before >= 0 && after > before)
      findings_add(f, CHECK_LEAKS, &u->at, 1, "w%02u.%u: %lld %s before, %lld after all",
                   u->worker, u->life, (long long)before, names[what], (long long)after);
  }
  if (u->of[USAGE_FDS][PHASE_INFO] >= 0 &&
      u->of[USAGE_FDS][PHASE_FAIL] > u->of[USAGE_FDS][PHASE_INFO] + fds_more)
    findings_add(f, CHECK_LEAKS, &u->at, 1, "w%02u.%u: %lld descriptors when warm, then %lld",
                 u->worker, u->life, (long long)u->of[USAGE_FDS][PHASE_INFO],
                 (long long)u->of[USAGE_FDS][PHASE_FAIL]);
  if (u->of[USAGE_RSS_KIB][PHASE_INFO] >= 0 &&
      u->of[USAGE_RSS_KIB][PHASE_FAIL] - u->of[USAGE_RSS_KIB][PHASE_INFO] > most_kib)
    findings_add(f, CHECK_LEAKS, &u->at, 1, "w%02u.%u: %lld KiB when warm, %lld later",
                 u->worker, u->life, (long long)u->of[USAGE_RSS_KIB][PHASE_INFO],
                 (long long)u->of[USAGE_RSS_KIB][PHASE_FAIL]);
}

void check_leaks(const struct history *h, const struct expectations *e, struct findings *f)
{
  size_t looks = 0, count = 0;
  struct use *all;
  int64_t grown = 0;

  for (size_t i = 0; i < h->count; i++)
    looks += h->records[i].op == OP_USAGE;
  all = history_memory(looks, sizeof(*all));
  for (size_t i = 0; i < h->count; i++) {
    const struct record *r = &h->records[i];

    if (r->op == OP_USAGE && r->mode <= USAGE_CYCLES) {
      struct use *u = use_of(all, &count, r);

      u->of[r->mode][r->phase] = r->value;
      u->at = i;
    }
  }
  for (size_t i = 0; i < count; i++) {
    judge_use(&all[i], e, f);
    if (all[i].of[USAGE_RSS_KIB][PHASE_INFO] >= 0 && all[i].of[USAGE_RSS_KIB][PHASE_FAIL] >= 0 &&
        all[i].of[USAGE_RSS_KIB][PHASE_FAIL] - all[i].of[USAGE_RSS_KIB][PHASE_INFO] > grown)
      grown = all[i].of[USAGE_RSS_KIB][PHASE_FAIL] - all[i].of[USAGE_RSS_KIB][PHASE_INFO];
  }
  (void)snprintf(f->notes[CHECK_LEAKS], sizeof(f->notes[0]), "at most %lld KiB grown",
                 (long long)grown);
  free(all);
}

/* ---- C13 ---- */

void check_vacuity(const struct history *h, const struct expectations *e, struct findings *f)
{
  int64_t overlap = (int64_t)history_grants_in_faults(h);

  (void)e;
  for (size_t i = 0; i < h->marker_count; i++) {
    f->examined[CHECK_VACUITY] += h->demanded[i] != 0;
    if (h->reached[i] < h->demanded[i])
      findings_add(f, CHECK_VACUITY, NULL, 0, "\"%s\" %lld times, and %lld were demanded",
                   h->markers[i], (long long)h->reached[i], (long long)h->demanded[i]);
  }
  if (overlap < h->demanded_overlap)
    findings_add(f, CHECK_VACUITY, NULL, 0,
                 "%lld grants were believed while a fault was on, and %lld were demanded",
                 (long long)overlap, (long long)h->demanded_overlap);
  if (h->grant_count == 0)
    findings_add(f, CHECK_VACUITY, NULL, 0, "nothing was ever granted");
  (void)snprintf(f->notes[CHECK_VACUITY], sizeof(f->notes[0]), "%lld grants in faults",
                 (long long)overlap);
}
