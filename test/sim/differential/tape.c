/* SPDX-License-Identifier: MIT */
/* test/sim/differential/tape.c - see tape.h. */
#include "tape.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_SIZE = 8192 };

void tape_init(tape *t)
{
  memset(t, 0, sizeof(*t));
  buffer_init(&t->bytes, &frame_heap);
}

void tape_deinit(tape *t)
{
  free(t->steps);
  buffer_deinit(&t->bytes);
}

void tape_clear(tape *t)
{
  t->count = 0;
  buffer_clear(&t->bytes);
}

const step *tape_add(tape *t, step s, frame command)
{
  if (t->count == t->capacity) {
    t->capacity = t->capacity * 2 + 64;
    t->steps = realloc(t->steps, t->capacity * sizeof(*t->steps));
    assert(t->steps != NULL);
  }
  s.at = buffer_size(&t->bytes);
  s.size = command.size;
  if (command.size > 0 && !buffer_append(&t->bytes, command.bytes, command.size))
    assert(false);
  t->steps[t->count] = s;
  return &t->steps[t->count++];
}

static frame command_of(const tape *t, const step *s)
{
  return (frame){ buffer_bytes(&t->bytes) + s->at, s->size };
}

bool tape_run_step(const tape *t, const step *s, pair *p)
{
  pair_clock(p, s->wall_us);
  switch (s->kind) {
  case STEP_COMMAND:
    return pair_request(p, s->connection, command_of(t, s));
  case STEP_LISTEN:
    return pair_listen(p, s->connection);
  case STEP_COMPARE_KEYS:
    return pair_compare_keys(p);
  case STEP_HANG_UP:
    pair_hang_up(p, s->connection);
    return true;
  default:
    pair_set(p, (side_condition)s->connection, s->kind == STEP_SET);
    return true;
  }
}

bool tape_run(const tape *t, pair *p)
{
  bool is_same = true;

  pair_reset(p, t->count > 0 ? t->steps[0].wall_us : 1);
  for (size_t i = 0; i < t->count && is_same; i++)
    if (!t->steps[i].is_left_out)
      is_same = tape_run_step(t, &t->steps[i], p);
  return is_same;
}

/* From the back: what came later is more often not needed. */
static bool leave_out_more(tape *t, pair *p)
{
  bool has_changed = false;

  for (size_t i = t->count; i-- > 0;) {
    if (t->steps[i].is_left_out)
      continue;
    t->steps[i].is_left_out = true;
    if (tape_run(t, p))
      t->steps[i].is_left_out = false;
    else
      has_changed = true;
  }
  return has_changed;
}

void tape_shrink(tape *t, pair *p)
{
  if (tape_run(t, p))
    return;
  while (leave_out_more(t, p))
    ;
  (void)tape_run(t, p);
}

static void print_step(const tape *t, const step *s)
{
  static const char *const kinds[] = { "", "listens", "hangs up", "(a condition begins)",
                                       "(a condition ends)", "all keys are compared" };
  static char line[LINE_SIZE];
  text words = text_over(line, sizeof(line));

  if (s->kind == STEP_COMMAND)
    frame_print(command_of(t, s), &words);
  else
    text_add(&words, kinds[s->kind]);
  (void)printf("#   %lld.%06lld  %d: %s%s\n", (long long)(s->wall_us / 1000000),
               (long long)(s->wall_us % 1000000), s->connection, line,
               words.is_cut ? "..." : "");
}

void tape_print(const tape *t)
{
  for (size_t i = 0; i < t->count; i++)
    if (!t->steps[i].is_left_out)
      print_step(t, &t->steps[i]);
}
