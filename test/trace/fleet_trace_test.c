/* SPDX-License-Identifier: MIT */
/* Stories with many servers: MOVED, ASK, maps that are wrong or not whole, primaries that
 * refuse. The slot of x is 16287, that of y 12222. */
#include "tests.h"
#include "base/plain_memory.h"
#include "fleet.h"

static const memory plain = PLAIN_MEMORY;

static void grant(const struct peers *f, char *out, size_t size)
{
  snprintf(out, size, "*4\r\n:1\r\n:%lld\r\n:30000\r\n:60\r\n", peers_us(f));
}

static void do_as_asked(const struct peers *f, const resp_reply *r, char *out, size_t size)
{
  if (peers_runs(r, &script_native_acquire) || peers_runs(r, &script_native_many_acquire))
    grant(f, out, size);
  else if (peers_runs(r, &script_native_renew))
    snprintf(out, size, "*3\r\n:%lld\r\n:0\r\n:30000\r\n", peers_us(f));
  else
    snprintf(out, size, ":1\r\n");
}

/* ---- many primaries ---- */

enum { PRIMARIES = 400, NAMES = 4000 };

static void one_of_many(struct peers *f, int port, const resp_reply *r, char *out, size_t size)
{
  int used;

  (void)port;
  if (!peers_says(r, 0, "CLUSTER")) {
    do_as_asked(f, r, out, size);
    return;
  }
  used = snprintf(out, size, "*%d\r\n", PRIMARIES);
  for (int i = 0; i < PRIMARIES; i++)
    used += snprintf(out + used, size - (size_t)used,
                     "*3\r\n:%d\r\n:%d\r\n*2\r\n$1\r\nh\r\n:%d\r\n", i * 16384 / PRIMARIES,
                     (i + 1) * 16384 / PRIMARIES - 1, i + 1);
}

static void lock_number(struct peers *f, int i)
{
  char name[8];

  snprintf(name, sizeof(name), "n%d", i);
  peers_lock(f, name, NULL);
}

TEST(each_of_400_primaries_is_reached)
{
  struct peers *f = peers_new("redis+cluster://h:1", one_of_many);

  for (int i = 0; i < NAMES; i++)
    lock_number(f, i);
  peers_pass(f, 10);
  for (int port = 1; port <= PRIMARIES; port++)
    assert_true(f->scripts[port] > 0);
  peers_free(f);
}

/* ---- many requests ---- */

static int unanswered;

static void answer_none(struct peers *f, int port, const resp_reply *r, char *out, size_t size)
{
  (void)f;
  (void)port;
  (void)r;
  (void)out;
  (void)size;
  unanswered++;
}

/* A burst would take longer than command_timeout: the connection would be given up many times, and
 * renewals would wait. */
TEST(a_burst_is_not_sent_at_once)
{
  const resp_argument words[] = { RESP_TEXT("SET"), RESP_TEXT("key"), RESP_TEXT("value") };
  struct peers *f = peers_new("redis://h:1", answer_none);
  request command;

  unanswered = 0;
  for (int i = 0; i < NAMES; i++)
    lock_number(f, i);
  assert_in_range(unanswered, 500, 600);
  request_init(&command, &plain);
  assert_true(request_command(&command, words, 3));
  for (int i = 0; i < NAMES; i++)
    engine_send(f->engine, &command, INSTANT_NEVER, f->now);
  request_deinit(&command);
  peers_pass(f, 10);
  assert_in_range(unanswered, 2000, 2100);
  peers_free(f);
}

/* ---- MOVED, ASK ---- */

static void moved_to_2(struct peers *f, int port, const resp_reply *r, char *out, size_t size)
{
  if (peers_says(r, 0, "CLUSTER"))
    peers_slots(out, size, 16383, 0);
  else if (port == 1)
    snprintf(out, size, "-MOVED 16287 h:2\r\n");
  else
    do_as_asked(f, r, out, size);
}

TEST(a_name_that_moved_is_taken_where_it_is)
{
  struct peers *f = peers_new("redis+cluster://h:1", moved_to_2);

  peers_lock(f, "x", NULL);
  peers_pass(f, 10);
  assert_string_equal(f->lines, "granted ");
  assert_true(f->scripts[2] > 0);
  peers_free(f);
}

static void on_its_way_to_2(struct peers *f, int port, const resp_reply *r, char *out, size_t size)
{
  if (peers_says(r, 0, "CLUSTER"))
    peers_slots(out, size, 16383, 0);
  else if (port == 1 && !peers_says(r, 0, "EVAL") && !peers_says(r, 0, "EVALSHA"))
    snprintf(out, size, "+OK\r\n");
  else if (port == 1)
    snprintf(out, size, "-ASK 16287 h:2\r\n");
  else if (!f->was_asking[2])
    snprintf(out, size, "-MOVED 16287 h:1\r\n");
  else
    do_as_asked(f, r, out, size);
}

TEST(a_slot_on_its_way_is_renewed_for_long_without_asking_for_the_map)
{
  struct peers *f = peers_new("redis+cluster://h:1", on_its_way_to_2);
  int asked;

  peers_lock(f, "x", NULL);
  peers_pass(f, 100);
  assert_string_equal(f->lines, "granted ");
  asked = f->asked_for_map;
  peers_pass(f, 120000);
  assert_string_equal(f->lines, "granted ");
  assert_int_equal(f->asked_for_map, asked);
  assert_int_equal(engine_release(f->engine, f->id, f->now), DIBS_OK);
  peers_pass(f, 10);
  assert_string_equal(f->lines, "granted released ");
  peers_free(f);
}

static void to_and_fro(struct peers *f, int port, const resp_reply *r, char *out, size_t size)
{
  (void)f;
  if (peers_says(r, 0, "CLUSTER"))
    peers_slots(out, size, 16383, 0);
  else if (peers_says(r, 0, "EVAL") || peers_says(r, 0, "EVALSHA"))
    snprintf(out, size, "-MOVED 16287 h:%d\r\n", 3 - port);
  else
    snprintf(out, size, "+OK\r\n");
}

TEST(nodes_that_contradict_each_other_are_asked_with_pauses)
{
  struct peers *f = peers_new("redis+cluster://h:1", to_and_fro);

  peers_lock(f, "x", NULL);
  peers_pass(f, 10000);
  assert_string_equal(f->lines, "");
  assert_in_range(f->scripts[1] + f->scripts[2], 10, 200);
  assert_in_range(f->asked_for_map, 5, 60);
  peers_free(f);
}

/* ---- maps ---- */

static void half_a_map(struct peers *f, int port, const resp_reply *r, char *out, size_t size)
{
  (void)port;
  if (peers_says(r, 0, "CLUSTER"))
    peers_slots(out, size, 8000, 0);
  else
    do_as_asked(f, r, out, size);
}

TEST(a_map_that_is_not_whole_is_asked_for_with_pauses)
{
  struct peers *f = peers_new("redis+cluster://h:1", half_a_map);

  peers_lock(f, "x", NULL);
  peers_pass(f, 4900);
  assert_string_equal(f->lines, "");
  assert_in_range(f->asked_for_map, 5, 40);
  peers_pass(f, 200);
  assert_string_equal(f->lines, "DIBS_ERR_UNREACHABLE ");
  peers_free(f);
}

/* 1 and its replica 2 are cut off from the other nodes; 3 serves the slot of x by now. */
static void two_are_cut_off(struct peers *f, int port, const resp_reply *r, char *out, size_t size)
{
  if (peers_says(r, 0, "CLUSTER"))
    peers_slots(out, size, port == 3 ? 0 : 16300, 3);
  else if (port == 3)
    do_as_asked(f, r, out, size);
  else
    snprintf(out, size, "-CLUSTERDOWN The cluster is down\r\n");
}

/* The nodes of the URL answer first. */
TEST(a_map_that_leads_to_a_node_which_is_cut_off_is_not_the_only_one)
{
  struct peers *f = peers_new("redis+cluster://h:1,h:2", two_are_cut_off);

  peers_lock(f, "x", NULL);
  peers_pass(f, 4000);
  assert_string_equal(f->lines, "granted ");
  assert_true(f->scripts[3] > 0);
  peers_free(f);
}

static int border = 8000, second = 2;

static void two_nodes(struct peers *f, int port, const resp_reply *r, char *out, size_t size)
{
  long long us = peers_us(f);

  (void)port;
  if (peers_says(r, 0, "CLUSTER"))
    peers_slots(out, size, border, second);
  else if (peers_runs(r, &script_native_acquire) && f->scripts[port] == 1)
    snprintf(out, size, "*2\r\n:6\r\n:%lld\r\n", us);           /* deaf: an inbox is wanted */
  else
    do_as_asked(f, r, out, size);
}

TEST(a_node_that_serves_nothing_any_more_is_left_alone)
{
  struct peers *f = peers_new("redis+cluster://h:1,h:2", two_nodes);
  int before;

  peers_lock(f, "x", NULL);
  peers_pass(f, 100);
  assert_string_equal(f->lines, "granted ");
  assert_true(f->scripts[2] > 0);
  border = 16383;
  second = 0;
  peers_kill(f, 2);                         /* its slots are those of 1 by now */
  peers_pass(f, 1000);
  before = f->connects[2];
  peers_pass(f, 20000);
  assert_int_equal(f->connects[2], before);
  assert_string_equal(f->lines, "granted ");
  border = 8000;
  second = 2;
  peers_free(f);
}

TEST(a_client_that_held_several_names_closes_at_once)
{
  struct peers *f = peers_new("redis+cluster://h:1", two_nodes);

  peers_lock(f, "x", "y");
  peers_pass(f, 100);
  assert_string_equal(f->lines, "granted ");
  engine_close(f->engine, f->now);
  peers_pass(f, 0);
  assert_string_equal(f->lines, "granted released closed ");
  peers_free(f);
}

/* ---- primaries ---- */

static void says_primary_and_refuses(struct peers *f, int port, const resp_reply *r, char *out,
                                     size_t size)
{
  (void)f;
  (void)port;
  if (peers_says(r, 0, "ROLE"))
    snprintf(out, size, "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n");
  else
    snprintf(out, size, "-READONLY You can't write against a read only replica.\r\n");
}

TEST(a_primary_that_refuses_is_met_with_pauses)
{
  struct peers *f = peers_new("redis://h:1,h:2/0", says_primary_and_refuses);

  peers_lock(f, "x", NULL);
  peers_pass(f, 4000);
  assert_in_range(f->connects[1] + f->connects[2], 4, 100);
  peers_pass(f, 2000);
  assert_string_equal(f->lines, "DIBS_ERR_READ_ONLY ");
  peers_free(f);
}

static int primary = 1;

static void one_is_primary(struct peers *f, int port, const resp_reply *r, char *out, size_t size)
{
  if (!peers_says(r, 0, "ROLE"))
    do_as_asked(f, r, out, size);
  else if (port == primary)
    snprintf(out, size, "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n");
  else
    snprintf(out, size, "*5\r\n$5\r\nslave\r\n$1\r\nh\r\n:%d\r\n$9\r\nconnected\r\n:0\r\n",
             primary);
}

TEST(a_hold_goes_on_with_the_primary_that_was_promoted)
{
  struct peers *f = peers_new("redis://h:1,h:2/0", one_is_primary);

  peers_lock(f, "x", NULL);
  peers_pass(f, 300);
  assert_string_equal(f->lines, "granted ");
  primary = 2;
  peers_kill(f, 1);
  peers_pass(f, 2000);
  assert_true(f->scripts[2] > 0);
  assert_int_equal(engine_release(f->engine, f->id, f->now), DIBS_OK);
  peers_pass(f, 10);
  assert_string_equal(f->lines, "granted released ");
  engine_close(f->engine, f->now);
  peers_pass(f, 10);
  assert_string_equal(f->lines, "granted released closed ");
  primary = 1;
  peers_free(f);
}

/* The program replaces the password while the log-ins with the old one are on their way. */
static void has_new_password(struct peers *f, int port, const resp_reply *r, char *out, size_t size)
{
  if (!peers_says(r, 0, "AUTH")) {
    one_is_primary(f, port, r, out, size);
  } else if (peers_says(r, 1, "new")) {
    snprintf(out, size, "+OK\r\n");
  } else {
    assert_true(engine_set_credentials(f->engine, NULL, "new"));
    snprintf(out, size, "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
  }
}

TEST(the_refusal_of_a_password_that_was_replaced_meanwhile_ends_no_search)
{
  struct peers *f = peers_new("redis://:old@h:1,h:2/0", has_new_password);

  peers_lock(f, "x", NULL);
  peers_pass(f, 300);
  assert_string_equal(f->lines, "granted ");
  peers_free(f);
}

static void nobody_answers(struct peers *f, int port, const resp_reply *r, char *out, size_t size)
{
  (void)f;
  (void)port;
  (void)r;
  out[0] = '\0';
  (void)size;
}

TEST(a_client_may_close_while_it_looks_for_servers)
{
  struct peers *f = peers_new("redis+sentinel://h:1,h:2,h:3/mine/0", nobody_answers);

  f->is_dead[1] = true;
  peers_lock(f, "x", NULL);
  peers_pass(f, 300);
  engine_close(f->engine, f->now);
  peers_pass(f, 0);
  assert_string_equal(f->lines, "DIBS_ERR_CLOSED closed ");
  peers_free(f);
}

RUN_TESTS(NULL, NULL)
