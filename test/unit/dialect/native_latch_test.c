/* SPDX-License-Identifier: MIT */
/* The calls of the latches, word for word; Redisson's key and channel; their answers. */

#include "tests.h"
#include "call_reader.h"
#include "dialect/native/latch.h"
#include "rendered.h"

#define ANNA "AAAAAAAAAAAAAAAAAAAAAA"
#define CHANNEL "redisson_countdownlatch__channel__"

static const protocol here = { .prefix = "dibs", .client = ANNA };
static const latch_call gate = { .name = "gate", .name_size = 4, .number = 7, .count = 3,
                                 .id = "part", .id_size = 4 };

TEST(each_call_says_keys_channel_and_what_to_count)
{
  assert_true(RENDERED(native_latch_set, &here, &sent, false, &gate));
  CHECK_WORDS(&sent, &script_native_latch_set, "3", "gate", "dibs:l:{gate}",
              "dibs:l:{gate}:" ANNA ":7", CHANNEL "{gate}", "3", NO_LIMIT);
  assert_true(RENDERED(native_latch_down, &here, &sent, false, &gate));
  CHECK_WORDS(&sent, &script_native_latch_down, "3", "gate", "dibs:l:{gate}",
              "dibs:l:{gate}:" ANNA ":7", CHANNEL "{gate}", "3", "part", NO_LIMIT);
  assert_true(RENDERED(native_latch_delete, &here, &sent, false, &gate));
  CHECK_WORDS(&sent, &script_native_latch_delete, "3", "gate", "dibs:l:{gate}",
              "dibs:l:{gate}:" ANNA ":7", CHANNEL "{gate}", NO_LIMIT);
  assert_true(RENDERED(native_latch_look, &here, &sent, false, "gate", 4));
  CHECK_WORDS(&sent, &script_native_latch_look, "2", "gate", "dibs:l:{gate}");
}

TEST(a_name_with_a_tag_keeps_it_and_its_channel_has_braces_more)
{
  latch_call c = { .name = "{gate}", .name_size = 6, .number = 8 };

  assert_true(RENDERED(native_latch_delete, &here, &sent, false, &c));
  CHECK_WORDS(&sent, &script_native_latch_delete, "3", "{gate}", "dibs:l::{gate}",
              "dibs:l::{gate}:" ANNA ":8", CHANNEL "{{gate}}", NO_LIMIT);
}

TEST(the_longest_names_fit)
{
  char name[NAME_MAX_BYTES];
  protocol far = { .prefix = "", .client = ANNA };
  latch_call c = { .name = name, .name_size = sizeof(name), .number = UINT64_MAX,
                   .count = INT64_MAX };

  memset(name, 'n', sizeof(name));
  memset(far.prefix, 'p', PREFIX_MAX_BYTES);
  assert_true(RENDERED(native_latch_down, &far, &sent, true, &c));
  assert_true(RENDERED(native_latch_look, &far, &sent, true, name, sizeof(name)));
}

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

RUN_TESTS_EACH(NULL, NULL, call_begin, call_end)
