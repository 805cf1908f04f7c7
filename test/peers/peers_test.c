/* SPDX-License-Identifier: MIT */
/* test/peers/peers_test.c - plays every scenario with every two peers that share a layout, and
 * prints who gets on with whom.
 *
 *   peers_test FAMILY           native, redisson, spring or plain
 *
 * DIBS_PEERS names the folder in which build.sh left the peers (else that of the build, with
 * those that need no network); those that are not there are left out, and said so.
 * DIBS_TEST_SCALE multiplies the cycles. By default peers of others meet their neighbour in the
 * table, and ours meets each; DIBS_PEERS_ALL=1: all two. DIBS_PEERS_ONLY='dibs-*never' plays only
 * those whose name has the pattern in it. DIBS_TEST_DEPLOYMENT=cluster: in a cluster; besides
 * DIBS_PEERS_SHARDED=no: without its sharded channels. DIBS_PEERS_DATABASE=3: the keys are
 * there. */
#include "stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <fnmatch.h>
#include <unistd.h>

#include "live.h"

enum { PEERS_MAX = 16, PLAYS_MAX = 2000, OBJECTS_MAX = 16 };

/* One scenario with two peers; the same peer twice is two processes of it. */
struct play {
  const struct scenario *scenario;
  int a, b;
  char title[160];
};

static struct side *sides[PEERS_MAX][2];
static struct play plays[PLAYS_MAX];
static struct CMUnitTest tests[PLAYS_MAX];
static int play_count;
static struct stage stage;
static const struct play *at;
static bool is_whole;              /* the scenario came to its end */
static struct score { int passed, failed; } scores[PEERS_MAX][PEERS_MAX][OBJECTS_MAX];

/* ---- participants ---- */

static struct side *begin_side(const struct peer *p, const char **ret_why)
{
  const char *options[SIDE_OPTIONS_MAX + 1] = { NULL }, *sharded = getenv("DIBS_PEERS_SHARDED");
  const char *database = getenv("DIBS_PEERS_DATABASE");
  char address[600];
  int count = 0;

  (void)snprintf(address, sizeof(address), "%s%s%s", live_other_url(),
                 database == NULL ? "" : "/", database == NULL ? "" : database);
  while (p->options[count] != NULL) {
    options[count] = p->options[count];
    count++;
  }
  if (sharded != NULL && strcmp(sharded, "no") == 0)
    options[count] = "sharded=no";
  return side_open(stage_program(p), address, options, ret_why);
}

/* Opened at first use, and kept for the next scenario. */
static struct side *side_of(int peer, int which, const char **ret_why)
{
  if (sides[peer][which] == NULL)
    sides[peer][which] = begin_side(&stage_peers[peer], ret_why);
  return sides[peer][which];
}

static bool is_there(int peer)
{
  const struct peer *p = &stage_peers[peer];
  const char *why = "";

  if (access(stage_program(p), X_OK) != 0)
    why = "it was not built (test/peers/build.sh)";
  else if (side_of(peer, 0, &why) != NULL)
    printf("# | %s: %s\n", p->name, side_library(sides[peer][0]));
  if (sides[peer][0] == NULL)
    printf("# | not here: %s: %s\n", p->name, why);
  return sides[peer][0] != NULL;
}

/* ---- one scenario ---- */

static int begin(void **state)
{
  const char *why = "";

  at = *state;
  is_whole = false;
  stage = (struct stage){ .server = live_server, .kind = at->scenario->kind };
  stage.peers[0] = &stage_peers[at->a];
  stage.peers[1] = &stage_peers[at->b];
  stage.cycles = (int)live_times(at->scenario->cycles);
  (void)snprintf(stage.name, sizeof(stage.name), "mutex:t%d", (int)(at - plays));
  stage.a = side_of(at->a, 0, &why);
  stage.b = side_of(at->b, at->a == at->b, &why);
  if (stage.a == NULL || stage.b == NULL)
    print_error("one of them did not start: %s\n", why);
  return stage.a == NULL || stage.b == NULL ? -1 : 0;
}

static void play(void **state)
{
  (void)state;
  at->scenario->run(&stage);
  is_whole = true;
}

static int column_of(const char *object)
{
  int column = 0;

  for (int i = 0; i < stage_scenario_count; i++) {
    if (strcmp(stage_scenarios[i].object, object) == 0)
      return column;
    column += strcmp(stage_scenarios[i].object, stage_scenarios[i + 1].object) != 0;
  }
  return column;
}

/* Who failed in the middle may hold or wait for anything: it starts anew. */
static int end(void **state)
{
  struct score *score = &scores[at->a][at->b][column_of(at->scenario->object)];

  (void)state;
  score->passed += is_whole;
  score->failed += !is_whole;
  sides[at->a][0] = stage.a;
  sides[at->b][at->a == at->b] = stage.b;
  if (!is_whole) {
    sides[at->a][0] = side_kill(stage.a);
    sides[at->b][at->a == at->b] = side_kill(stage.b);
  }
  if (stage.note[0] != 0)
    printf("# %s: %s\n", at->title, stage.note);
  return 0;
}

/* ---- which ---- */

static bool is_ours(int peer)
{
  return strcmp(stage_peers[peer].program, "dibs") == 0;
}

static void plan_one(const struct scenario *s, int a, int b)
{
  struct play *p = &plays[play_count];
  const char *only = getenv("DIBS_PEERS_ONLY");
  char pattern[200];

  if (!side_has(sides[a][0], s->kind) || !side_has(sides[b][0], s->kind) ||
      (s->applies != NULL && !s->applies(&stage_peers[a], &stage_peers[b])))
    return;
  *p = (struct play){ .scenario = s, .a = a, .b = b };
  (void)snprintf(p->title, sizeof(p->title), "%s and %s: %s: %s", stage_peers[a].name,
                 stage_peers[b].name, s->object, s->title);
  (void)snprintf(pattern, sizeof(pattern), "*%s*", only == NULL ? "" : only);
  if (fnmatch(pattern, p->title, FNM_EXTMATCH) != 0)
    return;
  tests[play_count] = (struct CMUnitTest){ p->title, play, begin, end, p };
  play_count++;
}

static void plan_two(int a, int b, const char *object)
{
  for (int i = 0; i < stage_scenario_count; i++) {
    const struct scenario *s = &stage_scenarios[i];

    if (object != NULL && strcmp(s->object, object) != 0)
      continue;
    plan_one(s, a, b);
    if (a != b && !s->is_symmetric)
      plan_one(s, b, a);
  }
}

/* Those of the family, two by two; who is alone, with itself. Latches of our own have Redisson's
 * layout always. */
static void plan(enum family family)
{
  int members[PEERS_MAX], count = 0;

  for (int i = 0; i < stage_peer_count; i++)
    if (stage_peers[i].family == family && is_there(i))
      members[count++] = i;
  for (int i = 0; i < count; i++)
    for (int j = i + 1; j < count; j++)
      if (j == i + 1 || is_ours(members[i]) || getenv("DIBS_PEERS_ALL") != NULL)
        plan_two(members[i], members[j], NULL);
  for (int i = 0; i < count; i++)
    if (count == 1 || (stage_peers[members[i]].traits & MEETS_ITSELF) != 0)
      plan_two(members[i], members[i], NULL);
  if (family == FAMILY_REDISSON && count > 0 && is_there(0))
    for (int i = 0; i < count; i++)
      plan_two(0, members[i], "latch");
}

/* ---- the table ---- */

static void print_cell(const struct score *score)
{
  char text[40] = "-";

  if (score->passed + score->failed > 0)
    (void)snprintf(text, sizeof(text), "%s %d/%d", score->failed == 0 ? "ok" : "FAIL",
                   score->passed, score->passed + score->failed);
  printf(" %-10s", text);
}

static int objects(const char **ret_objects)
{
  int count = 0;

  for (int i = 0; i < play_count; i++) {
    int k = 0;

    while (k < count && strcmp(ret_objects[k], plays[i].scenario->object) != 0)
      k++;
    if (k == count)
      ret_objects[count++] = plays[i].scenario->object;
  }
  return count;
}

static void print_table(void)
{
  const char *columns[OBJECTS_MAX];
  int count = objects(columns);

  printf("# | %-34s", "");
  for (int k = 0; k < count; k++)
    printf(" %-10s", columns[k]);
  printf("\n");
  for (int i = 0; i < play_count; i++) {
    bool is_new = true;
    char two[80];

    for (int k = 0; k < i; k++)
      is_new = is_new && (plays[k].a != plays[i].a || plays[k].b != plays[i].b);
    if (!is_new)
      continue;
    (void)snprintf(two, sizeof(two), "%s, %s", stage_peers[plays[i].a].name,
                   stage_peers[plays[i].b].name);
    printf("# | %-34s", two);
    for (int k = 0; k < count; k++)
      print_cell(&scores[plays[i].a][plays[i].b][column_of(columns[k])]);
    printf("\n");
  }
}

static void close_all(void)
{
  for (int i = 0; i < stage_peer_count; i++)
    for (int k = 0; k < 2; k++)
      sides[i][k] = side_close(sides[i][k]);
}

int main(int count, char **words)
{
  int family = 0, failed;

  while (family < FAMILY_COUNT &&
         (count < 2 || strcmp(words[1], stage_family((enum family)family)) != 0))
    family++;
  if (family == FAMILY_COUNT) {
    (void)fprintf(stderr, "Usage: peers_test native|redisson|spring|plain\n");
    return 64;
  }
  (void)setvbuf(stdout, NULL, _IOLBF, 0);
  (void)live_server_setup(NULL);
  plan((enum family)family);
  if (play_count == 0) {
    close_all();
    (void)live_server_teardown(NULL);
    printf("1..0 # SKIP none of these peers is here\n");
    return 0;
  }
  for (int i = 0; i < play_count; i++)
    tests[i].initial_state = &plays[i];
  failed = _cmocka_run_group_tests("peers", tests, (size_t)play_count, NULL, NULL);
  print_table();
  close_all();
  (void)live_server_teardown(NULL);
  return failed == 0 ? 0 : 1;
}
