/* SPDX-License-Identifier: MIT */
/* test/live/fleet_test.c - what many processes report is what they did: totals against a log
 * that the test keeps itself, processes that are killed, and the history. */
#include "tests.h"

#include <stdint.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "live.h"
#include "proxy.h"
#include "server.h"

enum { WORKERS = 20, KILLED = 2, SHORT = 200, WORK_MS = 2600, HOLD_MS = 20,
       PATIENCE_MS = 20000 };  /* all processes at once, on a machine with other work */

/* The independent log: what each worker did, by its own clock, in shared memory. */
typedef struct worker_log {
  volatile uint64_t locked, waited_us, held_us, worked_us;
} worker_log;

static worker_log *logs;

static dibs_options options_of(void)
{
  dibs_options o = live_options();

  o.report_ms = 1000;
  o.history = DIBS_HISTORY_ALL;
  return o;
}

static void pause_ms(int ms)
{
  const struct timespec span = { ms / 1000, ms % 1000 * 1000000L };

  (void)nanosleep(&span, NULL);
}

static uint64_t now_us(void)
{
  struct timespec t;

  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void work_once(dibs_client *c, const char *name, worker_log *log)
{
  dibs_lock_options lock = live_lock_options(60000, 60000);
  dibs_hold *hold = NULL;
  uint64_t asked = now_us(), granted;

  if (dibs_lock(c, name, &lock, &hold) != DIBS_OK)
    _exit(3);
  granted = now_us();
  log->locked++;
  log->waited_us += granted - asked;
  pause_ms(HOLD_MS);
  log->held_us += now_us() - granted;
  if (dibs_release(hold) < 0)
    _exit(4);
  log->worked_us += now_us() - asked;
}

static void work(int number, int for_ms)
{
  dibs_options o = options_of();
  dibs_client *c = NULL;
  int64_t until = live_now_ms() + for_ms;
  char name[40];

  o.connect_timeout_ms = o.command_timeout_ms = PATIENCE_MS;
  if (dibs_open(live_url(), &o, &c, NULL) != DIBS_OK)
    _exit(2);
  (void)snprintf(name, sizeof(name), "%s:%d", number < KILLED ? "killed" : "orders", number % 4);
  do
    work_once(c, name, &logs[number]);
  while (live_now_ms() < until);
  (void)dibs_close(c);
  _exit(0);
}

static pid_t worker(int number, int for_ms)
{
  pid_t pid = fork();

  if (pid == 0)
    work(number, for_ms);
  assert_true(pid > 0);
  return pid;
}

static dibs_fleet_row row_of(dibs_client *c, const char *class_name)
{
  dibs_fleet *read = NULL;
  dibs_fleet_row found = { .size = 0 };

  live_expect_ok(dibs_fleet_read(c, &read));
  for (size_t i = 0; i < read->count; i++)
    if (strcmp(read->rows[i]->class_name, class_name) == 0)
      found = *read->rows[i];
  found.class_name = class_name;
  assert_null(dibs_fleet_free(read));
  return found;
}

static void add(worker_log *sum, const worker_log *log)
{
  sum->locked += log->locked;
  sum->waited_us += log->waited_us;
  sum->held_us += log->held_us;
  sum->worked_us += log->worked_us;
}

static double percent(uint64_t counted, uint64_t logged)
{
  return 100 * ((double)counted - (double)logged) / (double)logged;
}

/* A grant is before its call returns, and a release after its call began: by the program's clock a
 * wait is never shorter, and a hold never longer, than what the library counts. */
static void totals_agree(const dibs_fleet_row *row, const worker_log *log)
{
  const dibs_fleet_times *waits = &row->waits[DIBS_FLEET_OK];
  const dibs_fleet_times *holds = &row->holds[DIBS_FLEET_RELEASED];

  print_message("# of %llu locks the totals have %+.2f %% of the waits, %+.2f %% of the holds\n",
                (unsigned long long)log->locked, percent(waits->sum_us, log->waited_us),
                percent(holds->sum_us, log->held_us));
  assert_int_equal(waits->count, log->locked);
  assert_int_equal(holds->count, log->locked);
  assert_true(waits->sum_us <= log->waited_us);
  assert_true(holds->sum_us >= log->held_us);
  assert_true(waits->sum_us + holds->sum_us <= log->worked_us);
  assert_int_equal(row->kind, DIBS_KIND_MUTEX);
  assert_true(row->since_us > 0);
}

TEST(totals_are_what_the_processes_did)
{
  dibs_client *c;
  pid_t pids[WORKERS + SHORT];
  worker_log done = { 0 }, killed = { 0 };
  dibs_fleet_row row;

  logs = mmap(NULL, (WORKERS + SHORT) * sizeof(*logs), PROT_READ | PROT_WRITE,
              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(logs != MAP_FAILED);
  for (int i = 0; i < WORKERS; i++)
    pids[i] = worker(i, i < KILLED ? 60000 : WORK_MS);
  for (int i = 0; i < SHORT; i++)
    pids[WORKERS + i] = worker(WORKERS + i, 0);
  pause_ms(WORK_MS);
  for (int i = 0; i < KILLED; i++)
    (void)kill(pids[i], SIGKILL);
  for (int i = 0; i < WORKERS + SHORT; i++) {
    int code = -1;

    assert_int_equal(promise_waitpid(pids[i], &code, 0), pids[i]);
    if (i >= KILLED)
      assert_int_equal(code, 0);
    add(i < KILLED ? &killed : &done, &logs[i]);
  }
  /* Not before: TSan takes the threads of a parent for those of its children. */
  c = live_open(live_url());
  row = row_of(c, "orders");
  totals_agree(&row, &done);
  /* What was killed lost its last report at most. Each claim that it held may be beyond its log. */
  row = row_of(c, "killed");
  assert_true(row.waits[DIBS_FLEET_OK].count <= killed.locked + KILLED);
  (void)munmap(logs, (WORKERS + SHORT) * sizeof(*logs));
  assert_null(dibs_close(c));
}

TEST(the_history_shows_names_of_any_bytes)
{
  static const char *const names[] = { "a\nb", "say \"hi\"\\", "\x1b[31mred", "\xff\xfe\x80" };
  dibs_history_options wanted = DIBS_HISTORY_OPTIONS_INIT;
  dibs_options o = options_of();
  dibs_client *c, *reader = live_open(live_url());
  dibs_history *h = NULL;

  o.note = "night\njob";
  c = live_open_with(live_url(), &o);
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
    live_expect_ok(dibs_release(live_lock(c, names[i], 20000)));
  assert_null(dibs_close(c));
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    wanted.pattern = names[i];
    live_expect_ok(dibs_history_read(reader, &wanted, &h));
    assert_int_equal(h->count, 1);
    assert_string_equal(h->entries[0]->name, names[i]);
    assert_string_equal(h->entries[0]->end, "released");
    assert_string_equal(h->entries[0]->note, "night\njob");
    assert_int_equal(h->entries[0]->pid, getpid());
    assert_int_equal(h->entries[0]->ttl_ms, 20000);
    assert_true(h->entries[0]->fence > 0);
    assert_in_range(h->entries[0]->ago_us, 0, 60000000);
    assert_null(dibs_history_free(h));
  }
  wanted.pattern = "no such *";
  live_expect_ok(dibs_history_read(reader, &wanted, &h));
  assert_int_equal(h->count, 0);
  assert_null(dibs_history_free(h));
  wanted.limit = 10001;
  live_expect(reader, dibs_history_read(reader, &wanted, &h), DIBS_ERR_ARGUMENT);
  wanted.limit = 0;
  wanted.reserved = 1;
  live_expect(reader, dibs_history_read(reader, &wanted, &h), DIBS_ERR_ARGUMENT);
  live_expect_words(reader, "reserved must be 0");
  assert_null(dibs_close(reader));
}

static bool is_shown(void *client)
{
  dibs_fleet_row row = row_of(client, "long");

  return row.holding == 1;
}

static bool is_gone(void *client)
{
  return row_of(client, "long").holding == 0;
}

TEST(what_is_held_is_shown_while_the_client_lives)
{
  dibs_options o = options_of();
  dibs_client *c = live_open_with(live_url(), &o), *reader = live_open(live_url());
  dibs_hold *hold = live_lock(c, "long:1", 20000);

  assert_true(live_until(8000, is_shown, reader));
  live_expect_ok(dibs_release(hold));
  assert_null(dibs_close(c));
  assert_true(live_until(8000, is_gone, reader));
  assert_null(dibs_close(reader));
}

/* It asks for what each client holds, after all else. */
TEST(a_fleet_whose_last_reply_is_lost_is_unreachable)
{
  const struct test_proxy_chances silent = { .seed = 1, .word = "gauges", .silence = 10000 };
  dibs_options o = options_of();
  struct test_proxy *proxy;
  dibs_client *c, *reader, *cut_off;
  dibs_fleet *read = NULL;
  dibs_hold *hold;

  live_needs_one_server();
  proxy = test_proxy_start(live_server);
  c = live_open_with(live_url(), &o);
  reader = live_open(live_url());
  hold = live_lock(c, "long:1", 20000);
  assert_true(live_until(8000, is_shown, reader));
  o.report_ms = DIBS_REPORT_OFF;
  cut_off = live_open_with(test_proxy_url(proxy), &o);
  live_expect_ok(dibs_fleet_read(cut_off, &read));
  read = dibs_fleet_free(read);
  test_proxy_chance(proxy, &silent);
  live_expect_ok(dibs_client_set_call_timeout(cut_off, 300));
  live_expect(cut_off, dibs_fleet_read(cut_off, &read), DIBS_ERR_UNREACHABLE);
  assert_null(read);
  assert_null(dibs_close(cut_off));
  live_expect_ok(dibs_release(hold));
  assert_null(dibs_close(c));
  assert_null(dibs_close(reader));
  proxy = test_proxy_stop(proxy);
}

TEST(nothing_is_written_with_report_off)
{
  dibs_options o = options_of();
  dibs_client *c, *reader = live_open(live_url());

  o.report_ms = DIBS_REPORT_OFF;
  c = live_open_with(live_url(), &o);
  live_expect_ok(dibs_release(live_lock(c, "silent:1", 20000)));
  assert_null(dibs_close(c));
  assert_int_equal(row_of(reader, "silent").waits[DIBS_FLEET_OK].count, 0);
  assert_null(dibs_close(reader));
}

/* A parked lease is taken again without an acquisition: retake.c. */
TEST(a_parked_lock_that_is_taken_again_counts_each_time)
{
  dibs_options o = options_of();
  dibs_client *c = live_open_with(live_url(), &o), *reader = live_open(live_url());
  dibs_lock_options lock = live_lock_options(60000, 60000);
  dibs_fleet_row row;

  live_needs_one_server();
  lock.linger_ms = 60000;
  for (int i = 0; i < 100; i++) {
    dibs_hold *hold = NULL;

    live_expect_ok(dibs_lock(c, "parked:1", &lock, &hold));
    live_expect_ok(dibs_release(hold));
  }
  assert_null(dibs_close(c));
  row = row_of(reader, "parked");
  assert_int_equal(row.waits[DIBS_FLEET_OK].count, 100);
  assert_int_equal(row.holds[DIBS_FLEET_RELEASED].count, 100);
  assert_int_equal(row.holding, 0);
  assert_null(dibs_close(reader));
}

/* Rights as before there were reports: locks work, one warning, and no report after the first. */
TEST(a_user_without_the_rights_is_warned_once)
{
  struct live_events events = { .mutex = PTHREAD_MUTEX_INITIALIZER };
  dibs_options o = options_of();
  char url[200];
  dibs_client *c;
  int64_t until;

  live_needs_one_server();
  assert_string_equal(test_server_command(live_server, "ACL SETUSER old on >pw ~dibs:* "
                                          "resetchannels &dibs:* +@all -xadd -zadd -zrem "
                                          "-zremrangebyscore"), "OK");
  (void)snprintf(url, sizeof(url), "unix://old:pw@%s", test_server_socket(live_server));
  o.on_event = live_on_event;
  o.on_event_data = &events;
  c = live_open_with(url, &o);
  for (until = live_now_ms() + 2500; live_now_ms() < until; pause_ms(20))
    live_expect_ok(dibs_release(live_lock(c, "denied:1", 20000)));
  assert_null(dibs_close(c));
  assert_string_equal(test_server_command(live_server, "HGET dibs:t:{denied} version"), "1");
  assert_int_equal(events.counts[DIBS_EVENT_WARNING], 1);
  assert_non_null(strstr(events.warning, "dibs acl"));
}

static bool is_warned(void *events)
{
  return ((struct live_events *)events)->counts[DIBS_EVENT_WARNING] > 0;
}

/* Rights are not what it lacks. */
TEST(a_full_server_is_named_as_that)
{
  struct live_events events = { .mutex = PTHREAD_MUTEX_INITIALIZER };
  dibs_options o = options_of();
  dibs_client *c;
  dibs_hold *hold;

  live_needs_one_server();
  o.on_event = live_on_event;
  o.on_event_data = &events;
  c = live_open_with(live_url(), &o);
  hold = live_lock(c, "full:1", 60000);
  assert_string_equal(test_server_command(live_server, "CONFIG SET maxmemory 1"), "OK");
  assert_true(live_until(LIVE_LONG_MS, is_warned, &events));
  assert_string_equal(test_server_command(live_server, "CONFIG SET maxmemory 0"), "OK");
  live_expect(c, dibs_release(hold), DIBS_OK);
  assert_null(dibs_close(c));
  assert_non_null(strstr(events.warning, "OOM"));
  assert_null(strstr(events.warning, "dibs acl"));
}

/* What a server whose clock is `shift_ms` off shows of a hold that ends now. */
static void a_hold_is_young(int64_t shift_ms)
{
  struct test_server *s = test_server_start_with(
    &(struct test_server_options){ .has_clock = true });
  dibs_options o = options_of();
  dibs_client *c, *reader;
  dibs_inspection *in = NULL;
  dibs_history *h = NULL;
  dibs_fleet_row row;
  dibs_hold *hold;

  test_server_clock_shift(s, shift_ms);
  c = live_open_with(test_server_url(s), &o);
  reader = live_open(test_server_url(s));
  hold = live_lock(c, "age:1", 60000);
  live_expect(reader, dibs_inspect(reader, dibs_text("age:1"), &in), DIBS_OK);
  assert_in_range(in->holder->waited_ms, 0, 60000);
  assert_in_range(in->remaining_ms, 1, 60000);
  in = dibs_inspection_free(in);
  live_expect(c, dibs_release(hold), DIBS_OK);
  assert_null(dibs_close(c));
  live_expect(reader, dibs_history_read(reader, NULL, &h), DIBS_OK);
  assert_int_equal(h->count, 1);
  assert_in_range(h->entries[0]->ago_us, 0, 60000000);
  row = row_of(reader, "age");
  assert_true(row.since_us <= h->server_us + 60000000 && row.since_us >= h->server_us - 60000000);
  assert_null(dibs_history_free(h));
  assert_null(dibs_close(reader));
  (void)test_server_stop(s);
}

TEST(ages_are_by_the_servers_clock)
{
  a_hold_is_young(3600000);
  a_hold_is_young(-3600000);
}

RUN_TESTS(live_server_setup, live_server_teardown)
