/* SPDX-License-Identifier: MIT */
/* Who waits for whom: graph.c, over inspections made by hand. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/graph.h"

#define PARTIES_MAX 4

/* ---- inspections by hand ---- */

typedef struct scene {
  dibs_inspection inspection;
  dibs_holder holders[PARTIES_MAX];
  const dibs_holder *shown_holders[PARTIES_MAX];
  dibs_party parties[PARTIES_MAX], waiters[PARTIES_MAX];
  const dibs_party *shown_waiters[PARTIES_MAX];
  char name[16];
} scene;

/* "client" or "client/owner". */
static dibs_party party(const char *words)
{
  dibs_party p = { .size = sizeof(p), .units = 1 };
  const char *slash = strchr(words, '/');

  snprintf(p.client, sizeof(p.client), "%.*s",
           (int)(slash == NULL ? strlen(words) : (size_t)(slash - words)), words);
  snprintf(p.owner, sizeof(p.owner), "%s", slash == NULL ? "" : slash + 1);
  return p;
}

static bool next_word(const char **at, char word[64])
{
  size_t size;

  *at += strspn(*at, " ");
  size = strcspn(*at, " ");
  snprintf(word, 64, "%.*s", (int)size, *at);
  *at += size;
  return size > 0;
}

static scene *scene_of(scene *s, const char *name, dibs_kind kind, const char *holders,
                       const char *waiters)
{
  char words[64];

  memset(s, 0, sizeof(*s));
  snprintf(s->name, sizeof(s->name), "%s", name);
  s->inspection.name = s->name;
  s->inspection.name_size = strlen(name);
  s->inspection.kind = kind;
  s->inspection.holders = s->shown_holders;
  s->inspection.waiters = s->shown_waiters;
  while (next_word(&holders, words)) {
    size_t n = s->inspection.shown_holders++;

    s->parties[n] = party(words);
    s->holders[n] = (dibs_holder){ .party = &s->parties[n], .remaining_ms = 1000 };
    s->shown_holders[n] = &s->holders[n];
  }
  while (next_word(&waiters, words)) {
    size_t n = s->inspection.party_count++;

    s->waiters[n] = party(words);
    s->shown_waiters[n] = &s->waiters[n];
  }
  s->inspection.holder_count = s->inspection.shown_holders;
  s->inspection.waiter_count = s->inspection.party_count;
  return s;
}

static void add(graph *g, const char *name, dibs_kind kind, const char *holders,
                const char *waiters)
{
  scene s;

  assert_true(graph_add(g, &scene_of(&s, name, kind, holders, waiters)->inspection));
}

/* How many cycles there are; whether the last one is certain. */
static size_t cycles(const graph *g, bool *ret_certain, size_t *ret_length)
{
  size_t count = 0, edges[16];

  for (size_t n = 0; n < g->node_count; n++) {
    size_t length = g->nodes[n].has_cycle && g->nodes[n].component == n
                        ? graph_cycle(g, n, edges, 16)
                        : 0;

    if (length == 0)
      continue;
    count++;
    *ret_certain = graph_is_certain(g, edges, length);
    *ret_length = length;
  }
  return count;
}

/* ---- facts ---- */

TEST(a_queue_is_no_cycle)
{
  graph g = { .nodes = NULL };
  bool certain = false;
  size_t length = 0;

  add(&g, "a", DIBS_KIND_MUTEX, "one", "two three");
  add(&g, "b", DIBS_KIND_MUTEX, "two", "three");
  graph_finish(&g);
  assert_int_equal(g.node_count, 3);
  assert_int_equal(g.edge_count, 3);
  assert_int_equal(cycles(&g, &certain, &length), 0);
  graph_free(&g);
}

TEST(two_clients_in_a_circle_are_a_possible_deadlock)
{
  graph g = { .nodes = NULL };
  bool certain = true;
  size_t length = 0;

  add(&g, "a", DIBS_KIND_MUTEX, "one", "two bystander");
  add(&g, "b", DIBS_KIND_MUTEX, "two", "one");
  graph_finish(&g);
  assert_int_equal(cycles(&g, &certain, &length), 1);
  assert_false(certain);
  assert_int_equal(length, 2);
  for (size_t n = 0; n < g.node_count; n++)
    assert_int_equal(g.nodes[n].has_cycle,
                     strcmp(g.nodes[n].party.client, "bystander") != 0);
  graph_free(&g);
}

TEST(owners_make_it_certain)
{
  graph g = { .nodes = NULL };
  bool certain = false;
  size_t length = 0;

  add(&g, "a", DIBS_KIND_MUTEX, "one/x", "two/y");
  add(&g, "b", DIBS_KIND_RWLOCK, "two/y three/z", "four/u one/x");
  add(&g, "c", DIBS_KIND_MUTEX, "one/x", "three/z");
  graph_finish(&g);
  assert_int_equal(cycles(&g, &certain, &length), 1);   /* one component */
  assert_true(certain);
  graph_free(&g);
}

TEST(two_owners_of_one_client_are_two)
{
  graph g = { .nodes = NULL };
  bool certain = false;
  size_t length = 0;

  add(&g, "a", DIBS_KIND_MUTEX, "one/x", "two/y");
  add(&g, "b", DIBS_KIND_MUTEX, "two/y", "one/other");
  graph_finish(&g);
  assert_int_equal(g.node_count, 3);
  assert_int_equal(cycles(&g, &certain, &length), 0);
  graph_free(&g);
}

TEST(threads_that_wait_for_each_other_in_a_client_that_tells_nothing_are_no_edge)
{
  graph g = { .nodes = NULL };

  add(&g, "a", DIBS_KIND_RWLOCK, "one", "one");
  graph_finish(&g);
  assert_int_equal(g.edge_count, 0);
  graph_free(&g);
}

TEST(permits_that_others_hold_too_make_it_a_possible_one)
{
  for (int others = 0; others < 2; others++) {
    graph g = { .nodes = NULL };
    bool certain = others == 1;
    size_t length = 0;

    add(&g, "a", DIBS_KIND_SEMAPHORE, others == 0 ? "one/x" : "one/x three/z", "two/y");
    add(&g, "b", DIBS_KIND_MUTEX, "two/y", "one/x");
    graph_finish(&g);
    assert_int_equal(cycles(&g, &certain, &length), 1);
    assert_int_equal(certain, others == 0);
    graph_free(&g);
  }
}

TEST(a_command_inside_a_command_closes_the_circle)
{
  graph g = { .nodes = NULL };
  bool certain = true;
  size_t length = 0;
  scene s;

  scene_of(&s, "a", DIBS_KIND_MUTEX, "outer1", "inner2");
  snprintf(s.parties[0].host, sizeof(s.parties[0].host), "web");
  s.parties[0].pid = 41;
  snprintf(s.waiters[0].note, sizeof(s.waiters[0].note), "in web:42");
  assert_true(graph_add(&g, &s.inspection));
  scene_of(&s, "b", DIBS_KIND_MUTEX, "outer2", "inner1");
  snprintf(s.parties[0].host, sizeof(s.parties[0].host), "web");
  s.parties[0].pid = 42;
  snprintf(s.waiters[0].note, sizeof(s.waiters[0].note), "in web:41");
  assert_true(graph_add(&g, &s.inspection));
  graph_finish(&g);
  assert_int_equal(cycles(&g, &certain, &length), 1);
  assert_int_equal(length, 4);
  assert_false(certain);
  graph_free(&g);
}

TEST(a_name_that_scan_tells_twice_counts_once)
{
  graph g = { .nodes = NULL };

  add(&g, "a", DIBS_KIND_MUTEX, "one", "two");
  add(&g, "a", DIBS_KIND_MUTEX, "one", "two");
  graph_finish(&g);
  assert_int_equal(g.edge_count, 1);
  graph_free(&g);
}

TEST(many_clients_in_a_ring_are_one_cycle)
{
  graph g = { .nodes = NULL };
  bool certain = true;
  size_t length = 0, edges[16];

  for (int i = 0; i < 200; i++) {
    char name[16], holder[16], waiter[16];

    snprintf(name, sizeof(name), "n%d", i);
    snprintf(holder, sizeof(holder), "c%d", i);
    snprintf(waiter, sizeof(waiter), "c%d", (i + 1) % 200);
    add(&g, name, DIBS_KIND_MUTEX, holder, waiter);
  }
  graph_finish(&g);
  assert_int_equal(g.node_count, 200);
  assert_int_equal(graph_cycle(&g, g.nodes[0].component, edges, 16), 16);  /* cut */
  assert_int_equal(cycles(&g, &certain, &length), 1);
  graph_free(&g);
}

RUN_TESTS(NULL, NULL)
