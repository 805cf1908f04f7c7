/* SPDX-License-Identifier: MIT */
/* test/sim/differential/sequence.c - see sequence.h. */
#include "sequence.h"

#define START_US 1700000000123456

/* From the fifth kind of sequence on they are less about locks. */
#define KIND_PROGRAMS 4
/* Of every tenth sequence, so that the others stay what they were. */
#define KIND_REDISSON 9
#define SEED_REDISSON 7

/* The last two connections subscribe; the others do not. */
enum { PLAIN, TRANSACTIONS, FIRST_SUBSCRIBER, STEPS_MIN = 30, STEPS_MORE = 60 };

typedef struct sequence {
  draw *draw;
  tape *tape;
  pair *pair;
  int kind;
  bool is_on[SIDE_CONDITIONS];
  bool is_in_transaction;
} sequence;

static bool run_step(sequence *s, step_kind kind, int connection, frame command)
{
  step next = { .wall_us = s->draw->wall_us, .kind = kind, .connection = connection };

  return tape_run_step(s->tape, tape_add(s->tape, next, command), s->pair);
}

static bool run_drawn(sequence *s, int connection)
{
  frame command;
  bool is_same;

  draw_text_of_script(s->draw);
  command = (frame){ buffer_bytes(&s->draw->command), buffer_size(&s->draw->command) };
  is_same = run_step(s, STEP_COMMAND, connection, command);
  draw_learn(s->draw, pair_replies(s->pair));
  return is_same;
}

static bool run_listen(sequence *s, int connection)
{
  bool is_same = run_step(s, STEP_LISTEN, connection, (frame){ "", 0 });

  draw_learn(s->draw, s->pair->learned);
  return is_same;
}

static int some_subscriber(sequence *s)
{
  return FIRST_SUBSCRIBER
         + (int)draw_below(s->draw, SIDE_CONNECTIONS - FIRST_SUBSCRIBER);
}

/* What the sequence is about. */
static void draw_topic(sequence *s)
{
  static void (*const topics[])(draw *) = { draw_lock, draw_share, draw_many, draw_observed,
                                            draw_guarded, draw_script, draw_plain,
                                            draw_nonsense };
  enum { COUNT = sizeof(topics) / sizeof(topics[0]) };
  draw *d = s->draw;

  if (s->kind == KIND_REDISSON)
    draw_redisson(d);
  else if (s->kind == COUNT)                     /* everything at once */
    topics[draw_below(d, COUNT)](d);
  else if (draw_once_in(d, 12))
    draw_plain(d);
  else if (draw_once_in(d, 60))
    draw_nonsense(d);
  else
    topics[s->kind](d);
}

/* One that is on ends; else mostly the memory is full. */
static bool run_condition(sequence *s)
{
  int which = draw_once_in(s->draw, 3) ? (int)draw_below(s->draw, SIDE_CONDITIONS) : SIDE_FULL;

  for (int i = 0; i < SIDE_CONDITIONS; i++)
    which = s->is_on[i] ? i : which;
  s->is_on[which] = !s->is_on[which];
  return run_step(s, s->is_on[which] ? STEP_SET : STEP_UNSET, which, (frame){ "", 0 });
}

static bool run_transaction(sequence *s)
{
  const char *word;
  bool is_same;

  draw_transaction(s->draw, s->is_in_transaction);
  is_same = run_drawn(s, TRANSACTIONS);
  word = frame_text(frame_child((frame){ buffer_bytes(&s->draw->command),
                                         buffer_size(&s->draw->command) }, 0)).bytes;
  if (*word == 'M')
    s->is_in_transaction = true;
  if (*word == 'E' || *word == 'D')
    s->is_in_transaction = false;
  return is_same;
}

static bool run_hang_up(sequence *s)
{
  int connection = (int)draw_below(s->draw, SIDE_CONNECTIONS);

  if (connection == TRANSACTIONS)
    s->is_in_transaction = false;
  return run_step(s, STEP_HANG_UP, connection, (frame){ "", 0 });
}

static bool run_publish_subscribe(sequence *s)
{
  bool is_subscriber = !draw_once_in(s->draw, 4);

  if (is_subscriber && s->kind == KIND_REDISSON)
    draw_redisson_listener(s->draw);
  else
    draw_publish_subscribe(s->draw, is_subscriber);
  return run_drawn(s, is_subscriber ? some_subscriber(s) : PLAIN);
}

static bool run_topic(sequence *s)
{
  draw_topic(s);
  if (draw_once_in(s->draw, 40))
    return run_drawn(s, some_subscriber(s));
  return run_drawn(s, s->is_in_transaction || draw_once_in(s->draw, 3) ? TRANSACTIONS : PLAIN);
}

static bool run_some_step(sequence *s)
{
  uint64_t what = draw_below(s->draw, 100);

  draw_time(s->draw);
  if (what < 8)
    return run_publish_subscribe(s);
  if (what < 14)
    return run_listen(s, some_subscriber(s));
  if (what == 14)
    return run_condition(s);
  if (what == 15)
    return run_hang_up(s);
  if (what < (s->is_in_transaction ? 30 : s->kind >= KIND_PROGRAMS ? 20 : 17))
    return run_transaction(s);
  return run_topic(s);
}

/* Inboxes, so that there is somebody to wait. */
static bool begin_to_hear(sequence *s)
{
  for (int i = 0; i < DRAW_CLIENTS; i++) {
    draw_publish_subscribe(s->draw, true);
    if (!run_drawn(s, some_subscriber(s)))
      return false;
  }
  return true;
}

bool sequence_run(uint64_t seed, draw *d, tape *t, pair *p)
{
  sequence s = { .draw = d, .tape = t, .pair = p };
  bool is_same = true;

  draw_begin(d, seed, START_US);
  tape_clear(t);
  pair_reset(p, START_US);
  s.kind = (int)draw_below(d, 9);
  if (seed % 10 == SEED_REDISSON)
    s.kind = KIND_REDISSON;
  if (s.kind < 4)
    is_same = begin_to_hear(&s);
  for (uint64_t left = STEPS_MIN + draw_below(d, STEPS_MORE); left > 0 && is_same; left--)
    is_same = run_some_step(&s);
  for (int i = FIRST_SUBSCRIBER; i < SIDE_CONNECTIONS && is_same; i++)
    is_same = run_listen(&s, i);
  for (int i = PLAIN; i < FIRST_SUBSCRIBER && is_same; i++) {
    draw_discard(d);
    is_same = run_drawn(&s, i);
  }
  return is_same && run_step(&s, STEP_COMPARE_KEYS, 0, (frame){ "", 0 });
}
