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
static struct side *side_start(const entrant *e, const char **why)
{
  const struct peer *peer = e->peer;
  const char *options[SIDE_OPTIONS_MAX + 2];
  int count = 0;

  while (count < SIDE_OPTIONS_MAX && peer->options[count] != NULL) {
    options[count] = peer->options[count];
    count++;
  }
  options[count++] = "as=shipped";
  options[count] = NULL;
  return side_open(stage_program(peer), e->server != NULL ? side_kinds(e->server)
                                                          : test_server_tcp_url(peers_server),
                   options, why);
}

static void sides_start(entrant *e)
{
  const char *why = "";

  for (int i = 0; i < PEERS_SIDES; i++) {
    e->sides[i] = side_start(e, &why);
    if (e->sides[i] == NULL) {
      entrant_fail(e, "not here: %s", why);
      return;
    }
  }
}

static void sides_kill(entrant *e)
{
  for (int i = 0; i < PEERS_SIDES; i++)
    e->sides[i] = side_kill(e->sides[i]);
}

static void server_start(entrant *e)
{
  char directory[300];
  const char *options[] = { directory, NULL }, *why = "";

  (void)snprintf(directory, sizeof(directory), "directory=%s/%s",
                 test_server_directory(peers_server), e->peer->name);
  e->server = side_open(stage_program(e->peer), "server", options, &why);
  if (e->server == NULL)
    entrant_fail(e, "not here: its server: %s", why);
}

void entrant_open(entrant *e, const struct peer *peer)
{
  e->peer = peer;
  if (access(stage_program(peer), X_OK) != 0)
    entrant_fail(e, "not here: it was not built (test/peers/build.sh)");
  if (e->failure == NULL && (peer->traits & OWN_SERVER) != 0)
    server_start(e);
  if (e->failure == NULL)
    sides_start(e);
}

void entrant_close(entrant *e)
{
  for (int i = 0; i < PEERS_SIDES; i++)
    e->sides[i] = side_close(e->sides[i]);
  e->server = side_close(e->server);
}

static const char *say(const entrant *e, const char *format, va_list values)
{
  char words[300];

  (void)vsnprintf(words, sizeof(words), format, values);
  (void)fprintf(stderr, "bench: %s: %s\n", e->peer->name, words);
  return bench_text("%s", words);
}

void entrant_fail(entrant *e, const char *format, ...)
{
  va_list values;

  va_start(values, format);
  e->failure = say(e, format, values);
  va_end(values);
  sides_kill(e);
}

void entrant_hang(entrant *e, const char *format, ...)
{
  va_list values;

  va_start(values, format);
  e->hang = say(e, format, values);
  va_end(values);
  sides_kill(e);
  sides_start(e);
}

/* ---- looking ---- */

double entrant_server_cpu(const entrant *e)
{
  return bench_cpu_of(e->server != NULL ? side_pid(e->server) : test_server_pid(peers_server));
}

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
