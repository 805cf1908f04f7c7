/* SPDX-License-Identifier: MIT */
/* test/live/latch_crowd_test.c - everybody who waits for a latch is released: crowds over
 * several processes within a second of zero, whoever counts, also when all subscribers were
 * cut off just before, when it is armed again at once, or when messages are forbidden.
 * DIBS_TEST_SCALE=5 makes the crowd 1 000 over 20 processes. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live.h"

#define NAME "gate"
#define CHANNEL "redisson_countdownlatch__channel__{gate}"

enum { SOON_MS = 1000, PROCESSES_MAX = 20, THREADS_MAX = 25 };

/* Shared by all processes. */
struct board {
  _Atomic int begun, released, wrong;
  _Atomic int64_t last_us;       /* when the last one was released, by the wall clock */
};

static struct board *board;
static dibs_client *client;

#define run(...) test_server_command(live_server, __VA_ARGS__)

/* ---- one process of the crowd ---- */

static void note_end(const dibs_error *error, void *data)
{
  int64_t now = live_wall_us(), last = atomic_load(&board->last_us);

  (void)data;
  while (now > last && !atomic_compare_exchange_weak(&board->last_us, &last, now))
    ;
  if (error->status != DIBS_OK)
    atomic_fetch_add(&board->wrong, 1);
  atomic_fetch_add(&board->released, 1);
}

static void *wait_blocked(void *of)
{
  dibs_error error = DIBS_ERROR_INIT;

  atomic_fetch_add(&board->begun, 1);
  error.status = dibs_latch_await(of, NAME, NULL);
  note_end(&error, NULL);
  return NULL;
}

/* As many threads as callbacks. */
static void crowd_process(int threads)
{
  pthread_t all[THREADS_MAX];
  dibs_client *mine = NULL;

  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (dibs_open(live_url(), NULL, &mine, NULL) != DIBS_OK)
    _exit(2);
  for (int i = 0; i < threads; i++) {
    atomic_fetch_add(&board->begun, 1);
    if (dibs_latch_await_async(mine, NAME, NULL, note_end, NULL, NULL) != DIBS_OK)
      _exit(3);
    if (pthread_create(&all[i], NULL, wait_blocked, mine) != 0)
      _exit(4);
  }
  for (int i = 0; i < threads; i++)
    (void)pthread_join(all[i], NULL);
  while (atomic_load(&board->released) < atomic_load(&board->begun))
    (void)poll(NULL, 0, 5);
  mine = dibs_close(mine);
  _exit(0);
}

/* ---- the crowd ---- */

struct crowd {
  int processes, threads;
  pid_t pids[PROCESSES_MAX];
};

static bool all_have_begun(void *data)
{
  const struct crowd *c = data;
  char listening[160];

  (void)snprintf(listening, sizeof(listening), "[%s, %d]", CHANNEL, c->processes);
  return atomic_load(&board->begun) == 2 * c->processes * c->threads &&
         strcmp(run("PUBSUB NUMSUB %s", CHANNEL), listening) == 0;
}

static bool all_are_released(void *data)
{
  const struct crowd *c = data;

  return atomic_load(&board->released) == 2 * c->processes * c->threads;
}

static int at_most(long value, int most)
{
  return value > most ? most : (int)value;
}

static void crowd_begin(struct crowd *c)
{
  memset(board, 0, sizeof(*board));
  c->processes = at_most(live_times(4), PROCESSES_MAX);
  c->threads = at_most(live_times(5), THREADS_MAX);
  client = dibs_close(client);           /* its threads are not for the children */
  for (int i = 0; i < c->processes; i++) {
    c->pids[i] = fork();
    assert_true(c->pids[i] >= 0);
    if (c->pids[i] == 0)
      crowd_process(c->threads);
  }
  client = live_open(live_url());
  if (!live_until(LIVE_LONG_MS, all_have_begun, c))
    fail_msg("%d have begun, listening: %s", atomic_load(&board->begun),
             run("PUBSUB NUMSUB %s", CHANNEL));
  (void)poll(NULL, 0, 50);       /* the first questions of all are answered, or not: both do */
  promise_kept(atomic_load(&board->released) == 0, "%d went on before zero",
               atomic_load(&board->released));
}

/* Zero was at `zero_us`. */
static void crowd_end(struct crowd *c, int64_t zero_us)
{
  int status;

  if (!live_until(LIVE_LONG_MS, all_are_released, c))
    fail_msg("%d of %d are released", atomic_load(&board->released),
             2 * c->processes * c->threads);
  for (int i = 0; i < c->processes; i++) {
    assert_int_equal(promise_waitpid(c->pids[i], &status, 0), c->pids[i]);
    assert_int_equal(status, 0);
  }
  assert_int_equal(atomic_load(&board->wrong), 0);
  if (atomic_load(&board->last_us) - zero_us > SOON_MS * INT64_C(1000))
    fail_msg("the last one went %lld ms after zero",
             (long long)(atomic_load(&board->last_us) - zero_us) / 1000);
}

static void count_to_zero(int64_t count)
{
  int64_t left = -1;

  for (int64_t i = 1; i <= count; i++) {
    live_expect(client, dibs_latch_down(client, NAME, 1, NULL, &left), DIBS_OK);
    assert_int_equal(left, count - i);
  }
}

TEST(all_waiters_of_all_processes_return_within_a_second)
{
  live_needs_one_view();
  struct crowd c;
  int64_t zero_us;

  live_expect(client, dibs_latch_set(client, NAME, 3), DIBS_OK);
  crowd_begin(&c);
  zero_us = live_wall_us();
  count_to_zero(3);
  crowd_end(&c, zero_us);
}

/* All subscribers gone and zero reached in one step, so that none is back in between. */
static void cut_off_and_count(void)
{
  static const char words[] = "MULTI\r\nCLIENT KILL TYPE pubsub\r\nDECR " NAME "\r\nDEL " NAME
                              "\r\nPUBLISH " CHANNEL " 0\r\nEXEC\r\n";
  struct sockaddr_un at = { .sun_family = AF_UNIX };
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  char answers[512];

  (void)snprintf(at.sun_path, sizeof(at.sun_path), "%s", test_server_socket(live_server));
  assert_int_equal(connect(fd, (const struct sockaddr *)(const void *)&at, sizeof(at)), 0);
  assert_int_equal(write(fd, words, sizeof(words) - 1), sizeof(words) - 1);
  assert_int_equal(shutdown(fd, SHUT_WR), 0);
  while (read(fd, answers, sizeof(answers)) > 0)
    ;
  (void)close(fd);
  assert_int_equal(test_server_integer(live_server, "EXISTS %s", NAME), 0);
}

TEST(also_when_all_subscribers_are_cut_off_just_before)
{
  live_needs_one_server();
  struct crowd c;
  int64_t zero_us;

  live_expect(client, dibs_latch_set(client, NAME, 1), DIBS_OK);
  crowd_begin(&c);
  zero_us = live_wall_us();
  cut_off_and_count();
  crowd_end(&c, zero_us);
}

TEST(also_when_every_connection_is_cut_off_just_before)
{
  live_needs_one_view();
  struct crowd c;
  int64_t zero_us;

  live_expect(client, dibs_latch_set(client, NAME, 1), DIBS_OK);
  crowd_begin(&c);
  (void)run("CLIENT KILL TYPE pubsub");
  (void)run("CLIENT KILL TYPE normal");
  zero_us = live_wall_us();
  count_to_zero(1);
  crowd_end(&c, zero_us);
}

TEST(also_when_java_counts)
{
  live_needs_one_view();
  struct crowd c;
  int64_t zero_us;

  (void)run("SET %s 2", NAME);
  crowd_begin(&c);
  zero_us = live_wall_us();
  assert_int_equal(test_server_integer(live_server, "DECR %s", NAME), 1);
  assert_int_equal(test_server_integer(live_server, "DECR %s", NAME), 0);
  (void)run("DEL %s", NAME);
  (void)run("PUBLISH %s 0", CHANNEL);
  crowd_end(&c, zero_us);
}

TEST(also_when_it_is_armed_again_at_once)
{
  live_needs_one_view();
  struct crowd c;
  int64_t zero_us;

  live_expect(client, dibs_latch_set(client, NAME, 1), DIBS_OK);
  crowd_begin(&c);
  (void)run("CLIENT KILL TYPE pubsub");
  zero_us = live_wall_us();
  count_to_zero(1);
  live_expect(client, dibs_latch_set(client, NAME, 1), DIBS_OK);
  crowd_end(&c, zero_us);
  count_to_zero(1);
}

static bool one_is_released(void *data)
{
  (void)data;
  return atomic_load(&board->released) == 1;
}

TEST(where_messages_are_forbidden_it_polls)
{
  live_needs_one_server();
  char url[256];
  dibs_client *deaf;
  int64_t before;

  memset(board, 0, sizeof(*board));
  (void)run("ACL SETUSER deaf on >pw ~* +@all resetchannels");
  (void)snprintf(url, sizeof(url), "redis://deaf:pw@127.0.0.1:%d",
                 test_server_port(live_server));
  deaf = live_open(url);
  live_expect(client, dibs_latch_set(client, NAME, 1), DIBS_OK);
  live_expect(deaf, dibs_latch_await_async(deaf, NAME, NULL, note_end, NULL, NULL), DIBS_OK);
  assert_false(live_until(300, one_is_released, NULL));
  before = live_now_ms();
  count_to_zero(1);
  assert_true(live_until(LIVE_LONG_MS, one_is_released, NULL));
  assert_true(live_now_ms() - before < 3500);
  assert_int_equal(atomic_load(&board->wrong), 0);
  assert_null(dibs_close(deaf));
  assert_int_equal(test_server_integer(live_server, "ACL DELUSER deaf"), 1);
}

static int setup(void **state)
{
  board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(board != MAP_FAILED);
  (void)live_server_setup(state);
  client = live_open(live_url());
  return 0;
}

static int teardown(void **state)
{
  client = dibs_close(client);
  return live_server_teardown(state);
}

RUN_TESTS(setup, teardown)
