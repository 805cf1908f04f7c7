/* SPDX-License-Identifier: MIT */
/* test/live/name_memory_test.c - names leave nothing behind in the client, however many
 * there were; what is held or waited for is never forgotten. DIBS_TEST_SCALE=500: ten
 * million names. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <unistd.h>

#include "one_client.h"

enum { LIVE = 200 };
enum { RELEASED_BYTES = 256 * 256 };     /* of the last releases, which a failover may lose */

/* Each server has its own; of a quorum none are kept. */
static void only_releases_are_kept(uint64_t least)
{
  assert_in_range(live_stats(client).table_bytes, live_place() == LIVE_QUORUM ? 0 : least,
                  (uint64_t)RELEASED_BYTES * (uint64_t)live_server_count());
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool has_plain_memory = false;    /* sanitizers keep what was freed */
#else
static const bool has_plain_memory = true;
#endif

static long resident_pages(void)
{
  long size = 0, resident = 0;
  FILE *f = fopen("/proc/self/statm", "r");

  assert_non_null(f);
  assert_int_equal(fscanf(f, "%ld %ld", &size, &resident), 2);
  (void)fclose(f);
  return resident;
}

/* The last LIVE names are held at any time. */
static void take_names(dibs_hold **ring, long from, long to)
{
  dibs_lock_options o = live_lock_options(60000, 0);
  char name[64];

  for (long i = from; i < to; i++) {
    dibs_hold **slot = &ring[i % LIVE];

    if (*slot != NULL) {
      assert_int_equal(dibs_hold_state(*slot), DIBS_HOLD_HELD);
      assert_int_equal(dibs_release_async(*slot, NULL, NULL), DIBS_OK);
    }
    (void)snprintf(name, sizeof(name), "a name that is used only once %ld", i);
    *slot = live_lock_with(client, name, &o);
    /* A server of the tests has no room for all the memories of ten million names. */
    if (i % 10000 == 0)
      assert_in_range(live_stats(client).names, 1, 2 * LIVE);
  }
}

static bool nothing_is_known(void *data)
{
  (void)data;
  return live_stats(client).names == 0;
}

TEST(distinct_names_do_not_add_up)
{
  static dibs_hold *ring[LIVE];
  long count = live_times(20000), warm = count / 4, before;
  uint64_t bytes;

  take_names(ring, 0, warm);
  before = resident_pages();
  bytes = live_stats(client).table_bytes;
  take_names(ring, warm, count);
  if (has_plain_memory && resident_pages() > before + before / 20)
    fail_msg("%ld pages at first, %ld in the end", before, resident_pages());
  assert_true(live_stats(client).table_bytes <= bytes + bytes / 4);
  assert_in_range(live_stats(client).names, 1, 2 * LIVE);
  for (int i = 0; i < LIVE; i++)
    assert_int_equal(dibs_release(ring[i]), DIBS_OK);
  assert_true(live_until(LIVE_LONG_MS, nothing_is_known, NULL));
  only_releases_are_kept(1);
  assert_int_equal(live_stats(client).holds, 0);
}

TEST(names_asked_for_in_vain_do_not_add_up)
{
  dibs_client *holder = live_open(live_url());
  dibs_lock_options o = live_lock_options(1000, 1);
  dibs_hold *hold = live_lock(holder, "busy", 60000), *none = NULL;

  for (long i = live_times(300); i > 0; i--) {
    live_refused(dibs_try_lock(client, "busy", NULL, &none), DIBS_BUSY);
    assert_int_not_equal(dibs_lock(client, "busy", &o, &none), DIBS_OK);
  }
  assert_true(live_until(LIVE_LONG_MS, nothing_is_known, NULL));
  only_releases_are_kept(0);
  assert_int_equal(live_stats(client).waiting, 0);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  holder = dibs_close(holder);
}

RUN_TESTS(setup, teardown)
