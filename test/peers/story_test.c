/* SPDX-License-Identifier: MIT */
/* test/peers/story_test.c - plays stories with one peer and compares, after each step, what it
 * left on the server and what it published with what the story's file says.
 *
 *   story_test PEER FILE...        plays them; a story whose kind the peer has not is skipped
 *   story_test --write PEER FILE   writes the story to stdout, with what this peer does
 *
 * Lines of a story: `# ...` words for people; `needs KIND`; `any threads`: owners of one process
 * look alike; `> WORKER COMMAND`, which is answered ok at once; `~ WORKER COMMAND`, which waits;
 * `< WORKER RESULT`, how a command ended. Workers from 11 on are of a second process. All others
 * are what must be there after the step before them, in the words of story_state.h; behind
 * `ours: ` what ours says besides. */
#include "stage.h"
#include "story_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <unistd.h>

#include "now.h"

enum {
  STORIES_MAX = 32, STORY_BYTES = 20000,
  SETTLED_MS = 5000,               /* within which a step has all its effects */
  WAITS_MS = 150, WRITE_AFTER_MS = 400,
  PROCESSES = 2, WORKERS_OF_EACH = 10,
};

static const char our_mark[] = "ours: ";

static const struct peer *peer;
static struct test_server *server;

/* ---- files ---- */

static void read_story(const char *path, char *text)
{
  FILE *file = fopen(path, "re");
  size_t size = 0;

  if (file != NULL) {
    size = fread(text, 1, STORY_BYTES - 1, file);
    (void)fclose(file);
  }
  text[size] = 0;
  if (size == 0 || size == STORY_BYTES - 1)
    fail_msg("%s is not there, or too long", path);
}

static bool is_step(const char *line)
{
  return line[0] == '>' || line[0] == '~' || line[0] == '<';
}

static bool is_state(const char *line)
{
  return strncmp(line, "key ", 4) == 0 || strncmp(line, "message ", 8) == 0;
}

/* A line for ours, and ours it is that plays. */
static bool is_ours(const char *line)
{
  return strncmp(line, our_mark, sizeof(our_mark) - 1) == 0 && strcmp(peer->program, "dibs") == 0;
}

/* Cuts off the first line. */
static char *next_line(char **rest)
{
  char *line = *rest, *end = strchr(line, '\n');

  if (*line == 0)
    return NULL;
  if (end != NULL)
    *end = 0;
  *rest = end == NULL ? line + strlen(line) : end + 1;
  return line;
}

/* ---- steps ---- */

static void step(struct side *const *sides, const char *line)
{
  char *words;
  long number = strtol(line + 2, &words, 10), worker = number % WORKERS_OF_EACH;
  struct side *side = sides[number / WORKERS_OF_EACH];

  words += *words == ' ';
  if (line[0] == '<') {
    side_expect(side, (int)worker, SIDE_SOON_MS, words);
    return;
  }
  side_tell(side, (int)worker, "%s", words);
  if (line[0] == '>')
    side_expect(side, (int)worker, SIDE_SOON_MS, "ok");
  else
    side_expect_waiting(side, (int)worker, WAITS_MS);
}

/* Looks until it is so: what a library does after it has answered comes, too. */
static void compare(struct story_state *state, const char *after, const char *wanted)
{
  int64_t end_ms = test_now_ms() + SETTLED_MS;
  char got[STORY_STATE_BYTES];

  for (;;) {
    story_state_lines(state, got);
    if (strcmp(got, wanted) == 0)
      break;
    if (test_now_ms() > end_ms)
      fail_msg("after '%s' there is\n%sinstead of\n%s", after, got, wanted);
    (void)usleep(2000);
  }
  story_state_forget(state);
}

static void play(struct side *const *sides, struct story_state *state, char *text)
{
  char wanted[STORY_STATE_BYTES] = "";
  const char *after = NULL;
  char *line;

  do {
    line = next_line(&text);
    if (line != NULL && is_ours(line))
      line += sizeof(our_mark) - 1;
    if (line != NULL && is_state(line)) {
      size_t used = strlen(wanted);

      (void)snprintf(wanted + used, sizeof(wanted) - used, "%s\n", line);
    } else if (line == NULL || is_step(line)) {
      if (after != NULL)
        compare(state, after, wanted);
      wanted[0] = 0;
      after = line;
      if (line != NULL)
        step(sides, line);
    }
  } while (line != NULL);
}

static void write_story(struct side *const *sides, struct story_state *state, char *text)
{
  char got[STORY_STATE_BYTES];

  for (char *line = next_line(&text); line != NULL; line = next_line(&text)) {
    if (is_state(line))
      continue;
    printf("%s\n", line);
    if (!is_step(line))
      continue;
    step(sides, line);
    (void)usleep(20000);
    for (int64_t end_ms = test_now_ms() + WRITE_AFTER_MS; test_now_ms() < end_ms;)
      story_state_lines(state, got);
    printf("%s", got);
    story_state_forget(state);
  }
}

/* ---- one story ---- */

static const char *needs(const char *text)
{
  static char kind[20];
  const char *at = strstr(text, "\nneeds ");

  kind[0] = 0;
  if (at != NULL)
    (void)sscanf(at, "\nneeds %19s", kind);
  return kind;
}

/* Those of the peer, with spans that can be told from others. Redisson's place in a fair queue is
 * then as long as ours. */
static const char *const *options(void)
{
  static const char *const spans[] = { "watchdog=100000", "fair_wait=30000" };
  static const char *all[SIDE_OPTIONS_MAX + 1];

  for (int i = 0; i < SIDE_OPTIONS_MAX && peer->options[i] != NULL; i++) {
    all[i] = peer->options[i];
    for (size_t k = 0; k < sizeof(spans) / sizeof(spans[0]); k++)
      if (strncmp(all[i], spans[k], strcspn(spans[k], "=") + 1) == 0)
        all[i] = spans[k];
  }
  return all;
}

static bool has_two(const char *text)
{
  return strstr(text, "> 11 ") != NULL || strstr(text, "~ 11 ") != NULL;
}

static struct side *begin(const char *text, const char *path)
{
  const char *why = "";
  struct side *side = side_open(stage_program(peer), test_server_tcp_url(server), options(), &why);

  if (side == NULL)
    fail_msg("%s did not start: %s", peer->name, why);
  if (needs(text)[0] == 0)
    fail_msg("%s has no line 'needs KIND'", path);
  if (side_has(side, needs(text)))
    return side;
  (void)side_close(side);
  skip();
  return NULL;
}

static void with(const char *path,
                 void (*what)(struct side *const *, struct story_state *, char *))
{
  static char text[STORY_BYTES];
  struct side *sides[PROCESSES] = { NULL };
  struct story_state *state;

  read_story(path, text);
  (void)test_server_command(server, "FLUSHALL");
  for (int i = 0; i < (has_two(text) ? PROCESSES : 1); i++)
    sides[i] = begin(text, path);
  state = story_state_new(test_server_socket(server), strstr(text, "\nany threads\n") == NULL);
  what(sides, state, text);
  state = story_state_free(state);
  for (int i = 0; i < PROCESSES; i++)
    sides[i] = side_close(sides[i]);
}

static void story(void **state)
{
  with(*state, play);
}

static const struct peer *peer_of(const char *name)
{
  for (int i = 0; i < stage_peer_count; i++)
    if (strcmp(stage_peers[i].name, name) == 0)
      return &stage_peers[i];
  return NULL;
}

/* A library that does not know the dialect says so when it is opened. */
static bool is_there(void)
{
  const char *why = "it was not built (test/peers/build.sh)";
  struct side *side = NULL;
  bool is_here;

  if (access(stage_program(peer), X_OK) == 0)
    side = side_open(stage_program(peer), test_server_tcp_url(server), peer->options, &why);
  is_here = side != NULL;
  if (!is_here)
    printf("1..0 # SKIP %s: %s\n", peer->name, why);
  (void)side_close(side);
  return is_here;
}

int main(int count, char **words)
{
  struct CMUnitTest tests[STORIES_MAX];
  const bool is_writing = count == 4 && strcmp(words[1], "--write") == 0;
  int stories = 0, failed;

  peer = count > 2 ? peer_of(words[is_writing ? 2 : 1]) : NULL;
  if (peer == NULL || count - 2 > STORIES_MAX) {
    (void)fprintf(stderr, "Usage: story_test [--write] PEER FILE...\n");
    return 64;
  }
  server = test_server_start();
  if (!is_there())
    return is_writing ? 1 : 0;
  if (is_writing) {
    with(words[3], write_story);
    return 0;
  }
  for (int i = 2; i < count; i++, stories++) {
    const char *base = strrchr(words[i], '/');

    tests[stories] = (struct CMUnitTest){ base == NULL ? words[i] : base + 1, story, NULL, NULL,
                                          words[i] };
  }
  failed = _cmocka_run_group_tests(peer->name, tests, (size_t)stories, NULL, NULL);
  test_server_stop(server);
  return failed == 0 ? 0 : 1;
}
