/* SPDX-License-Identifier: MIT */
/* The answers of the latches; their channels, which are Redisson's. */

#include "tests.h"
#include "answer_reader.h"
#include "dialect/native/latch.h"

#define ANNA "AAAAAAAAAAAAAAAAAAAAAA"

static const protocol here = { .prefix = "dibs", .client = ANNA };

TEST(changes_are_answered_by_texts)
{
  static const char *const odd[] = { "$1\r\n2\r\n", ":1\r\n", "$0\r\n\r\n", "*0\r\n", "$-1\r\n" };
  bool was_armed;
  int64_t left;
  resp_reply *r;

  r = reply_of("$1\r\n0\r\n");
  assert_true(native_latch_set_answer(r, &was_armed) && was_armed);
  assert_true(native_latch_down_answer(r, &left) && left == 0);
  resp_reply_free(r);
  r = reply_of("$2\r\n-1\r\n");
  assert_true(native_latch_down_answer(r, &left) && left == -1);
  assert_false(native_latch_set_answer(r, &was_armed));
  resp_reply_free(r);
  r = reply_of("$19\r\n9223372036854775807\r\n");
  assert_true(native_latch_down_answer(r, &left) && left == INT64_MAX);
  resp_reply_free(r);
  r = reply_of("$19\r\n9223372036854775808\r\n");
  assert_false(native_latch_down_answer(r, &left));
  resp_reply_free(r);
  for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
    r = reply_of(odd[i]);
    assert_false(native_latch_set_answer(r, &was_armed));
    assert_true(i == 0 || !native_latch_down_answer(r, &left));
    resp_reply_free(r);
  }
}

static latch_state state_of(const char *bytes)
{
  latch_state s;
  resp_reply *r = reply_of(bytes);

  assert_true(native_latch_look_answer(r, &s));
  resp_reply_free(r);
  return s;
}

TEST(a_look_tells_count_zero_and_deletion)
{
  latch_state s = state_of("*3\r\n$1\r\n5\r\n$2\r\n17\r\n$0\r\n\r\n");

  assert_true(s.is_number);
  assert_int_equal(s.left, 5);
  assert_int_equal(s.zeroed_us, 17);
  assert_int_equal(s.deleted_us, 0);
  s = state_of("*3\r\n$0\r\n\r\n$0\r\n\r\n$2\r\n18\r\n");
  assert_true(s.is_number);
  assert_int_equal(s.left, 0);
  assert_int_equal(s.deleted_us, 18);
  s = state_of("*3\r\n$2\r\n-5\r\n$0\r\n\r\n$0\r\n\r\n");
  assert_true(s.is_number);
  assert_int_equal(s.left, 0);
  assert_false(state_of("*3\r\n$1\r\n-\r\n$0\r\n\r\n$0\r\n\r\n").is_number);
  assert_false(state_of("*3\r\n$5\r\nwords\r\n$0\r\n\r\n$0\r\n\r\n").is_number);
}

TEST(odd_looks_are_refused)
{
  static const char *const odd[] = { "$1\r\n5\r\n", "*2\r\n$1\r\n5\r\n$0\r\n\r\n",
                                     "*3\r\n:5\r\n$0\r\n\r\n$0\r\n\r\n",
                                     "*3\r\n$1\r\n5\r\n$1\r\nx\r\n$0\r\n\r\n",
                                     "*3\r\n$1\r\n5\r\n$0\r\n\r\n:1\r\n" };

  for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
    resp_reply *r = reply_of(odd[i]);
    latch_state s;

    assert_false(native_latch_look_answer(r, &s));
    resp_reply_free(r);
  }
}

/* Where channels have slots, that of a latch is in the slot of its key. */
TEST(channels_are_as_in_java_where_slots_do_not_matter)
{
  static const struct { const char *name, *java, *sharded; } all[] = {
    { "x", "redisson_countdownlatch__channel__{x}", "redisson_countdownlatch__channel__{x}" },
    { "{x}", "redisson_countdownlatch__channel__{{x}}",
      "redisson_countdownlatch__channel__:{x}" },
    { "a}b", "redisson_countdownlatch__channel__{a}b}",
      "redisson_countdownlatch__channel__{20658}:a}b" },
  };
  protocol sharded = { .prefix = "dibs", .client = ANNA, .has_tags = true,
                       .has_sharded_channels = true };
  protocol plain = sharded;

  plain.has_sharded_channels = false;
  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
    char out[LATCH_CHANNEL_SIZE];
    text t = text_over(out, sizeof(out));

    native_latch_channel(&here, all[i].name, strlen(all[i].name), &t);
    assert_string_equal(out, all[i].java);
    t = text_over(out, sizeof(out));
    native_latch_channel(&plain, all[i].name, strlen(all[i].name), &t);
    assert_string_equal(out, all[i].java);
    t = text_over(out, sizeof(out));
    native_latch_channel(&sharded, all[i].name, strlen(all[i].name), &t);
    assert_string_equal(out, all[i].sharded);
  }
}

/* The records of latches as a Cluster has them, and another server. */
TEST(a_name_that_is_not_in_braces_is_found_at_the_end_of_its_key)
{
  static const protocol cluster = { .prefix = "dibs", .client = ANNA, .has_tags = true };
  const char *name;
  size_t size;

  assert_true(native_latch_name_at_end(&cluster, "{20658}:a}b", 11, &name, &size));
  assert_int_equal(size, 3);
  assert_memory_equal(name, "a}b", 3);
  assert_true(native_latch_name_at_end(&cluster, "{42430}:{}", 10, &name, &size));
  assert_memory_equal(name, "{}", size);
  assert_true(native_latch_name_at_end(&here, ":{a}b", 5, &name, &size));
  assert_memory_equal(name, "{a}b", size);
  assert_false(native_latch_name_at_end(&cluster, "{x{y}", 5, &name, &size));
  assert_false(native_latch_name_at_end(&here, "{20658}:a}b}", 12, &name, &size));
  assert_false(native_latch_name_at_end(&here, "", 0, &name, &size));
}

RUN_TESTS(NULL, NULL)
