/* SPDX-License-Identifier: MIT */
/* The scripts of the count-down latches, on a real server: Redisson's layout byte
 * for byte, each id counted once, repetitions answered and not done again, and what those
 * who look learn. */

#include "tests.h"

#include <stdio.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "dialect/native/latch.h"
#include "mode.h"
#include "server.h"
#include "stage.h"
#include "rendered.h"

#define NAME "gate"
#define CHANNEL "redisson_countdownlatch__channel__{gate}"
#define BESIDE "dibs:l:{gate}"
#define DAY_MS 86400000

static redisContext *java;        /* subscribed as Redisson's waiters are */
static uint64_t number;

#define run(...) test_server_command(world_server(w), __VA_ARGS__)
#define run_integer(...) test_server_integer(world_server(w), __VA_ARGS__)

/* ---- calls ---- */

static latch_call call_of(int64_t count, const char *id)
{
  return (latch_call){ .name = NAME, .name_size = strlen(NAME), .number = ++number,
                       .count = count, .id = id, .id_size = id == NULL ? 0 : strlen(id) };
}

static bool was_armed(int who, const latch_call *c)
{
  bool answer;

  assert_true(RENDERED(native_latch_set, world_native(w, who), world_buffer(w), false,
                       c));
  assert_true(native_latch_set_answer(stage_send(), &answer));
  return answer;
}

static void arm(int64_t count)
{
  latch_call c = call_of(count, NULL);

  assert_false(was_armed(ANNA, &c));
}

static int64_t down_by(int who, const latch_call *c)
{
  int64_t left;

  assert_true(RENDERED(native_latch_down, world_native(w, who), world_buffer(w), false,
                       c));
  assert_true(native_latch_down_answer(stage_send(), &left));
  return left;
}

static int64_t down(int who, const char *id)
{
  latch_call c = call_of(1, id);

  return down_by(who, &c);
}

static void delete_as(const latch_call *c)
{
  bool was_none;

  assert_true(RENDERED(native_latch_delete, world_native(w, ANNA), world_buffer(w), false,
                       c));
  assert_true(native_latch_set_answer(stage_send(), &was_none));
}

static latch_state look(void)
{
  latch_state s;

  assert_true(RENDERED(native_latch_look, world_native(w, ANNA), world_buffer(w), false,
                       NAME, strlen(NAME)));
  assert_true(native_latch_look_answer(stage_send(), &s));
  return s;
}

/* ---- the Java side ---- */

/* As Redisson counts: a decrement, and at zero away with it and a message. */
static void java_counts_down(void)
{
  if (run_integer("DECR %s", NAME) > 0)
    return;
  run_integer("DEL %s", NAME);
  run_integer("PUBLISH %s 0", CHANNEL);
}

/* What its waiters have heard since: each payload with a blank behind. */
static const char *java_heard(void)
{
  static char heard[256];
  redisReply *reply;
  size_t used = 0;

  heard[0] = '\0';
  /* A message to ourselves comes behind all others. */
  run_integer("PUBLISH %s end", CHANNEL);
  for (;;) {
    assert_int_equal(redisGetReply(java, (void **)&reply), REDIS_OK);
    assert_string_equal(reply->element[0]->str, "message");
    if (strcmp(reply->element[2]->str, "end") == 0)
      break;
    used += (size_t)snprintf(heard + used, sizeof(heard) - used, "%s ",
                             reply->element[2]->str);
    assert_true(used < sizeof(heard));
    freeReplyObject(reply);
  }
  freeReplyObject(reply);
  return heard;
}

static int begin(void **state)
{
  redisReply *reply;

  (void)stage_clear(state);
  java = redisConnectUnix(test_server_socket(world_server(w)));
  assert_int_equal(java->err, 0);
  reply = redisCommand(java, "SUBSCRIBE %s", CHANNEL);
  assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
  freeReplyObject(reply);
  return 0;
}

static int end(void **state)
{
  (void)state;
  redisFree(java);
  return 0;
}

/* ---- tests ---- */

TEST(the_key_is_a_plain_number_under_the_plain_name)
{
  arm(3);
  assert_string_equal(run("TYPE %s", NAME), "string");
  assert_string_equal(run("GET %s", NAME), "3");
  assert_int_equal(run_integer("PTTL %s", NAME), -1);
  assert_string_equal(java_heard(), "1 ");
  assert_int_equal(down(ANNA, NULL), 2);
  assert_string_equal(run("GET %s", NAME), "2");
  assert_string_equal(java_heard(), "");
  assert_int_equal(down(BERT, NULL), 1);
  assert_int_equal(down(CARL, NULL), 0);
  assert_string_equal(java_heard(), "0 ");
  assert_int_equal(run_integer("EXISTS %s", NAME), 0);
}

TEST(java_counts_on_the_same_latch)
{
  arm(3);
  java_counts_down();
  assert_int_equal(look().left, 2);
  assert_int_equal(down(ANNA, NULL), 1);
  java_counts_down();
  assert_int_equal(look().left, 0);
  assert_string_equal(java_heard(), "1 0 ");
  run("SET %s 2", NAME);                      /* Java arms it */
  assert_int_equal(down(ANNA, NULL), 1);
}

TEST(an_armed_latch_is_not_armed_again)
{
  latch_call c = call_of(9, NULL);

  arm(3);
  assert_true(was_armed(BERT, &c));
  assert_string_equal(run("GET %s", NAME), "3");
  run("SET %s 0", NAME);                      /* whoever wrote it: as good as none */
  c = call_of(2, NULL);
  assert_false(was_armed(BERT, &c));
  assert_string_equal(run("GET %s", NAME), "2");
}

TEST(what_is_not_armed_cannot_be_counted)
{
  assert_int_equal(down(ANNA, NULL), -1);
  assert_int_equal(down(ANNA, "id"), -1);
  assert_int_equal(run_integer("EXISTS %s", NAME), 0);
  assert_string_equal(java_heard(), "");
}

TEST(it_counts_to_zero_and_no_further)
{
  latch_call c = call_of(7, NULL);

  arm(3);
  assert_int_equal(down_by(ANNA, &c), 0);
  assert_int_equal(run_integer("EXISTS %s", NAME), 0);
  assert_string_equal(java_heard(), "1 0 ");
}

TEST(an_id_counts_once_whoever_brings_it)
{
  arm(3);
  assert_int_equal(down(ANNA, "part 1"), 2);
  assert_int_equal(down(ANNA, "part 1"), 2);
  assert_int_equal(down(BERT, "part 1"), 2);
  assert_int_equal(down(BERT, "part 2"), 1);
  assert_int_equal(down(ANNA, "part 3"), 0);
  assert_int_equal(down(CARL, "part 3"), 0);      /* also when that was the last one */
  assert_int_equal(down(CARL, "part 4"), -1);
  assert_true(run_integer("PTTL %s", BESIDE) > DAY_MS - 60000);
}

TEST(an_id_counts_again_when_it_is_armed_anew)
{
  arm(2);
  assert_int_equal(down(ANNA, "id"), 1);
  assert_int_equal(down(ANNA, NULL), 0);
  arm(2);
  assert_int_equal(down(ANNA, "id"), 1);
  assert_int_equal(down(ANNA, "id"), 1);
}

TEST(an_id_counts_again_when_java_armed_it_anew)
{
  arm(2);
  assert_int_equal(down(ANNA, "id"), 1);
  java_counts_down();
  run("SET %s 2", NAME);
  assert_int_equal(down(ANNA, "id"), 1);
  assert_int_equal(down(ANNA, NULL), 0);
  run("SET %s 1", NAME);
  assert_int_equal(down(ANNA, "id"), 0);
}

/* Where a count of ours found it at zero, also with no more than was left for us. */
TEST(an_id_counts_again_when_java_armed_it_after_a_zero_that_we_saw)
{
  latch_call gone = call_of(0, NULL);

  arm(3);
  assert_int_equal(down(ANNA, "id"), 2);
  java_counts_down();
  java_counts_down();
  assert_int_equal(down(BERT, NULL), -1);
  assert_int_equal(down(ANNA, "id"), 0);      /* the repetition of what was counted */
  run("SET %s 2", NAME);
  assert_int_equal(down(ANNA, "id"), 1);
  assert_int_equal(down(ANNA, "id"), 1);
  java_counts_down();
  delete_as(&gone);                           /* that finds nothing to delete */
  run("SET %s 1", NAME);
  assert_int_equal(down(ANNA, "id"), 0);
}

/* What a request of ours saw, whether it counted or not. */
TEST(an_id_counts_again_above_the_least_count_that_was_seen)
{
  latch_call c = call_of(7, NULL);

  arm(5);
  assert_int_equal(down(ANNA, "id"), 4);
  java_counts_down();
  assert_int_equal(down(ANNA, "id"), 3);
  java_counts_down();
  assert_true(was_armed(BERT, &c));
  run("SET %s 3", NAME);                      /* Java had it at zero */
  assert_int_equal(down(ANNA, "id"), 2);
}

/* One who waits, and was cut off, asks for that instant. */
TEST(a_zero_of_ours_is_remembered_when_java_armed_it_anew)
{
  arm(1);
  assert_int_equal(down(ANNA, "id"), 0);
  run("SET %s 2", NAME);
  assert_int_equal(down(ANNA, "id"), 1);
  assert_true(look().zeroed_us != 0);
}

TEST(the_repetition_of_a_request_is_answered_and_not_done)
{
  latch_call set, first, last, gone;

  set = call_of(3, NULL);
  assert_false(was_armed(ANNA, &set));
  assert_false(was_armed(ANNA, &set));        /* told as the first time */
  first = call_of(1, NULL);
  assert_int_equal(down_by(ANNA, &first), 2);
  assert_int_equal(down_by(ANNA, &first), 2);
  assert_int_equal(down(BERT, NULL), 1);
  last = call_of(1, NULL);
  assert_int_equal(down_by(ANNA, &last), 0);
  assert_false(was_armed(ANNA, &set));        /* a late copy arms nothing */
  assert_int_equal(look().left, 0);
  gone = call_of(1, NULL);
  assert_int_equal(down_by(ANNA, &gone), -1);
  arm(2);
  assert_int_equal(down_by(ANNA, &last), 0);  /* nor do late copies count */
  assert_int_equal(down_by(ANNA, &gone), -1);
  assert_int_equal(look().left, 2);
}

TEST(a_late_copy_of_a_deletion_deletes_nothing)
{
  latch_call c = call_of(0, NULL);

  arm(3);
  delete_as(&c);
  arm(2);
  delete_as(&c);
  assert_int_equal(look().left, 2);
}

TEST(clients_of_the_same_number_are_two)
{
  latch_call c = call_of(1, NULL);

  arm(3);
  assert_int_equal(down_by(ANNA, &c), 2);
  assert_int_equal(down_by(BERT, &c), 1);
}

TEST(who_looks_learns_of_zero_also_when_it_is_armed_again)
{
  latch_state before, after;

  arm(1);
  before = look();
  assert_int_equal(before.left, 1);
  assert_int_equal(before.zeroed_us, 0);
  down(ANNA, NULL);
  arm(5);
  after = look();
  assert_int_equal(after.left, 5);
  assert_true(after.zeroed_us != 0);
  down(ANNA, NULL);
  assert_int_equal(look().zeroed_us, after.zeroed_us);
}

TEST(a_deletion_is_told_from_a_zero)
{
  latch_call c = call_of(0, NULL);
  latch_state s;

  arm(2);
  delete_as(&c);
  s = look();
  assert_int_equal(s.left, 0);
  assert_int_equal(s.zeroed_us, 0);
  assert_true(s.deleted_us != 0);
  assert_string_equal(java_heard(), "1 1 ");
  assert_int_equal(down(ANNA, "id"), -1);
  arm(1);
  assert_int_equal(look().deleted_us, 0);
}

TEST(a_deletion_forgets_the_ids)
{
  latch_call c = call_of(0, NULL);

  arm(2);
  assert_int_equal(down(ANNA, "id"), 1);
  delete_as(&c);
  assert_int_equal(down(ANNA, "id"), -1);
}

/* The call in the world's buffer says what the key is not, and not only the server's words. */
static void expect_no_count(void)
{
  const resp_node *root = resp_root(stage_send());

  assert_int_equal(root->kind, RESP_ERROR);
  assert_non_null(strstr(root->bytes, "WRONGTYPE this key does not hold a count"));
}

TEST(a_key_of_another_type_is_named_as_that)
{
  latch_call c = call_of(1, NULL);

  run("HSET %s a b", NAME);
  assert_true(RENDERED(native_latch_down, world_native(w, ANNA), world_buffer(w), false, &c));
  expect_no_count();
  assert_true(RENDERED(native_latch_set, world_native(w, ANNA), world_buffer(w), false, &c));
  expect_no_count();
  assert_true(RENDERED(native_latch_delete, world_native(w, ANNA), world_buffer(w), false, &c));
  expect_no_count();
  assert_true(RENDERED(native_latch_look, world_native(w, ANNA), world_buffer(w), false, NAME,
                       strlen(NAME)));
  expect_no_count();
  assert_string_equal(run("HGETALL %s", NAME), "[a, b]");
}

TEST(what_holds_no_count_is_left_alone)
{
  latch_call c = call_of(1, NULL);
  const resp_node *root;

  run("SET %s words", NAME);
  assert_true(RENDERED(native_latch_down, world_native(w, ANNA), world_buffer(w), false,
                       &c));
  root = resp_root(stage_send());
  assert_int_equal(root->kind, RESP_ERROR);
  assert_int_equal(resp_fault_of(root->bytes, root->size), RESP_FAULT_WRONG_TYPE);
  assert_false(look().is_number);
  run("DEL %s", NAME);
  run("HSET %s a b", NAME);
  assert_true(RENDERED(native_latch_delete, world_native(w, ANNA), world_buffer(w), false,
                       &c));
  root = resp_root(stage_send());
  assert_int_equal(resp_fault_of(root->bytes, root->size), RESP_FAULT_WRONG_TYPE);
  assert_true(RENDERED(native_latch_look, world_native(w, ANNA), world_buffer(w), false,
                       NAME, strlen(NAME)));
  root = resp_root(stage_send());
  assert_int_equal(resp_fault_of(root->bytes, root->size), RESP_FAULT_WRONG_TYPE);
  assert_string_equal(run("TYPE %s", NAME), "hash");
}

TEST(large_counts_are_exact)
{
  latch_call c = call_of(((int64_t)1 << 53) - 1, NULL);

  arm((int64_t)1 << 53);
  assert_string_equal(run("GET %s", NAME), "9007199254740992");
  assert_int_equal(down(ANNA, NULL), 9007199254740991);
  assert_int_equal(down_by(ANNA, &c), 0);
}

TEST(latches_with_and_without_braces_are_two)
{
  latch_call plain = call_of(2, "id"), braced;
  char channel[LATCH_CHANNEL_SIZE];
  text t = text_over(channel, sizeof(channel));

  braced = plain;
  braced.name = "{gate}";
  braced.name_size = 6;
  arm(5);
  run("SET {gate} 5");
  assert_int_equal(down_by(ANNA, &plain), 3);
  assert_int_equal(down_by(ANNA, &braced), 3);
  native_latch_channel(world_native(w, ANNA), "{gate}", 6, &t);
  assert_string_equal(channel, "redisson_countdownlatch__channel__{{gate}}");
}

TEST(all_that_lies_beside_has_its_end)
{
  char keys[4096], *save = NULL;

  arm(2);
  down(ANNA, "id");
  down(BERT, NULL);
  snprintf(keys, sizeof(keys), "%s", run("KEYS dibs:*"));
  for (char *key = strtok_r(keys, "[], ", &save); key != NULL;
       key = strtok_r(NULL, "[], ", &save))
    if (run_integer("PTTL %s", key) <= 0)
      fail_msg("%s has no end", key);
}

/* ---- without a right ---- */

/* Otherwise a program that repeats its call counts again, and waiters go on too early. */
TEST(a_count_without_one_of_its_rights_is_not_counted)
{
  static const char *const commands[] = { "set", "hset", "decrby", "del", "pexpire" };

  for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
    for (int count = 1; count <= 2; count++) {
      latch_call c = call_of(1, "anna");
      bool is_refused;

      run("FLUSHALL");
      arm(count);
      run("ACL SETUSER %s -%s", mode_user(), commands[i]);
      assert_true(RENDERED(native_latch_down, world_native(w, ANNA), world_buffer(w), false, &c));
      is_refused = resp_root(stage_send())->kind == RESP_ERROR;
      run("ACL SETUSER %s +%s", mode_user(), commands[i]);
      assert_int_equal(look().left, is_refused ? count : count - 1);
      assert_int_equal(down(ANNA, "anna"), count - 1);
    }
}

typedef bool render(const protocol *n, request *out, const latch_call *c);

/* Without its time of zero waiters would go on; without its ids they would count again. */
static void expect_unchanged_without(const char *command, bool is_armed)
{
  latch_call c = call_of(3, NULL);
  render *change = is_armed ? native_latch_delete : native_latch_set;
  latch_state before, after;

  run("FLUSHALL");
  arm(1);
  down(ANNA, "anna");
  if (is_armed) {
    arm(2);
    down(ANNA, "anna");
  }
  before = look();
  run("ACL SETUSER %s -%s", mode_user(), command);
  assert_true(RENDERED(change, world_native(w, ANNA), world_buffer(w), false, &c));
  assert_int_equal(resp_root(stage_send())->kind, RESP_ERROR);
  run("ACL SETUSER %s +%s", mode_user(), command);
  after = look();
  assert_int_equal(after.left, before.left);
  assert_int_equal(after.zeroed_us, before.zeroed_us);
  assert_int_equal(after.deleted_us, before.deleted_us);
  assert_int_equal(down(ANNA, "anna"), is_armed ? 1 : 0);
}

TEST(a_latch_whose_change_lacks_a_right_stays_as_it_was)
{
  static const char *const commands[] = { "set", "hset", "del", "pexpire" };

  for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
    for (int is_armed = 0; is_armed < 2; is_armed++)
      expect_unchanged_without(commands[i], is_armed == 1);
}

TEST(a_full_server_deletes_a_latch_all_the_same)
{
  latch_call c = call_of(1, NULL), again = call_of(1, NULL);

  arm(2);
  down(ANNA, "anna");
  stage_fill_memory();
  delete_as(&c);
  assert_int_equal(look().left, 0);
  assert_true(look().deleted_us > 0);
  delete_as(&again);
}

RUN_STAGE(stage_start, stage_stop, begin, end)
