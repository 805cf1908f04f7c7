/* SPDX-License-Identifier: MIT */
/* test/fault/f28_crowd.c - a thousand (ten thousand in long runs) wait for one lock, from a few
 * processes with many clients each; half of them give up at random, while they queue and
 * while others are served. The rest is served one at a time, in order, without a gap. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "child.h"

enum { FAMILIES = 4, CLIENTS_MAX = 40, REQUESTS_MAX = 64 };
enum { CROWD_MAX = FAMILIES * CLIENTS_MAX * REQUESTS_MAX, TTL_MS = 10000 };

enum { QUEUE_SEEN = 100 };                /* as many as dibs_inspect() shows */

enum { WAITS = 0, GRANTED = 1, CANCELLED = 2, FAILED = 3, TWICE = 4 };

struct served { int family, client, request; int64_t at_ns; };

/* Shared by all processes; `log` is written under the lock, which is what is tested. */
struct crowd {
  int clients, requests;                 /* of each family; of each client */
  uint64_t seed;
  char url[128];
  _Atomic int inside, clashes;
  _Atomic size_t count;
  struct served log[CROWD_MAX];
  int queue[QUEUE_SEEN];                 /* when it begins: family * CLIENTS_MAX + client */
  int queued;
};

static struct crowd *crowd;

/* ---- a family ---- */

struct want {
  int family, client, request;
  dibs_request *handle;
  _Atomic int state;
  bool is_cancelled;                     /* told to */
};

static struct want wants[CLIENTS_MAX][REQUESTS_MAX];
static dibs_client *clients[CLIENTS_MAX];
static _Atomic int answered;

static void answer(struct want *x, int state)
{
  if (atomic_exchange(&x->state, state) != WAITS)
    atomic_store(&x->state, TWICE);
  (void)atomic_fetch_add(&answered, 1);
}

static void on_answer(const dibs_error *error, dibs_hold *hold, void *data)
{
  struct want *x = data;

  if (error->status != DIBS_OK) {
    answer(x, error->status == DIBS_CANCELLED ? CANCELLED : FAILED);
    return;
  }
  if (atomic_fetch_add(&crowd->inside, 1) != 0)
    (void)atomic_fetch_add(&crowd->clashes, 1);
  crowd->log[atomic_fetch_add(&crowd->count, 1)] =
    (struct served){ x->family, x->client, x->request, history_now_ns() };
  (void)atomic_fetch_sub(&crowd->inside, 1);
  (void)dibs_release_async(hold, NULL, NULL);
  answer(x, GRANTED);
}

static uint64_t draw(uint64_t *chance, uint64_t limit)
{
  *chance = *chance * 6364136223846793005U + 1442695040888963407U;
  return (*chance >> 33) % limit;
}

static void queue_up(struct child *self, int family)
{
  dibs_lock_options o = child_lock_options(TTL_MS, 0);
  dibs_options options = DIBS_OPTIONS_INIT;
  char note[16];

  options.local_handovers_max = -1;      /* strict order, that it can be checked */
  options.note = note;
  options.connect_timeout_ms = 10000;    /* all come at once */
  options.command_timeout_ms = 5000;
  for (int c = 0; c < crowd->clients; c++) {
    (void)snprintf(note, sizeof(note), "%d", family * CLIENTS_MAX + c);
    clients[c] = child_open(self, crowd->url, &options);
  }
  for (int r = 0; r < crowd->requests; r++)
    for (int c = 0; c < crowd->clients; c++) {
      struct want *x = &wants[c][r];
      dibs_status status;

      *x = (struct want){ .family = family, .client = c, .request = r };
      status = dibs_lock_async(clients[c], "crowd", &o, on_answer, x, &x->handle);
      if (status != DIBS_OK)
        answer(x, FAILED);
    }
}

/* A quarter now, a quarter while others are served. */
static void give_up_some(uint64_t *chance, int pause_ms)
{
  int times = crowd->clients * crowd->requests / 4;

  for (int i = 0; i < times; i++) {
    struct want *x = &wants[draw(chance, (uint64_t)crowd->clients)]
                           [draw(chance, (uint64_t)crowd->requests)];

    x->is_cancelled = true;
    (void)dibs_request_cancel(x->handle);
    if (pause_ms > 0 && i % 16 == 0)
      child_sleep_ms(pause_ms);
  }
}

static void judge(struct child *self)
{
  int counts[5] = { 0 }, spurious = 0;

  for (int c = 0; c < crowd->clients; c++)
    for (int r = 0; r < crowd->requests; r++) {
      int state = atomic_load(&wants[c][r].state);

      counts[state]++;
      spurious += state == CANCELLED && !wants[c][r].is_cancelled;
    }
  (void)child_check(self, counts[WAITS] == 0, "%d were never answered", counts[WAITS]);
  (void)child_check(self, counts[TWICE] == 0, "%d were answered twice", counts[TWICE]);
  (void)child_check(self, counts[FAILED] == 0, "%d failed", counts[FAILED]);
  (void)child_check(self, spurious == 0, "%d were cancelled by nobody", spurious);
  child_mark(self, "waiters served", counts[GRANTED]);
  child_mark(self, "waiters gave up", counts[CANCELLED]);
}

static void be_family(struct child *self, void *data)
{
  int family = *(int *)data, all = crowd->clients * crowd->requests;
  uint64_t chance = crowd->seed * 4 + (uint64_t)family;
  long fds = child_fds(), threads = child_threads_settled();

  queue_up(self, family);
  child_tell(self, "queued");
  child_obey(self, "give up");
  give_up_some(&chance, 0);
  child_tell(self, "given up");
  child_obey(self, "begin");
  give_up_some(&chance, 1);
  for (int i = 0; i < 60000 && atomic_load(&answered) < all; i++)
    child_sleep_ms(1);
  child_tell(self, "served");
  child_obey(self, "close");
  for (int c = 0; c < crowd->clients; c++)
    clients[c] = dibs_close(clients[c]);
  judge(self);
  (void)child_check(self, child_fds() == fds, "%ld descriptors, before %ld", child_fds(), fds);
  (void)child_check(self, child_threads_settled() == threads, "%ld threads, before %ld",
                    child_threads_settled(), threads);
}

/* ---- what came of it ---- */

/* Clients in the server's queue: its fields c<C>. */
static size_t queue_length(struct world *w)
{
  return (size_t)test_server_integer(
    world_server(w), "EVAL %s 1 dibs:m:{crowd}",
    "if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then return 0 end "
    "local n = 0 for _, f in ipairs(redis.call('HKEYS', KEYS[1])) do "
    "if f:sub(1, 1) == 'c' then n = n + 1 end end return n");
}

/* Each client's grants come in the order of its requests. */
static void check_requests(struct world *w)
{
  int last[FAMILIES][CLIENTS_MAX];
  size_t count = atomic_load(&crowd->count), wrong = 0;

  memset(last, 0xff, sizeof(last));
  for (size_t i = 0; i < count; i++) {
    const struct served *g = &crowd->log[i];

    wrong += g->request <= last[g->family][g->client];
    last[g->family][g->client] = g->request;
  }
  if (wrong != 0)
    world_break(w, "C7: %zu were served before one who came earlier to the same client", wrong);
}

/* All were there before the first was served, so the first grants of clients come in the order
 * of the server's queue; who has no first grant has given up altogether. */
static void check_clients(struct world *w)
{
  size_t first[FAMILIES * CLIENTS_MAX] = { 0 }, count = atomic_load(&crowd->count), last = 0;
  int wrong = 0;

  for (size_t i = count; i > 0; i--)
    first[crowd->log[i - 1].family * CLIENTS_MAX + crowd->log[i - 1].client] = i;
  for (int i = 0; i < crowd->queued; i++) {
    size_t mine = first[crowd->queue[i]];

    wrong += mine != 0 && mine < last;
    last = mine > last ? mine : last;
  }
  if (wrong != 0)
    world_break(w, "C7: %d clients were served before one who queued up earlier", wrong);
  world_mark_times(w, "clients seen in the queue", crowd->queued);
}

static int by_number(const void *a, const void *b)
{
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

  return x < y ? -1 : x > y;
}

static void check_gaps(struct world *w)
{
  static int64_t gaps[CROWD_MAX];
  size_t count = atomic_load(&crowd->count);

  if (count < 2)
    return;
  for (size_t i = 1; i < count; i++)
    gaps[i - 1] = crowd->log[i].at_ns - crowd->log[i - 1].at_ns;
  qsort(gaps, count - 1, sizeof(gaps[0]), by_number);
  world_say(w, "%zu grants; between two: median %.2f ms, p99 %.2f ms, max %.2f ms", count,
            (double)gaps[count / 2] / 1e6, (double)gaps[(count - 1) * 99 / 100] / 1e6,
            (double)gaps[count - 2] / 1e6);
  if (gaps[count - 2] > 1050 * 1000000LL)
    world_fail(w, "C8: the lock was free for %.0f ms while others waited",
               (double)gaps[count - 2] / 1e6);
}

static bool all_are_queued(struct world *w, void *data)
{
  (void)data;
  return queue_length(w) == (size_t)(FAMILIES * crowd->clients);
}

static void tell_all(struct child *const *families, const char *order, const char *answer_word,
                     int limit_ms)
{
  for (int i = 0; i < FAMILIES; i++)
    child_order(families[i], order);
  for (int i = 0; i < FAMILIES && answer_word != NULL; i++)
    (void)child_hear(families[i], answer_word, limit_ms);
}

/* The queue as it stands. Clients tell their notes a moment after they begin. */
static bool read_queue(dibs_client *client)
{
  dibs_inspection *seen = NULL;
  bool is_whole = dibs_inspect(client, dibs_text("crowd"), &seen) == DIBS_OK;

  crowd->queued = 0;
  for (size_t i = 0; is_whole && i < seen->party_count && i < QUEUE_SEEN; i++) {
    is_whole = seen->waiters[i]->note[0] != '\0';
    crowd->queue[crowd->queued++] = (int)strtol(seen->waiters[i]->note, NULL, 10);
  }
  seen = dibs_inspection_free(seen);
  return is_whole;
}

/* Holds the lock until the crowd is there. */
static void be_gate(struct child *self, void *data)
{
  dibs_client *client = child_open(self, crowd->url, NULL);
  dibs_hold *hold = child_lock(self, client, "crowd", TTL_MS);

  (void)data;
  child_tell(self, "closed");
  child_obey(self, "open");
  for (int i = 0; i < 2000 && !read_queue(client); i++)
    child_sleep_ms(1);
  (void)child_check(self, dibs_release(hold) == DIBS_OK, "the gate does not open");
  client = dibs_close(client);
}

static void one_crowd(struct world *w)
{
  static int numbers[FAMILIES] = { 0, 1, 2, 3 };
  struct child *families[FAMILIES], *gate = child_start(w, be_gate, NULL);

  (void)child_hear(gate, "closed", 5000);
  for (int i = 0; i < FAMILIES; i++)
    families[i] = child_start(w, be_family, &numbers[i]);
  for (int i = 0; i < FAMILIES; i++)
    (void)child_hear(families[i], "queued", 20000);
  if (!world_until(w, 20000, all_are_queued, NULL))
    world_fail(w, "%zu of %d clients are in the queue after 20 s", queue_length(w),
               FAMILIES * crowd->clients);
  tell_all(families, "give up", "given up", 20000);
  child_order(gate, "open");
  tell_all(families, "begin", NULL, 0);
  for (int i = 0; i < FAMILIES; i++)
    (void)child_hear(families[i], "served", 65000);
  tell_all(families, "close", NULL, 0);
  for (int i = 0; i < FAMILIES; i++)
    families[i] = child_end(families[i], 20000);
  gate = child_end(gate, 10000);
}

static void run(struct world *w, const struct scale *scale)
{
  bool is_long = scale->seconds >= 60;

  crowd = mmap(NULL, sizeof(*crowd), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (crowd == MAP_FAILED) {
    world_fail(w, "no memory");
    return;
  }
  (void)snprintf(crowd->url, sizeof(crowd->url), "%s", test_server_url(world_server(w)));
  crowd->clients = is_long ? CLIENTS_MAX : 10;
  crowd->requests = is_long ? REQUESTS_MAX : 25;
  (void)world_lock(w, 'm', "crowd", 0);
  child_bystanders(w);
  world_demand(w, "clients seen in the queue", FAMILIES * crowd->clients / 2);
  for (crowd->seed = scale->seed; crowd->seed == scale->seed || world_goes_on(w);
       crowd->seed++) {
    atomic_store(&crowd->count, 0);
    one_crowd(w);
    check_requests(w);
    check_clients(w);
    check_gaps(w);
    if (atomic_load(&crowd->clashes) != 0)
      world_break(w, "two of the crowd had the lock, %d times", atomic_load(&crowd->clashes));
  }
  world_demand(w, "waiters served", FAMILIES * crowd->clients * crowd->requests / 2);
  world_demand(w, "waiters gave up", FAMILIES * crowd->clients * crowd->requests / 8);
}

const struct scenario f28_crowd = {
  .id = "F28", .name = "a_crowd_is_served_in_order_while_half_of_it_gives_up", .run = run,
};
