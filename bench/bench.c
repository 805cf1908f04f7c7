/* SPDX-License-Identifier: MIT */
/* bench/bench.c - see bench.h. */
#include "bench.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROWS_MAX 100

bench_options bench;

static bench_row rows[ROWS_MAX];
static size_t row_count;
static const char *notes[ROWS_MAX];
static size_t note_count;

void bench_die(const char *format, ...)
{
  char words[500];
  va_list arguments;

  (void)fflush(stdout);
  va_start(arguments, format);
  (void)vsnprintf(words, sizeof(words), format, arguments);
  va_end(arguments);
  (void)fprintf(stderr, "bench: %s\n", words);  /* one write: several processes may end so */
  exit(1);
}

void bench_ok(dibs_status status, const char *what)
{
  if (status != DIBS_OK)
    bench_die("%s: %s", what, dibs_status_name(status));
}

/* ---- options ---- */

int bench_begin(int argc, char **argv)
{
  int kept = 1;

  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--json") == 0)
      bench.as_json = true;
    else if (strcmp(argv[i], "--smoke") == 0)
      bench.is_smoke = true;
    else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
      bench.rounds = atoi(argv[++i]);
    else
      argv[kept++] = argv[i];
  }
  argv[kept] = NULL;
  return kept;
}

int bench_rounds(int usual)
{
  if (bench.rounds > 0)
    return bench.rounds | 1;
  return bench.is_smoke ? 1 : usual;
}

double bench_seconds(double usual)
{
  return bench.is_smoke ? 0.02 : usual;
}

/* ---- time and numbers ---- */

double bench_now(void)
{
  struct timespec at;

  (void)clock_gettime(CLOCK_MONOTONIC, &at);
  return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

double bench_quantile(double *values, size_t count, double share)
{
  size_t place = (size_t)((double)count * share);

  if (count == 0)
    return 0;
  qsort(values, count, sizeof(*values), by_value);
  return values[place < count ? place : count - 1];
}

double bench_median(const double *values, size_t count)
{
  double copy[1000];

  if (count > 1000)
    bench_die("a median of more than 1000 rounds");
  memcpy(copy, values, count * sizeof(*values));
  return bench_quantile(copy, count, 0.5);
}

static bool read_text(const char *path, char *bytes, size_t size)
{
  FILE *file = fopen(path, "r");
  size_t used;

  if (file == NULL)
    return false;
  used = fread(bytes, 1, size - 1, file);
  (void)fclose(file);
  bytes[used] = 0;
  return used > 0;
}

static double cpu_by_ticks(pid_t pid)
{
  char path[64], words[1024];
  const char *rest;
  unsigned long user = 0, system = 0;

  (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
  if (!read_text(path, words, sizeof(words)))
    return 0;
  rest = strrchr(words, ')');
  if (rest == NULL || sscanf(rest + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
                             &user, &system) != 2)
    return 0;
  return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

/* Servers of these versions do all that counts in their first thread, which is what
 * schedstat of the process tells about; the ticks of 10 ms are too coarse for us. */
double bench_cpu_of(pid_t pid)
{
  char path[64], words[256];
  struct timespec at;
  clockid_t clock;
  unsigned long long ns;

  if (clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, &at) == 0)
    return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
  (void)snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
  if (read_text(path, words, sizeof(words)) && sscanf(words, "%llu", &ns) == 1 && ns > 0)
    return (double)ns * 1e-9;
  return cpu_by_ticks(pid);
}

double bench_rss_bytes(void)
{
  char words[256];
  unsigned long pages = 0;

  if (!read_text("/proc/self/statm", words, sizeof(words)) ||
      sscanf(words, "%*u %lu", &pages) != 1)
    return 0;
  return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* ---- results ---- */

/* All texts, so that a leak checker finds them in use. */
typedef struct kept {
  struct kept *next;
  char *words;
} kept;
static kept *all_kept;

static const char *keep(const char *format, va_list arguments)
{
  kept *k = malloc(sizeof(*k));

  if (k == NULL || vasprintf(&k->words, format, arguments) < 0)
    abort();
  k->next = all_kept;
  all_kept = k;
  return k->words;
}

const char *bench_text(const char *format, ...)
{
  const char *words;
  va_list arguments;

  va_start(arguments, format);
  words = keep(format, arguments);
  va_end(arguments);
  return words;
}

void bench_add(const bench_row *row)
{
  if (row_count == ROWS_MAX)
    bench_die("more than %d rows", ROWS_MAX);
  rows[row_count++] = *row;
}

void bench_note(const char *format, ...)
{
  va_list arguments;

  if (note_count == ROWS_MAX)
    bench_die("more than %d notes", ROWS_MAX);
  va_start(arguments, format);
  notes[note_count++] = keep(format, arguments);
  va_end(arguments);
}

static bool is_met(const bench_row *r)
{
  double got = r->ratio > 0 ? r->ratio : r->value;

  return r->at_least ? got >= r->target : got <= r->target;
}

static void print_json(const char *program)
{
  printf("{\"program\": \"%s\", \"rows\": [\n", program);
  for (size_t i = 0; i < row_count; i++) {
    const bench_row *r = &rows[i];

    printf("  {\"figure\": \"%s\", \"value\": %.6g, \"unit\": \"%s\"", r->figure, r->value,
           r->unit);
    if (r->against != NULL)
      printf(", \"against\": \"%s\", \"ratio\": %.4g", r->against, r->ratio);
    if (r->target > 0)
      printf(", \"target\": %.4g, \"at_least\": %s, \"met\": %s", r->target,
             r->at_least ? "true" : "false", is_met(r) ? "true" : "false");
    printf("}%s\n", i + 1 < row_count ? "," : "");
  }
  printf("], \"notes\": [");
  for (size_t i = 0; i < note_count; i++)
    printf("%s\n  \"%s\"", i > 0 ? "," : "", notes[i]);
  printf("]}\n");
}

static void print_table(const char *program)
{
  printf("%s\n", program);
  for (size_t i = 0; i < row_count; i++) {
    const bench_row *r = &rows[i];

    printf("  %-52s %10.5g %-8s", r->figure, r->value, r->unit);
    if (r->against != NULL)
      printf(" %7.3f x %-30s", r->ratio, r->against);
    if (r->target > 0)
      printf(" target %s %.4g: %s", r->at_least ? ">=" : "<=", r->target,
             is_met(r) ? "met" : "MISSED");
    printf("\n");
  }
  for (size_t i = 0; i < note_count; i++)
    printf("  (%s)\n", notes[i]);
}

void bench_print(const char *program)
{
  if (bench.as_json)
    print_json(program);
  else
    print_table(program);
  (void)fflush(stdout);
}

/* ---- the library, the server ---- */

dibs_client *bench_open(const char *url, uint32_t flags)
{
  dibs_options options = DIBS_OPTIONS_INIT;
  dibs_client *client = NULL;

  options.flags = flags;
  bench_ok(dibs_open(url, &options, &client, NULL), "dibs_open");
  bench_ok(dibs_ping(client, 0, NULL), "dibs_ping");
  return client;
}

void bench_wait(dibs_client *client)
{
  struct pollfd watched = { .fd = dibs_fd(client), .events = POLLIN };

  (void)poll(&watched, 1, 1000);
  if (dibs_process(client, NULL) != DIBS_OK)
    bench_die("dibs_process() fails");
}

uint64_t bench_info(const struct test_server *s, const char *section, const char *field)
{
  char wanted[80];
  const char *found;

  (void)snprintf(wanted, sizeof(wanted), "\n%s:", field);
  found = strstr(test_server_command(s, "INFO %s", section), wanted);
  return found == NULL ? 0 : strtoull(found + strlen(wanted), NULL, 10);
}

uint64_t bench_calls(const struct test_server *s, const char *command)
{
  char wanted[80];
  const char *found;

  (void)snprintf(wanted, sizeof(wanted), "cmdstat_%s:calls=", command);
  found = strstr(test_server_command(s, "INFO commandstats"), wanted);
  return found == NULL ? 0 : strtoull(found + strlen(wanted), NULL, 10);
}
