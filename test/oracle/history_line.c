/* SPDX-License-Identifier: MIT */
/* test/oracle/history_line.c - one record as people read it. */
#include "history.h"

#include <stdarg.h>
#include <stdio.h>

#include <dibs/dibs.h>

static const char *const op_names[] = { "?", "LOCK", "TRY", "RELEASE", "SAMPLE", "LOST",
                                        "WRITE", "CLASH", "QUEUED", "STALL", "USAGE", "FAULT",
                                        "MARK", "LIFE", "EXCUSED" };
static const char *const phase_names[] = { "?", "ask", "ok", "fail", "info" };
static const char *const mode_names[] = { "", "read", "write", "permits" };
static const char *const usage_names[] = { "fds", "threads", "rss KiB", "cycles" };
static const char *const fault_phases[] = { "?", "begins", "over", "lifting", "in force" };
static const char *const fault_names[] = {
  "?", "kill", "stop", "server down", "server stop", "network", "cut off", "held up",
  "data lost", "admin", "clock", "load", "other" };

_Static_assert(sizeof(op_names) / sizeof(op_names[0]) == OP_LAST + 1, "a name for each");

struct line { char *text; size_t size, length; };

static void add(struct line *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct line *l, const char *format, ...)
{
  va_list values;
  int length;

  va_start(values, format);
  length = vsnprintf(l->text + l->length, l->size - l->length, format, values);
  va_end(values);
  if (length > 0)
    l->length += (size_t)length;
  if (l->length >= l->size)
    l->length = l->size - 1;
}

static double ms_from(const struct record *r, int64_t instant)
{
  return (double)(instant - r->at_ns) / 1e6;
}

static void add_hold(struct line *l, const struct history *h, const struct record *r)
{
  if (r->lock < h->lock_count)
    add(l, " \"%s\"%s%s", h->locks[r->lock].name, r->mode == 0 ? "" : " ",
        mode_names[r->mode & 3]);
  add(l, " call %llu", (unsigned long long)r->call);
  if (r->units > 1)
    add(l, " x%u", r->units);
  if (r->fence != 0)
    add(l, " fence %llu", (unsigned long long)r->fence);
  if (r->valid_ns != 0)
    add(l, " valid for %.1f ms", ms_from(r, r->valid_ns));
  if (r->phase != PHASE_INVOKE && r->op != OP_SAMPLE && r->op < OP_WRITE)
    add(l, " %s", dibs_status_name((dibs_status)r->status));
  if (r->op == OP_SAMPLE)
    add(l, "%s", r->value == DIBS_HOLD_HELD ? " held"
                 : r->value == DIBS_HOLD_SUSPECT ? " suspect" : " gone");
  if (r->op == OP_WRITE)
    add(l, " place %lld", (long long)r->value);
  if (r->phase == PHASE_INVOKE && r->deadline_ms != 0)
    add(l, " back within %u ms", r->deadline_ms);
  add(l, "%s%s%s%s%s%s%s", r->flags & FLAG_ASYNC ? " async" : "",
      r->flags & FLAG_MANY ? " many" : "", r->flags & FLAG_LINGER ? " lingers" : "",
      r->flags & FLAG_NESTED ? " nested" : "", r->flags & FLAG_CANCEL ? " cancels" : "",
      r->flags & FLAG_FIXED ? " fixed" : "",
      r->flags & FLAG_EXCUSED ? " excused" : "");
}

static void add_whom(struct line *l, const struct record *r)
{
  if (r->owner == EVERYBODY)
    add(l, " everybody");
  else
    add(l, " w%02u", r->owner);
}

static void add_runner(struct line *l, const struct history *h, const struct record *r)
{
  if (r->op == OP_FAULT) {
    add(l, " %llu %s %s", (unsigned long long)r->call,
        fault_names[r->mode <= FAULT_OTHER ? r->mode : 0], fault_phases[r->phase]);
    add_whom(l, r);
  } else if (r->op == OP_MARK) {
    add(l, " \"%s\" %lld", r->lock < h->marker_count ? h->markers[r->lock] : "?",
        (long long)r->value);
  } else if (r->op == OP_LIFE) {
    add(l, " %s", r->phase == PHASE_INVOKE ? "starts" : "is dead:");
    add_whom(l, r);
    add(l, " life %lld", (long long)r->value);
  } else if (r->op == OP_QUEUED) {
    add(l, " lock %u look %llu rank %lld", r->lock, (unsigned long long)r->call,
        (long long)r->value);
    add_whom(l, r);
  }
}

const char *history_line(const struct history *h, size_t index, char *buffer, size_t size)
{
  const struct record *r = &h->records[index];
  struct line l = { buffer, size, 0 };

  add(&l, "%12.6f ", (double)(r->at_ns - h->records[0].at_ns) / 1e9);
  if (r->worker == RUNNER)
    add(&l, "runner");
  else
    add(&l, "w%02u.%u%c", r->worker, r->life, 'a' + r->thread);
  add(&l, " %s", op_names[r->op]);
  if (r->op < OP_SAMPLE || r->op == OP_WRITE)
    add(&l, " %s", phase_names[r->phase]);
  if (r->op <= OP_WRITE || r->op == OP_EXCUSED)
    add_hold(&l, h, r);
  else if (r->op == OP_CLASH)
    add(&l, " \"%s\" with w%02lld%c", r->lock < h->lock_count ? h->locks[r->lock].name : "?",
        (long long)r->value / WORKER_THREADS_MAX, 'a' + (int)(r->value % WORKER_THREADS_MAX));
  else if (r->op == OP_STALL)
    add(&l, " for %.1f ms", (double)(r->at_ns - r->sent_ns) / 1e6);
  else if (r->op == OP_USAGE)
    add(&l, " %s %lld (%s)", usage_names[r->mode & 3], (long long)r->value,
        r->phase == PHASE_INVOKE ? "before" : r->phase == PHASE_INFO ? "warm"
                                 : r->phase == PHASE_FAIL ? "at the end" : "after");
  else
    add_runner(&l, h, r);
  return buffer;
}
