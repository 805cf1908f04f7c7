/* SPDX-License-Identifier: MIT */
/* test/oracle/checker_run_test.c - C10, C13, whole histories, and what goes through
 * files. */

#include "tests.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fault/page.h"
#include "fault/plan.h"
#include "fault/run_file.h"
#include "story.h"

static struct story s;

static int begin(void **state)
{
  (void)state;
  story_begin(&s);
  return 0;
}

/* ---- C10 ---- */

static void use(enum usage what, int64_t before, int64_t warm, int64_t end, int64_t after)
{
  story_usage(&s, 0, PHASE_INVOKE, what, before);
  story_usage(&s, 0, PHASE_INFO, what, warm);
  story_usage(&s, 0, PHASE_FAIL, what, end);
  story_usage(&s, 0, PHASE_OK, what, after);
}

TEST_WITH(what_is_given_back_is_no_leak, begin, NULL)
{
  use(USAGE_FDS, 8, 14, 14, 8);
  use(USAGE_THREADS, 4, 6, 6, 4);
  use(USAGE_RSS_KIB, 900, 2000, 2100, 2100);
  assert_int_equal(story_found(&s, CHECK_LEAKS), 0);
  assert_int_equal(s.findings.examined[CHECK_LEAKS], 1);
}

TEST_WITH(a_descriptor_too_many_is_found, begin, NULL)
{
  use(USAGE_FDS, 8, 14, 14, 9);
  assert_int_equal(story_found(&s, CHECK_LEAKS), 1);
}

TEST_WITH(a_thread_too_many_is_found, begin, NULL)
{
  use(USAGE_THREADS, 4, 6, 6, 5);
  assert_int_equal(story_found(&s, CHECK_LEAKS), 1);
}

TEST_WITH(memory_that_only_grows_is_found, begin, NULL)
{
  use(USAGE_RSS_KIB, 900, 2000, 7000, 7000);
  assert_int_equal(story_found(&s, CHECK_LEAKS), 1);
}

TEST_WITH(connections_of_servers_that_were_down_are_no_leak, begin, NULL)
{
  use(USAGE_FDS, 8, 16, 21, 8);
  assert_int_equal(story_found(&s, CHECK_LEAKS), 1);
  s.expects.fds_more = 10;
  assert_int_equal(story_found(&s, CHECK_LEAKS), 0);
}

TEST_WITH(descriptors_that_pile_up_while_in_use_are_found, begin, NULL)
{
  use(USAGE_FDS, 8, 14, 30, 8);
  assert_int_equal(story_found(&s, CHECK_LEAKS), 1);
}

TEST_WITH(a_killed_worker_gives_nothing_back_and_leaks_nothing, begin, NULL)
{
  story_usage(&s, 0, PHASE_INVOKE, USAGE_FDS, 8);
  story_usage(&s, 0, PHASE_INFO, USAGE_FDS, 14);
  assert_int_equal(story_found(&s, CHECK_LEAKS), 0);
}

/* ---- files ---- */

static int remove_entry(const char *path, const struct stat *found, int kind, struct FTW *at)
{
  (void)found, (void)kind, (void)at;
  return remove(path);
}

static char directory[] = "/tmp/dibs-run-XXXXXX";

static int make_directory(void **state)
{
  (void)strcpy(directory, "/tmp/dibs-run-XXXXXX");
  story_begin(&s);
  (void)state;
  return mkdtemp(directory) == NULL ? -1 : 0;
}

static int remove_directory(void **state)
{
  (void)state;
  return nftw(directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

/* The story of two workers, written as they would. */
static void write_run(void)
{
  struct recorder *files[2];

  run_write(directory, "about a run");
  run_write(directory, "lock m 1 shop");
  run_write(directory, "marker the server died");
  run_write(directory, "demand 0 2");
  for (uint16_t i = 0; i < 2; i++)
    files[i] = recorder_open(directory, i, 0);
  (void)story_hold(&s, 0, 0, 1, 10, 1);
  (void)story_hold(&s, 1, 5, 11, 20, 2);
  for (size_t i = 0; i < s.count; i++)
    recorder_put(files[s.records[i].worker], &s.records[i]);
  for (int i = 0; i < 2; i++)
    files[i] = recorder_close(files[i]);
}

static size_t found_in(struct history *h, enum check check)
{
  struct findings *f = calloc(1, sizeof(*f));
  size_t found;

  assert_non_null(f);
  s.expects.without = (uint32_t)CHECK_ALL & ~CHECK_BIT(check);
  (void)check_all(h, &s.expects, f);
  found = f->counts[check];
  free(f);
  return found;
}

TEST_WITH(what_was_written_is_read_again, make_directory, remove_directory)
{
  struct history *h;

  write_run();
  h = history_load(directory);
  assert_non_null(h);
  assert_string_equal(h->flaw, "");
  assert_int_equal(h->count, 8);
  assert_int_equal(h->grant_count, 2);
  assert_string_equal(h->locks[0].name, "shop");
  assert_int_equal(h->grants[0].worker, 0);
  assert_int_equal(h->grants[1].fence, 2);
  assert_int_equal(found_in(h, CHECK_WHOLE), 0);
  h = history_free(h);
}

TEST_WITH(a_marker_that_was_not_reached_is_found, make_directory, remove_directory)
{
  struct recorder *runner;
  struct record mark = { .op = OP_MARK, .phase = PHASE_OK, .lock = 0, .value = 1 };
  struct history *h;

  write_run();
  runner = recorder_open(directory, RUNNER, 0);
  recorder_put(runner, &mark);
  h = history_load(directory);
  assert_int_equal(found_in(h, CHECK_VACUITY), 1);
  h = history_free(h);
  recorder_put(runner, &mark);
  runner = recorder_close(runner);
  h = history_load(directory);
  assert_int_equal(found_in(h, CHECK_VACUITY), 0);
  h = history_free(h);
}

TEST_WITH(too_few_grants_in_faults_are_found, begin, NULL)
{
  struct history *h;

  (void)story_hold(&s, 0, 0, 1, 10, 1);
  (void)story_fault(&s, FAULT_NETWORK, EVERYBODY, 5, 6);
  h = history_of(s.records, s.count, s.locks, s.lock_count);
  h->demanded_overlap = 2;
  assert_int_equal(found_in(h, CHECK_VACUITY), 1);
  h->demanded_overlap = 1;
  assert_int_equal(found_in(h, CHECK_VACUITY), 0);
  h = history_free(h);
}

TEST_WITH(a_history_in_which_nothing_was_granted_proves_nothing, begin, NULL)
{
  uint64_t call = story_ask(&s, 0, 0, 0, HOLD_EXCLUSIVE);

  story_not(&s, 10, call, 2);
  assert_int_equal(story_found(&s, CHECK_VACUITY), 1);
}

TEST_WITH(a_record_that_is_missing_is_found, make_directory, remove_directory)
{
  struct history *h;
  char path[300];
  FILE *file;
  struct record r;

  write_run();
  (void)snprintf(path, sizeof(path), "%s/0-0.history", directory);
  file = fopen(path, "r+e");
  assert_non_null(file);
  assert_int_equal(fread(&r, sizeof(r), 1, file), 1);
  r.seq = 7;
  rewind(file);
  assert_int_equal(fwrite(&r, sizeof(r), 1, file), 1);
  (void)fclose(file);
  h = history_load(directory);
  assert_int_equal(found_in(h, CHECK_WHOLE), 1);
  h = history_free(h);
}

TEST_WITH(a_file_cut_within_a_record_is_read_up_to_there,
          make_directory, remove_directory)
{
  struct history *h;
  char path[300];

  write_run();
  (void)snprintf(path, sizeof(path), "%s/1-0.history", directory);
  assert_int_equal(truncate(path, 3 * (off_t)sizeof(struct record) + 50), 0);
  h = history_load(directory);
  assert_int_equal(h->count, 7);
  assert_int_equal(found_in(h, CHECK_WHOLE), 0);
  assert_int_equal(h->grants[1].released_ns, 0);
  h = history_free(h);
}

TEST_WITH(an_outcome_of_nothing_is_found, begin, NULL)
{
  struct record r = { .at_ns = 5, .op = OP_LOCK, .phase = PHASE_OK, .call = 3 };
  struct history *h = history_of(&r, 1, s.locks, 1);

  assert_int_equal(found_in(h, CHECK_WHOLE), 1);
  h = history_free(h);
}

TEST_WITH(expectations_go_through_the_file, make_directory, remove_directory)
{
  struct expectations written = { .without = CHECK_BIT(CHECK_WAKE), .expects_overlap = true,
                                  .allows_idle_busy = true, .wake_ms_max = 7,
                                  .late_ms_max = 90 }, read;
  struct history *h = calloc(1, sizeof(*h));

  run_write_expectations(directory, &written);
  assert_true(run_read(directory, h, &read));
  assert_int_equal(read.without, written.without);
  assert_true(read.expects_overlap && read.allows_idle_busy);
  assert_false(read.allows_overlap || read.allows_shared_reads || read.allows_fence_reuse);
  assert_int_equal(read.wake_ms_max, 7);
  assert_int_equal(read.late_ms_max, 90);
  assert_int_equal(read.wake_ms_p99 + read.rss_kib_max, 0);
  run_write(directory, "nonsense");
  assert_false(run_read(directory, h, &read));
  free(h);
}

/* ---- plans and pages ---- */

TEST(a_plan_goes_through_words)
{
  struct plan plan = PLAN_INIT, read;
  char words[600];

  plan.ttl_ms = 300;
  plan.wait_ms = -1;
  plan.locks = 5;
  plan.reopens = true;
  plan_write(&plan, words, sizeof(words));
  assert_true(plan_read(words, &read));
  plan_defaults(&plan);
  assert_int_equal(read.ttl_ms, 300);
  assert_int_equal(read.wait_ms, -1);
  assert_int_equal(read.locks, 5);
  assert_true(read.reopens);
  assert_int_equal(read.hold_us, plan.hold_us);
  assert_false(plan_read("ttl=5", &read));
}

TEST_WITH(the_store_refuses_what_is_older, make_directory, remove_directory)
{
  struct page *p = page_make(directory, 1), *same = page_open(directory);

  assert_int_equal(page_write(p, 0, 10), 0);
  assert_int_equal(page_write(same, 0, 10), 1);
  assert_int_equal(page_write(p, 0, 12), 2);
  assert_int_equal(page_write(same, 0, 11), -1);
  assert_int_equal(page_written(p, 0, 2), 12);
  assert_int_equal(page_written(p, 0, 3), 0);
  assert_int_equal(same->locks[0].stale_refused, 1);
  p = page_close(p);
  same = page_close(same);
}

TEST_WITH(the_page_shows_who_else_is_in, make_directory, remove_directory)
{
  struct page *p = page_make(directory, 3);
  int64_t later = history_now_ns() + 1000000000;

  p->locks[2].limit = 3;
  assert_int_equal(page_enter(p, 0, 1, HOLD_EXCLUSIVE, 1, 5, later), -1);
  assert_int_equal(page_enter(p, 0, 2, HOLD_EXCLUSIVE, 1, 6, later), 1);
  page_leave(p, 0, 1);
  assert_int_equal(page_enter(p, 0, 3, HOLD_EXCLUSIVE, 1, 7, later), 2);
  page_believe(p, 0, 2, 5);            /* stopped, and long over: accuses nobody */
  page_leave(p, 0, 3);
  assert_int_equal(page_enter(p, 0, 4, HOLD_EXCLUSIVE, 1, 8, later), -1);
  assert_int_equal(page_enter(p, 1, 1, HOLD_READ, 1, 5, later), -1);
  assert_int_equal(page_enter(p, 1, 2, HOLD_READ, 1, 6, later), -1);
  assert_int_equal(page_enter(p, 1, 3, HOLD_WRITE, 1, 7, later), 2);
  assert_int_equal(page_enter(p, 2, 1, HOLD_PERMITS, 2, 5, later), -1);
  assert_int_equal(page_enter(p, 2, 2, HOLD_PERMITS, 1, 6, later), -1);
  assert_int_equal(page_enter(p, 2, 3, HOLD_PERMITS, 1, 7, later), 3);
  p = page_close(p);
}

RUN_TESTS(NULL, NULL)
