/* SPDX-License-Identifier: MIT */
/* test/live/log_test.c - dibs_client_set_log(): which lines there are, with which fields; the
 * limit; when the data of its callback is freed. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "callback_data.h"

enum { LINES_MAX = 600, LINE_SIZE = 1024 };

/* ---- what a log got ---- */

typedef struct heard {
  pthread_mutex_t mutex;
  int count;
  char lines[LINES_MAX][LINE_SIZE];
  _Atomic int delay_ms;            /* the callback waits for it to be 0 */
} heard;

static heard log_a = { .mutex = PTHREAD_MUTEX_INITIALIZER };
static heard log_b = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static void keep(const dibs_log_line *line, heard *h)
{
  (void)pthread_mutex_lock(&h->mutex);
  if (h->count < LINES_MAX)
    (void)snprintf(h->lines[h->count++], LINE_SIZE, "%s", line->text);
  (void)pthread_mutex_unlock(&h->mutex);
}

static void on_line(const dibs_log_line *line, void *data)
{
  heard *h = data;

  while (h->delay_ms > 0)
    (void)usleep(1000);
  if (line->size != sizeof(*line) || strchr(line->text, '\n') != NULL ||
      line->field_count == 0 || strstr(line->text, line->fields[0]->value) == NULL)
    live_fault("a line is not as it should be: %s", line->text);
  keep(line, h);
}

/* The line, from number `from` on, that has both words; "" without one. In a static buffer. */
static const char *line_with(heard *h, int from, const char *word, const char *other)
{
  static char found[LINE_SIZE];

  found[0] = 0;
  (void)pthread_mutex_lock(&h->mutex);
  for (int i = from; i < h->count && found[0] == 0; i++)
    if (strstr(h->lines[i], word) != NULL && strstr(h->lines[i], other) != NULL)
      memcpy(found, h->lines[i], LINE_SIZE);
  (void)pthread_mutex_unlock(&h->mutex);
  return found;
}

static int count_with(heard *h, const char *word)
{
  int count = 0;

  (void)pthread_mutex_lock(&h->mutex);
  for (int i = 0; i < h->count; i++)
    count += strstr(h->lines[i], word) != NULL;
  (void)pthread_mutex_unlock(&h->mutex);
  return count;
}

typedef struct wanted { heard *h; const char *word, *other; } wanted;

static bool has_come(void *data)
{
  const wanted *w = data;

  return line_with(w->h, 0, w->word, w->other)[0] != 0;
}

/* Assert: such a line comes. Returns it. */
static const char *expect_line(heard *h, const char *word, const char *other)
{
  wanted w = { h, word, other };

  if (!live_until(LIVE_LONG_MS, has_come, &w)) {
    for (int i = 0; i < h->count; i++)
      print_message("# %s\n", h->lines[i]);
    fail_msg("no line has \"%s\" and \"%s\"", word, other);
  }
  return line_with(h, 0, word, other);
}

static void lacks(const char *line, const char *part)
{
  (void)fputs(line, stderr);
  fail_msg(": has no \"%s\"", part);
}

static void expect_part(const char *line, const char *part)
{
  if (strstr(line, part) == NULL)
    lacks(line, part);
}

static double number_of(const char *line, const char *key)
{
  const char *at = strstr(line, key);
  double value = -1;

  if (at == NULL || sscanf(at + strlen(key), "%lf", &value) != 1)
    lacks(line, key);
  return value;
}

static dibs_log_options log_options(int32_t level, int32_t lines_max)
{
  dibs_log_options o = DIBS_LOG_OPTIONS_INIT;

  o.level = level;
  o.lines_max = lines_max;
  return o;
}

/* With limits that a busy machine does not reach. */
static dibs_options patient_options(void)
{
  dibs_options options = DIBS_OPTIONS_INIT;

  options.connect_timeout_ms = options.command_timeout_ms = LIVE_LONG_MS;
  options.close_timeout_ms = LIVE_LONG_MS;
  return options;
}

static dibs_client *open_patient(const char *url)
{
  dibs_options options = patient_options();

  return live_open_with(url, &options);
}

static dibs_client *open_logging(const char *url, heard *h, int32_t level)
{
  dibs_log_options o = log_options(level, DIBS_LOG_ALL);
  dibs_client *client = open_patient(url);

  live_expect_ok(dibs_client_set_log(client, &o, on_line, h, NULL));
  return client;
}

static int log_setup(void **state)
{
  log_a.count = log_b.count = 0;
  return callback_data_setup(state);
}

/* ---- lines ---- */

TEST(a_lock_has_a_line_for_each_step)
{
  dibs_client *client = open_logging(live_url(), &log_a, DIBS_LOG_DEBUG);
  dibs_hold *hold = live_lock(client, "orders:42", TTL_MS);
  char fence[64];
  const char *line;

  (void)snprintf(fence, sizeof(fence), "fence=%llu", (unsigned long long)dibs_hold_fence(hold));
  live_expect_refused(client, live_try(client, "orders:42"), DIBS_BUSY);
  live_expect_ok(dibs_release(hold));
  client = dibs_close(client);
  line = expect_line(&log_a, "event=requested", "name=orders:42 class=orders kind=lock ttl_ms=");
  expect_part(line, "level=debug ");
  line = expect_line(&log_a, "event=granted", "name=orders:42 class=orders kind=lock fence=");
  expect_part(line, fence);
  assert_true(number_of(line, "waited_ms=") >= 0);
  line = expect_line(&log_a, "event=released", fence);
  assert_true(number_of(line, "held_ms=") > 0);
  line = expect_line(&log_a, "level=debug event=refused name=orders:42", "status=DIBS_BUSY");
  assert_null(strstr(line, "fence="));
  (void)expect_line(&log_a, "level=info event=connected", "server=");
  assert_int_equal(count_with(&log_a, "event=granted"), count_with(&log_a, "event=released"));
}

TEST(kinds_and_sets_are_named)
{
  static const char *const both[] = { "{set}one", "{set}two" };
  dibs_client *client = open_logging(live_url(), &log_a, DIBS_LOG_DEBUG);
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *read, *write, *permits, *set;

  live_needs_answer(dibs_semaphore_set(client, dibs_text("permits"), 2, 0, NULL));
  live_expect_ok(dibs_acquire(client, DIBS_READ("r"), &o, &read));
  live_expect_ok(dibs_acquire(client, DIBS_WRITE("w"), &o, &write));
  live_expect_ok(dibs_acquire(client, DIBS_PERMITS("permits", 2), &o, &permits));
  live_expect_ok(acquire_names(client, both, 2, &o, &set));
  live_expect_ok(dibs_release(read));
  live_expect_ok(dibs_release(write));
  live_expect_ok(dibs_release(permits));
  live_expect_ok(dibs_release(set));
  client = dibs_close(client);
  (void)expect_line(&log_a, "event=granted name=r ", "kind=read");
  (void)expect_line(&log_a, "event=granted name=w ", "kind=write");
  (void)expect_line(&log_a, "event=granted name=permits ", "kind=permits");
  (void)expect_line(&log_a, "event=granted name={set}one names=2 ", "kind=lock");
  assert_int_equal(count_with(&log_a, "event=released"), 4);
}

TEST(a_wait_and_its_refusals_say_how_long)
{
  dibs_client *holder = open_patient(live_url());
  dibs_client *client = open_logging(live_url(), &log_a, DIBS_LOG_INFO);
  dibs_lock_options o = live_lock_options(TTL_MS, 1200);
  dibs_hold *hold = live_lock(holder, "stock", TTL_MS), *mine = NULL;
  struct live_ask ask;
  const char *line;

  live_expect_refused(client, dibs_try_lock(client, "stock", &o, &mine), DIBS_BUSY);
  live_expect_refused(client, dibs_lock(client, "stock", &o, &mine), DIBS_TIMED_OUT);
  line = expect_line(&log_a, "event=refused name=stock", "status=DIBS_TIMED_OUT");
  expect_part(line, "level=warning ");
  assert_true(number_of(line, "waited_ms=") >= 1200);
  o.wait_ms = LIVE_LONG_MS;
  live_ask_begin(&ask, client, "stock", &o);
  live_still_waits(&ask, 1100);
  live_expect_ok(dibs_release(hold));
  mine = live_ask_granted(&ask, LIVE_LONG_MS);
  line = expect_line(&log_a, "level=info event=granted name=stock", "fence=");
  assert_true(number_of(line, "waited_ms=") >= 1100);
  live_expect_ok(dibs_release(mine));
  holder = dibs_close(holder);
  client = dibs_close(client);
  assert_int_equal(count_with(&log_a, "DIBS_BUSY"), 0);        /* debug */
  assert_int_equal(count_with(&log_a, "event=requested"), 0);
}

/* The lease of `name`. */
static dibs_status break_it(dibs_client *client, const char *name)
{
  dibs_inspection *seen = NULL;
  char lease[96];

  live_expect_ok(dibs_inspect(client, dibs_text(name), &seen));
  (void)snprintf(lease, sizeof(lease), "%s", seen->holders[0]->lease);
  seen = dibs_inspection_free(seen);
  return dibs_break(client, dibs_text(name), lease);
}

TEST(a_loss_is_one_error_with_its_reason)
{
  dibs_client *client = open_logging(live_url(), &log_a, DIBS_LOG_DEBUG);
  dibs_client *other = open_patient(live_url());
  dibs_hold *hold = live_lock(client, "job", TTL_MS);
  dibs_status broken = break_it(other, "job");
  const char *line;

  live_needs_answer(broken);
  live_expect_ok(broken);
  line = expect_line(&log_a, "level=error event=lost name=job class=job kind=lock fence=",
                     "reason=");
  expect_part(line, "status=DIBS_");
  assert_true(number_of(line, "held_ms=") >= 0);
  assert_true(dibs_release(hold) > 0);
  client = dibs_close(client);
  other = dibs_close(other);
  assert_int_equal(count_with(&log_a, "event=lost"), 1);
  assert_int_equal(count_with(&log_a, "event=released"), 0);
}

static bool is_held_again(void *hold)
{
  return dibs_hold_state(hold) == DIBS_HOLD_HELD;
}

TEST(a_server_that_restarts_is_a_story)
{
  dibs_client *client;
  dibs_hold *hold;
  const char *line;

  live_needs_one_server();
  client = open_logging(test_server_tcp_url(live_server), &log_a, DIBS_LOG_DEBUG);
  hold = live_lock(client, "job", TTL_MS);
  test_server_restart(live_server, true);
  assert_true(live_until(LIVE_LONG_MS, is_held_again, hold));
  line = expect_line(&log_a, "level=warning event=suspect name=job", "reason=");
  assert_true(number_of(line, "valid_ms=") > 0);
  (void)expect_line(&log_a, "level=info event=renewed name=job", "valid_ms=");
  test_server_kill9(live_server);
  line = expect_line(&log_a, "level=warning event=disconnected", "reason=");
  expect_part(line, test_server_tcp_url(live_server));
  test_server_restart(live_server, false);
  (void)expect_line(&log_a, "level=error event=lost name=job", "status=DIBS_LOST");
  assert_int_equal(dibs_release(hold), DIBS_LOST);
  client = dibs_close(client);
}

TEST(what_a_request_without_a_server_ends_with_is_told)
{
  dibs_client *client;
  dibs_hold *hold = NULL;
  const char *line;

  live_needs_one_server();
  client = live_open(test_server_tcp_url(live_server));
  live_expect_ok(dibs_client_set_log(client, NULL, on_line, &log_a, NULL));
  test_server_kill9(live_server);
  live_expect(client, dibs_lock(client, "job", NULL, &hold), DIBS_ERR_UNREACHABLE);
  line = expect_line(&log_a, "level=error event=refused", "status=DIBS_ERR_UNREACHABLE");
  expect_part(line, "server=");
  expect_part(line, "Connection refused");
  client = dibs_close(client);
}

TEST(no_line_has_a_password_or_a_raw_byte)
{
  static const struct test_server_options options = { .user = "sam", .password = "hunter2" };
  static const char *const passwords[] = { "hunter2", "hunter3" };
  struct test_server *s = test_server_start_with(&options);
  char url[256];
  dibs_hold *hold = NULL;

  for (int i = 0; i < 2; i++) {
    dibs_client *client;

    (void)snprintf(url, sizeof(url), "redis://sam:%s@127.0.0.1:%d", passwords[i],
                   test_server_port(s));
    client = open_logging(url, &log_a, DIBS_LOG_DEBUG);
    live_expect(client, dibs_lock(client, "a\n\x1b[2Jb c\"d", NULL, &hold),
                i == 0 ? DIBS_OK : DIBS_ERR_AUTH);
    client = dibs_close(client);
  }
  (void)expect_line(&log_a, "event=granted", " name=\"a\\x0a\\x1b[2Jb c\\\"d\" ");
  (void)expect_line(&log_a, "level=error event=refused", "WRONGPASS");
  assert_int_equal(count_with(&log_a, "hunter"), 0);
  assert_int_equal(count_with(&log_a, "sam:"), 0);
  s = test_server_stop(s);
}

/* ---- the limit ---- */

static void take_and_release(dibs_client *client, int count)
{
  for (int i = 0; i < count; i++)
    live_expect_ok(dibs_release(live_lock(client, "often", TTL_MS)));
}

TEST(lines_over_the_limit_are_counted_in_one)
{
  dibs_client *client = open_patient(live_url());
  dibs_log_options o = log_options(DIBS_LOG_DEBUG, 3);

  o.per_ms = 200;
  live_expect_ok(dibs_client_set_log(client, &o, on_line, &log_a, NULL));
  take_and_release(client, 1);
  o.per_ms = DIBS_MS_MAX;
  live_expect_ok(dibs_client_set_log(client, &o, on_line, &log_b, NULL));
  take_and_release(client, 50);
  assert_int_equal(count_with(&log_b, "event=suppressed"), 0);
  client = dibs_close(client);
  assert_int_equal(count_with(&log_b, "event=granted"), 3);
  (void)expect_line(&log_b, "level=debug event=suppressed of=granted", "lines=47");
  (void)expect_line(&log_b, "event=suppressed of=released", "lines=47");
  assert_int_equal(count_with(&log_a, "event=suppressed"), 0);
}

/* Though nothing else happens. */
TEST(what_was_left_out_is_told_when_the_period_is_over)
{
  dibs_client *client = open_patient(live_url());
  dibs_log_options o = log_options(DIBS_LOG_DEBUG, 1);

  o.per_ms = 300;
  live_expect_ok(dibs_client_set_log(client, &o, on_line, &log_a, NULL));
  take_and_release(client, 3);
  (void)expect_line(&log_a, "event=suppressed of=granted", "lines=");
  client = dibs_close(client);
}

TEST(a_callback_that_is_slow_does_not_fill_the_memory)
{
  dibs_client *client = open_logging(live_url(), &log_a, DIBS_LOG_DEBUG);

  log_a.delay_ms = 1;
  take_and_release(client, 200);         /* 600 lines */
  log_a.delay_ms = 0;
  client = dibs_close(client);
  (void)expect_line(&log_a, "event=suppressed of=released", "lines=");
  assert_in_range(log_a.count, 100, 300);
}

/* ---- its data ---- */

static void use_line(const dibs_log_line *line, void *data)
{
  (void)line;
  use(data);
}

TEST(the_data_of_a_log_is_freed_once)
{
  dibs_log_options wrong = log_options(7, 0), o = log_options(DIBS_LOG_DEBUG, 0);
  dibs_client *client = open_patient(live_url());

  assert_int_equal(dibs_client_set_log(NULL, NULL, use_line, watched_new(), on_free),
                   DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_client_set_log(client, &wrong, use_line, watched_new(), on_free),
                   DIBS_ERR_ARGUMENT);
  live_expect_words(client, "level is 7");
  expect_all_freed();
  live_expect_ok(dibs_client_set_log(client, NULL, NULL, watched_new(), on_free));
  expect_all_freed();
  live_expect_ok(dibs_client_set_log(client, &o, use_line, watched_new(), on_free));
  take_and_release(client, 5);
  assert_int_equal(freed, given - 1);
  live_expect_ok(dibs_client_set_log(client, &o, use_line, watched_new(), on_free));
  take_and_release(client, 5);
  live_expect_ok(dibs_client_set_log(client, NULL, NULL, NULL, NULL));
  assert_true(live_until(LIVE_LONG_MS, all_are_freed, NULL));
  take_and_release(client, 5);
  live_expect_ok(dibs_client_set_log(client, &o, use_line, watched_new(), on_free));
  take_and_release(client, 5);
  client = dibs_close(client);
  expect_all_freed();
}

static dibs_client *own;

static void replaces_itself(const dibs_log_line *line, void *data)
{
  (void)line;
  use(data);
  if (dibs_client_set_log(own, NULL, NULL, NULL, NULL) != DIBS_OK)
    live_fault("dibs_client_set_log() failed in its callback");
  use(data);
}

TEST(a_log_can_end_itself)
{
  dibs_log_options o = log_options(DIBS_LOG_DEBUG, 0);

  own = open_patient(live_url());
  live_expect_ok(dibs_client_set_log(own, &o, replaces_itself, watched_new(), on_free));
  take_and_release(own, 1);
  assert_true(live_until(LIVE_LONG_MS, all_are_freed, NULL));
  own = dibs_close(own);
  expect_all_freed();
}

TEST(a_child_frees_its_copy)
{
  dibs_client *client = open_patient(live_url());
  int status;
  pid_t child;

  live_expect_ok(dibs_client_set_log(client, NULL, use_line, watched_new(), on_free));
  live_expect_ok(dibs_ping(client, 0, NULL));
  child = fork();
  if (child == 0) {
    if (dibs_client_set_log(client, NULL, NULL, NULL, NULL) != DIBS_ERR_FORKED || freed != 0)
      _exit(1);
    (void)dibs_close(client);
    _exit(freed == given ? 0 : 2);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  client = dibs_close(client);
  expect_all_freed();
}

TEST(without_a_thread_lines_come_in_dibs_process)
{
  dibs_options options = patient_options();
  dibs_log_options o = log_options(DIBS_LOG_DEBUG, 0);
  dibs_client *client;

  options.flags = DIBS_CLIENT_NO_THREAD;
  client = live_open_with(live_url(), &options);
  live_expect_ok(dibs_client_set_log(client, &o, on_line, &log_a, NULL));
  take_and_release(client, 1);
  assert_int_equal(log_a.count, 0);
  (void)live_process(client);
  assert_true(count_with(&log_a, "event=released") == 1);
  client = dibs_close(client);
}

TEST(without_reports_the_times_are_known)
{
  dibs_options options = patient_options();
  dibs_log_options o = log_options(DIBS_LOG_DEBUG, 0);
  dibs_client *client;
  dibs_hold *hold;

  options.report_ms = DIBS_REPORT_OFF;
  client = live_open_with(live_url(), &options);
  live_expect_ok(dibs_client_set_log(client, &o, on_line, &log_a, NULL));
  hold = live_lock(client, "a", TTL_MS);
  live_expect_ok(dibs_release(hold));
  client = dibs_close(client);
  assert_true(number_of(expect_line(&log_a, "event=granted", "name=a"), "waited_ms=") > 0);
  assert_true(number_of(expect_line(&log_a, "event=released", "name=a"), "held_ms=") > 0);
}

RUN_TESTS_EACH(NULL, NULL, log_setup, live_server_teardown)
