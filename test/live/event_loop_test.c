/* SPDX-License-Identifier: MIT */
/* test/live/event_loop_test.c - one descriptor and dibs_process() are all that a loop of
 * the program's own needs: poll(), an outer edge-triggered epoll, with and without the
 * library's thread. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "other_client.h"

struct outcome {
  pthread_t thread;         /* on which the callback ran */
  dibs_status status;
  dibs_hold *hold;
  int calls;
};

static dibs_client *open_loop(unsigned flags)
{
  dibs_options o = live_options();
  dibs_client *client;

  o.flags |= flags;
  client = live_open_with(live_url(), &o);
  assert_true(dibs_fd(client) >= 0);
  return client;
}

static void locked(const dibs_error *error, dibs_hold *hold, void *data)
{
  struct outcome *o = data;

  o->thread = pthread_self();
  o->status = error->status;
  o->hold = hold;
  o->calls++;
}

static void released(const dibs_error *error, void *data)
{
  locked(error, NULL, data);
}

static void lost(dibs_hold *hold, const dibs_loss *loss, void *data)
{
  dibs_error error = { .status = loss->why };

  locked(&error, hold, data);
}

/* ---- the loops ---- */

typedef bool loop(dibs_client *client, const struct outcome *o, int until);

static int short_of(int64_t want_ms, int64_t end_ms)
{
  int64_t left = end_ms - live_now_ms();

  if (want_ms >= 0 && want_ms < left)
    left = want_ms;
  return left < 0 ? 0 : (int)left;
}

/* Obeys what dibs_process() asks for; false: `until` calls have not come in time. */
static bool by_poll(dibs_client *client, const struct outcome *o, int until)
{
  struct pollfd watch = { .fd = dibs_fd(client), .events = POLLIN };
  int64_t end = live_now_ms() + LIVE_LONG_MS, next = 0;

  while (o->calls < until && live_now_ms() < end) {
    (void)poll(&watch, 1, short_of(next, end));
    assert_int_equal(dibs_process(client, &next), DIBS_OK);
    assert_true(next >= -1);
  }
  return o->calls >= until;
}

/* The descriptor alone, without the time that dibs_process() answers. */
static bool by_descriptor_only(dibs_client *client, const struct outcome *o, int until)
{
  struct pollfd watch = { .fd = dibs_fd(client), .events = POLLIN };
  int64_t end = live_now_ms() + LIVE_LONG_MS;

  while (o->calls < until && live_now_ms() < end)
    if (poll(&watch, 1, short_of(-1, end)) == 1)
      assert_int_equal(dibs_process(client, NULL), DIBS_OK);
  return o->calls >= until;
}

/* An outer epoll that tells each readiness once: nothing may be left behind. */
static bool by_edge(dibs_client *client, const struct outcome *o, int until)
{
  struct epoll_event watch = { .events = EPOLLIN | EPOLLET }, told;
  int64_t end = live_now_ms() + LIVE_LONG_MS;
  int outer = epoll_create1(EPOLL_CLOEXEC);

  assert_int_equal(epoll_ctl(outer, EPOLL_CTL_ADD, dibs_fd(client), &watch), 0);
  while (o->calls < until && live_now_ms() < end)
    if (epoll_wait(outer, &told, 1, short_of(-1, end)) == 1)
      assert_int_equal(dibs_process(client, NULL), DIBS_OK);
  (void)close(outer);
  return o->calls >= until;
}

/* ---- one story for every loop: lock, wait for another, be renewed, release, be lost ---- */

static void lock_and_release(dibs_client *client, loop *run, const char *name)
{
  dibs_lock_options options = live_lock_options(300, 0);
  struct outcome got = { .calls = 0 }, gone = { .calls = 0 };

  live_expect(client, dibs_lock_async(client, name, &options, locked, &got, NULL), DIBS_OK);
  assert_int_equal(got.calls, 0);                    /* never inside the call */
  assert_true(run(client, &got, 1));
  assert_int_equal(got.status, DIBS_OK);
  assert_true(pthread_equal(got.thread, pthread_self()));
  live_refused_beside(got.hold, live_try(other, name), DIBS_BUSY);
  assert_int_equal(dibs_release_async(got.hold, released, &gone), DIBS_OK);
  assert_true(run(client, &gone, 1));
  assert_int_equal(gone.status, DIBS_OK);
  assert_int_equal(live_try(other, name), DIBS_OK);
}

static void wait_for_another(dibs_client *client, loop *run, const char *name)
{
  dibs_lock_options options = live_lock_options(3000, 0);
  dibs_hold *held = live_lock(other, name, 60000);
  struct outcome got = { .calls = 0 }, hasty = { .calls = 0 };

  live_expect(client, dibs_lock_async(client, name, &options, locked, &got, NULL), DIBS_OK);
  options.wait_ms = 50;
  live_expect(client, dibs_lock_async(client, name, &options, locked, &hasty, NULL), DIBS_OK);
  assert_true(run(client, &hasty, 1));
  live_refused(hasty.status, DIBS_TIMED_OUT);
  assert_int_equal(got.calls, 0);
  assert_int_equal(dibs_release(held), DIBS_OK);
  assert_true(run(client, &got, 1));
  assert_int_equal(got.status, DIBS_OK);
  assert_int_equal(dibs_release_async(got.hold, NULL, NULL), DIBS_OK);
}

static void be_renewed_and_lost(dibs_client *client, loop *run, const char *name)
{
  dibs_lock_options options = live_lock_options(600, 0);
  struct outcome got = { .calls = 0 }, gone = { .calls = 0 };
  dibs_status status;
  uint64_t renewed = live_stats(client).renewed;

  options.on_lost = lost;
  options.on_lost_data = &gone;
  live_expect(client, dibs_lock_async(client, name, &options, locked, &got, NULL), DIBS_OK);
  assert_true(run(client, &got, 1));
  assert_int_equal(got.status, DIBS_OK);
  while (live_stats(client).renewed < renewed + 3) {
    struct pollfd watch = { .fd = dibs_fd(client), .events = POLLIN };

    (void)poll(&watch, 1, 5);
    assert_int_equal(dibs_process(client, NULL), DIBS_OK);
    assert_int_not_equal(dibs_hold_state(got.hold), DIBS_HOLD_GONE);
  }
  assert_int_equal(test_server_integer(live_server, "DEL %s", live_key(name)), 1);
  assert_true(run(client, &gone, 1));
  assert_int_equal(dibs_hold_state(got.hold), DIBS_HOLD_GONE);
  assert_int_equal(gone.calls, 1);
  assert_int_equal(gone.status, DIBS_LOST);
  status = dibs_release(got.hold);      /* the server may have told more by now */
  assert_int_equal(status, DIBS_LOST);
}

static void tell_story(unsigned flags, loop *run)
{
  dibs_client *client = open_loop(flags);
  int fd = dibs_fd(client);

  for (long times = live_times(20); times > 0; times--)
    lock_and_release(client, run, "story");
  wait_for_another(client, run, "story");
  be_renewed_and_lost(client, run, "lost");
  assert_string_not_equal(test_server_command(live_server, "CLIENT KILL TYPE normal"), "0");
  lock_and_release(client, run, "after");
  assert_int_equal(dibs_fd(client), fd);             /* constant until the end */
  client = dibs_close(client);
}

TEST(poll_drives_a_client_without_thread)
{
  live_needs_one_view();
  tell_story(DIBS_CLIENT_NO_THREAD, by_poll);
}

TEST(the_descriptor_alone_drives_a_client_without_thread)
{
  live_needs_one_view();
  tell_story(DIBS_CLIENT_NO_THREAD, by_descriptor_only);
}

TEST(an_edge_triggered_epoll_drives_a_client_without_thread)
{
  live_needs_one_view();
  tell_story(DIBS_CLIENT_NO_THREAD, by_edge);
}

TEST(poll_runs_the_callbacks_of_a_client_with_thread)
{
  live_needs_one_view();
  tell_story(DIBS_CLIENT_PROCESS_CALLBACKS, by_descriptor_only);
}

TEST(an_edge_triggered_epoll_runs_the_callbacks_of_a_thread)
{
  live_needs_one_view();
  tell_story(DIBS_CLIENT_PROCESS_CALLBACKS, by_edge);
}

/* ---- what the flags promise ---- */

static int threads_now(void)
{
  DIR *tasks = opendir("/proc/self/task");
  int count = -2;              /* . and .. */

  assert_non_null(tasks);
  while (readdir(tasks) != NULL)
    count++;
  (void)closedir(tasks);
  return count;
}

TEST(a_client_without_thread_has_none_and_can_block)
{
  int before = threads_now();
  dibs_client *client = open_loop(DIBS_CLIENT_NO_THREAD);
  dibs_lock_options o = live_lock_options(3000, 50);
  dibs_hold *held = live_lock(other, "blocking", 60000), *hold = NULL;

  live_refused(dibs_lock(client, "blocking", &o, &hold), DIBS_TIMED_OUT);
  assert_int_equal(dibs_release(held), DIBS_OK);
  hold = live_lock(client, "blocking", 3000);
  assert_int_equal(threads_now(), before);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  client = dibs_close(client);
}

/* A turn of the loop less for each connection. */
TEST(over_a_unix_socket_the_call_that_connects_sends_the_greeting)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), server;
  dibs_options o = live_options();
  struct outcome asked = { .calls = 0 };
  char url[128], greeting[16];
  dibs_client *client;

  (void)snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/dibs-loop-%ld", (long)getpid());
  (void)snprintf(url, sizeof(url), "unix://%s", address.sun_path);
  assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
  assert_int_equal(listen(listener, 1), 0);
  o.flags |= DIBS_CLIENT_NO_THREAD;
  client = live_open_with(url, &o);
  assert_int_equal(dibs_lock_async(client, "greeted", NULL, locked, &asked, NULL), DIBS_OK);
  server = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
  assert_true(server >= 0);
  assert_int_equal(recv(server, greeting, sizeof(greeting), 0), sizeof(greeting));
  (void)close(server);
  (void)close(listener);
  (void)unlink(address.sun_path);
  client = dibs_close(client);
  assert_int_equal(asked.calls, 1);
}

TEST(with_callbacks_in_the_loop_renewals_need_no_loop)
{
  dibs_client *client = open_loop(DIBS_CLIENT_PROCESS_CALLBACKS);
  dibs_hold *hold = live_lock(client, "renewed", 300);

  while (live_stats(client).renewed < 5 && dibs_hold_state(hold) != DIBS_HOLD_GONE)
    (void)poll(NULL, 0, 5);
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  client = dibs_close(client);
}

TEST(a_client_without_flags_has_no_descriptor)
{
  assert_int_equal(dibs_fd(other), -1);
  assert_int_equal(dibs_process(other, NULL), DIBS_ERR_UNSUPPORTED);
}

struct insistent {
  dibs_client *client;
  int callbacks;
  dibs_status last;         /* of asking again */
};

/* Asks for the same lock again before it lets go: so each callback begets the next. */
static void ask_again(const dibs_error *error, dibs_hold *hold, void *data)
{
  struct insistent *i = data;

  i->callbacks++;
  i->last = dibs_lock_async(i->client, "again", NULL, ask_again, i, NULL);
  if (error->status == DIBS_OK)
    (void)dibs_release_async(hold, NULL, NULL);
}

TEST(callbacks_that_ask_again_do_not_keep_the_loop)
{
  dibs_client *client = open_loop(DIBS_CLIENT_NO_THREAD);
  struct insistent i = { .client = client };

  assert_int_equal(dibs_lock_async(client, "again", NULL, ask_again, &i, NULL), DIBS_OK);
  while (i.callbacks < 50) {
    struct pollfd watched = { .fd = dibs_fd(client), .events = POLLIN };

    assert_int_equal(poll(&watched, 1, LIVE_LONG_MS), 1);
    assert_int_equal(dibs_process(client, NULL), DIBS_OK);
  }
  client = dibs_close(client);
}

enum { HANDOFFS = 20000, WAITERS = 8 };

typedef struct chain { dibs_client *client; dibs_lock_options options; int begun, done; } chain;

static void pass_on(const dibs_error *error, dibs_hold *hold, void *data)
{
  chain *c = data;

  if (error->status != DIBS_OK)
    live_fault("not granted: %s", error->text);
  c->done++;
  if (c->begun < HANDOFFS) {
    c->begun++;
    live_expect_ok(dibs_lock_async(c->client, "chain", &c->options, pass_on, c, NULL));
  }
  live_expect_ok(dibs_release_async(hold, NULL, NULL));
}

/* Each call costs four system calls and more; a hand-over inside the process needs none. */
TEST(many_hand_overs_are_one_round_of_the_loop)
{
  live_needs_keys();
  dibs_options o = live_options();
  chain c = { .options = live_lock_options(20000, 0) };
  int rounds = 0;

  o.flags |= DIBS_CLIENT_NO_THREAD;
  o.local_handovers_max = 1000000;
  o.local_handover_ms = 60000;
  c.client = live_open_with(live_url(), &o);
  for (; c.begun < WAITERS; c.begun++)
    live_expect_ok(dibs_lock_async(c.client, "chain", &c.options, pass_on, &c, NULL));
  while (c.done < HANDOFFS) {
    struct pollfd wait = { .fd = dibs_fd(c.client), .events = POLLIN };
    int64_t wait_ms = -1;

    live_expect_ok(dibs_process(c.client, &wait_ms));
    rounds++;
    if (c.done < HANDOFFS)
      (void)poll(&wait, 1, (int)wait_ms);
  }
  assert_int_equal(c.begun, HANDOFFS);
  print_message("# %.1f hand-overs in a round\n", (double)HANDOFFS / rounds);
  assert_true(rounds < HANDOFFS / 8);
  c.client = dibs_close(c.client);
  assert_int_equal(live_faults(), 0);
}

TEST(a_last_callback_that_asks_again_gets_that_the_client_is_closing)
{
  dibs_client *client = open_loop(DIBS_CLIENT_NO_THREAD);
  dibs_hold *held = live_lock(other, "again", 60000);
  struct insistent i = { .client = client };

  assert_int_equal(dibs_lock_async(client, "again", NULL, ask_again, &i, NULL), DIBS_OK);
  client = dibs_close(client);
  assert_int_equal(i.callbacks, 1);
  assert_int_equal(i.last, DIBS_ERR_CLOSED);
  assert_int_equal(dibs_release(held), DIBS_OK);
}

/* ---- calls that block beside the loop ---- */

#define PINGS 2000

struct pinger {
  dibs_client *client;
  int answered;
  int ring[2];               /* readable at the end */
};

static void *ping_often(void *data)
{
  struct pinger *p = data;

  while (p->answered < PINGS && dibs_ping(p->client, LIVE_LONG_MS, NULL) == DIBS_OK)
    p->answered++;
  (void)close(p->ring[1]);
  return NULL;
}

/* Both read the sockets: a reply that the loop reads must wake the thread that waits for it. */
TEST(a_call_of_another_thread_ends_while_the_loop_reads)
{
  struct pinger p = { .client = open_loop(DIBS_CLIENT_NO_THREAD) };
  struct pollfd watched[2];
  pthread_t thread;

  assert_int_equal(pipe(p.ring), 0);
  assert_int_equal(pthread_create(&thread, NULL, ping_often, &p), 0);
  watched[0] = (struct pollfd){ .fd = dibs_fd(p.client), .events = POLLIN };
  watched[1] = (struct pollfd){ .fd = p.ring[0], .events = POLLIN };
  do {
    assert_true(poll(watched, 2, LIVE_LONG_MS) > 0);
    assert_int_equal(dibs_process(p.client, NULL), DIBS_OK);
  } while (watched[1].revents == 0);
  (void)pthread_join(thread, NULL);
  (void)close(p.ring[0]);
  assert_int_equal(p.answered, PINGS);
  p.client = dibs_close(p.client);
}

RUN_TESTS(setup, teardown)
