/* SPDX-License-Identifier: MIT */
/* test/live/smoke_test.c - the library as a whole against a real server: the shortest way
 * through everything. Each mode of driving goes the same way. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dibs/dibs.h>

#include "live.h"
#include "server.h"

static struct test_server *server;

static dibs_client *open_with(const char *url, uint32_t flags)
{
  dibs_options options = DIBS_OPTIONS_INIT;
  dibs_client *client = NULL;
  dibs_error error = DIBS_ERROR_INIT;

  options.flags = flags;
  if (dibs_open(url, &options, &client, &error) != DIBS_OK)
    fail_msg("%s", error.text);
  return client;
}

static dibs_client *open_one(void)
{
  return open_with(test_server_url(server), 0);
}

static void lock_busy_release(const char *url, uint32_t flags)
{
  dibs_client *a = open_with(url, flags), *b = open_with(url, flags);
  dibs_hold *first = NULL, *second = NULL;
  uint64_t fence;

  assert_int_equal(dibs_lock(a, "door", NULL, &first), DIBS_OK);
  fence = dibs_hold_fence(first);
  assert_true(fence > 0);
  assert_int_equal(dibs_hold_state(first), DIBS_HOLD_HELD);
  assert_in_range(dibs_hold_valid_ms(first), 1, 30000);
  live_refused(dibs_try_lock(b, "door", NULL, &second), DIBS_BUSY);
  assert_null(second);
  assert_int_equal(dibs_release(first), DIBS_OK);
  assert_int_equal(dibs_release(first), DIBS_ERR_STALE);
  assert_int_equal(dibs_hold_state(first), DIBS_HOLD_GONE);
  assert_int_equal(dibs_try_lock(b, "door", NULL, &second), DIBS_OK);
  PROMISE_GROWN(dibs_hold_fence(second), fence);
  assert_int_equal(dibs_release(second), DIBS_OK);
  assert_null(dibs_close(a));
  assert_null(dibs_close(b));
}

TEST(one_holds_the_other_is_told_busy)
{
  lock_busy_release(test_server_url(server), 0);
}

TEST(the_same_without_a_thread)
{
  lock_busy_release(test_server_url(server), DIBS_CLIENT_NO_THREAD);
}

TEST(the_same_over_tcp_by_name)
{
  char url[64];

  if (access("/etc/hosts", F_OK) != 0)
    skip();                    /* a bare change of root: nobody knows the name */
  (void)snprintf(url, sizeof(url), "redis://localhost:%d", test_server_port(server));
  lock_busy_release(url, 0);
  lock_busy_release(url, DIBS_CLIENT_NO_THREAD);
}

typedef struct visitor {
  dibs_client *client;
  dibs_status status;
  uint64_t fence;
} visitor;

static void *visit(void *data)
{
  visitor *v = data;
  dibs_hold *hold = NULL;

  v->status = dibs_lock(v->client, "queue", NULL, &hold);
  if (v->status == DIBS_OK) {
    v->fence = dibs_hold_fence(hold);
    v->status = dibs_release(hold);
  }
  return NULL;
}

static void waiting_until(dibs_client *client, uint64_t count)
{
  dibs_client_info stats = DIBS_CLIENT_INFO_INIT;

  do {
    assert_int_equal(dibs_client_get_info(client, &stats), DIBS_OK);
    (void)usleep(200);
  } while (stats.waiting < count);
}

TEST(release_hands_over_to_who_waits)
{
  dibs_client *a = open_one(), *b = open_one();
  visitor v = { .client = b };
  dibs_hold *hold = NULL;
  pthread_t thread;
  uint64_t fence;

  assert_int_equal(dibs_lock(a, "queue", NULL, &hold), DIBS_OK);
  fence = dibs_hold_fence(hold);
  assert_int_equal(pthread_create(&thread, NULL, visit, &v), 0);
  waiting_until(b, 1);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(v.status, DIBS_OK);
  PROMISE_GROWN(v.fence, fence);
  assert_null(dibs_close(a));
  assert_null(dibs_close(b));
}

static atomic_int losses;
static dibs_status why_lost;

static void count_loss(dibs_hold *hold, const dibs_loss *loss, void *data)
{
  why_lost = loss->why;
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_GONE);
  *(dibs_status *)data = dibs_release(hold);    /* allowed here, and does not block */
  atomic_fetch_add(&losses, 1);
}

TEST(a_deleted_key_is_a_loss_told_once)
{
  dibs_client *client = open_one();
  dibs_lock_options options = DIBS_LOCK_OPTIONS_INIT;
  dibs_status released = DIBS_OK;
  dibs_hold *hold = NULL;
  struct pollfd lost;

  atomic_store(&losses, 0);
  options.ttl_ms = 600;
  options.on_lost = count_loss;
  options.on_lost_data = &released;
  assert_int_equal(dibs_lock(client, "gone", &options, &hold), DIBS_OK);
  lost = (struct pollfd){ .fd = dibs_hold_fd(hold), .events = POLLIN };
  assert_true(lost.fd >= 0);
  assert_int_equal(poll(&lost, 1, 0), 0);
  assert_int_equal(test_server_integer(server, "DEL %s", "dibs:m:{gone}"), 1);
  assert_int_equal(poll(&lost, 1, 2000), 1);
  while (atomic_load(&losses) == 0)
    (void)usleep(200);
  assert_int_equal(why_lost, DIBS_LOST);
  assert_int_not_equal(released, DIBS_OK);
  assert_int_equal(dibs_release(hold), DIBS_ERR_STALE);
  assert_null(dibs_close(client));
  assert_int_equal(atomic_load(&losses), 1);
}

static void *close_it(void *client)
{
  return dibs_close(client);
}

TEST(close_ends_a_call_that_waits)
{
  dibs_client *a = open_one(), *b = open_one();
  visitor v = { .client = b };
  dibs_hold *hold = NULL;
  pthread_t thread, closer;

  assert_int_equal(dibs_lock(a, "queue", NULL, &hold), DIBS_OK);
  assert_int_equal(pthread_create(&thread, NULL, visit, &v), 0);
  waiting_until(b, 1);
  assert_int_equal(pthread_create(&closer, NULL, close_it, b), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(pthread_join(closer, NULL), 0);
  assert_int_equal(v.status, DIBS_ERR_CLOSED);
  assert_null(dibs_close(a));
  assert_int_equal(dibs_release(hold), DIBS_ERR_STALE);
}

TEST(close_gives_back_what_is_held)
{
  dibs_client *a = open_one(), *b = open_one();
  dibs_hold *hold = NULL;

  assert_int_equal(dibs_lock(a, "left", NULL, &hold), DIBS_OK);
  assert_null(dibs_close(a));
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_GONE);
  assert_int_equal(dibs_try_lock(b, "left", NULL, &hold), DIBS_OK);
  assert_null(dibs_close(b));
}

typedef struct answer {
  atomic_int count;
  dibs_status status;
  dibs_hold *hold;
} answer;

static void answered(const dibs_error *error, dibs_hold *hold, void *data)
{
  answer *a = data;

  a->status = error->status;
  a->hold = hold;
  atomic_fetch_add(&a->count, 1);
}

TEST(one_descriptor_serves_a_loop)
{
  dibs_client *client = open_with(test_server_url(server), DIBS_CLIENT_NO_THREAD);
  struct pollfd loop = { .fd = dibs_fd(client), .events = POLLIN };
  answer a = { .count = 0 };
  int64_t left = 0;

  assert_true(loop.fd >= 0);
  assert_int_equal(dibs_lock_async(client, "loop", NULL, answered, &a, NULL), DIBS_OK);
  while (atomic_load(&a.count) == 0) {
    assert_int_equal(poll(&loop, 1, 3000), 1);
    assert_int_equal(dibs_process(client, &left), DIBS_OK);
  }
  assert_true(left > 0);
  assert_int_equal(a.status, DIBS_OK);
  assert_int_equal(dibs_release(a.hold), DIBS_OK);
  assert_null(dibs_close(client));
}

TEST(cancel_ends_a_wait)
{
  dibs_client *a = open_one(), *b = open_one();
  dibs_lock_options options = DIBS_LOCK_OPTIONS_INIT;
  dibs_canceller *canceller = NULL;
  dibs_hold *hold = NULL;
  answer result = { .count = 0 };

  assert_int_equal(dibs_canceller_new(&canceller), DIBS_OK);
  assert_int_equal(dibs_lock(a, "wait", NULL, &hold), DIBS_OK);
  options.cancel = canceller;
  assert_int_equal(dibs_lock_async(b, "wait", &options, answered, &result, NULL), DIBS_OK);
  waiting_until(b, 1);
  dibs_cancel(canceller);
  while (atomic_load(&result.count) == 0)
    (void)usleep(200);
  assert_int_equal(result.status, DIBS_CANCELLED);
  assert_null(result.hold);
  assert_int_equal(dibs_lock(b, "wait", &options, &result.hold), DIBS_CANCELLED);
  assert_null(dibs_close(b));
  assert_null(dibs_close(a));
  assert_null(dibs_canceller_free(canceller));
}

TEST(a_child_has_nothing_and_sends_nothing)
{
  dibs_client *client = open_one();
  dibs_hold *hold = NULL, *other = NULL;
  dibs_client_info stats = DIBS_CLIENT_INFO_INIT;
  int how;
  pid_t child;

  assert_int_equal(dibs_lock(client, "parent", NULL, &hold), DIBS_OK);
  child = fork();
  if (child == 0) {
    bool is_right = dibs_release(hold) == DIBS_ERR_FORKED &&
                    dibs_hold_state(hold) == DIBS_HOLD_GONE && dibs_hold_fd(hold) == -1 &&
                    dibs_try_lock(client, "child", NULL, &other) == DIBS_ERR_FORKED &&
                    dibs_client_get_info(client, &stats) == DIBS_ERR_FORKED &&
                    dibs_close(client) == NULL;
    _exit(is_right ? 0 : 1);
  }
  assert_int_equal(promise_waitpid(child, &how, 0), child);
  assert_int_equal(how, 0);
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  assert_null(dibs_close(client));
}

TEST(inspect_names_the_holder)
{
  dibs_client *client = open_one();
  dibs_lock_options options = DIBS_LOCK_OPTIONS_INIT;
  dibs_inspection *in = NULL;
  dibs_hold *hold = NULL;
  char lease[96];

  options.note = "nightly run";
  assert_int_equal(dibs_lock(client, "seen", &options, &hold), DIBS_OK);
  assert_int_equal(dibs_inspect(client, dibs_text("seen"), &in), DIBS_OK);
  assert_true(in->is_held);
  assert_string_equal(in->name, "seen");
  assert_int_equal(in->holder->pid, getpid());
  assert_string_equal(in->holder->version, DIBS_VERSION);
  assert_string_equal(in->holder->note, "nightly run");
  assert_int_equal(in->fence, dibs_hold_fence(hold));
  (void)snprintf(lease, sizeof(lease), "%s", in->lease);
  in = dibs_inspection_free(in);
  assert_int_equal(dibs_break(client, dibs_text("seen"), lease), DIBS_OK);
  assert_int_equal(dibs_break(client, dibs_text("seen"), lease), DIBS_EXPIRED);
  assert_int_not_equal(dibs_release(hold), DIBS_OK);
  assert_null(dibs_close(client));
}

TEST(tokens_outlive_a_detached_hold)
{
  dibs_client *a = open_one(), *b = open_one();
  char token[DIBS_TOKEN_SIZE];
  dibs_hold *hold = NULL;
  int64_t left = 0;

  assert_int_equal(dibs_lock(a, "passed on", NULL, &hold), DIBS_OK);
  assert_int_equal(dibs_hold_token(hold, token, sizeof(token)), DIBS_OK);
  assert_int_equal(dibs_hold_detach(hold), DIBS_OK);
  assert_int_equal(dibs_hold_detach(hold), DIBS_ERR_STALE);
  assert_null(dibs_close(a));
  assert_int_equal(dibs_token_renew(b, token, 60000, &left), DIBS_OK);
  assert_in_range(left, 50000, 60000);
  assert_int_equal(dibs_token_release(b, token), DIBS_OK);
  assert_int_equal(dibs_token_release(b, token), DIBS_OK);       /* may be repeated */
  assert_int_equal(dibs_token_renew(b, token, 60000, NULL), DIBS_EXPIRED);
  assert_null(dibs_close(b));
}

static bool count_names(const dibs_inspection *inspection, void *data)
{
  assert_true(inspection->is_held);
  (*(int *)data)++;
  return true;
}

TEST(list_walks_over_all_names)
{
  dibs_client *client = open_one();
  dibs_hold *holds[30];
  char name[32];
  int count = 0;

  for (int i = 0; i < 30; i++) {
    (void)snprintf(name, sizeof(name), "listed:%d", i);
    assert_int_equal(dibs_lock(client, name, NULL, &holds[i]), DIBS_OK);
  }
  assert_int_equal(dibs_list(client, "listed:*", count_names, &count), DIBS_OK);
  assert_int_equal(count, 30);
  assert_null(dibs_close(client));
}

static int server_start(void **state)
{
  (void)state;
  server = test_server_start();
  return 0;
}

static int server_end(void **state)
{
  (void)state;
  server = test_server_stop(server);
  return 0;
}

RUN_TESTS(server_start, server_end)
