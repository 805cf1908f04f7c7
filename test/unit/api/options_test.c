/* SPDX-License-Identifier: MIT */
/* Unit: api/options - sized records, ranges, owners; refusals name the value. */
#include "tests.h"

#include <stdint.h>
#include <string.h>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/options.h"

static char words[512];
static const client_times times = { .clock_rate_error_ppm = 10000 };

static dibs_status read_lock(const dibs_lock_options *o, lock_call *call)
{
  text why = text_over(words, sizeof(words));

  return lock_options_read(o, true, &times, call, &why);
}

static dibs_status read_client(const dibs_options *o, dibs_options *known)
{
  text why = text_over(words, sizeof(words));

  return client_options_read(o, known, &why);
}

TEST(nothing_given_means_the_defaults)
{
  lock_call call;
  dibs_options known;

  assert_int_equal(read_lock(NULL, &call), DIBS_OK);
  assert_int_equal(span_to_ms(call.spec.ttl), 30000);
  assert_int_equal(call.wait_ms, DIBS_FOREVER);
  assert_int_equal(call.owner[0], 't');
  assert_int_equal(read_client(NULL, &known), DIBS_OK);
  assert_int_equal(known.connect_timeout_ms, 0);
}

TEST(an_older_program_s_record_is_filled_with_zeros)
{
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;
  lock_call call;

  o.size = offsetof(dibs_lock_options, owner);
  o.ttl_ms = 5000;
  o.owner = "x";                               /* beyond the size: not looked at */
  o.note = (const char *)1;
  assert_int_equal(read_lock(&o, &call), DIBS_OK);
  assert_int_equal(span_to_ms(call.spec.ttl), 5000);
  assert_int_equal(call.owner[0], 't');
  assert_null(call.spec.note);
}

TEST(a_newer_program_s_record_passes_while_its_news_are_zero)
{
  struct { dibs_lock_options known; char more[24]; } o = { DIBS_LOCK_OPTIONS_INIT, { 0 } };
  lock_call call;

  o.known.size = sizeof(o);
  assert_int_equal(read_lock(&o.known, &call), DIBS_OK);
  o.more[23] = 1;
  assert_int_equal(read_lock(&o.known, &call), DIBS_ERR_ARGUMENT);
  assert_non_null(strstr(words, "newer version"));
}

TEST(a_record_without_its_size_is_refused)
{
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;
  lock_call call;

  o.size = 0;
  assert_int_equal(read_lock(&o, &call), DIBS_ERR_ARGUMENT);
  assert_non_null(strstr(words, "_INIT"));
}

/* What a program leaves in a record that it did not begin with _INIT. Behind this one, as behind
 * the last object of a mapping, there is nothing that can be read. */
TEST(a_record_with_any_number_as_its_size_is_refused_unread)
{
  static const size_t sizes[] = { SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 4096, 4097 };
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  lock_call call;

  assert_true(pages != MAP_FAILED);
  assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    dibs_lock_options *o = (dibs_lock_options *)(void *)(pages + page) - 1;

    o->size = sizes[i];
    assert_int_equal(read_lock(o, &call), DIBS_ERR_ARGUMENT);
    assert_non_null(strstr(words, "_INIT"));
  }
  assert_int_equal(munmap(pages, 2 * page), 0);
}

TEST(a_record_that_ends_inside_of_a_pointer_is_refused)
{
  dibs_options o = DIBS_OPTIONS_INIT, known;

  o.note = "a note";
  o.size = offsetof(dibs_options, note) + 3;
  assert_int_equal(read_client(&o, &known), DIBS_ERR_ARGUMENT);
  assert_non_null(strstr(words, "_INIT"));
}

TEST(unknown_flags_are_refused_and_named)
{
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;
  dibs_options c = DIBS_OPTIONS_INIT, known;
  lock_call call;

  o.flags = 0x8000u | DIBS_LOCK_FIXED;
  assert_int_equal(read_lock(&o, &call), DIBS_ERR_ARGUMENT);
  assert_non_null(strstr(words, "0x00008000"));
  c.flags = 0x10000000u;
  assert_int_equal(read_client(&c, &known), DIBS_ERR_ARGUMENT);
  assert_non_null(strstr(words, "0x10000000"));
}

TEST(choices_for_deployments_are_checked)
{
  dibs_options c = DIBS_OPTIONS_INIT, known;

  c.quarantine_ms = 7000;
  c.degrade = DIBS_DEGRADE_LOCAL;
  c.sentinel_user = "sam";
  assert_int_equal(read_client(&c, &known), DIBS_OK);
  assert_int_equal(known.quarantine_ms, 7000);
  assert_int_equal(known.degrade, DIBS_DEGRADE_LOCAL);
  assert_string_equal(known.sentinel_user, "sam");
  c.degrade = (dibs_degrade)4;
  assert_int_equal(read_client(&c, &known), DIBS_ERR_ARGUMENT);
  assert_non_null(strstr(words, "degrade is 4; allowed are 1 to 3"));
  c.degrade = DIBS_DEGRADE_DEFAULT;
  c.quarantine_ms = -1;
  assert_int_equal(read_client(&c, &known), DIBS_ERR_ARGUMENT);
  assert_non_null(strstr(words, "quarantine_ms is -1"));
}

TEST(times_out_of_range_are_refused_with_the_range)
{
  static const struct { int32_t wait, ttl, max; const char *named; } wrong[] = {
    { -1, 0, 0, "wait_ms is -1" },
    { DIBS_MS_MAX + 1, 0, 0, "wait_ms is 2073600001" },
    { 0, 99, 0, "ttl_ms is 99" },
    { 0, -5, 0, "ttl_ms is -5" },
    { 0, DIBS_MS_MAX + 1, 0, "ttl_ms" },
    { 0, 0, -1, "max_hold_ms is -1" },
    { 0, 2000, 1999, "max_hold_ms is 1999" },
    { 0, 0, 29999, "max_hold_ms is 29999" },
  };
  lock_call call;

  for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
    dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;

    o.wait_ms = wrong[i].wait;
    o.ttl_ms = wrong[i].ttl;
    o.max_hold_ms = wrong[i].max;
    assert_int_equal(read_lock(&o, &call), DIBS_ERR_ARGUMENT);
    assert_non_null(strstr(words, wrong[i].named));
  }
}

static void on_change(dibs_hold *hold, const dibs_hold_info *info, dibs_change why, void *data)
{
  (void)hold;
  (void)info;
  (void)why;
  (void)data;
}

TEST(a_warning_that_cannot_come_is_refused)
{
  static const struct { int32_t warn, ttl; bool has_callback; const char *named; } wrong[] = {
    { -1, 0, true, "warn_ms is -1" },
    { 30001, 0, true, "warn_ms is 30001, longer than ttl_ms, 30000" },
    { 501, 500, true, "warn_ms is 501, longer than ttl_ms, 500" },
    { 100, 500, false, "on_change" },
  };
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;
  lock_call call;

  for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
    o.warn_ms = wrong[i].warn;
    o.ttl_ms = wrong[i].ttl;
    o.on_change = wrong[i].has_callback ? on_change : NULL;
    assert_int_equal(read_lock(&o, &call), DIBS_ERR_ARGUMENT);
    assert_non_null(strstr(words, wrong[i].named));
  }
  o.warn_ms = o.ttl_ms = 500;
  o.on_change = on_change;
  assert_int_equal(read_lock(&o, &call), DIBS_OK);
  o.reserved = 1;
  assert_int_equal(read_lock(&o, &call), DIBS_ERR_ARGUMENT);
  assert_non_null(strstr(words, "reserved"));
}

TEST(the_ends_of_the_ranges_are_allowed)
{
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;
  lock_call call;

  o.wait_ms = o.ttl_ms = o.max_hold_ms = DIBS_MS_MAX;
  assert_int_equal(read_lock(&o, &call), DIBS_OK);
  o.ttl_ms = o.max_hold_ms = 100;
  o.wait_ms = 1;
  assert_int_equal(read_lock(&o, &call), DIBS_OK);
}

static dibs_status read_renewed(const dibs_lock_options *o, int32_t every_ms, int32_t ppm)
{
  client_times paced = { .renew_every_ms = every_ms, .clock_rate_error_ppm = ppm };
  text why = text_over(words, sizeof(words));
  lock_call call;

  return lock_options_read(o, true, &paced, &call, &why);
}

TEST(a_ttl_must_leave_room_for_two_renewals)
{
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;

  o.ttl_ms = 1000;
  assert_int_equal(read_renewed(&o, 500, 10000), DIBS_OK);
  assert_int_equal(read_renewed(&o, 501, 10000), DIBS_ERR_ARGUMENT);
  o.flags = DIBS_LOCK_FIXED;                   /* never renewed */
  assert_int_equal(read_renewed(&o, 501, 10000), DIBS_OK);
}

/* They leave 0.5 s less 3 ms of it, and a renewal may be a tenth late: 451 ms are 497 ms. */
TEST(and_for_one_before_the_end_that_the_clocks_leave)
{
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;

  o.ttl_ms = 1000;
  assert_int_equal(read_renewed(&o, 451, 500000), DIBS_OK);
  assert_int_equal(read_renewed(&o, 452, 500000), DIBS_ERR_ARGUMENT);
  assert_non_null(strstr(words, "ttl_ms is 1000"));
  assert_non_null(strstr(words, "renew_every_ms, 452"));
  assert_non_null(strstr(words, "clock_rate_error_ppm, 500000"));
  assert_non_null(strstr(words, "497 ms"));
  assert_int_equal(read_renewed(&o, 0, 500000), DIBS_OK);
  o.flags = DIBS_LOCK_FIXED;
  assert_int_equal(read_renewed(&o, 452, 500000), DIBS_OK);
}

TEST(owners_by_key_never_equal_owners_by_thread)
{
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;
  lock_call thread, key;

  assert_int_equal(read_lock(NULL, &thread), DIBS_OK);
  o.owner = thread.owner + 1;
  o.owner_size = thread.spec.owner_size - 1;
  assert_int_equal(read_lock(&o, &key), DIBS_OK);
  assert_int_equal(key.spec.owner_size, thread.spec.owner_size);
  assert_memory_not_equal(key.owner, thread.owner, key.spec.owner_size);
}

TEST(wrong_owners_are_refused)
{
  char long_key[DIBS_OWNER_MAX + 1] = { 0 };
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;
  lock_call call;

  o.owner_size = 3;
  assert_int_equal(read_lock(&o, &call), DIBS_ERR_ARGUMENT);
  o.owner = long_key;
  o.owner_size = 0;
  assert_int_equal(read_lock(&o, &call), DIBS_ERR_ARGUMENT);
  o.owner_size = DIBS_OWNER_MAX + 1;
  assert_int_equal(read_lock(&o, &call), DIBS_ERR_ARGUMENT);
  o.owner_size = DIBS_OWNER_MAX;
  assert_int_equal(read_lock(&o, &call), DIBS_OK);
  o.flags = DIBS_LOCK_NO_OWNER;
  assert_int_equal(read_lock(&o, &call), DIBS_ERR_ARGUMENT);
}

TEST(nobody_owns_what_is_asked_for_without_blocking)
{
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;
  text why = text_over(words, sizeof(words));
  lock_call call;

  assert_int_equal(lock_options_read(NULL, false, &times, &call, &why), DIBS_OK);
  assert_int_equal(call.spec.owner_size, 0);
  o.flags = DIBS_LOCK_NO_OWNER;
  assert_int_equal(lock_options_read(&o, true, &times, &call, &why), DIBS_OK);
  assert_int_equal(call.spec.owner_size, 0);
}

static void *read_owner(void *call)
{
  (void)lock_options_read(NULL, true, &times, call, &(text){ words, sizeof(words), 0, false });
  return NULL;
}

TEST(each_thread_is_an_owner_of_its_own)
{
  lock_call mine, others[2];
  pthread_t thread;

  assert_int_equal(read_lock(NULL, &mine), DIBS_OK);
  for (int i = 0; i < 2; i++) {                /* one after the other: ids may be reused */
    assert_int_equal(pthread_create(&thread, NULL, read_owner, &others[i]), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_memory_not_equal(mine.owner, others[i].owner, mine.spec.owner_size);
  }
  assert_memory_not_equal(others[0].owner, others[1].owner, mine.spec.owner_size);
}

TEST(half_an_allocator_is_refused)
{
  dibs_allocator a = { NULL, NULL, NULL, NULL };
  dibs_options o = DIBS_OPTIONS_INIT, known;

  o.allocator = &a;
  assert_int_equal(read_client(&o, &known), DIBS_ERR_ARGUMENT);
  assert_non_null(strstr(words, "allocator"));
}

TEST(a_note_has_its_longest_length)
{
  char note[DIBS_NOTE_MAX + 2];
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;
  lock_call call;

  memset(note, 'n', sizeof(note));
  note[DIBS_NOTE_MAX] = 0;
  o.note = note;
  assert_int_equal(read_lock(&o, &call), DIBS_OK);
  note[DIBS_NOTE_MAX] = 'n';
  note[DIBS_NOTE_MAX + 1] = 0;
  assert_int_equal(read_lock(&o, &call), DIBS_ERR_ARGUMENT);
}

static dibs_status read_wait(const dibs_wait_options *o, wait_plan *call)
{
  text why = text_over(words, sizeof(words));

  return wait_options_read(o, call, &why);
}

TEST(waits_have_their_time_and_canceller_and_nothing_else)
{
  dibs_wait_options o = DIBS_WAIT_OPTIONS_INIT;
  wait_plan call = { .wait_ms = 7 };

  assert_int_equal(read_wait(NULL, &call), DIBS_OK);
  assert_int_equal(call.wait_ms, DIBS_FOREVER);
  o.wait_ms = 0;
  assert_int_equal(read_wait(&o, &call), DIBS_OK);
  assert_int_equal(call.wait_ms, 0);
  o.wait_ms = INT32_MIN;
  assert_int_equal(read_wait(&o, &call), DIBS_ERR_ARGUMENT);
  o.wait_ms = 20;
  o.cancel = (dibs_canceller *)(void *)words;
  assert_int_equal(read_wait(&o, &call), DIBS_OK);
  assert_int_equal(call.wait_ms, 20);
  assert_ptr_equal(call.cancel, words);
  o.wait_ms = -5;
  assert_int_equal(read_wait(&o, &call), DIBS_ERR_ARGUMENT);
  assert_non_null(strstr(words, "wait_ms is -5"));
  o.wait_ms = 0;
  o.flags = 0x80;
  assert_int_equal(read_wait(&o, &call), DIBS_ERR_ARGUMENT);
  assert_non_null(strstr(words, "0x00000080"));
  o.size = 3;
  assert_int_equal(read_wait(&o, &call), DIBS_ERR_ARGUMENT);
  assert_non_null(strstr(words, "dibs_wait_options.size is 3"));
}

RUN_TESTS(NULL, NULL)
