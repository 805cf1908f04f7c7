/* SPDX-License-Identifier: MIT */
/* test/live/fork_test.c - a child inherits nothing: its handles say so, it sends no
 * byte, and the parent's lock outlives whatever becomes of it. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "live.h"
#include "proxy.h"

static struct test_proxy *proxy;
static dibs_client *client, *other;
static dibs_hold *hold;

static int setup(void **state)
{
  (void)live_server_setup(state);
  proxy = test_proxy_start(live_server);
  client = live_open(live_url_by(proxy));
  other = live_open(live_url());
  hold = live_lock(client, "parent", 60000);
  return 0;
}

static int teardown(void **state)
{
  assert_int_equal(dibs_release(hold), DIBS_OK);
  client = dibs_close(client);
  other = dibs_close(other);
  live_expect_clean(live_server);
  proxy = test_proxy_stop(proxy);
  return live_server_teardown(state);
}

/* In a child, which may not use cmocka: the number of the first line that is wrong, and on
 * stderr the last error of the library. */
static int wrong_at(int line, const char *fact)
{
  dibs_error error = DIBS_ERROR_INIT;

  (void)dibs_client_error(NULL, 0, &error);
  (void)fprintf(stderr, "# line %d: not %s; last error: %s %s\n", line, fact,
                dibs_status_name(error.status), error.text);
  return line % 250 + 1;
}

#define CHECK(fact) \
  do { \
    if (!(fact)) \
      return wrong_at(__LINE__, #fact); \
  } while (0)

/* The exit code of a child that runs `work`; -n when it died of signal n. */
static int fork_and_run(int (*work)(void))
{
  pid_t child;
  int status;

  (void)fflush(NULL);
  child = fork();
  assert_true(child >= 0);
  if (child == 0)
    _exit(work());
  assert_int_equal(promise_waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void expect_parent_is_well(void)
{
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
  live_refused(live_try(other, "parent"), DIBS_BUSY);
  assert_int_equal(live_try(client, "elsewhere"), DIBS_OK);
}

static void lock_ended(const dibs_error *error, dibs_hold *got, void *data)
{
  (void)error;
  (void)got;
  *(int *)data = 1;
}

static int all_answers_are_forked(void)
{
  char token[DIBS_TOKEN_SIZE];
  dibs_client_info stats = DIBS_CLIENT_INFO_INIT;
  dibs_inspection *seen = NULL;
  dibs_metrics *metrics = NULL;
  dibs_hold *none = NULL;
  int was_called = 0;

  CHECK(dibs_hold_state(hold) == DIBS_HOLD_GONE);
  CHECK(dibs_hold_valid_ms(hold) == 0);
  CHECK(dibs_hold_fence(hold) == 0);
  CHECK(live_info(hold).depth == 0);
  CHECK(dibs_hold_fd(hold) == -1);
  CHECK(dibs_hold_token(hold, token, sizeof(token)) == DIBS_ERR_FORKED);
  CHECK(dibs_hold_detach(hold) == DIBS_ERR_FORKED);
  CHECK(dibs_release(hold) == DIBS_ERR_FORKED);
  CHECK(dibs_release_async(hold, NULL, NULL) == DIBS_ERR_FORKED);
  CHECK(dibs_lock(client, "child", NULL, &none) == DIBS_ERR_FORKED);
  CHECK(dibs_try_lock(client, "child", NULL, &none) == DIBS_ERR_FORKED);
  CHECK(dibs_lock_async(client, "child", NULL, lock_ended, &was_called, NULL) ==
        DIBS_ERR_FORKED);
  CHECK(dibs_ping(client, 100, NULL) == DIBS_ERR_FORKED);
  CHECK(dibs_inspect(client, dibs_text("parent"), &seen) == DIBS_ERR_FORKED);
  CHECK(dibs_client_get_info(client, &stats) == DIBS_ERR_FORKED);
  CHECK(dibs_metrics_read(client, &metrics) == DIBS_ERR_FORKED && metrics == NULL);
  CHECK(dibs_break(client, dibs_text("parent"), "AAAAAAAAAAAAAAAAAAAAAA:1:1") == DIBS_ERR_FORKED);
  CHECK(dibs_fd(client) == -1);
  CHECK(dibs_process(client, NULL) == DIBS_ERR_FORKED);
  CHECK(none == NULL && seen == NULL && was_called == 0);
  client = dibs_close(client);
  return client == NULL ? 0 : 250;
}

TEST(a_child_is_told_and_sends_nothing)
{
  live_needs_one_server();
  uint64_t passed = test_proxy_counts(proxy).passed_to_server;
  uint64_t open = test_proxy_counts(proxy).open;

  assert_int_equal(fork_and_run(all_answers_are_forked), 0);
  assert_int_equal(test_proxy_counts(proxy).passed_to_server, passed);
  assert_int_equal(test_proxy_counts(proxy).open, open);
  expect_parent_is_well();
}

static int leave(void)
{
  return 0;
}

static int crash(void)
{
  (void)signal(SIGABRT, SIG_DFL);
  abort();
}

static int run_another_program(void)
{
  (void)execl("/bin/true", "true", (char *)NULL);
  return 100;
}

TEST(the_lock_outlives_exit_exec_and_crash_of_a_child)
{
  assert_int_equal(fork_and_run(leave), 0);
  expect_parent_is_well();
  assert_int_equal(fork_and_run(run_another_program), 0);
  expect_parent_is_well();
  assert_int_equal(fork_and_run(crash), -SIGABRT);
  expect_parent_is_well();
}

/* A child opens a client of its own, while the parent's threads are in the middle of it. */
static int open_anew(void)
{
  dibs_options o = live_options();
  dibs_client *own = NULL;
  dibs_hold *got = NULL;
  dibs_status status;

  CHECK(dibs_open(live_url(), &o, &own, NULL) == DIBS_OK);
  status = dibs_try_lock(own, "parent", NULL, &got);
  promise_kept(status != DIBS_OK, "a child has what its parent holds");
  CHECK(status == DIBS_BUSY);
  CHECK(dibs_lock(own, "child", NULL, &got) == DIBS_OK);
  CHECK(dibs_hold_state(got) == DIBS_HOLD_HELD);
  CHECK(dibs_release(got) == DIBS_OK);
  own = dibs_close(own);
  return 0;
}

TEST(a_child_may_open_a_client_of_its_own)
{
  assert_int_equal(fork_and_run(open_anew), 0);
  expect_parent_is_well();
}

/* ---- a canceller that was made before ---- */

static dibs_canceller *canceller;

static void cancel_it(int signal)
{
  (void)signal;
  dibs_cancel(canceller);
}

static int cancel_a_wait(void)
{
  struct sigaction action = { .sa_handler = cancel_it };
  dibs_lock_options o = live_lock_options(20000, LIVE_LONG_MS);
  dibs_client *own = NULL;
  dibs_hold *got = NULL;
  dibs_status status;

  CHECK(dibs_open(live_url(), NULL, &own, NULL) == DIBS_OK);
  CHECK(sigaction(SIGALRM, &action, NULL) == 0);
  (void)alarm(1);
  o.cancel = canceller;
  status = dibs_lock(own, "parent", &o, &got);
  promise_kept(status != DIBS_OK, "a child has what its parent holds");
  CHECK(status == DIBS_CANCELLED);
  own = dibs_close(own);
  canceller = dibs_canceller_free(canceller);
  return 0;
}

TEST(a_canceller_ends_the_calls_of_its_own_process)
{
  dibs_lock_options o = live_lock_options(20000, DIBS_FOREVER);
  struct live_ask ask;

  live_expect_ok(dibs_canceller_new(&canceller));
  o.cancel = canceller;
  live_ask_begin(&ask, other, "parent", &o);
  assert_int_equal(fork_and_run(cancel_a_wait), 0);
  live_still_waits(&ask, 300);
  assert_int_equal(fork_and_run(cancel_a_wait), 0);      /* a second child */
  live_still_waits(&ask, 300);
  dibs_cancel(canceller);
  assert_true(live_ask_wait(&ask, LIVE_LONG_MS));
  assert_int_equal(ask.status, DIBS_CANCELLED);
  canceller = dibs_canceller_free(canceller);
  expect_parent_is_well();
}

enum { OWN_MAX = 200 };

/* As a daemon, which closes what it has inherited, and has files then when it leaves main(). */
static int close_after_files_of_its_own(void)
{
  int own[OWN_MAX];

  for (int fd = 3; fd < OWN_MAX; fd++)
    (void)syscall(SYS_close, fd);
  for (int i = 0; i < OWN_MAX; i++)
    CHECK((own[i] = open("/dev/null", O_RDONLY)) >= 0);
  client = dibs_close(client);
  for (int i = 0; i < OWN_MAX; i++)
    CHECK(fcntl(own[i], F_GETFD) >= 0);
  return 0;
}

TEST(a_close_in_a_child_closes_none_of_the_childs_files)
{
  assert_int_equal(fork_and_run(close_after_files_of_its_own), 0);
  expect_parent_is_well();
}

static int close_another(uint32_t flags)
{
  dibs_options o = live_options();
  dibs_client *own = client;
  int code;

  o.flags |= flags;
  live_expect_ok(dibs_open(live_url(), &o, &client, NULL));
  live_expect_ok(dibs_release(live_lock(client, "before", LIVE_LONG_MS)));
  code = fork_and_run(close_after_files_of_its_own);
  client = dibs_close(client);
  client = own;
  return code;
}

/* A program that never asked for dibs_fd() does not know that one either. */
TEST(a_close_of_a_client_without_its_threads_closes_none_either)
{
  assert_int_equal(close_another(DIBS_CLIENT_NO_THREAD), 0);
  assert_int_equal(close_another(DIBS_CLIENT_PROCESS_CALLBACKS), 0);
  expect_parent_is_well();
}

static _Atomic bool is_over;

static void *keep_busy(void *data)
{
  (void)data;
  while (!atomic_load(&is_over)) {
    dibs_hold *got = NULL;
    dibs_error error = DIBS_ERROR_INIT;

    if (dibs_lock(client, "busy", NULL, &got) == DIBS_OK && dibs_release(got) == DIBS_OK)
      continue;
    (void)dibs_client_error(client, 0, &error);
    live_fault("the parent's other thread is disturbed: %s %s", dibs_status_name(error.status),
               error.text);
  }
  return NULL;
}

/* The runtime of gcc's ASan before 14 does not free the mutexes of its allocator in a child:
 * one that another thread held at the fork stays locked, and what allocates there hangs. */
#ifdef __SANITIZE_ADDRESS__
#define CHILD_MAY_ALLOCATE false
#else
#define CHILD_MAY_ALLOCATE true
#endif

static int answer_at_once(void)
{
  dibs_hold *none = NULL;

  (void)alarm(5);      /* a mutex that another thread held at the fork would hang */
  CHECK(dibs_try_lock(client, "busy", NULL, &none) == DIBS_ERR_FORKED);
  CHECK(dibs_hold_state(hold) == DIBS_HOLD_GONE);
  CHECK(dibs_release(hold) == DIBS_ERR_FORKED);
  return CHILD_MAY_ALLOCATE ? open_anew() : 0;
}

TEST(a_fork_amid_calls_of_other_threads_is_no_different)
{
  pthread_t thread;

  atomic_store(&is_over, false);
  assert_int_equal(pthread_create(&thread, NULL, keep_busy, NULL), 0);
  for (long run = live_times(30); run > 0; run--)
    assert_int_equal(fork_and_run(answer_at_once), 0);
  atomic_store(&is_over, true);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(live_faults(), 0);
  expect_parent_is_well();
}

static int close_at_once(void)
{
  (void)alarm(5);
  client = dibs_close(client);
  return client == NULL ? 0 : 250;
}

/* What is freed there must not be a copy of what was being changed here. */
TEST(a_child_may_close_amid_calls_of_the_parents_threads)
{
  pthread_t threads[3];

  atomic_store(&is_over, false);
  for (int i = 0; i < 3; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, keep_busy, NULL), 0);
  for (long run = live_times(400); run > 0; run--)
    assert_int_equal(fork_and_run(close_at_once), 0);
  atomic_store(&is_over, true);
  for (int i = 0; i < 3; i++)
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  assert_int_equal(live_faults(), 0);
  expect_parent_is_well();
}

/* A child that has all descriptors of ours, and does nothing. fork() would run the library's
 * handler, which closes them. */
static pid_t clone_and_stay(void)
{
  pid_t child;

  (void)fflush(NULL);
  child = (pid_t)syscall(SYS_clone, (unsigned long)SIGCHLD, 0UL, 0UL, 0UL, 0UL);
  assert_true(child >= 0);
  if (child > 0)
    return child;
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (;;)
    (void)pause();
}

static void end(pid_t child)
{
  assert_int_equal(kill(child, SIGKILL), 0);
  assert_int_equal(promise_waitpid(child, NULL, 0), child);
}

static int connections(void)
{
  const char *at = test_server_command(live_server, "CLIENT LIST");
  int count = 0;

  while ((at = strstr(at, " name=dibs:")) != NULL) {
    at++;
    count++;
  }
  return count;
}

static bool has_connections(void *count)
{
  return connections() == *(int *)count;
}

TEST(what_the_parent_closes_is_closed_although_a_child_has_it)
{
  live_needs_one_view();
  int before = connections();
  dibs_client *own = live_open(live_url());
  pid_t child;

  assert_int_equal(live_try(own, "own"), DIBS_OK);
  assert_int_equal(connections(), before + 1);
  child = clone_and_stay();
  own = dibs_close(own);
  assert_true(live_until(LIVE_LONG_MS, has_connections, &before));
  end(child);
}

/* The newest connection of a dibs client is cut by the server. */
static void cut_the_newest(void)
{
  const char *line = test_server_command(live_server, "CLIENT LIST");
  long long id, newest = 0;

  for (; line != NULL; line = strchr(line, '\n'), line += line != NULL) {
    size_t size = strcspn(line, "\n");
    const char *name = strstr(line, " name=dibs:");

    if (name != NULL && name < line + size && sscanf(line, "id=%lld", &id) == 1 && id > newest)
      newest = id;
  }
  assert_int_equal(test_server_integer(live_server, "CLIENT KILL ID %lld", newest), 1);
}

static int64_t cpu_ms(void)
{
  struct timespec used;

  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return (int64_t)used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

TEST(a_connection_that_broke_costs_nothing_although_a_child_has_it)
{
  live_needs_one_view();
  dibs_client *own = live_open(live_url());
  pid_t child;
  int64_t used;

  assert_int_equal(live_try(own, "own"), DIBS_OK);
  child = clone_and_stay();
  cut_the_newest();
  assert_int_equal(live_try(own, "own"), DIBS_OK);
  used = cpu_ms();
  (void)poll(NULL, 0, 500);
  assert_in_range(cpu_ms() - used, 0, 100);
  own = dibs_close(own);
  end(child);
}

int main(void)
{
  if (live_is_lost_to_tsan())
    return 0;

  return tests_run(setup, teardown, NULL, NULL);
}
