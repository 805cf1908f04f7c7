/* SPDX-License-Identifier: MIT */
/* bench/peers_watch.c - what the server is sent while some wait and are served, as MONITOR
 * tells it: a line for each command with the time, and whether a client or a script gave it. */
#include "peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "raw.h"

#define END "bench-peers-end"

struct watch {
  raw *line;
  FILE *told;
};

typedef struct seen {
  double before, waiting, after;   /* of clients */
  double inside, messages;
} seen;

watch *watch_begin(void)
{
  watch *w = calloc(1, sizeof(*w));
  char answer[40];

  if (w == NULL)
    bench_die("no memory");
  w->line = raw_open(peers_server, true);
  w->told = fdopen(dup(w->line->fd), "r+");
  if (w->told == NULL || fputs("MONITOR\r\n", w->told) < 0 || fflush(w->told) != 0 ||
      fgets(answer, sizeof(answer), w->told) == NULL || strcmp(answer, "+OK\r\n") != 0)
    bench_die("MONITOR is refused");
  return w;
}

/* From CLOCK_MONOTONIC to the server's. */
static double wall_of(int64_t ns)
{
  struct timespec wall, own;

  (void)clock_gettime(CLOCK_REALTIME, &wall);
  (void)clock_gettime(CLOCK_MONOTONIC, &own);
  return (double)(wall.tv_sec - own.tv_sec) + (double)(wall.tv_nsec - own.tv_nsec) * 1e-9 +
         (double)ns * 1e-9;
}

static bool is_any_of(const char *word, const char *const *words)
{
  while (*words != NULL && strcasecmp(word, *words) != 0)
    words++;
  return *words != NULL;
}

/* +1763778000.123456 [0 127.0.0.1:5000] "EVALSHA" "..."; `lua` in the place of an address.
 * What connections say of themselves, and that they live, is of no lock. Ours come by the
 * socket. */
static void note(seen *s, const char *line, double stood, double released)
{
  static const char *const housekeeping[] = { "PING", "HELLO", "CLIENT", "COMMAND", "INFO",
                                              NULL };
  static const char *const messages[] = { "PUBLISH", "SPUBLISH", NULL };
  char source[80], word[40];
  double at;

  if (sscanf(line, "+%lf [%*d %79[^]]] \"%39[^\"]\"", &at, source, word) != 3 ||
      strncmp(source, "unix:", 5) == 0 || is_any_of(word, housekeeping))
    return;
  s->messages += is_any_of(word, messages);
  if (strcmp(source, "lua") == 0)
    s->inside++;
  else if (at < stood)
    s->before++;
  else if (at < released)
    s->waiting++;
  else
    s->after++;
}

counts watch_end(watch *w, const watched *when)
{
  double stood = wall_of(when->stood_ns), released = wall_of(when->released_ns);
  double often, n = when->participants;
  seen s = { 0 };
  char *line = NULL;
  size_t room = 0;

  (void)test_server_command(peers_server, "ECHO " END);
  while (getline(&line, &room, w->told) > 0 && strstr(line, END) == NULL)
    note(&s, line, stood, released);
  free(line);
  (void)fclose(w->told);
  (void)raw_close(w->line);
  free(w);
  often = released > stood ? s.waiting / (released - stood) : 0;
  return (counts){ .asking = s.before / n,
                   .handing_over = s.after / n, .inside = s.inside / n,
                   .messages = s.messages / n, .waiting_per_second = often };
}
