/* SPDX-License-Identifier: MIT */
/* bench/peers_entrant.c - starting the processes of an entrant, looking at them, and
 * leaving one out that fails. */
#include "peers.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void samples_add(samples *s, double value)
{
  if (s->count == s->room) {
    s->room = s->room == 0 ? 256 : 2 * s->room;
    s->all = realloc(s->all, s->room * sizeof(s->all[0]));
    if (s->all == NULL)
      bench_die("no memory");
  }
  s->all[s->count++] = value;
}

/* ---- files of the cycles ---- */

const char *peers_counter(void)
{
  static char path[300];

  (void)snprintf(path, sizeof(path), "%s/counter", test_server_directory(peers_server));
  return path;
}

void peers_counter_reset(void)
{
  uint64_t zero = 0;
  int fd = open(peers_counter(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

  if (fd < 0 || pwrite(fd, &zero, sizeof(zero), 0) != (ssize_t)sizeof(zero))
    bench_die("cannot write %s", peers_counter());
  (void)close(fd);
}

const char *peers_records(int worker)
{
  static char path[300];

  (void)snprintf(path, sizeof(path), "%s/records-%d", test_server_directory(peers_server),
                 worker);
  return path;
}

/* ---- begin and end ---- */

/* As its users would have it, and not as tests that are in a hurry. */
static struct side *side_start(const struct peer *peer, const char **why)
{
  const char *options[SIDE_OPTIONS_MAX + 2];
  int count = 0;

  while (count < SIDE_OPTIONS_MAX && peer->options[count] != NULL) {
    options[count] = peer->options[count];
    count++;
  }
  options[count++] = "as=shipped";
  options[count] = NULL;
  return side_open(stage_program(peer), test_server_tcp_url(peers_server), options, why);
}

void entrant_open(entrant *e, const struct peer *peer)
{
  const char *why = "it was not built (test/peers/build.sh)";

  e->peer = peer;
  if (access(stage_program(peer), X_OK) != 0) {
    entrant_fail(e, "not here: %s", why);
    return;
  }
  for (int i = 0; i < PEERS_SIDES; i++) {
    e->sides[i] = side_start(peer, &why);
    if (e->sides[i] == NULL) {
      entrant_fail(e, "not here: %s", why);
      return;
    }
  }
}

void entrant_close(entrant *e)
{
  for (int i = 0; i < PEERS_SIDES; i++)
    e->sides[i] = side_close(e->sides[i]);
}

void entrant_fail(entrant *e, const char *format, ...)
{
  char words[300];
  va_list values;

  va_start(values, format);
  (void)vsnprintf(words, sizeof(words), format, values);
  va_end(values);
  for (int i = 0; i < PEERS_SIDES; i++)
    e->sides[i] = side_kill(e->sides[i]);
  e->failure = bench_text("%s", words);
  (void)fprintf(stderr, "bench: %s: %s\n", e->peer->name, words);
}

/* ---- looking ---- */

static double status_number(const char *folder, const char *field)
{
  char path[300], line[300];
  double value = 0;
  FILE *file;

  (void)snprintf(path, sizeof(path), "%s/status", folder);
  file = fopen(path, "re");
  while (file != NULL && fgets(line, sizeof(line), file) != NULL)
    if (strncmp(line, field, strlen(field)) == 0)
      value = strtod(line + strlen(field), NULL);
  if (file != NULL)
    (void)fclose(file);
  return value;
}

/* Its connections; all else that it has open are files, pipes and the like. */
static int socket_count(const char *folder)
{
  char path[300], target[80];
  const struct dirent *entry;
  int count = 0;
  DIR *files;

  (void)snprintf(path, sizeof(path), "%s/fd", folder);
  files = opendir(path);
  while (files != NULL && (entry = readdir(files)) != NULL) {
    ssize_t n = readlinkat(dirfd(files), entry->d_name, target, sizeof(target));

    count += n > 7 && strncmp(target, "socket:", 7) == 0;
  }
  if (files != NULL)
    (void)closedir(files);
  return count;
}

look entrant_look(const entrant *e, int side)
{
  char folder[40];

  (void)snprintf(folder, sizeof(folder), "/proc/%d", (int)side_pid(e->sides[side]));
  return (look){ .rss_bytes = status_number(folder, "VmRSS:") * 1024,
                 .threads = (int)status_number(folder, "Threads:"),
                 .sockets = socket_count(folder) };
}
