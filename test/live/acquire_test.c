/* SPDX-License-Identifier: MIT */
/* test/live/acquire_test.c - dibs_acquire(): each kind of target takes what its short form takes,
 * blocking and with a callback; what is wrong with a target is refused by name, and nothing is
 * set or taken. */
#include "tests.h"

#include <stdint.h>
#include <string.h>

#include "two_clients.h"

enum { TTL_MS = 60000 };

static dibs_hold *hold;

/* ---- each kind ---- */

static dibs_status by_lock(void) { return dibs_try_lock(other, "n", NULL, &hold); }
static dibs_status by_read(void) { return acquire_now(other, DIBS_READ("n"), NULL, &hold); }
static dibs_status by_write(void) { return acquire_now(other, DIBS_WRITE("n"), NULL, &hold); }
static dibs_status by_permit(void) { return acquire_now(other, DIBS_PERMITS("n", 1), NULL,
                                                        &hold); }
static dibs_status by_lead(void) { return acquire_now(other, DIBS_LEAD("n", "v"), NULL,
                                                      &hold); }

#define KINDS(X) \
  X(DIBS_TARGET_LOCK, DIBS_KIND_MUTEX, 0, NULL, by_lock, DIBS_BUSY) \
  X(DIBS_TARGET_READ, DIBS_KIND_RWLOCK, 0, NULL, by_write, DIBS_BUSY) \
  X(DIBS_TARGET_READ, DIBS_KIND_RWLOCK, 0, NULL, by_read, DIBS_OK) \
  X(DIBS_TARGET_WRITE, DIBS_KIND_RWLOCK, 0, NULL, by_read, DIBS_BUSY) \
  X(DIBS_TARGET_PERMITS, DIBS_KIND_SEMAPHORE, 2, NULL, by_permit, DIBS_BUSY) \
  X(DIBS_TARGET_PERMITS, DIBS_KIND_SEMAPHORE, 0, NULL, by_permit, DIBS_OK) \
  X(DIBS_TARGET_PERMITS, DIBS_KIND_SEMAPHORE, DIBS_UNITS_ALL_FREE, NULL, by_permit, DIBS_BUSY) \
  X(DIBS_TARGET_LEAD, DIBS_KIND_MUTEX, 0, "v", by_lead, DIBS_BUSY)

#define A_KIND(target, kind, units, value, by_other, answer) \
  { target, kind, units, value, by_other, answer },

static const struct kind_row {
  int32_t target;
  dibs_kind kind;
  uint32_t units;
  const char *value;
  dibs_status (*by_other)(void);     /* while it is held */
  dibs_status answer;
} kinds[] = { KINDS(A_KIND) };

#define FOR_EACH_KIND(k) \
  for (const struct kind_row *k = kinds; k < kinds + sizeof(kinds) / sizeof(kinds[0]); k++)

static dibs_target target_of(const struct kind_row *k, const dibs_bytes *name)
{
  return (dibs_target){ .size = sizeof(dibs_target), .kind = k->target, .units = k->units,
                        .names = name, .name_count = 1, .value = dibs_text(k->value) };
}

static void prepare(const struct kind_row *k)
{
  if (k->kind == DIBS_KIND_SEMAPHORE)
    live_expect(client, dibs_semaphore_set(client, dibs_text("n"), 2, 0, NULL), DIBS_OK);
}

/* Of one kind after the other: the name is forgotten in between. */
static void clear(const struct kind_row *k)
{
  if (k->kind == DIBS_KIND_SEMAPHORE)
    live_expect(client, dibs_semaphore_delete(client, dibs_text("n")), DIBS_OK);
  live_tell_all("DEL dibs:m:{n}");
  if (k->value != NULL)
    live_tell_all("DEL dibs:e:{n}");
}

static void expect_held(const struct kind_row *k, dibs_hold *held)
{
  dibs_inspection *seen = NULL;
  dibs_status got;

  live_expect(client, dibs_inspect(client, dibs_text("n"), &seen), DIBS_OK);
  assert_int_equal(seen->kind, k->kind);
  assert_int_equal(seen->holder_count, 1);
  dibs_inspection_free(seen);
  assert_int_equal(live_info(held).units, k->units == 0 ? 1 : 2);
  got = k->by_other();
  if (k->answer == DIBS_OK)
    live_expect(other, got, DIBS_OK);
  else
    live_expect_refused(other, got, k->answer);
  if (got == DIBS_OK)
    live_expect(other, dibs_release(hold), DIBS_OK);
  if (k->value != NULL) {
    dibs_leader *leader = NULL;

    live_expect(client, dibs_get_leader(client, "n", &leader), DIBS_OK);
    assert_string_equal(leader->value, k->value);
    dibs_leader_free(leader);
  }
  live_expect(client, dibs_release(held), DIBS_OK);
}

TEST(each_kind_of_target_is_what_its_short_form_takes)
{
  const dibs_bytes name = dibs_text("n");

  FOR_EACH_KIND(k) {
    dibs_target target = target_of(k, &name);
    dibs_hold *held = NULL;

    prepare(k);
    live_expect(client, dibs_acquire(client, &target, NULL, &held), DIBS_OK);
    expect_held(k, held);
    clear(k);
  }
}

static void on_lock(const dibs_error *error, dibs_hold *held, void *data)
{
  struct live_ending *e = data;

  hold = held;
  live_note_ending(error, e);
}

static void start(const dibs_target *target, const dibs_lock_options *o, dibs_status wanted)
{
  struct live_ending e = { 0 };

  live_expect(client, dibs_acquire_async(client, target, o, on_lock, &e, NULL), DIBS_OK);
  assert_true(live_until(LIVE_LONG_MS, live_has_ended, &e));
  live_expect_ending(&e, wanted);
}

TEST(each_kind_is_taken_by_a_callback)
{
  const dibs_bytes name = dibs_text("n");

  FOR_EACH_KIND(k) {
    dibs_target target = target_of(k, &name);

    prepare(k);
    start(&target, NULL, DIBS_OK);
    expect_held(k, hold);
    clear(k);
  }
}

/* wait_ms 0, in every kind, is a try. */
TEST(without_waiting_it_is_busy)
{
  const dibs_bytes name = dibs_text("n");
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;

  o.wait_ms = 0;
  FOR_EACH_KIND(k) {
    dibs_target target = target_of(k, &name);
    dibs_hold *held = NULL, *none = NULL;
    dibs_status got;

    prepare(k);
    live_expect(other, dibs_acquire(other, &target, &o, &held), DIBS_OK);
    if (k->kind == DIBS_KIND_SEMAPHORE || k->target == DIBS_TARGET_READ) {
      live_expect(other, dibs_release(held), DIBS_OK);       /* another can have it, too */
    } else {
      got = dibs_acquire(client, &target, &o, &none);
      live_expect_refused(client, got, DIBS_BUSY);
      start(&target, &o, DIBS_BUSY);
      live_expect(other, dibs_release(held), DIBS_OK);
    }
    clear(k);
  }
}

/* ---- names ---- */

TEST(several_names_are_one_hold)
{
  const dibs_bytes names[] = { { "b, and more", 1 }, { "a", 1 }, { "a", 1 } };
  const dibs_target target = { .size = sizeof(target), .kind = DIBS_TARGET_LOCK, .names = names,
                               .name_count = 3 };
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *held = NULL;
  dibs_status got;

  live_needs_one_view();
  live_expect(client, dibs_acquire(client, &target, &o, &held), DIBS_OK);
  got = dibs_try_lock(other, "a", NULL, &hold);
  live_expect_refused(other, got, DIBS_BUSY);
  got = dibs_try_lock(other, "b", NULL, &hold);
  live_expect_refused(other, got, DIBS_BUSY);
  live_expect(client, dibs_release(held), DIBS_OK);
}

TEST(the_owner_takes_its_lock_again)
{
  dibs_hold *outer = NULL, *inner = NULL;

  live_expect(client, dibs_acquire(client, DIBS_LOCK("n"), NULL, &outer), DIBS_OK);
  live_expect(client, dibs_lock(client, "n", NULL, &inner), DIBS_OK);
  assert_int_equal(live_info(inner).depth, 2);
  live_expect(client, dibs_release(inner), DIBS_OK);
  live_expect(client, dibs_release(outer), DIBS_OK);
}

/* ---- the number of permits ---- */

TEST(a_limit_makes_the_semaphore)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *first = NULL, *second = NULL, *none = NULL;
  dibs_status got;

  live_expect(client, dibs_acquire(client, DIBS_PERMIT_OF("s", 2), &o, &first), DIBS_OK);
  live_expect(other, dibs_acquire(other, DIBS_PERMIT_OF("s", 2), &o, &second), DIBS_OK);
  o.wait_ms = 0;
  got = dibs_acquire(other, DIBS_PERMIT_OF("s", 2), &o, &none);
  live_expect_refused(other, got, DIBS_BUSY);
  live_expect(client, dibs_release(first), DIBS_OK);
  live_expect(client, dibs_acquire(client, DIBS_PERMIT_OF("s", 3), &o, &none),
              DIBS_ERR_ARGUMENT);
  live_expect_words(client, "has 2 permits, and `limit` is 3");
  live_expect(other, dibs_release(second), DIBS_OK);
  live_expect(client, dibs_semaphore_set(client, dibs_text("s"), 0, 0, NULL), DIBS_OK);
  got = dibs_acquire(client, DIBS_PERMIT_OF("s", 2), &o, &none);
  live_expect(client, got, DIBS_BUSY);
  live_expect_words(client, "a pause");
  o.wait_ms = 200;
  got = dibs_acquire(client, DIBS_PERMIT_OF("s", 2), &o, &none);
  live_expect(client, got, DIBS_TIMED_OUT);
  live_expect_words(client, "a pause");
  live_expect(client, dibs_semaphore_delete(client, dibs_text("s")), DIBS_OK);
}

TEST(a_limit_makes_the_semaphore_by_a_callback_too)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *first;
  char owner[] = "me", note[] = "of a call that has returned";
  struct live_ending e = { 0 };

  o.owner = owner;
  o.owner_size = sizeof(owner);
  o.note = note;
  live_expect(client,
              dibs_acquire_async(client, DIBS_PERMIT_OF("s", 2), &o, on_lock, &e, NULL), DIBS_OK);
  memset(owner, 'x', sizeof(owner));
  memset(note, 'x', sizeof(note));
  assert_true(live_until(LIVE_LONG_MS, live_has_ended, &e));
  live_expect_ending(&e, DIBS_OK);
  first = hold;
  o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  start(DIBS_PERMIT_OF("s", 2), &o, DIBS_OK);
  live_expect(client, dibs_release(hold), DIBS_OK);
  o.wait_ms = 0;
  start(&DIBS_TARGET(DIBS_TARGET_PERMITS, "s", 2, 2, NULL), &o, DIBS_BUSY);
  start(DIBS_PERMIT_OF("s", 3), &o, DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_release(first), DIBS_OK);
  live_expect(client, dibs_semaphore_delete(client, dibs_text("s")), DIBS_OK);
}

/* DIBS_BUSY while the server has not yet executed what ends the wait of another client. */
static bool is_deleted(void *name)
{
  dibs_status got = dibs_semaphore_delete(client, dibs_text(name));

  if (got != DIBS_BUSY)
    live_expect(client, got, DIBS_OK);
  return got == DIBS_OK;
}

TEST(a_limit_leaves_the_wait_its_end)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *first = NULL, *none = NULL;
  dibs_status got;
  char name[] = "s";

  live_expect(client, dibs_acquire(client, DIBS_PERMIT_OF("s", 1), &o, &first), DIBS_OK);
  o.wait_ms = 200;
  got = dibs_acquire(other, DIBS_PERMIT_OF("s", 1), &o, &none);
  live_expect_refused(other, got, DIBS_TIMED_OUT);
  live_expect(client, dibs_release(first), DIBS_OK);
  assert_true(live_until(LIVE_LONG_MS, is_deleted, name));
}

static void expect_no_number(void)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *none = NULL;

  live_expect(client, dibs_acquire(client, DIBS_PERMITS("s", 1), &o, &none), DIBS_ERR_NOT_SET);
}

/* Without a thread nothing is sent or read between these calls. */
static dibs_client *threadless(void)
{
  dibs_options options = live_options();

  options.flags |= DIBS_CLIENT_NO_THREAD;
  return live_open_with(live_url(), &options);
}

/* The server stands still, so that no reply is read together with the canceller. */
TEST(asked_with_a_limit_it_can_be_cancelled)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_client *c;
  dibs_request *request = NULL;
  struct live_ending by_request = { 0 }, by_canceller = { 0 };

  test_server_pause(live_server);
  c = threadless();
  live_expect(c, dibs_acquire_async(c, DIBS_PERMIT_OF("s", 2), &o, on_lock, &by_request, &request),
              DIBS_OK);
  live_expect(c, dibs_request_cancel(request), DIBS_OK);
  live_expect(c, dibs_request_cancel(request), DIBS_ERR_STALE);
  live_expect_ok(dibs_canceller_new(&o.cancel));
  live_expect(c, dibs_acquire_async(c, DIBS_PERMIT_OF("s", 2), &o, on_lock, &by_canceller, NULL),
              DIBS_OK);
  dibs_cancel(o.cancel);
  while (!live_has_ended(&by_request) || !live_has_ended(&by_canceller))
    (void)live_process(c);
  test_server_resume(live_server);
  live_expect_ending(&by_request, DIBS_CANCELLED);
  live_expect_ending(&by_canceller, DIBS_CANCELLED);
  c = dibs_close(c);
  expect_no_number();
  (void)dibs_canceller_free(o.cancel);
}

TEST(asked_with_a_limit_it_ends_with_its_client)
{
  dibs_client *c = threadless();
  struct live_ending e = { 0 };

  live_expect(c, dibs_acquire_async(c, DIBS_PERMIT_OF("s", 2), NULL, on_lock, &e, NULL), DIBS_OK);
  c = dibs_close(c);
  live_expect_ending(&e, DIBS_ERR_CLOSED);
  expect_no_number();
}

/* ---- what is wrong ---- */

static const dibs_bytes n = { "n", 1 }, two_names[] = { { "n", 1 }, { "m", 1 } };
static const char long_value[DIBS_LEADER_VALUE_MAX + 1] = { 0 };

#define SIZED .size = sizeof(dibs_target)
#define ONE .names = &n, .name_count = 1

static const struct { dibs_target target; const char *words; } wrong[] = {
  { { .size = 4, .kind = DIBS_TARGET_LOCK, ONE }, "dibs_target.size is 4" },
  { { SIZED, ONE }, "target.kind" },
  { { SIZED, .kind = DIBS_TARGET_LEAD + 1, ONE }, "target.kind" },
  { { SIZED, .kind = DIBS_TARGET_LOCK, ONE, .reserved = 1 }, "target.reserved" },
  { { SIZED, .kind = DIBS_TARGET_LOCK, ONE, .units = 1 }, "target.units" },
  { { SIZED, .kind = DIBS_TARGET_READ, ONE, .limit = 1 }, "target.units and .limit" },
  { { SIZED, .kind = DIBS_TARGET_LOCK, ONE, .value = { "v", 1 } }, "target.value" },
  { { SIZED, .kind = DIBS_TARGET_LOCK, .name_count = 1 }, "target.names is NULL" },
  { { SIZED, .kind = DIBS_TARGET_LOCK, .names = two_names, .name_count = 0 }, "count is 0" },
  { { SIZED, .kind = DIBS_TARGET_LOCK, .names = two_names, .name_count = 101 }, "count is 101" },
  { { SIZED, .kind = DIBS_TARGET_WRITE, .names = two_names, .name_count = 2 },
    "target.name_count" },
  { { SIZED, .kind = DIBS_TARGET_PERMITS, ONE, .units = 1000000001 }, "1000000000" },
  { { SIZED, .kind = DIBS_TARGET_PERMITS, ONE, .limit = 1000000001 }, "1000000000" },
  { { SIZED, .kind = DIBS_TARGET_PERMITS, ONE, .units = 3, .limit = 2 }, "more than target.limit" },
  { { SIZED, .kind = DIBS_TARGET_LEAD, ONE, .value = { NULL, 1 } }, "target.value.bytes" },
  { { SIZED, .kind = DIBS_TARGET_LEAD, ONE, .value = { "a\0b", 3 } }, "zero byte" },
  { { SIZED, .kind = DIBS_TARGET_LEAD, ONE, .value = { long_value, sizeof(long_value) } },
    "longer than 1024" },
};

TEST(what_is_wrong_with_a_target_is_named)
{
  dibs_hold *none = NULL;

  for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
    live_expect(client, dibs_acquire(client, &wrong[i].target, NULL, &none), DIBS_ERR_ARGUMENT);
    live_expect_words(client, wrong[i].words);
    live_expect(client, dibs_acquire_async(client, &wrong[i].target, NULL, on_lock, NULL, NULL),
                DIBS_ERR_ARGUMENT);
    live_expect_words(client, wrong[i].words);
  }
  live_expect(client, dibs_acquire(client, NULL, NULL, &none), DIBS_ERR_ARGUMENT);
  live_expect_words(client, "target is NULL");
  assert_null(none);
}

TEST(a_refused_call_sets_no_number)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *none = NULL;

  o.linger_ms = 1000;
  live_expect(client, dibs_acquire(client, DIBS_PERMIT_OF("s", 2), &o, &none), DIBS_ERR_ARGUMENT);
  o.linger_ms = 0;
  live_expect(client, dibs_acquire(client, DIBS_PERMIT_OF("s", 2), &o, NULL), DIBS_ERR_ARGUMENT);
  expect_no_number();
}

int main(void)
{
  if (live_is_beyond(LIVE_CLUSTER))
    return 0;
  return tests_run(setup, teardown, NULL, NULL);
}
