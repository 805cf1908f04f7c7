/* SPDX-License-Identifier: MIT */
/* The search for a cycle of owners over what was collected: made-up clients and names. */
#include "tests.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/wait_graph.h"

/* Clients are letters; an owner, a wait and a hold have a number each. */

static wait_graph graph;
static graph_path path;
static char told[26][2048];
static text telling[26];
static inspect_answer answers[GRAPH_NAMES];

static int setup(void **state)
{
  (void)state;
  memset(&graph, 0, sizeof(graph));
  memset(answers, 0, sizeof(answers));
  for (size_t i = 0; i < 26; i++)
    telling[i].at = NULL;
  return 0;
}

static void client_id(char letter, char ret[CLIENT_ID_SIZE])
{
  memset(ret, letter, CLIENT_ID_SIZE - 1);
  ret[CLIENT_ID_SIZE - 1] = 0;
}

static text *words_of(char client)
{
  text *out = &telling[client - 'A'];

  if (out->at == NULL) {
    *out = text_over(told[client - 'A'], sizeof(told[0]));
    wait_report_begin(out);
  }
  return out;
}

static owner_entry entry_of(char kind, uint64_t owner, uint64_t id, const char *name)
{
  owner_entry e = { .kind = kind, .id = id, .name = name, .name_size = strlen(name) };
  text hex = text_over(e.owner, sizeof(e.owner));

  owner_id_write(owner, &hex);
  return e;
}

/* The owner waits since `since` by the ask of the same number as the wait. */
static void waits(char client, uint64_t owner, uint64_t id, uint64_t since, const char *name)
{
  owner_entry e = entry_of('w', owner, id, name);

  e.since_us = since;
  e.ask = id;
  assert_true(wait_report_add(words_of(client), &e));
}

static void tells_hold(char client, uint64_t owner, uint64_t id, const char *name)
{
  owner_entry e = entry_of('h', owner, id, name);

  e.ask = id;
  e.token = id * 100;
  assert_true(wait_report_add(words_of(client), &e));
}

static inspect_answer *answer_of(const char *name, native_kind kind)
{
  size_t i = 0;

  while (i < graph.name_count && strcmp(graph.names[i].name, name) != 0)
    i++;
  if (i == graph.name_count) {
    graph.names[i] = (graph_name){ name, strlen(name), true, &answers[i] };
    graph.name_count++;
    answers[i].kind = kind;
  }
  return &answers[i];
}

/* On the server: by the lease of the hold of that number. */
static void leased(const char *name, native_kind kind, char client, uint64_t id, char mode)
{
  inspect_answer *a = answer_of(name, kind);
  inspect_holder *h = &a->holders[a->shown_holders++];

  a->holder_count++;
  h->mode = mode;
  h->units = 1;
  h->lease = (lease_id){ .ask = id, .token = id * 100 };
  client_id(client, h->lease.client);
}

static void queued(const char *name, char client, uint64_t ask, char mode)
{
  inspect_answer *a = answer_of(name, NATIVE_MUTEX);
  inspect_waiter *w = &a->waiters[a->shown++];

  a->waiter_count++;
  w->ask = ask;
  w->mode = mode;
  w->units = 1;
  client_id(client, w->client);
}

static void holds(char client, uint64_t owner, uint64_t id, const char *name)
{
  tells_hold(client, owner, id, name);
  leased(name, NATIVE_MUTEX, client, id, 'x');
}

/* All clients that told something are known. */
static void clients_known(void)
{
  for (size_t i = 0; i < 26; i++)
    if (telling[i].at != NULL) {
      graph_client *c = &graph.clients[graph.client_count++];

      *c = (graph_client){ .is_asked = true, .owners = telling[i].at,
                           .owners_size = telling[i].used };
      client_id((char)('A' + i), c->id);
    }
}

static bool finds(char client, uint64_t wait)
{
  char id[CLIENT_ID_SIZE];

  if (graph.client_count == 0)
    clients_known();
  client_id(client, id);
  return graph_find(&graph, id, wait, NULL, &path);
}

/* ---- cycles ---- */

static void two(void)
{
  holds('A', 1, 11, "a");
  waits('A', 1, 12, 1000, "b");
  holds('B', 1, 21, "b");
  waits('B', 1, 22, 2000, "a");
}

TEST(the_younger_of_two_finds_the_cycle)
{
  char id[CLIENT_ID_SIZE];

  two();
  assert_true(finds('B', 22));
  assert_int_equal(path.count, 2);
  client_id('B', id);
  assert_string_equal(path.steps[0].waiter, id);
  assert_int_equal(path.steps[0].wait, 22);
  assert_int_equal(path.steps[0].hold, 11);
  assert_int_equal(path.steps[1].wait, 12);
  assert_int_equal(path.steps[1].hold, 21);
}

TEST(the_older_one_finds_none)
{
  two();
  assert_false(finds('A', 12));
}

TEST(of_equally_old_ones_exactly_one_finds_it)
{
  holds('A', 1, 11, "a");
  waits('A', 1, 12, 1000, "b");
  holds('B', 1, 21, "b");
  waits('B', 1, 22, 1000, "a");
  assert_true(finds('A', 12) != finds('B', 22));
}

TEST(threads_of_one_client_are_a_cycle)
{
  holds('A', 1, 11, "a");
  waits('A', 1, 12, 1000, "b");
  holds('A', 2, 21, "b");
  waits('A', 2, 22, 2000, "a");
  assert_true(finds('A', 22));
  assert_false(finds('A', 12));
}

TEST(other_owners_of_the_same_clients_are_none)
{
  holds('A', 1, 11, "a");
  waits('A', 2, 12, 1000, "b");
  holds('B', 1, 21, "b");
  waits('B', 2, 22, 2000, "a");
  assert_false(finds('B', 22));
  assert_false(finds('A', 12));
}

/* Another owner of the client that is in the way waits, and not the one that is. */
TEST(a_wait_of_a_holders_neighbour_leads_nowhere)
{
  holds('A', 1, 11, "a");
  holds('A', 2, 13, "c");
  waits('A', 2, 12, 1000, "b");
  holds('B', 1, 21, "b");
  waits('B', 1, 22, 2000, "a");
  assert_false(finds('B', 22));
}

TEST(a_chain_is_no_cycle)
{
  holds('A', 1, 11, "a");
  holds('B', 1, 21, "b");
  waits('B', 1, 22, 1000, "a");
  holds('C', 1, 31, "c");
  waits('C', 1, 32, 2000, "b");
  assert_false(finds('C', 32));
  assert_false(finds('B', 22));
}

/* A cycle further on, of which the search is no part, ends it all the same. */
TEST(a_cycle_of_others_is_not_ones_own)
{
  two();
  holds('C', 1, 31, "c");
  waits('C', 1, 32, 3000, "a");
  assert_false(finds('C', 32));
}

static void holders(const char *name, char client, uint64_t owner, uint64_t id, char mode)
{
  tells_hold(client, owner, id, name);
  leased(name, NATIVE_RWLOCK, client, id, mode);
}

TEST(a_writer_waits_for_each_reader)
{
  holders("rw", 'C', 1, 31, 'r');
  holders("rw", 'A', 1, 11, 'r');
  waits('A', 1, 12, 1000, "b");
  holds('B', 1, 21, "b");
  waits('B', 1, 22, 2000, "rw");
  queued("rw", 'B', 22, 'w');
  assert_true(finds('B', 22));
}

/* It waits behind somebody else, who may give up at any time. */
TEST(a_reader_does_not_wait_for_readers)
{
  holders("rw", 'A', 1, 11, 'r');
  waits('A', 1, 12, 1000, "b");
  holds('B', 1, 21, "b");
  waits('B', 1, 22, 2000, "rw");
  queued("rw", 'C', 99, 'w');
  queued("rw", 'B', 22, 'r');
  assert_false(finds('B', 22));
}

TEST(whose_grant_is_on_its_way_waits_for_nobody)
{
  holders("rw", 'A', 1, 11, 'w');
  waits('A', 1, 12, 1000, "b");
  holds('B', 1, 21, "b");
  waits('B', 1, 22, 2000, "rw");        /* and is not in the queue any more */
  assert_false(finds('B', 22));
}

static void permits_held(uint64_t limit)
{
  tells_hold('A', 1, 11, "sem");
  tells_hold('A', 1, 13, "sem");        /* two, of one owner */
  waits('A', 1, 12, 1000, "b");
  leased("sem", NATIVE_SEMAPHORE, 'A', 11, 'p');
  leased("sem", NATIVE_SEMAPHORE, 'A', 13, 'p');
  answer_of("sem", NATIVE_SEMAPHORE)->limit = limit;
  holds('B', 1, 21, "b");
  waits('B', 1, 22, 2000, "sem");
  queued("sem", 'B', 22, 'p');
}

TEST(an_owner_without_whose_permits_it_does_not_fit_is_in_the_way)
{
  permits_held(2);
  assert_true(finds('B', 22));
}

TEST(an_owner_beside_whom_it_would_fit_is_not)
{
  permits_held(3);
  assert_false(finds('B', 22));
}

TEST(owners_of_one_client_are_in_the_way_each_for_himself)
{
  permits_held(3);
  tells_hold('A', 2, 14, "sem");
  leased("sem", NATIVE_SEMAPHORE, 'A', 14, 'p');
  assert_false(finds('B', 22));
}

TEST(a_name_that_others_hold_by_now_is_not_held)
{
  two();
  answer_of("a", NATIVE_MUTEX)->holders[0].lease.token++;
  assert_false(finds('B', 22));
}

TEST(what_a_waiting_set_keeps_is_held)
{
  owner_entry kept = entry_of('h', 1, 12, "a");

  kept.set = 4;
  kept.ask = 12;
  assert_true(wait_report_add(words_of('A'), &kept));
  leased("a", NATIVE_MUTEX, 'A', 12, 'x');
  answer_of("a", NATIVE_MUTEX)->holders[0].lease.set = 4;
  waits('A', 1, 12, 1000, "b");
  holds('B', 1, 21, "b");
  waits('B', 1, 22, 2000, "a");
  assert_true(finds('B', 22));
  answer_of("a", NATIVE_MUTEX)->holders[0].lease.set = 5;
  assert_false(finds('B', 22));
}

/* ---- limits, and what is lacking ---- */

static void ring_of(char count)
{
  static char names[26][2];

  for (char i = 0; i < count; i++) {
    names[(int)i][0] = (char)('a' + i);
    names[(int)i][1] = 0;
  }
  for (char i = 0; i < count; i++) {
    holds((char)('A' + i), 1, (uint64_t)i * 10 + 1, names[(int)i]);
    waits((char)('A' + i), 1, (uint64_t)i * 10 + 2, 1000 + (uint64_t)i,
          names[(i + 1) % count]);
  }
}

TEST(a_cycle_of_sixteen_is_found_and_a_longer_one_is_not)
{
  ring_of(16);
  assert_true(finds('P', 152));
  assert_int_equal(path.count, 16);
  (void)setup(state);
  ring_of(17);
  assert_false(finds('Q', 162));
}

/* Told one after the other, as a walk would learn it. */
TEST(what_is_lacking_is_named_until_the_cycle_is_found)
{
  char id[CLIENT_ID_SIZE];
  int rounds = 0;

  ring_of(4);
  graph.name_count = 0;
  client_id('D', id);
  while (!graph_find(&graph, id, 32, NULL, &path)) {
    size_t lacking = 0;

    for (size_t i = 0; i < graph.client_count; i++) {
      graph_client *c = &graph.clients[i];

      lacking += !c->is_asked;
      c->is_asked = true;
      c->owners = telling[c->id[0] - 'A'].at;
      c->owners_size = telling[c->id[0] - 'A'].used;
    }
    for (size_t i = 0; i < graph.name_count; i++) {
      graph_name *n = &graph.names[i];

      lacking += !n->is_asked;
      n->is_asked = true;
      n->seen = &answers[((const char *)n->name)[0] - 'a'];
    }
    assert_true(lacking > 0);
    rounds++;
  }
  assert_in_range(rounds, 4, 9);
  assert_int_equal(path.count, 4);
}

TEST(more_holders_than_there_is_room_for_end_a_search)
{
  inspect_answer *a;
  char id[CLIENT_ID_SIZE];

  holders("rw", 'A', 1, 11, 'r');
  waits('A', 1, 12, 2000, "rw");
  queued("rw", 'A', 12, 'w');
  a = answer_of("rw", NATIVE_RWLOCK);
  for (a->shown_holders = 0; a->shown_holders < INSPECT_HOLDERS_MAX; a->shown_holders++) {
    client_id('z', id);
    id[0] = (char)('A' + a->shown_holders % 26);
    id[1] = (char)('A' + a->shown_holders / 26);
    memcpy(a->holders[a->shown_holders].lease.client, id, sizeof(id));
  }
  assert_false(finds('A', 12));
  assert_int_equal(graph.client_count, GRAPH_CLIENTS);
}

/* ---- two walks ---- */

#define NONCE "00000000000000aa"

TEST(only_clients_that_tell_the_nonce_are_believed)
{
  char id[CLIENT_ID_SIZE];

  two();
  wait_report_add_nonce(words_of('B'), NONCE);
  clients_known();
  client_id('B', id);
  assert_false(graph_find(&graph, id, 22, NONCE, &path));
  wait_report_add_nonce(words_of('A'), NONCE);
  graph.client_count = 0;
  clients_known();
  assert_true(graph_find(&graph, id, 22, NONCE, &path));
}

TEST(another_wait_hold_or_lease_makes_another_way)
{
  graph_path first;

  two();
  assert_true(finds('B', 22));
  first = path;
  assert_true(graph_path_equal(&first, &path));
  path.steps[1].wait++;
  assert_false(graph_path_equal(&first, &path));
  path = first;
  path.steps[0].hold++;
  assert_false(graph_path_equal(&first, &path));
  path = first;
  path.steps[0].lease.token++;
  assert_false(graph_path_equal(&first, &path));
  path = first;
  path.steps[1].ask++;
  assert_false(graph_path_equal(&first, &path));
  path = first;
  path.count--;
  assert_false(graph_path_equal(&first, &path));
}

RUN_TESTS_EACH(NULL, NULL, setup, NULL)
