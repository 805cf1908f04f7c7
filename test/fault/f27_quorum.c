/* SPDX-License-Identifier: MIT */
/* test/fault/f27_quorum.c - F16 and F27: a quorum of five servers. F27: one or two of them are
 * down, stopped, slow, come back empty, or have another clock, while the others go on. F16: cut
 * off from some clients and not from others, so that each client has another majority. No two
 * owners, no fence twice, and a majority that answers is enough to work. */
#include "fleet.h"

#include <stdio.h>

enum { SERVERS = 5, TTL_MS = 1500, QUARANTINE_MS = 2700, LONG_TTL_MS = 5000 };
enum { DOWN, STOPPED, SLOW, EMPTIED, AHEAD, BEHIND, FAULTS };
/* Other formats have no quarantine, and their leases end by the server's clock: there servers
 * keep their data and their clocks. */
enum { FAULTS_IN_DIALECT = SLOW + 1 };

static const char *const names[FAULTS] = { "servers down", "servers stopped", "servers slow",
                                           "servers emptied", "clocks set ahead",
                                           "clocks set back" };

struct quorum_of_five {
  struct fleet *fleet;
  int faults;                          /* the first so many */
  bool keeps_data;
  int64_t bad_until_ns[SERVERS];       /* it grants nothing before: its quarantine */
};

static void hire(struct fleet *f, int host, int count)
{
  struct plan plan = PLAN_INIT;

  plan.ttl_ms = TTL_MS;
  plan.connect_timeout_ms = 10000;
  plan.hold_us = 3000;
  plan.hold_us_max = 1500000;
  plan.think_us = 8000;
  plan.try_percent = 10;
  plan.async_percent = 15;
  plan.nested_percent = 5;
  (void)fleet_hire(f, host, &plan, count);
}

static void make_locks(struct world *w)
{
  (void)world_lock(w, 'm', "one", 0);
  (void)world_lock(w, 'm', "two", 0);
  (void)world_lock(w, 'r', "three", 0);
}

static void expect_work(struct world *w, const char *when)
{
  if (!world_wait_for_grants(w, 10, 10000))
    world_fail(w, "no work is done %s", when);
}

/* ---- F27 ---- */

static struct test_server *server(struct quorum_of_five *q, int which)
{
  return test_quorum_server(q->fleet->quorum, which);
}

/* Neither bad now nor `other`; -1: two are bad as it is. */
static int draw_victim(struct quorum_of_five *q, int other)
{
  struct world *w = q->fleet->world;
  int bad = 0, found = -1, seen = 0;

  for (int i = 0; i < SERVERS; i++) {
    if (i == other || q->bad_until_ns[i] > history_now_ns())
      bad++;
    else if (world_chance(w, (uint64_t)++seen) == 0)
      found = i;
  }
  return bad >= 2 ? -1 : found;
}

static void suffer(struct quorum_of_five *q, int victim, int fault, int ms)
{
  struct world *w = q->fleet->world;
  struct test_server *s = server(q, victim);

  switch (fault) {
  case DOWN:
  case EMPTIED:
    test_server_kill9(s);
    break;
  case STOPPED:
    test_server_pause(s);
    break;
  case SLOW:
    for (int passed = 0; passed < ms; passed += 60) {
      test_server_pause(s);
      world_pass_ms(w, 45);
      test_server_resume(s);
      world_pass_ms(w, 15);
    }
    break;
  default:
    test_server_clock_shift(s, fault == AHEAD ? 60000 : -60000);
  }
  world_mark(w, names[fault]);
}

static void recover(struct quorum_of_five *q, int victim, int fault)
{
  struct test_server *s = server(q, victim);

  if (fault == DOWN || fault == EMPTIED)
    test_server_restart(s, q->keeps_data);
  else if (fault == STOPPED)
    test_server_resume(s);
  else if (fault == AHEAD || fault == BEHIND)
    test_server_clock_shift(s, 0);
  /* Without persistence each death is one of the memory, too. */
  if ((fault == DOWN || fault == EMPTIED) && !q->keeps_data)
    q->bad_until_ns[victim] = history_now_ns() + (QUARANTINE_MS + 500) * 1000000LL;
}

static void disturb(struct quorum_of_five *q, int round)
{
  struct world *w = q->fleet->world;
  int one = draw_victim(q, -1), other = one < 0 ? -1 : draw_victim(q, one);
  int first = round < q->faults ? round : (int)world_chance(w, (uint64_t)q->faults);
  int second = (int)world_chance(w, (uint64_t)q->faults), ms = world_between(w, 200, 700);

  if (one < 0) {
    world_pass_ms(w, 200);
    return;
  }
  if (world_chance(w, 3) == 0)
    other = -1;
  fleet_fault(q->fleet, FAULT_OTHER);
  suffer(q, one, first, ms);
  if (other >= 0)
    suffer(q, other, second == SLOW ? STOPPED : second, ms);
  world_pass_ms(w, ms);
  expect_work(w, "while a minority of the servers is disturbed");
  recover(q, one, first);
  if (other >= 0)
    recover(q, other, second == SLOW ? STOPPED : second);
  expect_work(w, "after a minority of the servers was disturbed");
}

static void run_minority(struct world *w, const struct scale *scale)
{
  static const char *const always[] = { "--appendonly", "yes", "--appendfsync", "always", NULL };
  static const struct test_server_options with_clock = { .has_clock = true };
  static const struct test_server_options with_file = { .arguments = always };
  struct quorum_of_five q = { .faults = FAULTS };
  char url[32] = "";

  if (scale->dialect != 0) {
    q.faults = FAULTS_IN_DIALECT;
    q.keeps_data = true;
  } else {
    (void)snprintf(url, sizeof(url), "?quarantine=%dms", QUARANTINE_MS);
  }
  q.fleet = fleet_quorum(w, SERVERS, q.keeps_data ? &with_file : &with_clock, 0, url);
  make_locks(w);
  hire(q.fleet, -1, 5);
  for (int i = 0; i < q.faults; i++)
    world_demand(w, names[i], scale->seconds >= 30);
  world_demand_overlap(w, 20);
  for (int round = (int)world_chance(w, (uint64_t)q.faults); world_goes_on(w); round++)
    disturb(&q, scale->seconds >= 30 ? round % 50 : round % q.faults);
  world_settle_how(w, 0, 20000);
}

/* A proposed token is ahead of the servers' clocks, by 1 s at most (AHEAD_MAX of quorum/round.c).
 * Where a majority forgets it within that time, the next token can be lower: deployments.md 5. */
enum { TOKEN_AHEAD_MS = 1050 };

/* Three of five forget at once, under a holder that cannot mend it: what is not held back is
 * given away. */
static void run_emptied(struct world *w, bool is_guarded)
{
  struct plan plan = PLAN_INIT;
  int lock = world_lock(w, 'm', "emptied", 0);
  struct fleet *f =
    fleet_quorum(w, SERVERS, NULL, 0, is_guarded ? "?quarantine=6200ms" : "");

  plan.ttl_ms = LONG_TTL_MS;
  plan.connect_timeout_ms = 10000;
  plan.hold_us = 3000;
  (void)fleet_hire(f, -1, &plan, 3);
  world_demand(w, "emptied under a stopped holder", 1);
  while (world_goes_on(w)) {
    int holder = world_stop_holder(w, lock, 10000);

    fleet_fault(f, FAULT_OTHER);
    for (int i = 0; i < 3; i++)
      test_server_kill9(test_quorum_server(f->quorum, i));
    world_pass_ms(w, TOKEN_AHEAD_MS);
    for (int i = 0; i < 3; i++)
      test_server_restart(test_quorum_server(f->quorum, i), false);
    if (holder >= 0)
      world_mark(w, "emptied under a stopped holder");
    (void)world_wait_for_grants(w, 3, 3000);
    if (holder >= 0)
      world_continue(w, holder);
    if (!world_wait_for_grants(w, 10, 15000))
      world_fail(w, "no work is done after a majority was emptied");
    fleet_calm(f);
  }
  world_settle_how(w, 0, 20000);
}

static void run_emptied_plain(struct world *w, const struct scale *scale)
{
  (void)scale;
  run_emptied(w, false);
}

static void run_emptied_guarded(struct world *w, const struct scale *scale)
{
  (void)scale;
  run_emptied(w, true);
}

/* ---- F16 ---- */

/* Server i and clients i live on host i. With its neighbours it is three of five. */
static void make_ring(struct fleet *f)
{
  for (int i = 0; i < SERVERS; i++)
    fleet_cut(f, 1U << i, 1U << (i + 2) % SERVERS);
  world_mark(f->world, "rings of majorities");
}

/* Links are cut one by one, and come back in another order: at no time more than two of one
 * host, so that each keeps a majority. */
static void clog_links(struct fleet *f)
{
  struct world *w = f->world;
  int cut = world_between(w, 1, SERVERS - 1), back = world_between(w, 1, SERVERS - 1);

  for (int i = 0; i < SERVERS; i++) {
    int host = i * cut % SERVERS;

    fleet_cut(f, 1U << host, 1U << (host + 1) % SERVERS);
    world_pass_ms(w, world_between(w, 20, 150));
  }
  expect_work(w, "while links are clogged");
  for (int i = 0; i < SERVERS; i++) {
    int host = (i * back + 1) % SERVERS;

    test_network_heal(f->net, host, (host + 1) % SERVERS);
    world_pass_ms(w, world_between(w, 20, 150));
  }
  world_mark(w, "links clogged and freed");
}

static void isolate_in_turn(struct fleet *f)
{
  struct world *w = f->world;
  int host = (int)world_chance(w, SERVERS);

  fleet_cut(f, 1U << host, ~(1U << host));
  world_pass_ms(w, world_between(w, 300, TTL_MS + 800));
  expect_work(w, "while one host is cut off");
  fleet_heal(f);
  world_mark(w, "hosts cut off");
}

static void run_ring(struct world *w, const struct scale *scale)
{
  struct fleet *f = fleet_quorum(w, SERVERS, NULL, SERVERS, "?quarantine=2700ms");

  (void)scale;
  make_locks(w);
  for (int i = 0; i < SERVERS; i++)
    hire(f, i, 1);
  world_demand(w, "rings of majorities", 1);
  world_demand(w, "links clogged and freed", 1);
  world_demand(w, "hosts cut off", 1);
  world_demand_overlap(w, 20);
  do {
    make_ring(f);
    world_pass_ms(w, world_between(w, 500, TTL_MS));
    expect_work(w, "in a ring of majorities");
    fleet_heal(f);
    isolate_in_turn(f);
    clog_links(f);
    fleet_heal(f);
    expect_work(w, "after all links are whole");
    fleet_calm(f);
  } while (world_goes_on(w) && world_left_ms(w) > 0);
  world_settle_how(w, 0, 20000);
}

const struct scenario f16_ring = {
  .id = "F16", .name = "clients_with_different_majorities_never_hold_at_once",
  .run = run_ring, .expects = { .allows_shared_reads = true, .allows_idle_busy = true,
                                .fds_more = 2 * SERVERS },
  .skip_without = "iptables",
};

const struct scenario f27_minority = {
  .id = "F27", .name = "two_of_five_servers_down_slow_emptied_or_misdated_change_nothing",
  .run = run_minority, .expects = { .allows_shared_reads = true, .allows_idle_busy = true,
                                    .fds_more = 2 * SERVERS },
};

const struct scenario f27_emptied_plain = {
  .id = "F27", .name = "a_majority_that_forgot_gives_away_what_is_held",
  .run = run_emptied_plain, .expects = { .expects_overlap = true },
};

const struct scenario f27_emptied_guarded = {
  .id = "F27", .name = "a_majority_that_forgot_and_knows_it_waits",
  .run = run_emptied_guarded,
};
