/* SPDX-License-Identifier: MIT */
/* test/live/acl_test.c - everything that clients do, as a user with exactly the rights that
 * dibs_acl_line() gives: in each way of working, with nothing refused on the way. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deployment.h"
#include "live.h"

enum { TTL_MS = 10000 };

/* One way of working. */
struct mode {
  const char *query;               /* of the URL */
  uint32_t uses;                   /* what the URL does not say */
  int min_replicas;
  const char *denied[6];           /* commands that this user must not have */
};

static const struct mode plain = { "", 0, 0, { "FCALL", "FLUSHALL", "KEYS", "CONFIG", "GET" } };
static const struct mode prefixed = { "?prefix=m:its:own", 0, 0, { "FCALL" } };
static const struct mode functions = { "?functions=yes", 0, 0, { "EVAL", "EVALSHA" } };
static const struct mode polling = { "?pubsub=no", 0, 0, { "SUBSCRIBE", "PUBLISH" } };
static const struct mode quarantine = { "?quarantine=300ms", 0, 0, { "FCALL" } };
static const struct mode replicas = { "", DIBS_ACL_REPLICAS, 1, { "WAITAOF", "FCALL" } };

/* ---- a server with that user ---- */

struct stage {
  struct test_server *server, *replica;
  const struct mode *mode;
  dibs_client *a, *b;
};

static bool is_replicated(void *server)
{
  return strstr(test_server_command(server, "INFO replication"), "state=online") != NULL;
}

static void replica_start(struct stage *s)
{
  char port[16];
  const char *const arguments[] = { "--replicaof", "127.0.0.1", port, "--repl-diskless-sync-delay",
                                    "0", NULL };
  struct test_server_options o = { .arguments = arguments };

  (void)snprintf(port, sizeof(port), "%d", test_server_port(s->server));
  s->replica = test_server_start_with(&o);
  assert_true(live_until(LIVE_LONG_MS, is_replicated, s->server));
}

static void user_make(const struct stage *s, const char *latches, const char *guarded,
                      const char *data)
{
  char url[256], line[DIBS_ACL_LINE_SIZE];
  dibs_acl_options o = DIBS_ACL_OPTIONS_INIT;
  dibs_error error = DIBS_ERROR_INIT;

  (void)snprintf(url, sizeof(url), "%s%s", test_server_url(s->server), s->mode->query);
  o.uses = s->mode->uses;
  o.password = "secret";
  o.latches = latches;
  o.limiters = "api-*";
  o.guarded = guarded;
  o.data = data;
  if (dibs_acl_line(url, &o, line, sizeof(line), &error) != DIBS_OK)
    fail_msg("%s", error.text);
  assert_string_equal(test_server_command(s->server, line), "OK");   /* no % is in it */
}

static struct stage stage_set(const struct mode *mode)
{
  struct stage s = { .server = test_server_start(), .mode = mode };
  char url[256];

  if (mode->min_replicas > 0)
    replica_start(&s);
  user_make(&s, "release-*", "stock:*", "data:*");
  if (mode == &functions)
    assert_non_null(strstr(test_server_command(s.server, "FUNCTION LOAD REPLACE %s",
                                               dibs_function_library()), "dibs"));
  (void)snprintf(url, sizeof(url), "unix://worker:secret@%s%s", test_server_socket(s.server),
                 mode->query);
  s.a = live_open(url);
  s.b = live_open(url);
  return s;
}

/* Where there are no channels, some scripts still try to tell; they go on when they may not. */
static void nothing_was_refused(const struct stage *s)
{
  const char *log = test_server_command(s->server, "ACL LOG");

  for (const char *at = log; (at = strstr(at, "object, ")) != NULL; at++)
    if (s->mode != &polling || strncmp(at, "object, publish,", 16) != 0)
      fail_msg("refused: %s", log);
}

/* Nothing was refused to that user, whether or not the library could do without. */
static void stage_end(struct stage *s)
{
  s->a = dibs_close(s->a);
  s->b = dibs_close(s->b);
  nothing_was_refused(s);
  for (size_t i = 0; i < 6 && s->mode->denied[i] != NULL; i++) {
    const char *said = test_server_command(s->server, "ACL DRYRUN worker %s a b c",
                                           s->mode->denied[i]);

    if (strcmp(said, "OK") == 0)
      fail_msg("%s is allowed", s->mode->denied[i]);
  }
  s->replica = test_server_stop(s->replica);
  s->server = test_server_stop(s->server);
}

/* ---- what clients do ---- */

static dibs_lock_options lock_options(const struct stage *s)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);

  o.flags = DIBS_LOCK_NO_OWNER;
  o.min_replicas = s->mode->min_replicas;
  o.replicas_wait_ms = LIVE_LONG_MS;
  return o;
}

struct name_of_client { dibs_client *client; const char *name; };

static bool somebody_waits(void *data)
{
  const struct name_of_client *n = data;
  dibs_inspection *inspection = NULL;
  bool is_so;

  live_expect(n->client, dibs_inspect(n->client, dibs_text(n->name), &inspection), DIBS_OK);
  is_so = inspection->waiter_count > 0;
  dibs_inspection_free(inspection);
  return is_so;
}

/* `b` waits for what `a` has, and gets it. */
static void hand_over(const struct stage *s, dibs_hold *held, char mode, const char *name)
{
  dibs_lock_options o = lock_options(s);
  struct name_of_client waited = { s->a, name };
  struct live_ask ask;

  o.min_replicas = 0;
  live_ask_init(&ask);
  if (mode == 'x')
    live_ask_begin(&ask, s->b, name, &o);
  else
    live_ask_begin_as(&ask, s->b, mode, name, &o);
  assert_true(live_until(LIVE_LONG_MS, somebody_waits, &waited));
  assert_int_equal(dibs_release(held), DIBS_OK);
  assert_int_equal(dibs_release(live_ask_granted(&ask, LIVE_LONG_MS)), DIBS_OK);
}

static void locks(const struct stage *s)
{
  dibs_lock_options o = lock_options(s);
  static const char *const set[] = { "one", "two" };
  char token[DIBS_TOKEN_SIZE];
  dibs_hold *hold;

  hold = live_lock_with(s->a, "name", &o);
  if (s->mode->min_replicas > 0) {
    assert_int_equal(live_info(hold).durability, DIBS_DURABLE_REPLICAS);
    assert_int_equal(live_info(hold).acknowledged, 1);
  }
  live_refused(live_try(s->b, "name"), DIBS_BUSY);
  hand_over(s, hold, 'x', "name");
  hold = live_lock_with(s->a, "token", &o);
  assert_int_equal(dibs_hold_token(hold, token, sizeof(token)), DIBS_OK);
  assert_int_equal(live_detach(hold), DIBS_OK);
  live_expect(s->b, dibs_token_renew(s->b, token, TTL_MS, NULL), DIBS_OK);
  live_expect(s->b, dibs_token_release(s->b, token), DIBS_OK);
  o.min_replicas = 0;
  live_expect(s->a, acquire_names(s->a, set, 2, &o, &hold), DIBS_OK);
  live_refused(live_try(s->b, "two"), DIBS_BUSY);
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

static void shared(const struct stage *s)
{
  dibs_lock_options o = lock_options(s);
  dibs_hold *hold;

  o.min_replicas = 0;
  live_expect(s->a, dibs_acquire(s->a, DIBS_READ("page"), &o, &hold), DIBS_OK);
  hand_over(s, hold, 'w', "page");
  live_expect(s->a, dibs_acquire(s->a, DIBS_WRITE("page"), &o, &hold), DIBS_OK);
  hand_over(s, hold, 'r', "page");
  live_expect(s->a, dibs_semaphore_set(s->a, dibs_text("permits"), 2, 0, NULL), DIBS_OK);
  live_expect(s->a, dibs_acquire(s->a, DIBS_PERMITS("permits", 2), &o, &hold), DIBS_OK);
  hand_over(s, hold, '1', "permits");
  live_expect(s->a, dibs_semaphore_delete(s->a, dibs_text("permits")), DIBS_OK);
}

static void met(const dibs_error *error, const dibs_barrier_info *info, void *data)
{
  (void)info;
  atomic_store((_Atomic int *)data, error->status == DIBS_OK ? 1 : 2);
}

static bool is_one(void *data)
{
  return atomic_load((_Atomic int *)data) == 1;
}

static void meetings(const struct stage *s)
{
  dibs_wait_options w = DIBS_WAIT_OPTIONS_INIT;
  _Atomic int other = 0;
  int64_t left = 0;

  w.wait_ms = LIVE_LONG_MS;
  live_expect(s->a, dibs_barrier_await_async(s->a, "meeting", 2, &w, met, &other, NULL), DIBS_OK);
  live_expect(s->b, dibs_barrier_await(s->b, "meeting", 2, &w, NULL), DIBS_OK);
  assert_true(live_until(LIVE_LONG_MS, is_one, &other));
  live_expect(s->a, dibs_latch_set(s->a, "release-1", 1), DIBS_OK);
  live_expect(s->b, dibs_latch_down(s->b, "release-1", 1, "id", &left), DIBS_OK);
  live_expect(s->a, dibs_latch_await(s->a, "release-1", &w), DIBS_OK);
  live_expect(s->a, dibs_latch_delete(s->a, "release-1"), DIBS_OK);
}

static void limiters(const struct stage *s, int32_t type)
{
  dibs_rate rate = DIBS_RATE_INIT;
  dibs_wait_options w = DIBS_WAIT_OPTIONS_INIT;
  int64_t left;

  rate.permits = 2;
  rate.interval_ms = 100;
  rate.keepalive_ms = type == DIBS_RATE_OVERALL ? 60000 : 0;
  rate.type = type;
  live_expect(s->a, dibs_rate_limiter_set(s->a, "api-1", &rate, DIBS_RATE_RESET), DIBS_OK);
  for (int i = 0; i < 4; i++)
    live_expect(s->b, dibs_rate_limiter_acquire(s->b, "api-1", 1, NULL, NULL), DIBS_OK);
  live_expect(s->b, dibs_rate_limiter_release(s->b, "api-1", 1, NULL), DIBS_OK);
  rate.keepalive_ms = 0;
  rate.interval_ms = 60000;
  live_expect(s->a, dibs_rate_limiter_set(s->a, "api-1", &rate, DIBS_RATE_UPDATE), DIBS_OK);
  live_expect(s->a, dibs_rate_limiter_get(s->a, "api-1", &rate, &left), DIBS_OK);
  live_expect(s->a, dibs_rate_limiter_set(s->a, "api-1", &rate, DIBS_RATE_RESET), DIBS_OK);
  live_expect(s->a, dibs_rate_limiter_acquire(s->a, "api-1", 2, NULL, NULL), DIBS_OK);
  w.wait_ms = 500;
  live_expect(s->a, dibs_rate_limiter_acquire(s->a, "api-1", 2, &w, NULL), DIBS_TIMED_OUT);
  live_expect(s->a, dibs_rate_limiter_delete(s->a, "api-1"), DIBS_OK);
}

static void elections(const struct stage *s)
{
  dibs_lock_options o = lock_options(s);
  dibs_leader *leader = NULL;
  dibs_hold *hold;

  o.min_replicas = 0;
  live_expect(s->a, dibs_acquire(s->a, DIBS_LEAD("chief", "here"), &o, &hold), DIBS_OK);
  live_expect(s->b, dibs_get_leader(s->b, "chief", &leader), DIBS_OK);
  assert_string_equal(leader->value, "here");
  leader = dibs_leader_free(leader);
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

static void guarded(const struct stage *s)
{
  dibs_lock_options o = lock_options(s);
  dibs_hold *hold;
  dibs_field field = { "f", "v", 1 };
  dibs_value *value = NULL;
  int64_t sum = 0;
  uint64_t fence;

  o.min_replicas = 0;
  hold = live_lock_with(s->a, "stock", &o);
  fence = dibs_hold_fence(hold);
  live_expect(s->a, dibs_guarded_set(s->a, "stock:1", fence, "5", 1, 0), DIBS_OK);
  live_expect(s->a, dibs_guarded_incr(s->a, "stock:2", fence, 3, &sum), DIBS_OK);
  live_expect(s->a, dibs_guarded_hset(s->a, "stock:3", fence, &field, 1), DIBS_OK);
  live_expect(s->a, dibs_guarded_get(s->a, "stock:1", &value, NULL), DIBS_OK);
  value = dibs_value_free(value);
  live_expect(s->a, dibs_guarded_hget(s->a, "stock:3", "f", &value, NULL), DIBS_OK);
  value = dibs_value_free(value);
  live_expect(s->a, dibs_guarded_hdel(s->a, "stock:3", fence, &field.name, 1), DIBS_OK);
  live_expect(s->a, dibs_guarded_del(s->a, "stock:1", fence), DIBS_OK);
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

static bool see_entry(dibs_bytes key, dibs_bytes value, void *data)
{
  (void)key;
  (void)value;
  (void)data;
  return true;
}

static void maps(const struct stage *s)
{
  dibs_bytes k = dibs_text("k"), v = dibs_text("v"), w = dibs_text("w");
  const char *name = "data:map";
  dibs_value *got = NULL;
  uint64_t size;
  int64_t left;
  bool is_done;

  live_expect(s->a, dibs_map_put(s->a, name, k, v, NULL), DIBS_OK);
  live_expect(s->a, dibs_map_put(s->a, name, k, v, &got), DIBS_OK);
  got = dibs_value_free(got);
  live_expect(s->a, dibs_map_put_if_absent(s->a, name, k, v, &is_done), DIBS_OK);
  live_expect(s->a, dibs_map_replace(s->a, name, k, v, &is_done), DIBS_OK);
  live_expect(s->a, dibs_map_replace_if(s->a, name, k, v, w, &is_done), DIBS_OK);
  live_expect(s->a, dibs_map_get(s->a, name, k, &got), DIBS_OK);
  got = dibs_value_free(got);
  live_expect(s->a, dibs_map_contains(s->a, name, k, &is_done), DIBS_OK);
  live_expect(s->a, dibs_map_size(s->a, name, &size), DIBS_OK);
  live_expect(s->a, dibs_map_each(s->a, name, see_entry, NULL), DIBS_OK);
  live_expect(s->a, dibs_data_expire(s->a, name, TTL_MS, NULL), DIBS_OK);
  live_expect(s->a, dibs_data_ttl(s->a, name, &left), DIBS_OK);
  live_expect(s->a, dibs_data_persist(s->a, name, NULL), DIBS_OK);
  live_expect(s->a, dibs_map_remove_if(s->a, name, k, v, &is_done), DIBS_OK);
  live_expect(s->a, dibs_map_remove(s->a, name, k, &got), DIBS_OK);
  got = dibs_value_free(got);
  live_expect(s->a, dibs_map_remove(s->a, name, k, NULL), DIBS_OK);
  live_expect(s->a, dibs_data_delete(s->a, name, NULL), DIBS_OK);
}

static bool see_element(uint64_t index, dibs_bytes element, void *data)
{
  (void)index;
  return see_entry(element, element, data);
}

static void lists(const struct stage *s)
{
  dibs_wait_options o = DIBS_WAIT_OPTIONS_INIT;
  dibs_bytes v = dibs_text("v");
  const char *name = "data:list";
  dibs_value *got = NULL;
  uint64_t size;
  bool is_done;

  live_expect(s->a, dibs_list_add(s->a, name, v, NULL), DIBS_OK);
  live_expect(s->a, dibs_list_add_first(s->a, name, v, NULL), DIBS_OK);
  live_expect(s->a, dibs_list_insert(s->a, name, 1, v, &is_done), DIBS_OK);
  live_expect(s->a, dibs_list_insert(s->a, name, 0, v, &is_done), DIBS_OK);
  live_expect(s->a, dibs_list_insert(s->a, name, 4, v, &is_done), DIBS_OK);
  live_expect(s->a, dibs_list_set(s->a, name, 1, v, &is_done), DIBS_OK);
  live_expect(s->a, dibs_list_get(s->a, name, 1, &got), DIBS_OK);
  got = dibs_value_free(got);
  live_expect(s->a, dibs_list_size(s->a, name, &size), DIBS_OK);
  assert_int_equal(size, 5);
  live_expect(s->a, dibs_list_range(s->a, name, 0, 0, see_element, NULL), DIBS_OK);
  live_expect(s->a, dibs_list_remove_at(s->a, name, 1, &is_done), DIBS_OK);
  live_expect(s->a, dibs_list_pop_last(s->a, name, &got), DIBS_OK);
  got = dibs_value_free(got);
  live_expect(s->a, dibs_list_pop_first(s->a, name, &got), DIBS_OK);
  got = dibs_value_free(got);
  live_expect(s->a, dibs_list_remove(s->a, name, v, 0, &size), DIBS_OK);
  assert_int_equal(size, 2);
  o.wait_ms = 50;
  live_expect(s->a, dibs_list_take(s->a, name, &o, &got), DIBS_TIMED_OUT);
}

static bool see_member(dibs_bytes member, void *data)
{
  return see_entry(member, member, data);
}

static void sets(const struct stage *s)
{
  const char *name = "data:set";
  dibs_value *got = NULL;
  uint64_t size;
  bool is_so;

  live_expect(s->a, dibs_set_add(s->a, name, dibs_text("v"), NULL), DIBS_OK);
  live_expect(s->a, dibs_set_add(s->a, name, dibs_text("w"), NULL), DIBS_OK);
  live_expect(s->a, dibs_set_contains(s->a, name, dibs_text("v"), &is_so), DIBS_OK);
  live_expect(s->a, dibs_set_size(s->a, name, &size), DIBS_OK);
  live_expect(s->a, dibs_set_each(s->a, name, see_member, NULL), DIBS_OK);
  live_expect(s->a, dibs_set_remove(s->a, name, dibs_text("w"), NULL), DIBS_OK);
  live_expect(s->a, dibs_set_pop(s->a, name, &got), DIBS_OK);
  assert_string_equal(got->bytes, "v");
  got = dibs_value_free(got);
}

static bool count_one(const dibs_inspection *inspection, void *data)
{
  (void)inspection;
  ++*(int *)data;
  return true;
}

static void looking(const struct stage *s)
{
  dibs_lock_options o = lock_options(s);
  dibs_inspection *inspection = NULL;
  dibs_hold *hold;
  int count = 0;

  o.min_replicas = 0;
  hold = live_lock_with(s->a, "looked at", &o);
  live_expect(s->b, dibs_inspect(s->b, dibs_text("looked at"), &inspection), DIBS_OK);
  assert_true(inspection->is_held);
  live_expect(s->b, dibs_break(s->b, dibs_text("looked at"), inspection->lease), DIBS_OK);
  inspection = dibs_inspection_free(inspection);
  assert_int_not_equal(dibs_release(hold), DIBS_OK);
  live_expect(s->b, dibs_list(s->b, NULL, count_one, &count), DIBS_OK);
  assert_true(count >= 4);
}

static void everything_works(const struct mode *mode)
{
  struct stage s = stage_set(mode);

  locks(&s);
  shared(&s);
  meetings(&s);
  limiters(&s, DIBS_RATE_OVERALL);
  limiters(&s, DIBS_RATE_PER_CLIENT);
  elections(&s);
  guarded(&s);
  maps(&s);
  lists(&s);
  sets(&s);
  looking(&s);
  stage_end(&s);
}

TEST(the_plain_line_is_enough)
{
  everything_works(&plain);
}

TEST(a_prefix_of_several_parts_needs_no_other_right)
{
  everything_works(&prefixed);
}

TEST(functions_need_no_right_to_eval)
{
  struct test_server *s = test_server_start();
  bool has_functions = test_server_knows(s, "fcall");      /* from 7.0 on */

  s = test_server_stop(s);
  if (!has_functions)
    skip();
  everything_works(&functions);
}

TEST(polling_needs_no_channels)
{
  everything_works(&polling);
}

TEST(a_quarantine_needs_what_its_line_says)
{
  everything_works(&quarantine);
}

TEST(replicas_need_the_right_to_wait)
{
  everything_works(&replicas);
}

/* ---- the line itself ---- */

static dibs_status line_of(const char *url, const dibs_acl_options *o, char *ret_line,
                           dibs_error *ret_error)
{
  return dibs_acl_line(url, o, ret_line, DIBS_ACL_LINE_SIZE, ret_error);
}

TEST(the_url_tells_kind_prefix_and_user)
{
  char line[DIBS_ACL_LINE_SIZE];
  dibs_error error = DIBS_ERROR_INIT;

  assert_int_equal(line_of("redis+cluster://bob@h1,h2?prefix=shop", NULL, line, &error), DIBS_OK);
  assert_non_null(strstr(line, "SETUSER bob on >PASSWORD"));
  assert_non_null(strstr(line, " ~shop:* "));
  assert_non_null(strstr(line, " +ssubscribe"));
  assert_int_equal(line_of("redis://h1,h2?functions=yes&quarantine=5s", NULL, line, &error),
                   DIBS_OK);
  assert_non_null(strstr(line, " +role"));
  assert_non_null(strstr(line, " +fcall"));
  assert_null(strstr(line, " +eval"));
  assert_int_equal(line_of("redis://h1?pubsub=no", NULL, line, &error), DIBS_OK);
  assert_null(strstr(line, "publish"));
}

TEST(patterns_in_a_prefix_are_escaped)
{
  dibs_acl_options o = DIBS_ACL_OPTIONS_INIT;
  char line[DIBS_ACL_LINE_SIZE];

  o.prefix = "a*b";
  assert_int_equal(line_of(NULL, &o, line, NULL), DIBS_OK);
  assert_non_null(strstr(line, " ~a\\*b:* "));
}

TEST(a_password_is_shown_as_its_digest)
{
  dibs_acl_options o = DIBS_ACL_OPTIONS_INIT;
  char line[DIBS_ACL_LINE_SIZE];

  o.password = "abc";
  assert_int_equal(line_of("redis://u:hidden@h", &o, line, NULL), DIBS_OK);
  assert_non_null(strstr(
    line, " #ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad "));
  assert_null(strstr(line, "hidden"));
}

TEST(words_that_a_line_cannot_hold_are_refused)
{
  char line[DIBS_ACL_LINE_SIZE] = "untouched";
  dibs_acl_options blank = DIBS_ACL_OPTIONS_INIT, bit = DIBS_ACL_OPTIONS_INIT;
  dibs_acl_options old = DIBS_ACL_OPTIONS_INIT;
  dibs_error error = DIBS_ERROR_INIT;

  blank.user = "a b";
  bit.uses = 0x80000000u;
  old.uses = DIBS_ACL_BEFORE_7 | DIBS_ACL_FUNCTIONS;
  assert_int_equal(line_of(NULL, &blank, line, &error), DIBS_ERR_ARGUMENT);
  assert_non_null(strstr(error.text, "user"));
  assert_int_equal(line_of(NULL, &bit, line, &error), DIBS_ERR_ARGUMENT);
  assert_int_equal(line_of(NULL, &old, line, &error), DIBS_ERR_ARGUMENT);
  assert_int_equal(line_of("redsi://h", NULL, line, &error), DIBS_ERR_CONFIG);
  assert_int_equal(dibs_acl_line(NULL, NULL, line, 20, NULL), DIBS_ERR_ARGUMENT);
  assert_string_equal(line, "untouched");
}

int main(void)
{
  /* This one makes its users itself. */
  (void)unsetenv("DIBS_TEST_ACL");
  return tests_run(NULL, NULL, NULL, NULL);
}
