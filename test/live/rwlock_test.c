/* SPDX-License-Identifier: MIT */
/* test/live/rwlock_test.c - the read/write lock by a table of states: who holds
 * and waits, who asks, what he gets; then order, crash, downgrade, re-entry. */
#include "tests.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live.h"

enum { TTL_MS = 20000, SOON_MS = 8000, NOT_MS = 150 };

static dibs_client *a, *b, *c;

static int setup(void **state)
{
  dibs_options strict = live_options();

  (void)live_server_setup(state);
  strict.local_handovers_max = -1;       /* no reader joins another past a waiting writer */
  a = live_open_with(live_url(), &strict);
  b = live_open(live_url());
  c = live_open(live_other_url());
  return 0;
}

static int teardown(void **state)
{
  a = dibs_close(a);
  b = dibs_close(b);
  c = dibs_close(c);
  live_expect_clean_but_presence(live_server);
  return live_server_teardown(state);
}

/* ---- one step: mode 'r' or 'w', by an owner ---- */

static dibs_lock_options by_owner(const char *owner)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 0);

  o.owner = owner;
  o.owner_size = strlen(owner);
  return o;
}

static dibs_status try_as(dibs_client *client, char mode, const char *name, const char *owner,
                          dibs_hold **ret_hold)
{
  dibs_lock_options o = by_owner(owner);

  return mode == 'r' ? acquire_now(client, DIBS_READ(name), &o, ret_hold)
                     : acquire_now(client, DIBS_WRITE(name), &o, ret_hold);
}

static dibs_hold *take_as(dibs_client *client, char mode, const char *name, const char *owner)
{
  dibs_hold *hold = NULL;

  live_expect(client, try_as(client, mode, name, owner, &hold), DIBS_OK);
  assert_non_null(hold);
  return hold;
}

static void give(dibs_hold *hold)
{
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

static void ask_as(struct live_ask *ask, dibs_client *client, char mode, const char *name)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 0);

  live_ask_begin_as(ask, client, mode, name, &o);
}

static void expect_queue(const char *name, size_t waiters)
{
  live_needs_keys();                       /* the queue of a quorum is on one of its servers */
  int64_t until = live_now_ms() + LIVE_LONG_MS;
  size_t found = 0;

  do {
    dibs_inspection *in = NULL;

    assert_int_equal(dibs_inspect(c, dibs_text(name), &in), DIBS_OK);
    found = in->waiter_count;
    in = dibs_inspection_free(in);
  } while (found != waiters && live_now_ms() < until);
  assert_int_equal(found, waiters);
}

/* ---- the table: first holders, then one who tries ---- */

struct step { char mode; char owner; };    /* owner: 'x' of client a, 'y' of client b */

struct row {
  const char *says;
  struct step held[3];                     /* in this order; mode 0: none */
  struct step asks;
  dibs_status gets;
};

static const struct row table[] = {
  { "free, a reader", { { 0, 0 } }, { 'r', 'x' }, DIBS_OK },
  { "free, a writer", { { 0, 0 } }, { 'w', 'x' }, DIBS_OK },
  { "read, another reader", { { 'r', 'x' } }, { 'r', 'y' }, DIBS_OK },
  { "read, another writer", { { 'r', 'x' } }, { 'w', 'y' }, DIBS_BUSY },
  { "written, another reader", { { 'w', 'x' } }, { 'r', 'y' }, DIBS_BUSY },
  { "written, another writer", { { 'w', 'x' } }, { 'w', 'y' }, DIBS_BUSY },
  { "a reader reads again", { { 'r', 'x' } }, { 'r', 'x' }, DIBS_OK },
  { "a writer writes again", { { 'w', 'x' } }, { 'w', 'x' }, DIBS_OK },
  { "a writer also reads", { { 'w', 'x' } }, { 'r', 'x' }, DIBS_OK },
  { "a reader who would write", { { 'r', 'x' } }, { 'w', 'x' }, DIBS_WOULD_DEADLOCK },
  { "the same with others reading", { { 'r', 'x' }, { 'r', 'y' } }, { 'w', 'x' },
    DIBS_WOULD_DEADLOCK },
  { "two readers, a third read", { { 'r', 'x' }, { 'r', 'y' } }, { 'r', 'x' }, DIBS_OK },
  { "writes and reads, another reader", { { 'w', 'x' }, { 'r', 'x' } }, { 'r', 'y' },
    DIBS_BUSY },
  { "writes and reads, writes again", { { 'w', 'x' }, { 'r', 'x' } }, { 'w', 'x' }, DIBS_OK },
};

static dibs_client *client_of(char owner)
{
  return owner == 'x' ? a : b;
}

static void run_row(const struct row *row, size_t number)
{
  dibs_hold *held[3], *got = NULL;
  char name[32];
  size_t count = 0;
  dibs_status status;

  (void)snprintf(name, sizeof(name), "row-%zu", number);
  for (; count < 3 && row->held[count].mode != 0; count++) {
    char owner[2] = { row->held[count].owner, 0 };

    held[count] = take_as(client_of(owner[0]), row->held[count].mode, name, owner);
  }
  {
    char owner[2] = { row->asks.owner, 0 };

    status = try_as(client_of(owner[0]), row->asks.mode, name, owner, &got);
  }
  if (status != row->gets)
    fail_msg("%s: %s instead of %s", row->says, dibs_status_name(status),
             dibs_status_name(row->gets));
  if (got != NULL)
    give(got);
  while (count > 0)
    give(held[--count]);
  /* Whatever happened, nothing is left of it. */
  give(take_as(c, 'w', name, "z"));
}

TEST(each_state_of_the_table_answers_as_it_says)
{
  for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
    run_row(&table[i], i);
}

/* ---- order ---- */

TEST(a_reader_behind_a_waiting_writer_waits)
{
  live_needs_keys();
  struct live_ask writer, reader;
  dibs_hold *hold = take_as(a, 'r', "order", "x");

  ask_as(&writer, b, 'w', "order");
  expect_queue("order", 1);
  ask_as(&reader, c, 'r', "order");
  expect_queue("order", 2);
  live_refused(try_as(c, 'r', "order", "try", &(dibs_hold *){ NULL }), DIBS_BUSY);
  give(hold);
  hold = live_ask_granted(&writer, SOON_MS);
  live_still_waits(&reader, NOT_MS);
  give(hold);
  give(live_ask_granted(&reader, SOON_MS));
}

TEST(consecutive_readers_go_together)
{
  live_needs_keys();
  struct live_ask readers[4], writer;
  dibs_hold *hold = take_as(a, 'w', "together", "x"), *holds[4];

  for (int i = 0; i < 4; i++) {
    ask_as(&readers[i], i % 2 == 0 ? b : c, 'r', "together");
    expect_queue("together", 1 + (size_t)i);
    /* Each on a seat of its own: beyond what a local hand-over may favour. */
    (void)live_ask_wait(&readers[i], 20);
  }
  ask_as(&writer, a, 'w', "together");
  expect_queue("together", 5);
  give(hold);
  for (int i = 0; i < 4; i++)
    holds[i] = live_ask_granted(&readers[i], SOON_MS);
  live_still_waits(&writer, NOT_MS);
  for (int i = 0; i < 4; i++)
    give(holds[i]);
  give(live_ask_granted(&writer, SOON_MS));
}

/* A process's own writer has its place among all, and does not lose it to a later one. */
TEST(a_writer_queues_while_its_own_process_reads)
{
  live_needs_keys();
  struct live_ask first, second;
  dibs_hold *hold = take_as(a, 'r', "own", "x");

  ask_as(&first, a, 'w', "own");
  expect_queue("own", 1);
  ask_as(&second, b, 'w', "own");
  expect_queue("own", 2);
  give(hold);
  hold = live_ask_granted(&first, SOON_MS);
  live_still_waits(&second, 0);
  give(hold);
  give(live_ask_granted(&second, SOON_MS));
}

/* ---- downgrade ---- */

TEST(downgrade_lets_readers_in_and_writers_not)
{
  live_needs_keys();
  struct live_ask reader, writer;
  dibs_hold *hold = take_as(a, 'w', "down", "x"), *other;
  uint64_t fence = dibs_hold_fence(hold);

  ask_as(&reader, b, 'r', "down");
  expect_queue("down", 1);
  ask_as(&writer, c, 'w', "down");
  expect_queue("down", 2);
  live_expect_ok(dibs_downgrade(hold));
  live_expect_ok(dibs_downgrade(hold));
  other = live_ask_granted(&reader, SOON_MS);
  assert_true(dibs_hold_fence(hold) == fence);
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
  give(other);
  live_still_waits(&writer, NOT_MS);
  give(hold);
  give(live_ask_granted(&writer, SOON_MS));
}

TEST(a_writer_that_reads_on_lets_readers_in)
{
  live_needs_keys();
  dibs_hold *write = take_as(a, 'w', "reads-on", "x"), *read, *other;
  struct live_ask reader;

  read = take_as(a, 'r', "reads-on", "x");
  ask_as(&reader, b, 'r', "reads-on");
  expect_queue("reads-on", 1);
  give(write);
  other = live_ask_granted(&reader, SOON_MS);
  assert_int_equal(dibs_hold_state(read), DIBS_HOLD_HELD);
  live_refused(try_as(c, 'w', "reads-on", "z", &(dibs_hold *){ NULL }), DIBS_BUSY);
  give(other);
  give(read);
}

TEST(a_fixed_write_lease_downgrades_without_growing)
{
  live_needs_keys();
  dibs_lock_options o = live_lock_options(TTL_MS, 0);
  dibs_hold *hold = NULL;
  struct live_ask reader;
  int64_t left;

  o.flags = DIBS_LOCK_FIXED;
  assert_int_equal(dibs_acquire(a, DIBS_WRITE("fixed"), &o, &hold), DIBS_OK);
  ask_as(&reader, b, 'r', "fixed");
  expect_queue("fixed", 1);
  left = dibs_hold_valid_ms(hold);
  live_expect_ok(dibs_downgrade(hold));
  give(live_ask_granted(&reader, SOON_MS));
  assert_true(dibs_hold_valid_ms(hold) <= left);
  give(hold);
}

TEST(only_write_holds_of_rwlocks_downgrade)
{
  dibs_hold *mutex = live_lock(a, "mutex", TTL_MS), *outer, *inner;

  assert_int_equal(dibs_downgrade(mutex), DIBS_ERR_ARGUMENT);
  give(mutex);
  assert_int_equal(dibs_downgrade(mutex), DIBS_ERR_STALE);
  outer = take_as(a, 'w', "nested", "x");
  inner = take_as(a, 'w', "nested", "x");
  assert_int_equal(dibs_downgrade(inner), DIBS_ERR_ARGUMENT);
  give(inner);
  live_expect_ok(dibs_downgrade(outer));
  give(outer);
}

/* ---- re-entry ---- */

TEST(reentry_never_shortens_a_lease)
{
  dibs_lock_options o = by_owner("x");
  dibs_hold *outer = take_as(a, 'w', "length", "x"), *inner = NULL;
  int64_t left = dibs_hold_valid_ms(outer);

  o.ttl_ms = 500;
  assert_int_equal(dibs_acquire(a, DIBS_READ("length"), &o, &inner), DIBS_OK);
  assert_int_equal(live_info(outer).depth, 2);
  assert_true(dibs_hold_valid_ms(outer) > left / 2);
  give(inner);
  assert_int_equal(live_info(outer).depth, 1);
  assert_true(dibs_hold_valid_ms(outer) > left / 2);
  give(outer);
}

/* Re-entry goes past waiters: else owner and waiter would wait for each other. */
TEST(a_reader_reenters_past_a_waiting_writer)
{
  live_needs_keys();
  struct live_ask writer;
  dibs_hold *outer = take_as(a, 'r', "past", "x"), *inner;

  ask_as(&writer, b, 'w', "past");
  expect_queue("past", 1);
  inner = take_as(a, 'r', "past", "x");
  live_refused(try_as(a, 'r', "past", "else", &(dibs_hold *){ NULL }), DIBS_BUSY);
  give(outer);
  live_still_waits(&writer, NOT_MS);
  give(inner);
  give(live_ask_granted(&writer, SOON_MS));
}

/* ---- kinds ---- */

TEST(a_name_is_one_thing_at_a_time)
{
  live_needs_keys();
  dibs_hold *mutex = live_lock(a, "kind", TTL_MS), *read, *hold = NULL;

  live_expect(b, dibs_acquire(b, DIBS_READ("kind"), NULL, &hold), DIBS_ERR_WRONG_TYPE);
  give(mutex);
  read = take_as(a, 'r', "kind-2", "x");
  live_expect(b, dibs_lock(b, "kind-2", NULL, &hold), DIBS_ERR_WRONG_TYPE);
  live_expect(b, dibs_acquire(b, DIBS_PERMITS("kind-2", 1), NULL, &hold), DIBS_ERR_WRONG_TYPE);
  give(read);
}

/* ---- crash ---- */

/* A child that takes `name`, tells, and sleeps until it is killed. */
static pid_t crasher(char mode, const char *name, int ttl_ms)
{
  int pipes[2];
  char byte;
  pid_t child;

  assert_int_equal(pipe(pipes), 0);
  child = fork();
  if (child == 0) {
    dibs_lock_options o = live_lock_options(ttl_ms, 0);
    dibs_client *client = NULL;
    dibs_hold *hold = NULL;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (dibs_open(live_url(), NULL, &client, NULL) != DIBS_OK ||
        (mode == 'r' ? dibs_acquire(client, DIBS_READ(name), &o, &hold)
                     : dibs_acquire(client, DIBS_WRITE(name), &o, &hold)) != DIBS_OK ||
        write(pipes[1], "x", 1) != 1)
      _exit(1);
    for (;;)
      pause();
  }
  (void)close(pipes[1]);
  assert_int_equal(read(pipes[0], &byte, 1), 1);
  (void)close(pipes[0]);
  return child;
}

static void crashed(char mode)
{
  char name[] = "crash-?";
  struct live_ask writer;
  int64_t killed_at;
  pid_t child;

  name[6] = mode;
  child = crasher(mode, name, 1500);
  ask_as(&writer, b, 'w', name);
  expect_queue(name, 1);
  assert_int_equal(kill(child, SIGKILL), 0);
  killed_at = live_now_ms();
  assert_int_equal(promise_waitpid(child, NULL, 0), child);
  give(live_ask_granted(&writer, LIVE_LONG_MS));
  /* One lease, the second that its deadline is doubted, a poll, and a busy machine. */
  assert_true(writer.ended_at_ms - killed_at < 1500 + 1000 + 1000 + 1500);
}

TEST(a_crashed_reader_blocks_a_writer_for_one_lease)
{
  live_needs_keys();
  crashed('r');
}

TEST(a_crashed_writer_blocks_for_one_lease)
{
  live_needs_keys();
  crashed('w');
}

TEST(readers_are_renewed)
{
  dibs_lock_options o = live_lock_options(400, 0);
  dibs_hold *one = NULL, *two = NULL;
  uint64_t renewed = live_stats(a).renewed;
  int64_t until = live_now_ms() + LIVE_LONG_MS;

  assert_int_equal(dibs_acquire(a, DIBS_READ("renew"), &o, &one), DIBS_OK);
  assert_int_equal(dibs_acquire(b, DIBS_READ("renew"), &o, &two), DIBS_OK);
  while (live_stats(a).renewed < renewed + 6 && live_now_ms() < until)
    live_refused_beside(one,
                        try_as(c, 'w', "renew", "z", &(dibs_hold *){ NULL }), DIBS_BUSY);
  assert_true(live_stats(a).renewed >= renewed + 6);
  assert_int_equal(dibs_hold_state(one), DIBS_HOLD_HELD);
  give(one);
  give(two);
}

RUN_TESTS(setup, teardown)
