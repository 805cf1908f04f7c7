/* SPDX-License-Identifier: MIT */
/* test/live/local_start_test.c - however many start the private server, and whatever was
 * killed before, there is exactly one. */
#include "tests.h"

#include <stdint.h>

#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "local_parts.h"

enum { STARTERS = 20, ROUNDS = 8 };

struct starter_news {
  dibs_status status;
  pid_t server;
  dibs_error error;
};

struct crowd {
  int start[2], news[2], leave[2];
  pid_t all[STARTERS];
};

/* Waits for the end of `start`, joins, tells, and stays until the end of `leave`. */
static _Noreturn void be_a_starter(const struct crowd *crowd)
{
  struct starter_news news = { 0 };
  char url[320], byte;
  int fd = -1;

  (void)close(crowd->start[1]);
  (void)close(crowd->leave[1]);
  (void)!read(crowd->start[0], &byte, 1);
  news.status = local_join(url, sizeof(url), &fd, &news.error);
  news.server = server_pid();
  (void)!write(crowd->news[1], &news, sizeof(news));
  (void)!read(crowd->leave[0], &byte, 1);
  _exit(0);
}

static void gather(struct crowd *crowd)
{
  assert_int_equal(pipe(crowd->start) | pipe(crowd->news) | pipe(crowd->leave), 0);
  for (int i = 0; i < STARTERS; i++) {
    crowd->all[i] = fork_child();
    if (crowd->all[i] == 0)
      be_a_starter(crowd);
  }
}

static void disperse(struct crowd *crowd)
{
  (void)close(crowd->leave[1]);
  for (int i = 0; i < STARTERS; i++)
    assert_int_equal(promise_waitpid(crowd->all[i], NULL, 0), crowd->all[i]);
  (void)close(crowd->start[0]);
  (void)close(crowd->leave[0]);
  (void)close(crowd->news[0]);
  (void)close(crowd->news[1]);
}

/* All start at once; the pid of the one server they all found. */
static pid_t one_round(struct crowd *crowd)
{
  pid_t server = 0;

  (void)close(crowd->start[1]);
  for (int i = 0; i < STARTERS; i++) {
    struct starter_news news;
    assert_int_equal(read(crowd->news[0], &news, sizeof(news)), sizeof(news));
    if (news.status != DIBS_OK)
      print_error("%s\n", news.error.text);
    assert_int_equal(news.status, DIBS_OK);
    if (server == 0)
      server = news.server;
    assert_int_equal(news.server, server);
  }
  assert_int_not_equal(server, 0);
  assert_int_equal(servers_count(runtime), 1);
  assert_int_not_equal(supervisor_pid(), 0);
  return server;
}

static void rounds_after(void (*fault)(pid_t server, pid_t supervisor))
{
  for (int i = 0; i < ROUNDS; i++) {
    struct crowd crowd;
    gather(&crowd);
    fault(server_pid(), supervisor_pid());
    (void)one_round(&crowd);
    disperse(&crowd);
  }
}

static void stop_it(pid_t server, pid_t supervisor)
{
  (void)server, (void)supervisor;
  assert_int_equal(dibs_local_stop(false, NULL), DIBS_OK);
}

static void kill_server(pid_t server, pid_t supervisor)
{
  (void)supervisor;
  if (server > 0)
    (void)kill(server, SIGKILL);
}

static void kill_supervisor(pid_t server, pid_t supervisor)
{
  (void)server;
  /* Waited for: one that is about to die still has its lock, and starters believe it. */
  kill_and_wait(supervisor);
}

static void kill_both(pid_t server, pid_t supervisor)
{
  kill_supervisor(server, supervisor);
  kill_server(server, supervisor);
}

TEST(twenty_starters_get_one_server)
{
  rounds_after(stop_it);
}

TEST(twenty_starters_get_one_server_after_its_kill)
{
  rounds_after(kill_server);
}

TEST(twenty_starters_get_one_server_after_the_supervisor_s_kill)
{
  rounds_after(kill_supervisor);
}

TEST(twenty_starters_get_one_server_after_both_kills)
{
  rounds_after(kill_both);
}

/* The child's life ends in the middle of its start, later each time. */
TEST(a_starter_killed_in_the_middle_leaves_no_second_server)
{
  for (int delay = 0; delay < 30; delay += 2) {
    char url[320];
    int fd;
    pid_t child = fork_child();

    if (child == 0) {
      (void)!local_join(url, sizeof(url), &fd, NULL);
      (void)pause();
    }
    nap_ms(delay);
    kill_and_wait(child);
    (void)promise_waitpid(child, NULL, 0);
    assert_int_equal(local_join(url, sizeof(url), &fd, NULL), DIBS_OK);
    assert_int_equal(servers_count(runtime), 1);
    (void)close(fd);
    assert_int_equal(dibs_local_stop(false, NULL), DIBS_OK);
  }
}

TEST(a_killed_supervisor_is_replaced_and_the_server_stays)
{
  dibs_local_info info = { .size = sizeof(info) };
  pid_t supervisor, server;
  char url[320];
  int fd;

  assert_int_equal(dibs_local_start(0, false, &info, NULL), DIBS_OK);
  server = (pid_t)info.server_pid;
  supervisor = supervisor_pid();
  assert_int_equal(parent_of(server), supervisor);
  kill_and_wait(supervisor);
  assert_int_equal(supervisor_pid(), 0);
  assert_int_equal(local_join(url, sizeof(url), &fd, NULL), DIBS_OK);
  assert_int_equal(server_pid(), server);
  assert_int_not_equal(supervisor_pid(), 0);
  assert_int_not_equal(supervisor_pid(), supervisor);
  (void)close(fd);
}

TEST(a_stale_socket_is_replaced)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  place p;

  p = where();
  assert_int_equal(place_make(&p, NULL), DIBS_OK);
  memcpy(address.sun_path, p.socket, strlen(p.socket));
  assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
  (void)close(fd);
  assert_int_equal(access(p.socket, F_OK), 0);
  assert_int_equal(dibs_local_start(0, false, NULL, NULL), DIBS_OK);
  assert_int_not_equal(server_pid(), 0);
}

TEST(a_stopped_server_is_told_with_its_pid_within_five_seconds)
{
  dibs_local_info info = { .size = sizeof(info) };
  dibs_error error = DIBS_ERROR_INIT;
  int64_t before;
  char words[32];

  assert_int_equal(dibs_local_start(0, false, &info, NULL), DIBS_OK);
  assert_int_equal(kill((pid_t)info.server_pid, SIGSTOP), 0);
  before = clock_ms();
  assert_int_equal(dibs_local_start(0, false, NULL, &error), DIBS_ERR_UNREACHABLE);
  assert_true(clock_ms() - before < 6000);
  (void)snprintf(words, sizeof(words), "process %ld ", (long)info.server_pid);
  assert_non_null(strstr(error.text, words));
  assert_int_equal(dibs_local_stop(false, &error), DIBS_OK);
  assert_true(is_gone((pid_t)info.server_pid));
}

static void *start_in_thread(void *ret_status)
{
  *(dibs_status *)ret_status = dibs_local_start(0, false, NULL, NULL);
  return NULL;
}

static volatile sig_atomic_t children_that_ended;

static void count_child(int number)
{
  (void)number;
  children_that_ended++;
}

/* The program must not notice: no SIGCHLD, no descriptor kept open, no thread tied. */
TEST(the_program_that_starts_it_is_not_disturbed)
{
  struct sigaction count = { .sa_handler = count_child }, before;
  dibs_status status = DIBS_BUSY;
  pthread_t thread;
  int ends[2];
  char byte;

  children_that_ended = 0;
  assert_int_equal(sigaction(SIGCHLD, &count, &before), 0);
  assert_int_equal(pipe(ends), 0);
  assert_int_equal(pthread_create(&thread, NULL, start_in_thread, &status), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(status, DIBS_OK);
  (void)close(ends[1]);
  assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
  assert_int_equal(read(ends[0], &byte, 1), 0);      /* the end: nobody else has it */
  (void)close(ends[0]);
  assert_int_equal(promise_waitpid(-1, NULL, WNOHANG), -1);
  assert_int_equal(errno, ECHILD);
  assert_int_equal(children_that_ended, 0);
  assert_int_not_equal(server_pid(), 0);
  (void)sigaction(SIGCHLD, &before, NULL);
}

TEST(it_starts_with_closed_stdio_too)
{
  pid_t child = fork_child();
  int how;

  if (child == 0) {
    dibs_status status;
    (void)close(0), (void)close(1), (void)close(2);
    status = dibs_local_start(0, false, NULL, NULL);
    _exit(status == DIBS_OK ? 0 : 1);
  }
  assert_int_equal(promise_waitpid(child, &how, 0), child);
  assert_int_equal(how, 0);
  assert_int_not_equal(server_pid(), 0);
}

RUN_TESTS_EACH(NULL, NULL, setup, teardown)
