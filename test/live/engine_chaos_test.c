/* SPDX-License-Identifier: MIT */
/* test/live/engine_chaos_test.c - three engines, one real server, any order of events.
 *
 * Each world has names, engines and connections of its own. What the engines send and what
 * the server answers is held back for as long as chance wants; connections break with
 * answers undelivered or with requests that still arrive later; programs are stopped for
 * longer than their leases, and killed. After steps an oracle holds what is believed against
 * what the server has (S7 I12 I17); in the end, when all is well again, all wishes must be
 * granted and nothing may be left (L1 L2, leaks), and the history is judged (S1 S2 S4 S7).
 * Time is real, as the server's is, so a seed repeats its choices, not its moments: a failure
 * prints the last events.
 *
 * Mutexes with lingering, sets of them, a read/write lock and a semaphore, all at once.
 *
 * DIBS_TEST_SCALE multiplies the worlds, DIBS_TEST_SEED sets the first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/plain_memory.h"
#include "chaos/chaos.h"
#include "promise.h"
#include "rendered.h"

enum { WORLDS = 16, ROUNDS = 3 };

struct test_server *chaos_server;
static int control = -1;
static resp_reader *answers;

/* ---- time, memory, words ---- */

int64_t now_ns(void)
{
  struct timespec t;

  (void)clock_gettime(CLOCK_BOOTTIME, &t);
  return t.tv_sec * 1000 * MS + t.tv_nsec;
}

instant now_instant(void) { return (instant){ now_ns() }; }

int64_t wall_us(void)
{
  struct timespec t;

  (void)clock_gettime(CLOCK_REALTIME, &t);
  return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

const memory chaos_heap = PLAIN_MEMORY;

void note(struct world *w, const char *format, ...)
{
  char *line = w->events[w->event_count++ % EVENTS];
  int used = snprintf(line, 160, "%9.3f ", (double)(now_ns() - w->begun_at) / 1e6);
  va_list list;

  va_start(list, format);
  (void)vsnprintf(line + used, 160 - (size_t)used, format, list);
  va_end(list);
}

static void print_events(const struct world *w)
{
  size_t first = w->event_count > EVENTS ? w->event_count - EVENTS : 0;

  for (size_t i = first; i < w->event_count; i++)
    (void)fprintf(stderr, "# %s\n", w->events[i % EVENTS]);
}

void flaw(struct world *w, const char *format, ...)
{
  char words[256];
  va_list list;

  va_start(list, format);
  (void)vsnprintf(words, sizeof(words), format, list);
  va_end(list);
  print_events(w);
  promise_kept(false, "seed %llu, %.3f ms: %s", (unsigned long long)w->seed,
               (double)(now_ns() - w->begun_at) / 1e6, words);
}

uint64_t below(struct world *w, uint64_t limit) { return random_below(&w->random, limit); }

const char *const name_texts[NAMES] = { "n0", "n1", "n2", "rw", "pp" };

/* ---- behind the engines' backs ---- */

static void control_open(void)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };

  (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s",
                 test_server_socket(chaos_server));
  control = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_int_equal(connect(control, (struct sockaddr *)&address, sizeof(address)), 0);
  answers = resp_reader_new(&chaos_heap, RESP_LIMITS_DEFAULT);
  assert_non_null(answers);
}

resp_reply *ask_the_server(const buffer *command)
{
  resp_reply *reply = NULL;
  char bytes[4096];
  ssize_t got;

  assert_int_equal(send(control, buffer_bytes(command), buffer_size(command), MSG_NOSIGNAL),
                   buffer_size(command));
  while (reply == NULL) {
    got = recv(control, bytes, sizeof(bytes), 0);
    assert_true(got > 0);
    assert_int_equal(resp_reader_feed(answers, bytes, (size_t)got), DIBS_OK);
    assert_int_equal(resp_reader_next(answers, &reply), DIBS_OK);
  }
  return reply;
}

/* ---- a step ---- */

static void disturb(struct world *w, struct party *p)
{
  switch (below(w, 5000)) {
  case 0: case 1: case 2:
    party_break(p, COMMANDS);
    break;
  case 3: case 4:
    party_break(p, INBOX);
    break;
  case 5: case 6:
    p->stopped_until = now_ns() + (int64_t)below(w, 500) * MS;
    note(w, "%d: stopped", p->number);
    break;
  case 7:
    if (below(w, 4) == 0) {
      party_end(p);
      party_begin(w, p->number);
    }
    break;
  case 8:
    party_revoke(p);
    break;
  default:
    break;
  }
}

static bool is_over(const struct world *w)
{
  for (int i = 0; i < ENGINES; i++)
    if (w->parties[i].open > 0 || engine_get_stats(w->parties[i].engine).names > 0)
      return false;
  return true;
}

static bool is_closed(const struct world *w)
{
  for (int i = 0; i < ENGINES; i++)
    if (!w->parties[i].is_closed)
      return false;
  return true;
}

static void heal(struct world *w)
{
  if (!w->is_healing && now_ns() - w->begun_at > CHAOS_MS * MS) {
    note(w, "all is well again");
    w->is_healing = true;
    w->healed_at = now_ns();
    for (int i = 0; i < ENGINES; i++)
      for (int link = 0; link < ONE_SERVER_LINKS; link++)
        party_break(&w->parties[i], link);
  }
  if (!w->is_healing)
    return;
  if (now_ns() - w->healed_at > HEAL_MS * MS) {
    for (int i = 0; i < ENGINES; i++) {
      engine_stats s = engine_get_stats(w->parties[i].engine);

      note(w, "%d: open %d names %llu holds %llu waiting %llu", i, w->parties[i].open,
           (unsigned long long)s.names, (unsigned long long)s.holds,
           (unsigned long long)s.waiting);
    }
    print_events(w);
    fail_msg("seed %llu, L1: not everybody got what he waited for",
             (unsigned long long)w->seed);
  }
  if (!w->is_closing && is_over(w)) {
    w->done_at = now_ns();
    check_end(w);
    w->is_closing = true;
    for (int i = 0; i < ENGINES; i++) {
      engine_close(w->parties[i].engine, now_instant());
      party_pull(&w->parties[i]);
    }
  }
  w->is_done = w->is_closing && is_closed(w);
  if (w->is_done)
    check_history(w);
}

static void step(struct world *w)
{
  struct party *p = &w->parties[below(w, ENGINES)];

  w->steps++;
  party_step(p);
  if (!w->is_healing) {
    disturb(w, p);
    if (p->open < WISHES_MAX && p->stopped_until < now_ns() && below(w, 100) == 0)
      party_wish(p);
  }
  if (below(w, 40) == 0)
    for (struct wish *h = p->wishes; h != NULL; h = h->next)
      if (believes(h, now_instant()))
        check_server(p, h);
  heal(w);
}

/* ---- the test ---- */

static int64_t number_from(const char *variable, int64_t otherwise)
{
  const char *value = getenv(variable);

  return value != NULL ? strtoll(value, NULL, 10) : otherwise;
}

static void semaphore_begin(struct world *w)
{
  resp_reply *reply;
  uint64_t limit;
  buffer command;
  bool done;

  buffer_init(&command, &chaos_heap);
  assert_true(RENDERED(native_share_set, &w->protocol, &command, true, name_texts[SEMAPHORE],
                       2, SHARE_SET, PERMITS, 0));
  reply = ask_the_server(&command);
  assert_true(native_share_set_answer(reply, &done, &limit));
  (void)resp_reply_free(reply);
  buffer_deinit(&command);
}

static void world_begin(struct world *w, uint64_t seed)
{
  memset(w, 0, sizeof(*w));
  w->seed = seed;
  w->begun_at = now_ns();
  random_seed(&w->random, seed);
  (void)snprintf(w->protocol.prefix, sizeof(w->protocol.prefix), "w%llu",
                 (unsigned long long)seed);
  (void)snprintf(w->protocol.client, sizeof(w->protocol.client), "%s", "chaos-chaos-chaos-chao");
  semaphore_begin(w);
  for (int i = 0; i < ENGINES; i++)
    party_begin(w, i);
}

static void no_order_of_events_makes_two_believers(void **state)
{
  int64_t rounds = ROUNDS * number_from("DIBS_TEST_SCALE", 1);
  uint64_t seed = (uint64_t)number_from("DIBS_TEST_SEED", 1);
  struct world *worlds = calloc(WORLDS, sizeof(*worlds));
  uint64_t granted[CHOICES] = { 0 }, lost = 0, steps = 0, downgraded = 0;
  uint64_t broken = 0;
  int64_t slowest = 0;

  (void)state;
  assert_non_null(worlds);
  for (int64_t round = 0; round < rounds; round++) {
    size_t done = 0;

    for (size_t i = 0; i < WORLDS; i++)
      world_begin(&worlds[i], seed++);
    while (done < WORLDS) {
      done = 0;
      for (size_t i = 0; i < WORLDS; i++)
        if (worlds[i].is_done)
          done++;
        else
          step(&worlds[i]);
    }
    for (size_t i = 0; i < WORLDS; i++) {
      for (int k = 0; k < CHOICES; k++)
        granted[k] += worlds[i].granted[k];
      downgraded += worlds[i].downgraded;
      broken += worlds[i].broken;
      lost += worlds[i].lost;
      steps += worlds[i].steps;
      if (worlds[i].done_at - worlds[i].healed_at > slowest)
        slowest = worlds[i].done_at - worlds[i].healed_at;
      for (int j = 0; j < ENGINES; j++)
        party_end(&worlds[i].parties[j]);
      history_log_free(&worlds[i].log);
    }
  }
  free(worlds);
  print_message("# %llu steps, %llu lost, %llu downgraded, %llu broken, healed within %lld ms; "
                "grants:", (unsigned long long)steps, (unsigned long long)lost,
                (unsigned long long)downgraded, (unsigned long long)broken,
                (long long)(slowest / MS));
  for (int k = 0; k < CHOICES; k++) {
    print_message(" %llu", (unsigned long long)granted[k]);
    assert_true(granted[k] > 10);
  }
  print_message("\n");
  assert_true(lost > 10);
  assert_true(downgraded > 0);
  assert_true(broken > 0);
}

static int setup(void **state)
{
  (void)state;
  chaos_server = test_server_start();
  control_open();
  return 0;
}

static int teardown(void **state)
{
  (void)state;
  answers = resp_reader_free(answers);
  (void)close(control);
  chaos_server = test_server_stop(chaos_server);
  return 0;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(no_order_of_events_makes_two_believers),
  };

  return cmocka_run_group_tests(tests, setup, teardown);
}
