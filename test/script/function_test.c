/* SPDX-License-Identifier: MIT */
/* FCALL instead of EVAL: one library, loaded by an administrator, for users who may not use
 * EVAL. The other stories are played that way too: mode.h. doc/design/protocol.md 19. */

#include "tests.h"

#include <stdlib.h>
#include <string.h>

#include "server.h"
#include "stage.h"

static void load(const char *library)
{
  assert_non_null(strstr(test_server_command(world_server(w), "FUNCTION LOAD REPLACE %s", library),
                         "dibs_"));
}

TEST(the_user_may_not_eval_and_locks_all_the_same)
{
  const resp_argument words[] = { RESP_TEXT("EVAL"), RESP_TEXT("return 1"), RESP_TEXT("0") };
  acquire_answer a = world_acquire(w, ANNA, 1);
  const resp_node *root;

  assert_int_equal(a.outcome, ACQUIRE_GRANTED);
  assert_true(resp_command(world_buffer(w), words, 3));
  root = resp_root(stage_send());
  assert_int_equal(root->kind, RESP_ERROR);
  assert_int_equal(resp_fault_of(root->bytes, root->size), RESP_FAULT_DENIED);
}

TEST(a_function_that_is_not_loaded_is_a_fault_of_its_own)
{
  acquire_call c = world_call(w, 1);
  const char *error;

  assert_string_equal(test_server_command(world_server(w), "FUNCTION FLUSH"), "OK");
  error = world_acquire_error(w, ANNA, &c);
  assert_int_equal(resp_fault_of(error, strlen(error)), RESP_FAULT_NO_FUNCTION);
  load(script_library_text);
  assert_int_equal(world_acquire(w, ANNA, 1).outcome, ACQUIRE_GRANTED);
}

/* As another version's, of which a script differs: each of its names does. */
TEST_WITH(two_versions_are_loaded_side_by_side, stage_clear, stage_check_errors)
{
  const char *digest = strrchr(script_library_name, '_') + 1;
  char *other = malloc(script_library_size + 1);

  memcpy(other, script_library_text, script_library_size + 1);
  for (char *at; (at = strstr(other, digest)) != NULL;)
    memcpy(at, "01234567", 8);
  load(other);
  load(other);
  free(other);
  assert_int_equal(world_acquire(w, ANNA, 1).outcome, ACQUIRE_GRANTED);
  assert_string_equal(test_server_command(world_server(w), "FUNCTION DELETE dibs_01234567"),
                      "OK");
}

TEST_WITH(each_script_is_a_function_of_the_library, stage_clear, stage_check_errors)
{
  for (size_t i = 0; i < script_count; i++) {
    const script *s = script_table[i];
    assert_non_null(strstr(script_library_text, s->function));
    assert_non_null(strstr(script_library_text, s->bytes));
  }
}

TEST(a_full_server_refuses_to_grant_and_changes_nothing)
{
  acquire_call c = world_call(w, 1);
  const char *error;

  stage_fill_memory();
  error = world_acquire_error(w, ANNA, &c);
  assert_int_equal(resp_fault_of(error, strlen(error)), RESP_FAULT_REFUSED);
  assert_string_equal(world_type(w), "none");
}

TEST(a_full_server_still_renews_lets_go_and_hands_over)
{
  acquire_answer a = world_acquire(w, ANNA, 1);

  world_listen(w, BERT);
  world_listen(w, CARL);
  world_acquire(w, BERT, 1);
  world_acquire(w, CARL, 1);
  stage_fill_memory();
  assert_true(world_renew(w, ANNA, &a.lease, 50000).is_ours);
  assert_int_equal(world_cancel(w, BERT, 1, 0), 0);
  assert_int_equal(world_inspect(w, DORA).waiter_count, 1);
  assert_int_equal(world_release(w, ANNA, &a.lease).outcome, RELEASE_DONE);
  assert_non_null(strstr(world_messages(w, CARL), "grant:"));
  assert_string_equal(world_messages(w, BERT), "");
}

int main(void)
{
  setenv("DIBS_SCRIPT_MODE", "functions", 1);
  return stage_run(stage_start, stage_stop, stage_clear, NULL);
}
