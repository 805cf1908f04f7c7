/* SPDX-License-Identifier: MIT */
/* Unit: api/handle - handles that have ended are known as such for ever. */
#include "tests.h"

#include <stdint.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/handle.h"
#include "drive/fork_epoch.h"

static int owner_a, owner_b;

TEST(a_handle_leads_to_its_owner_until_it_ends)
{
  handle *h = handle_new(HANDLE_HOLD, &owner_a, NULL);
  void *value = handle_value(h);
  handle *pinned;

  pinned = handle_pin(value, HANDLE_HOLD);
  assert_ptr_equal(pinned, h);
  assert_ptr_equal(pinned->owner, &owner_a);
  handle_unpin(pinned);
  handle_end(h);
  assert_null(handle_pin(value, HANDLE_HOLD));
}

TEST(an_old_value_never_means_the_next_tenant)
{
  handle *first = handle_new(HANDLE_HOLD, &owner_a, NULL), *second;
  void *old = handle_value(first);
  handle_view view;

  handle_end(first);
  second = handle_new(HANDLE_HOLD, &owner_b, NULL);
  assert_ptr_equal(first, second);             /* the same place, used again */
  assert_ptr_not_equal(handle_value(second), old);
  assert_null(handle_pin(old, HANDLE_HOLD));
  assert_false(handle_look(old, HANDLE_HOLD, &view));
  assert_false(handle_is(second, old, HANDLE_HOLD));
  handle_end(second);
}

TEST(a_pinned_place_gets_no_new_tenant)
{
  handle *h = handle_new(HANDLE_HOLD, &owner_a, NULL), *other;
  handle *pinned = handle_pin(handle_value(h), HANDLE_HOLD);

  handle_end(h);
  other = handle_new(HANDLE_HOLD, &owner_b, NULL);
  assert_ptr_not_equal(other, h);
  handle_unpin(pinned);
  handle_wait(h);
  handle_end(other);
  other = handle_new(HANDLE_HOLD, &owner_b, NULL);
  assert_true(other == h || other != NULL);
  handle_end(other);
}

/* How often a place is used before an old value is one again: with 64 bits never in practice, with
 * 32 bits of a pointer after 4096. */
TEST(an_old_value_stays_old_for_thousands_of_tenants)
{
  const int most = UINTPTR_MAX > 0xffffffffu ? 20000 : 4095;
  handle *h = handle_new(HANDLE_HOLD, &owner_a, NULL);
  void *old = handle_value(h);

  for (int i = 0; i < most; i++) {
    if (i % 2 == 0) {
      handle_renew(h);
    } else {
      handle_end(h);
      assert_ptr_equal(handle_new(HANDLE_HOLD, &owner_a, NULL), h);
    }
    assert_false(handle_is(h, old, HANDLE_HOLD));
  }
  handle_end(h);
}

/* ---- the end of a client waits for calls that pin it ---- */

static _Atomic pid_t waiter;

static void *wait_for_pins(void *h)
{
  waiter = gettid();
  handle_wait(h);
  return NULL;
}

/* 'R' runs or wants to, 'S' sleeps. */
static char state_of(pid_t thread)
{
  char path[64], words[256] = "";
  const char *end;
  FILE *f;

  (void)snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)thread);
  f = fopen(path, "r");
  if (f == NULL)
    return 0;
  (void)!fread(words, 1, sizeof(words) - 1, f);
  (void)fclose(f);
  end = strrchr(words, ')');
  return end != NULL && end[1] == ' ' ? end[2] : 0;
}

TEST(a_wait_for_a_long_visitor_sleeps)
{
  enum { LOOKS = 5000 };
  handle *h = handle_new(HANDLE_CLIENT, &owner_a, NULL);
  handle *pinned = handle_pin(handle_value(h), HANDLE_CLIENT);
  pthread_t thread;
  bool sleeps = false;

  handle_end(h);
  assert_int_equal(pthread_create(&thread, NULL, wait_for_pins, h), 0);
  for (int i = 0; i < LOOKS && !sleeps; i++) {
    sleeps = waiter != 0 && state_of(waiter) == 'S';
    (void)usleep(100);
  }
  handle_unpin(pinned);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_true(sleeps);
}

TEST(kinds_are_not_mixed_up)
{
  handle *h = handle_new(HANDLE_REQUEST, &owner_a, NULL);

  assert_null(handle_pin(handle_value(h), HANDLE_HOLD));
  handle_unpin(handle_pin(handle_value(h), HANDLE_REQUEST));
  handle_end(h);
}

TEST(any_bits_are_answered_with_nobody)
{
  uint64_t bits = 1;

  assert_null(handle_pin(NULL, HANDLE_HOLD));
  assert_null(handle_pin((const void *)UINTPTR_MAX, HANDLE_HOLD));
  assert_null(handle_pin(&owner_a, HANDLE_HOLD));
  for (int i = 0; i < 100000; i++) {
    bits = bits * 6364136223846793005u + 1442695040888963407u;
    assert_null(handle_pin((const void *)(uintptr_t)bits, HANDLE_HOLD));
  }
}

TEST(thousands_live_side_by_side)
{
  enum { COUNT = 5000 };
  static handle *all[COUNT];
  static int owners[COUNT];

  for (int i = 0; i < COUNT; i++) {
    all[i] = handle_new(HANDLE_HOLD, &owners[i], NULL);
    assert_non_null(all[i]);
  }
  for (int i = 0; i < COUNT; i++) {
    handle *h = handle_pin(handle_value(all[i]), HANDLE_HOLD);

    assert_ptr_equal(h->owner, &owners[i]);
    handle_unpin(h);
    handle_end(all[i]);
  }
}

static void *turn_over(void *data)
{
  for (int i = 0; i < 20000; i++) {
    handle *h = handle_new(HANDLE_HOLD, data, NULL);
    void *value = handle_value(h);
    handle *pinned = handle_pin(value, HANDLE_HOLD);

    if (pinned != h || pinned->owner != data)
      return data;
    handle_end(h);
    handle_unpin(pinned);
    if (handle_pin(value, HANDLE_HOLD) != NULL)
      return data;
  }
  return NULL;
}

TEST(threads_never_get_the_same_place)
{
  pthread_t threads[4];
  int owners[4];
  void *fault;

  for (int i = 0; i < 4; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, turn_over, &owners[i]), 0);
  for (int i = 0; i < 4; i++) {
    assert_int_equal(pthread_join(threads[i], &fault), 0);
    assert_null(fault);
  }
}

TEST(a_child_of_a_fork_has_another_epoch)
{
  uint64_t mine = fork_epoch();
  int how;
  pid_t child = fork();

  if (child == 0)
    _exit(fork_epoch() != mine && fork_epoch() == fork_epoch() ? 0 : 1);
  assert_int_equal(waitpid(child, &how, 0), child);
  assert_int_equal(how, 0);
  assert_int_equal(fork_epoch(), mine);
}

RUN_TESTS(NULL, NULL)
