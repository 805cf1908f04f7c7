/* SPDX-License-Identifier: MIT */
/* Stories with many servers: MOVED, ASK, maps that are wrong or not whole, primaries that
 * refuse. The slot of x is 16287, that of y 12222. */
#include "fleet.h"

static void grant(const struct fleet *f, char *out, size_t size)
{
  snprintf(out, size, "*4\r\n:1\r\n:%lld\r\n:30000\r\n:60\r\n", fleet_us(f));
}

static void do_as_asked(const struct fleet *f, const resp_reply *r, char *out, size_t size)
{
  if (fleet_runs(r, &script_native_acquire) || fleet_runs(r, &script_native_many_acquire))
    grant(f, out, size);
  else if (fleet_runs(r, &script_native_renew))
    snprintf(out, size, "*3\r\n:%lld\r\n:0\r\n:30000\r\n", fleet_us(f));
  else
    snprintf(out, size, ":1\r\n");
}

/* ---- MOVED, ASK ---- */

static void moved_to_2(struct fleet *f, int port, const resp_reply *r, char *out, size_t size)
{
  if (fleet_says(r, 0, "CLUSTER"))
    fleet_slots(out, size, 16383, 0);
  else if (port == 1)
    snprintf(out, size, "-MOVED 16287 h:2\r\n");
  else
    do_as_asked(f, r, out, size);
}

static void a_name_that_moved_is_taken_where_it_is(void **state)
{
  struct fleet *f = fleet_new("redis+cluster://h:1", moved_to_2);

  (void)state;
  fleet_lock(f, "x", NULL);
  fleet_pass(f, 10);
  assert_string_equal(f->lines, "granted ");
  assert_true(f->scripts[2] > 0);
  fleet_free(f);
}

static void on_its_way_to_2(struct fleet *f, int port, const resp_reply *r, char *out, size_t size)
{
  if (fleet_says(r, 0, "CLUSTER"))
    fleet_slots(out, size, 16383, 0);
  else if (port == 1 && !fleet_says(r, 0, "EVAL") && !fleet_says(r, 0, "EVALSHA"))
    snprintf(out, size, "+OK\r\n");
  else if (port == 1)
    snprintf(out, size, "-ASK 16287 h:2\r\n");
  else if (!f->was_asking[2])
    snprintf(out, size, "-MOVED 16287 h:1\r\n");
  else
    do_as_asked(f, r, out, size);
}

static void a_slot_on_its_way_is_renewed_for_long_without_asking_for_the_map(void **state)
{
  struct fleet *f = fleet_new("redis+cluster://h:1", on_its_way_to_2);
  int asked;

  (void)state;
  fleet_lock(f, "x", NULL);
  fleet_pass(f, 100);
  assert_string_equal(f->lines, "granted ");
  asked = f->asked_for_map;
  fleet_pass(f, 120000);
  assert_string_equal(f->lines, "granted ");
  assert_int_equal(f->asked_for_map, asked);
  assert_int_equal(engine_release(f->engine, f->id, f->now), DIBS_OK);
  fleet_pass(f, 10);
  assert_string_equal(f->lines, "granted released ");
  fleet_free(f);
}

static void to_and_fro(struct fleet *f, int port, const resp_reply *r, char *out, size_t size)
{
  (void)f;
  if (fleet_says(r, 0, "CLUSTER"))
    fleet_slots(out, size, 16383, 0);
  else if (fleet_says(r, 0, "EVAL") || fleet_says(r, 0, "EVALSHA"))
    snprintf(out, size, "-MOVED 16287 h:%d\r\n", 3 - port);
  else
    snprintf(out, size, "+OK\r\n");
}

static void nodes_that_contradict_each_other_are_asked_with_pauses(void **state)
{
  struct fleet *f = fleet_new("redis+cluster://h:1", to_and_fro);

  (void)state;
  fleet_lock(f, "x", NULL);
  fleet_pass(f, 10000);
  assert_string_equal(f->lines, "");
  assert_in_range(f->scripts[1] + f->scripts[2], 10, 200);
  assert_in_range(f->asked_for_map, 5, 60);
  fleet_free(f);
}

/* ---- maps ---- */

static void half_a_map(struct fleet *f, int port, const resp_reply *r, char *out, size_t size)
{
  (void)port;
  if (fleet_says(r, 0, "CLUSTER"))
    fleet_slots(out, size, 8000, 0);
  else
    do_as_asked(f, r, out, size);
}

static void a_map_that_is_not_whole_is_asked_for_with_pauses(void **state)
{
  struct fleet *f = fleet_new("redis+cluster://h:1", half_a_map);

  (void)state;
  fleet_lock(f, "x", NULL);
  fleet_pass(f, 4900);
  assert_string_equal(f->lines, "");
  assert_in_range(f->asked_for_map, 5, 40);
  fleet_pass(f, 200);
  assert_string_equal(f->lines, "DIBS_ERR_UNREACHABLE ");
  fleet_free(f);
}

static int border = 8000, second = 2;

static void two_nodes(struct fleet *f, int port, const resp_reply *r, char *out, size_t size)
{
  long long us = fleet_us(f);

  (void)port;
  if (fleet_says(r, 0, "CLUSTER"))
    fleet_slots(out, size, border, second);
  else if (fleet_runs(r, &script_native_acquire) && f->scripts[port] == 1)
    snprintf(out, size, "*2\r\n:6\r\n:%lld\r\n", us);           /* deaf: an inbox is wanted */
  else
    do_as_asked(f, r, out, size);
}

static void a_node_that_serves_nothing_any_more_is_left_alone(void **state)
{
  struct fleet *f = fleet_new("redis+cluster://h:1,h:2", two_nodes);
  int before;

  (void)state;
  fleet_lock(f, "x", NULL);
  fleet_pass(f, 100);
  assert_string_equal(f->lines, "granted ");
  assert_true(f->scripts[2] > 0);
  border = 16383;
  second = 0;
  fleet_kill(f, 2);                         /* its slots are those of 1 by now */
  fleet_pass(f, 1000);
  before = f->connects[2];
  fleet_pass(f, 20000);
  assert_int_equal(f->connects[2], before);
  assert_string_equal(f->lines, "granted ");
  border = 8000;
  second = 2;
  fleet_free(f);
}

static void a_client_that_held_several_names_closes_at_once(void **state)
{
  struct fleet *f = fleet_new("redis+cluster://h:1", two_nodes);

  (void)state;
  fleet_lock(f, "x", "y");
  fleet_pass(f, 100);
  assert_string_equal(f->lines, "granted ");
  engine_close(f->engine, f->now);
  fleet_pass(f, 0);
  assert_string_equal(f->lines, "granted released closed ");
  fleet_free(f);
}

/* ---- primaries ---- */

static void says_primary_and_refuses(struct fleet *f, int port, const resp_reply *r, char *out,
                                     size_t size)
{
  (void)f;
  (void)port;
  if (fleet_says(r, 0, "ROLE"))
    snprintf(out, size, "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n");
  else
    snprintf(out, size, "-READONLY You can't write against a read only replica.\r\n");
}

static void a_primary_that_refuses_is_met_with_pauses(void **state)
{
  struct fleet *f = fleet_new("redis://h:1,h:2/0", says_primary_and_refuses);

  (void)state;
  fleet_lock(f, "x", NULL);
  fleet_pass(f, 4000);
  assert_in_range(f->connects[1] + f->connects[2], 4, 100);
  fleet_pass(f, 2000);
  assert_string_equal(f->lines, "DIBS_ERR_READ_ONLY ");
  fleet_free(f);
}

static int primary = 1;

static void one_is_primary(struct fleet *f, int port, const resp_reply *r, char *out, size_t size)
{
  if (!fleet_says(r, 0, "ROLE"))
    do_as_asked(f, r, out, size);
  else if (port == primary)
    snprintf(out, size, "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n");
  else
    snprintf(out, size, "*5\r\n$5\r\nslave\r\n$1\r\nh\r\n:%d\r\n$9\r\nconnected\r\n:0\r\n",
             primary);
}

static void a_hold_goes_on_with_the_primary_that_was_promoted(void **state)
{
  struct fleet *f = fleet_new("redis://h:1,h:2/0", one_is_primary);

  (void)state;
  fleet_lock(f, "x", NULL);
  fleet_pass(f, 300);
  assert_string_equal(f->lines, "granted ");
  primary = 2;
  fleet_kill(f, 1);
  fleet_pass(f, 2000);
  assert_true(f->scripts[2] > 0);
  assert_int_equal(engine_release(f->engine, f->id, f->now), DIBS_OK);
  fleet_pass(f, 10);
  assert_string_equal(f->lines, "granted released ");
  engine_close(f->engine, f->now);
  fleet_pass(f, 10);
  assert_string_equal(f->lines, "granted released closed ");
  primary = 1;
  fleet_free(f);
}

static void nobody_answers(struct fleet *f, int port, const resp_reply *r, char *out, size_t size)
{
  (void)f;
  (void)port;
  (void)r;
  out[0] = '\0';
  (void)size;
}

static void a_client_may_close_while_it_looks_for_servers(void **state)
{
  struct fleet *f = fleet_new("redis+sentinel://h:1,h:2,h:3/mine/0", nobody_answers);

  (void)state;
  f->is_dead[1] = true;
  fleet_lock(f, "x", NULL);
  fleet_pass(f, 300);
  engine_close(f->engine, f->now);
  fleet_pass(f, 0);
  assert_string_equal(f->lines, "DIBS_ERR_CLOSED closed ");
  fleet_free(f);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_name_that_moved_is_taken_where_it_is),
    cmocka_unit_test(a_slot_on_its_way_is_renewed_for_long_without_asking_for_the_map),
    cmocka_unit_test(nodes_that_contradict_each_other_are_asked_with_pauses),
    cmocka_unit_test(a_map_that_is_not_whole_is_asked_for_with_pauses),
    cmocka_unit_test(a_node_that_serves_nothing_any_more_is_left_alone),
    cmocka_unit_test(a_client_that_held_several_names_closes_at_once),
    cmocka_unit_test(a_primary_that_refuses_is_met_with_pauses),
    cmocka_unit_test(a_hold_goes_on_with_the_primary_that_was_promoted),
    cmocka_unit_test(a_client_may_close_while_it_looks_for_servers),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
