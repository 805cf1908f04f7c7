/* SPDX-License-Identifier: MIT */
/* test/live/guarded_write_test.c - a holder that slept through the end of its lease writes
 * with its old fence, and is refused (S2); guarded writes whose answers are lost. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live.h"
#include "proxy.h"

static struct test_proxy *proxy;
static dibs_client *near, *far;      /* through the proxy; straight */

static const char *stored(const char *key)
{
  return test_server_command(live_server, "GET %s", key);
}

static dibs_status set(dibs_client *client, const char *key, uint64_t fence, const char *value)
{
  return dibs_guarded_set(client, key, fence, value, strlen(value), 0);
}

/* ---- the other program: this one, started again ---- */

enum { HOLDER_TTL_MS = 500 };

typedef struct holder { pid_t pid; FILE *says, *hears; } holder;

/* Takes the lock, tells its fence, waits for a word, writes, tells how that ended. */
static int be_holder(const char *url)
{
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;
  dibs_client *client = NULL;
  dibs_hold *hold = NULL;
  dibs_status wrote, released;
  uint64_t fence;

  o.ttl_ms = HOLDER_TTL_MS;
  if (dibs_open(url, NULL, &client, NULL) != DIBS_OK ||
      dibs_lock(client, "sleeper", &o, &hold) != DIBS_OK)
    return 1;
  fence = dibs_hold_fence(hold);
  printf("%llu\n", (unsigned long long)fence);
  fflush(stdout);
  if (getchar() != '\n')
    return 1;
  wrote = set(client, "balance", fence, "of the sleeper");
  released = dibs_release(hold);
  printf("%s %s\n", dibs_status_name(wrote), dibs_status_name(released));
  fflush(stdout);
  client = dibs_close(client);
  return 0;
}

static holder holder_start(void)
{
  int up[2], down[2];
  holder h;

  assert_int_equal(pipe(up), 0);
  assert_int_equal(pipe(down), 0);
  h.pid = fork();
  if (h.pid == 0) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)dup2(down[0], STDIN_FILENO);
    (void)dup2(up[1], STDOUT_FILENO);
    execl("/proc/self/exe", "holder", live_url(), (char *)NULL);
    _exit(127);
  }
  assert_true(h.pid > 0);
  close(up[1]);
  close(down[0]);
  h.says = fdopen(up[0], "r");
  h.hears = fdopen(down[1], "w");
  assert_non_null(h.says);
  assert_non_null(h.hears);
  return h;
}

static void holder_stop(const holder *h)
{
  int how;

  assert_int_equal(kill(h->pid, SIGSTOP), 0);
  assert_int_equal(promise_waitpid(h->pid, &how, WUNTRACED), h->pid);
  assert_true(WIFSTOPPED(how));
}

static void holder_go_on(const holder *h)
{
  assert_int_equal(kill(h->pid, SIGCONT), 0);
  assert_int_equal(fputs("\n", h->hears), 1);
  assert_int_equal(fflush(h->hears), 0);
}

static void holder_end(holder *h)
{
  int how;

  fclose(h->hears);
  fclose(h->says);
  assert_int_equal(promise_waitpid(h->pid, &how, 0), h->pid);
  assert_true(WIFEXITED(how));
  assert_int_equal(WEXITSTATUS(how), 0);
}

TEST(a_holder_that_slept_past_its_lease_is_fenced)
{
  live_needs_keys();
  holder h = holder_start();
  unsigned long long old;
  char wrote[32], released[32];
  dibs_hold *hold;

  assert_int_equal(fscanf(h.says, "%llu", &old), 1);
  holder_stop(&h);
  hold = live_lock(far, "sleeper", 5000);          /* as soon as that lease is over */
  PROMISE_GROWN(dibs_hold_fence(hold), old);
  live_expect(far, set(far, "balance", dibs_hold_fence(hold), "of the next"), DIBS_OK);
  holder_go_on(&h);
  assert_int_equal(fscanf(h.says, "%31s %31s", wrote, released), 2);
  promise_kept(strcmp(wrote, "DIBS_OK") != 0, "a write of an older fence was taken");
  assert_string_equal(wrote, "DIBS_FENCED");
  assert_string_not_equal(released, "DIBS_OK");
  promise_kept(strcmp(stored("balance"), "of the next") == 0,
               "lost: the write of the newer fence");
  holder_end(&h);
  /* Who holds it now goes on undisturbed. */
  live_expect(far, set(far, "balance", dibs_hold_fence(hold), "again"), DIBS_OK);
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

TEST(fences_rise_also_when_the_key_of_the_lock_is_gone)
{
  live_needs_keys();
  uint64_t last = 0;

  for (int i = 0; i < 20; i++) {
    dibs_hold *hold = live_lock(far, "rising", 5000);
    uint64_t fence = dibs_hold_fence(hold);

    PROMISE_GROWN(fence, last);
    last = fence;
    assert_int_equal(dibs_release(hold), DIBS_OK);
    if (i % 2 == 1)
      test_server_command(live_server, "DEL %s", live_key("rising"));
  }
}

/* ---- what a guarded write does ---- */

/* ---- reads ---- */

/* With `field`, of a hash. NULL `wanted`: there is no value. */
static void expect_read(const char *key, const char *field, const char *wanted, uint64_t fence)
{
  dibs_value *value = NULL;
  uint64_t seen = fence + 1;

  live_expect(far, field != NULL ? dibs_guarded_hget(far, key, field, &value, &seen)
                                 : dibs_guarded_get(far, key, &value, &seen), DIBS_OK);
  if (wanted == NULL)
    assert_null(value);
  else
    assert_string_equal(value->bytes, wanted);
  assert_true(seen == fence);
  value = dibs_value_free(value);
}

TEST(a_read_has_the_value_and_the_fence_of_the_last_write)
{
  live_needs_keys();
  const dibs_field fields[] = { { "name", "Anna", 4 }, { "empty", NULL, 0 } };
  dibs_value *value = NULL;

  expect_read("read", NULL, NULL, 0);
  live_expect(far, set(far, "read", 9007199254740993u, "v"), DIBS_OK);
  live_expect_refused(far, set(far, "read", 9007199254740992u, "old"), DIBS_FENCED);
  expect_read("read", NULL, "v", 9007199254740993u);
  live_expect(far, dibs_guarded_set(far, "read", 9007199254740993u, "a\0b", 3, 0), DIBS_OK);
  live_expect(far, dibs_guarded_get(far, "read", &value, NULL), DIBS_OK);
  assert_int_equal(value->size, 3);
  assert_memory_equal(value->bytes, "a\0b", 4);
  value = dibs_value_free(value);
  live_expect(far, dibs_guarded_del(far, "read", INT64_MAX), DIBS_OK);
  expect_read("read", NULL, NULL, INT64_MAX);
  test_server_command(live_server, "SET unguarded plain");
  expect_read("unguarded", NULL, "plain", 0);
  live_expect(far, dibs_guarded_hset(far, "people", 5, fields, 2), DIBS_OK);
  expect_read("people", "name", "Anna", 5);
  expect_read("people", "empty", "", 5);
  expect_read("people", "none", NULL, 5);
}

TEST(a_read_that_is_refused_says_why_and_sets_nothing)
{
  live_needs_keys();
  char too_long[514], *big = calloc(1, DIBS_DATA_MAX + 1);
  dibs_value *value = NULL;
  uint64_t fence = 77;

  assert_non_null(big);
  memset(too_long, 'x', 513);
  too_long[513] = 0;
#define REFUSES(call, why, word)                                                              \
  do {                                                                                        \
    live_expect(far, (call), (why));                                                          \
    live_expect_words(far, (word));                                                           \
  } while (0)
  REFUSES(dibs_guarded_get(far, NULL, &value, &fence), DIBS_ERR_ARGUMENT, "key is NULL");
  REFUSES(dibs_guarded_get(far, "", &value, &fence), DIBS_ERR_ARGUMENT, "empty");
  REFUSES(dibs_guarded_get(far, too_long, &value, &fence), DIBS_ERR_ARGUMENT, "512");
  REFUSES(dibs_guarded_get(far, "a}b", &value, &fence), DIBS_ERR_ARGUMENT, "tag");
  REFUSES(dibs_guarded_get(far, "k", NULL, &fence), DIBS_ERR_ARGUMENT, "answer");
  REFUSES(dibs_guarded_hget(far, "k", NULL, &value, &fence), DIBS_ERR_ARGUMENT, "field");
  test_server_command(live_server, "RPUSH list x");
  REFUSES(dibs_guarded_get(far, "list", &value, &fence), DIBS_ERR_WRONG_TYPE, "another kind");
  REFUSES(dibs_guarded_hget(far, "list", "f", &value, &fence), DIBS_ERR_WRONG_TYPE, "another kind");
  live_expect(far, set(far, "text", 1, "v"), DIBS_OK);
  REFUSES(dibs_guarded_hget(far, "text", "f", &value, &fence), DIBS_ERR_WRONG_TYPE, "another kind");
  test_server_command(live_server, "SET dibs:f:{text} strange");
  REFUSES(dibs_guarded_get(far, "text", &value, &fence), DIBS_ERR_WRONG_TYPE, "fence");
  test_server_command(live_server, "DEL dibs:f:{text}");
  live_expect(far, dibs_guarded_set(far, "big", 1, big, DIBS_DATA_MAX + 1, 0), DIBS_OK);
  REFUSES(dibs_guarded_get(far, "big", &value, &fence), DIBS_ERR_UNSUPPORTED, "1048577");
#undef REFUSES
  assert_null(value);
  assert_true(fence == 77);
  live_expect(far, dibs_guarded_set(far, "big", 1, big, DIBS_DATA_MAX, 0), DIBS_OK);
  live_expect(far, dibs_guarded_get(far, "big", &value, NULL), DIBS_OK);
  assert_int_equal(value->size, DIBS_DATA_MAX);
  value = dibs_value_free(value);
  free(big);
}

enum { RISES = 300 };

static void *write_fences(void *data)
{
  char text[24];

  for (uint64_t fence = 1; fence <= RISES; fence++) {
    (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)fence);
    if (set(data, "moment", fence, text) != DIBS_OK)
      return NULL;
  }
  return data;
}

TEST(the_value_and_the_fence_of_a_read_are_of_one_moment)
{
  live_needs_keys();
  dibs_value *value = NULL;
  uint64_t fence = 0;
  pthread_t thread;
  void *is_done;

  live_expect(far, set(far, "moment", 1, "1"), DIBS_OK);
  assert_int_equal(pthread_create(&thread, NULL, write_fences, near), 0);
  while (fence < RISES) {
    live_expect(far, dibs_guarded_get(far, "moment", &value, &fence), DIBS_OK);
    assert_non_null(value);
    promise_kept(strtoull(value->bytes, NULL, 10) == fence, "value %s with fence %llu",
                 value->bytes, (unsigned long long)fence);
    value = dibs_value_free(value);
  }
  assert_int_equal(pthread_join(thread, &is_done), 0);
  assert_non_null(is_done);
}

TEST(values_are_bytes_and_may_be_long)
{
  live_needs_keys();
  size_t size = 3u << 20;
  char *value = calloc(1, size);

  assert_non_null(value);
  value[size - 1] = 'x';
  live_expect(far, dibs_guarded_set(far, "long", 1, value, size, 60000), DIBS_OK);
  assert_int_equal(test_server_integer(live_server, "STRLEN long"), size);
  assert_string_equal(test_server_command(live_server, "GETRANGE long -1 -1"), "x");
  assert_in_range(test_server_integer(live_server, "PTTL long"), 1, 60000);
  live_expect(far, dibs_guarded_set(far, "long", 1, NULL, 0, 0), DIBS_OK);
  assert_int_equal(test_server_integer(live_server, "STRLEN long"), 0);
  free(value);
}

TEST(bad_arguments_are_refused_and_named)
{
  live_needs_keys();
  const dibs_field nameless = { NULL, "v", 1 }, fine = { "f", "v", 1 };
  const char *const null_name[] = { NULL };

#define REFUSES(call, word)                                                                   \
  do {                                                                                        \
    live_expect(far, (call), DIBS_ERR_ARGUMENT);                                              \
    live_expect_words(far, (word));                                                           \
  } while (0)
  REFUSES(set(far, NULL, 1, "v"), "key");
  REFUSES(set(far, "", 1, "v"), "empty");
  REFUSES(set(far, "a}b", 1, "v"), "tag");
  REFUSES(set(far, "bad", 0, "v"), "fence");
  REFUSES(set(far, "bad", UINT64_MAX, "v"), "fence");
  REFUSES(dibs_guarded_set(far, "bad", 1, NULL, 1, 0), "value");
  REFUSES(dibs_guarded_set(far, "bad", 1, "v", 1, -1), "ttl_ms");
  REFUSES(dibs_guarded_set(far, "bad", 1, "v", (size_t)1 << 30, 0), "1073741824");
  REFUSES(dibs_guarded_hset(far, "bad", 1, NULL, 1), "fields");
  REFUSES(dibs_guarded_hset(far, "bad", 1, &fine, 0), "count");
  REFUSES(dibs_guarded_hset(far, "bad", 1, &fine, 1001), "count");
  REFUSES(dibs_guarded_hset(far, "bad", 1, &nameless, 1), "name");
  REFUSES(dibs_guarded_hdel(far, "bad", 1, NULL, 1), "names");
  REFUSES(dibs_guarded_hdel(far, "bad", 1, null_name, 1), "name");
  REFUSES(dibs_guarded_hdel(far, "bad", 1, null_name, 0), "count");
#undef REFUSES
  assert_int_equal(test_server_integer(live_server, "EXISTS bad dibs:f:{bad}"), 0);
}

/* A longer one would wait for room in the connection's output that there never is. */
TEST(the_longest_value_is_written_and_a_longer_one_named)
{
  live_needs_one_server();
  char *big = calloc(1, DIBS_GUARDED_MAX + 1);
  dibs_options options = live_options();
  const dibs_field fields[] = { { "a", big, DIBS_GUARDED_MAX / 2 },
                                { "b", big, DIBS_GUARDED_MAX / 2 - 1 } };
  dibs_client *patient;

  assert_non_null(big);
  options.command_timeout_ms = LIVE_LONG_MS;       /* so much takes its time on a busy machine */
  patient = live_open_with(live_url(), &options);
  live_expect_ok(dibs_guarded_set(patient, "long", 1, big, DIBS_GUARDED_MAX, 0));
  assert_int_equal(test_server_integer(live_server, "STRLEN long"), DIBS_GUARDED_MAX);
  live_expect(patient, dibs_guarded_set(patient, "longer", 1, big, DIBS_GUARDED_MAX + 1, 0),
              DIBS_ERR_ARGUMENT);
  live_expect_words(patient, "7340033");
  live_expect_words(patient, "7340032");
  live_expect(patient, dibs_guarded_hset(patient, "longer", 1, fields, 2), DIBS_ERR_ARGUMENT);
  live_expect_words(patient, "7340033");           /* the names of the fields count, too */
  assert_int_equal(test_server_integer(live_server, "EXISTS longer dibs:f:{longer}"), 0);
  dibs_close(patient);
  free(big);
}

/* What SECURITY.md says that guarded writes need, and no more. */
TEST(the_documented_permissions_are_enough)
{
  live_needs_one_server();
  const dibs_field field = { "f", "v", 1 };
  const char *const names[] = { "f" };
  dibs_value *value = NULL;
  dibs_client *weak;
  char url[256];

  assert_string_equal(
    test_server_command(live_server,
                        "ACL SETUSER weak on >w resetkeys ~dibs:* ~acl:* -@all +evalsha +eval "
                        "+time +set +mget +del +exists +pexpire +pttl +hset +hget +hmget "
                        "+hgetall +hdel +hlen +publish +subscribe +pubsub|numsub +ping +auth "
                        "+select +client|setname +scan +info +get +incrby +type"), "OK");
  (void)snprintf(url, sizeof(url), "unix://weak:w@%s", test_server_socket(live_server));
  weak = live_open(url);
  live_expect(weak, set(weak, "acl:s", 1, "v"), DIBS_OK);
  live_expect(weak, dibs_guarded_incr(weak, "acl:n", 1, 1, NULL), DIBS_OK);
  live_expect(weak, dibs_guarded_hset(weak, "acl:h", 1, &field, 1), DIBS_OK);
  live_expect(weak, dibs_guarded_get(weak, "acl:s", &value, NULL), DIBS_OK);
  value = dibs_value_free(value);
  live_expect(weak, dibs_guarded_hget(weak, "acl:h", "f", &value, NULL), DIBS_OK);
  value = dibs_value_free(value);
  live_expect(weak, dibs_guarded_get(weak, "other", &value, NULL), DIBS_ERR_DENIED);
  live_expect(weak, dibs_guarded_hdel(weak, "acl:h", 1, names, 1), DIBS_OK);
  live_expect(weak, dibs_guarded_del(weak, "acl:s", 1), DIBS_OK);
  live_expect(weak, set(weak, "other", 1, "v"), DIBS_ERR_DENIED);
  weak = dibs_close(weak);
}

/* Others hold at the same time, and the fences of readers have no order: a valid one would be
 * refused as old. */
TEST(fences_of_holds_that_are_not_exclusive_are_refused_by_name)
{
  dibs_lock_options o = live_lock_options(20000, LIVE_LONG_MS);
  dibs_hold *hold = NULL, *other = NULL;
  uint64_t fence;

  live_needs_answer(dibs_semaphore_set(far, dibs_text("pool"), 2, 0, NULL));
  live_expect(far, dibs_acquire(far, DIBS_READ("page"), &o, &hold), DIBS_OK);
  live_expect(near, dibs_acquire(near, DIBS_READ("page"), &o, &other), DIBS_OK);
  assert_int_equal(set(far, "shared", dibs_hold_fence(hold), "x"), DIBS_ERR_ARGUMENT);
  live_expect_words(far, "read hold");
  live_expect_words(far, "page");
  assert_int_equal(set(near, "shared", dibs_hold_fence(other), "x"), DIBS_ERR_ARGUMENT);
  live_expect(near, dibs_release(other), DIBS_OK);
  live_expect(far, dibs_release(hold), DIBS_OK);

  live_expect(far, dibs_acquire(far, DIBS_PERMITS("pool", 1), &o, &hold), DIBS_OK);
  assert_int_equal(set(far, "shared", dibs_hold_fence(hold), "x"), DIBS_ERR_ARGUMENT);
  live_expect_words(far, "permits");
  live_expect_words(far, "pool");
  live_expect(far, dibs_release(hold), DIBS_OK);
  live_expect(far, dibs_semaphore_set(far, dibs_text("pool"), 0, 0, NULL), DIBS_OK);

  live_expect(far, dibs_acquire(far, DIBS_WRITE("page"), &o, &hold), DIBS_OK);
  live_expect(far, dibs_acquire(far, DIBS_READ("page"), &o, &other),
              DIBS_OK);   /* with its fence */
  fence = dibs_hold_fence(other);
  assert_true(fence == dibs_hold_fence(hold));
  live_expect(far, set(far, "shared", fence, "x"), DIBS_OK);
  live_expect(far, dibs_downgrade(hold), DIBS_OK);
  live_expect(far, set(far, "shared", fence, "y"), DIBS_OK);
  live_expect(far, dibs_release(other), DIBS_OK);
  live_expect(far, dibs_release(hold), DIBS_OK);
  test_server_command(live_server, "DEL shared dibs:f:{shared} dibs:m:{pool}");
}

TEST(the_rule_for_other_stores_lets_in_the_same_and_the_newer)
{
  assert_true(dibs_fence_admits(0, 1));
  assert_true(dibs_fence_admits(7, 7));
  assert_true(dibs_fence_admits(9007199254740992u, 9007199254740993u));
  assert_false(dibs_fence_admits(9007199254740993u, 9007199254740992u));
  assert_false(dibs_fence_admits(1, 0));
}

/* ---- lost answers ---- */

static uint64_t lose_next(void)
{
  uint64_t cuts = test_proxy_counts(proxy).cuts;

  live_expect(near, set(near, "warm", 1, "v"), DIBS_OK);
  live_expect(near, dibs_guarded_incr(near, "warm sum", 1, 1, NULL), DIBS_OK);
  test_proxy_lose_reply_to(proxy, "EVALSHA");
  return cuts;
}

TEST(a_sum_whose_answer_was_lost_counts_once)
{
  live_needs_one_server();
  uint64_t cuts = lose_next();
  int64_t sum = 0;

  live_expect(near, dibs_guarded_incr(near, "lost", 1, 5, &sum), DIBS_OK);
  assert_true(test_proxy_wait_for_cuts(proxy, cuts + 1, LIVE_LONG_MS));
  promise_kept(sum == 5 && strcmp(stored("lost"), "5") == 0, "a sum of 5 is %lld, stored %s",
               (long long)sum, stored("lost"));
  live_expect(near, dibs_guarded_incr(near, "lost", 1, 5, &sum), DIBS_OK);
  assert_int_equal(sum, 10);
}

TEST(a_read_whose_answer_was_lost_is_repeated)
{
  live_needs_one_server();
  uint64_t cuts, fence = 0;
  dibs_value *value = NULL;

  live_expect(near, set(near, "reread", 4, "v"), DIBS_OK);
  live_expect(near, dibs_guarded_get(near, "reread", &value, NULL), DIBS_OK);
  value = dibs_value_free(value);
  cuts = lose_next();
  live_expect(near, dibs_guarded_get(near, "reread", &value, &fence), DIBS_OK);
  assert_true(test_proxy_wait_for_cuts(proxy, cuts + 1, LIVE_LONG_MS));
  assert_string_equal(value->bytes, "v");
  assert_int_equal(fence, 4);
  value = dibs_value_free(value);
}

static bool has_sum(void *key)
{
  return strcmp(stored(key), "(nil)") != 0;
}

/* Executed, and nothing comes back until the call has given up. */
static void sum_unheard(const char *key, uint64_t fence, int64_t by)
{
  uint64_t dropped = test_proxy_counts(proxy).dropped_to_client;
  int64_t sum = 0;

  live_expect(near, dibs_guarded_incr(near, "warm sum", 1, 1, NULL), DIBS_OK);
  test_proxy_black_hole(proxy, TEST_TO_CLIENT);
  live_expect(near, dibs_guarded_incr(near, key, fence, by, &sum), DIBS_UNKNOWN);
  assert_int_equal(sum, 0);
  assert_true(test_proxy_wait_for_drops(proxy, TEST_TO_CLIENT, dropped + 1, LIVE_LONG_MS));
  assert_true(live_until(LIVE_LONG_MS, has_sum, (void *)(uintptr_t)key));
  test_proxy_pass(proxy, TEST_BOTH);
}

TEST(a_sum_that_the_program_repeats_counts_once)
{
  live_needs_one_server();
  int64_t sum = 0;

  sum_unheard("unheard", 3, 5);
  live_expect(near, dibs_guarded_incr(near, "unheard", 3, 5, &sum), DIBS_OK);
  promise_kept(sum == 5, "a repeated sum counted twice, or not: %lld", (long long)sum);
  /* That settled it: the same again is another one. */
  live_expect(near, dibs_guarded_incr(near, "unheard", 3, 5, &sum), DIBS_OK);
  assert_int_equal(sum, 10);
  assert_string_equal(stored("unheard"), "10");
}

TEST(other_sums_go_on_beside_one_that_was_not_heard)
{
  live_needs_one_server();
  int64_t sum = 0;

  sum_unheard("beside", 3, 5);
  live_expect(near, dibs_guarded_incr(near, "beside", 3, 1, &sum), DIBS_OK);
  assert_int_equal(sum, 6);
  /* Long forgotten: the same call is a new one then, as said in the guide. */
  for (int i = 0; i < 110; i++)
    live_expect(near, dibs_guarded_incr(near, "beside", 3, 1, NULL), DIBS_OK);
  live_expect(near, dibs_guarded_incr(near, "beside", 3, 5, &sum), DIBS_OK);
  assert_int_equal(sum, 5 + 1 + 110 + 5);
}

/* ---- with a callback ---- */

struct sum_ending {
  _Atomic int callbacks, status;
  _Atomic int64_t sum;
};

static void note_sum(const dibs_error *error, int64_t sum, void *data)
{
  struct sum_ending *e = data;

  atomic_store(&e->status, error->status);
  atomic_store(&e->sum, sum);
  (void)atomic_fetch_add(&e->callbacks, 1);
}

static bool has_summed(void *data)
{
  return atomic_load(&((struct sum_ending *)data)->callbacks) > 0;
}

static void expect_sum(struct sum_ending *e, dibs_status status, int64_t sum)
{
  assert_true(live_until(LIVE_LONG_MS, has_summed, e));
  assert_int_equal(atomic_load(&e->status), status);
  assert_int_equal(atomic_load(&e->sum), sum);
  assert_int_equal(atomic_exchange(&e->callbacks, 0), 1);
}

/* Its arguments end with this function. */
static void set_in_a_callback(const dibs_error *error, void *data)
{
  struct live_ending *e = data;
  char key[] = "called", value[] = "back";

  if (error->status != DIBS_OK || set(e->client, key, 5, value) != DIBS_ERR_WOULD_BLOCK ||
      dibs_guarded_set_async(e->client, key, 5, value, 4, 60000, live_note_ending, e, NULL) !=
        DIBS_OK)
    live_fault("a guarded write in a callback");
  memset(key, 'x', sizeof(key) - 1);
  memset(value, 'x', sizeof(value) - 1);
}

TEST(each_guarded_write_has_a_form_with_a_callback)
{
  live_needs_keys();
  const dibs_field fields[] = { { "a", "1", 1 }, { "b", "2", 1 } };
  const char *const names[] = { "a" };
  struct live_ending e = { .client = far };
  struct sum_ending sum = { .sum = 0 };

#define WRITES(call, how)                                                                     \
  do {                                                                                        \
    e = (struct live_ending){ .client = far };                                                \
    live_expect(far, (call), DIBS_OK);                                                        \
    live_expect_ending(&e, (how));                                                            \
  } while (0)
  WRITES(dibs_guarded_hset_async(far, "asked", 5, fields, 2, live_note_ending, &e, NULL), DIBS_OK);
  WRITES(dibs_guarded_hset_async(far, "asked", 4, fields, 2, live_note_ending, &e, NULL),
         DIBS_FENCED);
  WRITES(dibs_guarded_hdel_async(far, "asked", 5, names, 1, live_note_ending, &e, NULL), DIBS_OK);
  assert_string_equal(test_server_command(live_server, "HGETALL asked"), "[b, 2]");
  WRITES(dibs_guarded_del_async(far, "asked", 5, set_in_a_callback, &e, NULL), DIBS_OK);
  assert_string_equal(stored("called"), "back");
  assert_in_range(test_server_integer(live_server, "PTTL called"), 1, 60000);
  assert_int_equal(test_server_integer(live_server, "EXISTS asked"), 0);
#undef WRITES
  live_expect(far, dibs_guarded_incr_async(far, "asked", 5, 7, note_sum, &sum, NULL), DIBS_OK);
  expect_sum(&sum, DIBS_OK, 7);
  live_expect(far, dibs_guarded_incr_async(far, "asked", 4, 7, note_sum, &sum, NULL), DIBS_OK);
  expect_sum(&sum, DIBS_FENCED, 0);
  live_expect(far, dibs_guarded_del_async(far, "asked", 5, NULL, NULL, NULL), DIBS_ERR_ARGUMENT);
  live_expect_words(far, "callback");
  assert_int_equal(live_faults(), 0);
}

/* The server executes it nevertheless: the same sum again is that one. */
TEST(a_cancelled_sum_is_unknown_and_counts_once)
{
  live_needs_one_server();
  dibs_options o = live_options();
  struct sum_ending e = { .sum = 0 };
  dibs_request *request = NULL;
  dibs_client *patient;
  int64_t sum = 0;

  o.connect_timeout_ms = o.command_timeout_ms = LIVE_LONG_MS;
  patient = live_open_with(live_url_by(proxy), &o);
  live_expect(patient, dibs_guarded_incr(patient, "warm_sum", 1, 1, NULL), DIBS_OK);
  test_proxy_hold(proxy, TEST_TO_CLIENT);
  live_expect(patient, dibs_guarded_incr_async(patient, "given_up", 3, 5, note_sum, &e, &request),
              DIBS_OK);
  assert_true(live_until(LIVE_LONG_MS, has_sum, "given_up"));
  assert_int_equal(dibs_request_cancel(request), DIBS_OK);
  assert_int_equal(dibs_request_cancel(request), DIBS_ERR_STALE);
  expect_sum(&e, DIBS_UNKNOWN, 0);
  test_proxy_pass(proxy, TEST_BOTH);
  live_expect(patient, dibs_guarded_incr(patient, "given_up", 3, 5, &sum), DIBS_OK);
  promise_kept(sum == 5, "a cancelled sum counted twice, or not: %lld", (long long)sum);
  patient = dibs_close(patient);
}

enum { ADDERS = 8, SUMS = 40 };

/* As a program should: again with the same fence, as long as nobody knows. */
static void *add(void *number)
{
  int64_t by = (int64_t)(intptr_t)number;

  for (int i = 0; i < SUMS; i++) {
    dibs_status status;

    do
      status = dibs_guarded_incr(near, "cut often", 9, by, NULL);
    while (status == DIBS_UNKNOWN || status == DIBS_ERR_UNREACHABLE);
    if (status != DIBS_OK)
      live_fault("sum %d of %d: %s", i, (int)by, dibs_status_name(status));
  }
  return NULL;
}

/* Some threads add the same: a call may end what another thread began, and the other way
 * round; as all repeat, the sum is exact. */
TEST(many_threads_over_a_line_that_is_cut_often_count_exactly)
{
  live_needs_one_server();
  pthread_t threads[ADDERS];
  int64_t wanted = 0, sum = 0;
  int before = live_faults();

  live_expect(near, dibs_guarded_incr(near, "cut often", 9, 0, NULL), DIBS_OK);
  for (intptr_t i = 0; i < ADDERS; i++) {
    assert_int_equal(pthread_create(&threads[i], NULL, add, (void *)(i % 5 + 1)), 0);
    wanted += SUMS * (i % 5 + 1);
  }
  for (int i = 0; i < 10; i++) {
    uint64_t cuts = test_proxy_counts(proxy).cuts;

    test_proxy_lose_reply_to(proxy, "EVALSHA");
    if (!test_proxy_wait_for_cuts(proxy, cuts + 1, 1000))
      break;                                       /* they are all done */
  }
  test_proxy_pass(proxy, TEST_BOTH);
  for (int i = 0; i < ADDERS; i++)
    pthread_join(threads[i], NULL);
  assert_int_equal(live_faults(), before);
  live_expect(far, dibs_guarded_incr(far, "cut often", 9, 0, &sum), DIBS_OK);
  promise_kept(sum == wanted, "sums to %lld are %lld", (long long)wanted, (long long)sum);
}

static int setup(void **state)
{
  (void)live_server_setup(state);
  proxy = test_proxy_start(live_server);
  near = live_open(live_url_by(proxy));
  far = live_open(live_url());
  return 0;
}

static int teardown(void **state)
{
  near = dibs_close(near);
  far = dibs_close(far);
  proxy = test_proxy_stop(proxy);
  return live_server_teardown(state);
}

int main(int argc, char **argv)
{
  if (argc == 2 && strcmp(argv[0], "holder") == 0)
    return be_holder(argv[1]);
  return tests_run(setup, teardown, NULL, NULL);
}
