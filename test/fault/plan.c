/* SPDX-License-Identifier: MIT */
/* test/fault/plan.c - plans as words, so that they go through exec. */
#include "plan.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct field { const char *name; size_t at; int otherwise; };

/* All that are ints; what zero stands for. */
static const struct field fields[] = {
  { "server", offsetof(struct plan, server), 0 },
  { "threads", offsetof(struct plan, threads), 1 },
  { "ttl_ms", offsetof(struct plan, ttl_ms), 1000 },
  { "wait_ms", offsetof(struct plan, wait_ms), 3000 },
  { "hold_us", offsetof(struct plan, hold_us), 200 },
  { "hold_us_max", offsetof(struct plan, hold_us_max), 0 },
  { "think_us", offsetof(struct plan, think_us), 500 },
  { "try_percent", offsetof(struct plan, try_percent), 0 },
  { "async_percent", offsetof(struct plan, async_percent), 0 },
  { "cancel_percent", offsetof(struct plan, cancel_percent), 0 },
  { "many_percent", offsetof(struct plan, many_percent), 0 },
  { "nested_percent", offsetof(struct plan, nested_percent), 0 },
  { "read_percent", offsetof(struct plan, read_percent), 70 },
  { "downgrade_percent", offsetof(struct plan, downgrade_percent), 0 },
  { "permits_max", offsetof(struct plan, permits_max), 3 },
  { "late_percent", offsetof(struct plan, late_percent), 0 },
  { "fixed_percent", offsetof(struct plan, fixed_percent), 0 },
  { "linger_ms", offsetof(struct plan, linger_ms), 0 },
  { "connect_timeout_ms", offsetof(struct plan, connect_timeout_ms), 2000 },
  { "command_timeout_ms", offsetof(struct plan, command_timeout_ms), 500 },
  { "renew_every_ms", offsetof(struct plan, renew_every_ms), 0 },
  { "min_replicas", offsetof(struct plan, min_replicas), 0 },
  { "cycles", offsetof(struct plan, cycles), 0 },
  { "has_no_thread", 0, 0 },
  { "reopens", 0, 0 },
  { "locks", 0, 0 },
};

enum { FIELDS = sizeof(fields) / sizeof(fields[0]) };

static int *int_of(struct plan *p, const struct field *f)
{
  return (int *)(void *)((char *)p + f->at);
}

/* The fields that are no ints are read and written through these two. */
static long get(const struct plan *p, const struct field *f)
{
  struct plan copy = *p;

  if (strcmp(f->name, "has_no_thread") == 0)
    return p->has_no_thread;
  if (strcmp(f->name, "reopens") == 0)
    return p->reopens;
  if (strcmp(f->name, "locks") == 0)
    return (long)p->locks;
  return *int_of(&copy, f);
}

static void set(struct plan *p, const struct field *f, long value)
{
  if (strcmp(f->name, "has_no_thread") == 0)
    p->has_no_thread = value != 0;
  else if (strcmp(f->name, "reopens") == 0)
    p->reopens = value != 0;
  else if (strcmp(f->name, "locks") == 0)
    p->locks = (uint32_t)value;
  else
    *int_of(p, f) = (int)value;
}

void plan_write(const struct plan *p, char *ret_text, unsigned long size)
{
  size_t length = 0;

  ret_text[0] = '\0';
  for (size_t i = 0; i < FIELDS && length < size; i++)
    if (get(p, &fields[i]) != 0)
      length += (size_t)snprintf(ret_text + length, size - length, "%s=%ld ",
                                 fields[i].name, get(p, &fields[i]));
}

void plan_defaults(struct plan *p)
{
  for (size_t i = 0; i < FIELDS; i++)
    if (fields[i].otherwise != 0 && get(p, &fields[i]) == 0)
      set(p, &fields[i], fields[i].otherwise);
  if (p->locks == 0)
    p->locks = UINT32_MAX;
}

static bool read_word(const char *word, size_t length, struct plan *p)
{
  for (size_t i = 0; i < FIELDS; i++) {
    size_t name = strlen(fields[i].name);

    if (length > name && word[name] == '=' && strncmp(word, fields[i].name, name) == 0) {
      set(p, &fields[i], strtol(word + name + 1, NULL, 10));
      return true;
    }
  }
  return false;
}

bool plan_read(const char *text, struct plan *ret_plan)
{
  struct plan p = PLAN_INIT;

  for (;;) {
    size_t length;

    text += strspn(text, " ");
    length = strcspn(text, " ");
    if (length == 0)
      break;
    if (!read_word(text, length, &p))
      return false;
    text += length;
  }
  plan_defaults(&p);
  *ret_plan = p;
  return true;
}
