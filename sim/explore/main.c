/* SPDX-License-Identifier: MIT */
/* dibs-explore - runs seeds, tells which fail, and how to see each again.
 *
 *   dibs-explore --seeds 1..2000          2000 worlds
 *   dibs-explore --seconds 60 --jobs 2    as many as there is time for
 *   dibs-explore --seed 137 --trace       one, line by line
 *   dibs-explore --seed 137 --minimise    with as few faults as it takes
 *   dibs-explore --seed 137 --fault 'CUT 1 20000 0 0 0 0'    with these faults only
 *   dibs-explore --plain --seconds 60     locking and releasing only: how fast it is
 *   dibs-explore --kind redisson          locks in Redisson's format, and Java programs
 *   dibs-explore --ifeq --seeds 1..2000   the same worlds with a server that knows SET with IFEQ
 *
 * Exit status: 0 nothing found, 1 something found, 2 wrong usage. */
#include "explore.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "world/world.h"

enum { TAIL_LINES = 200, LINE_BYTES = 1000, FINDINGS_SHOWN = 3, JOBS_MAX = 64 };

typedef struct wanted {
  uint64_t first, last;
  int64_t seconds;
  uint64_t twice_each;          /* each such seed runs twice; 0: none */
  bool is_plain, has_ifeq, traces, minimises, reports, needs_all;
  kinds kinds_asked;
  int jobs;
  const char *kind_name, *regressions;
  size_t fault_count;
  bool has_faults;
  dibs_sim_fault faults[FAULTS_MAX];
} wanted;

/* What a job tells in the end, and the last lines of the world it is in. */
static uint64_t found_seeds[FINDINGS_SHOWN];
static uint64_t findings;
static char tail[TAIL_LINES][LINE_BYTES];
static size_t tail_count;
static bool tail_is_over;

static void keep_line(const char *line, void *data)
{
  (void)data;
  if (tail_is_over && strstr(line, " the key of ") == NULL)
    return;                             /* what comes after a flaw explains nothing */
  tail_is_over = tail_is_over || strstr(line, " FLAW ") != NULL;
  (void)snprintf(tail[tail_count++ % TAIL_LINES], LINE_BYTES, "%s", line);
}

static void print_line(const char *line, void *data)
{
  (void)data;
  puts(line);
}

static void print_tail(void)
{
  size_t from = tail_count > TAIL_LINES ? tail_count - TAIL_LINES : 0;

  for (; from < tail_count; from++)
    printf("  %s\n", tail[from % TAIL_LINES]);
  tail_count = 0;
}

static void plan_of(const wanted *w, uint64_t seed, plan *ret)
{
  if (w->is_plain)
    plan_plain(ret, seed);
  else
    plan_draw(ret, seed, w->kinds_asked);
  ret->has_ifeq = w->has_ifeq;
  if (w->has_faults) {
    memcpy(ret->faults, w->faults, sizeof(ret->faults));
    ret->fault_count = w->fault_count;
    faults_sort(ret->faults, ret->fault_count);
  }
}

static void print_plan(const plan *p)
{
  printf("%d processes of %d threads, %d locks, ttl %d and %d ms, delay %d..%d us, %lld ms%s\n",
         p->processes, p->threads, p->names, p->ttl_ms[0], p->ttl_ms[1], p->delay_min_us,
         p->delay_max_us, (long long)p->run_ms, p->is_calm ? ", calm" : "");
  if (p->has_publisher)
    printf("somebody forges messages\n");
  if (p->is_redisson) {
    printf("redisson:");
    for (int i = 0; i < p->names; i++)
      printf(" %s is %s,", name_texts[i], redisson_kind_name(p->redisson_kinds[i]));
    printf(" %d peers\n", p->peers);
  }
  for (size_t i = 0; i < p->fault_count; i++) {
    char words[160];

    (void)dibs_sim_fault_text(&p->faults[i], words, sizeof(words));
    printf("  %s\n", words);
  }
}

static void print_command(const wanted *w, const plan *p, bool with_faults)
{
  printf("  dibs-explore --seed %" PRIu64 " --trace", p->seed);
  if (w->kind_name != NULL)
    printf(" --kind %s", w->kind_name);
  if (w->has_ifeq)
    printf(" --ifeq");
  for (size_t i = 0; with_faults && i < p->fault_count; i++) {
    char line[160];

    fault_write(&p->faults[i], line, sizeof(line));
    printf(" --fault '%s'", line);
  }
  if (with_faults && p->fault_count == 0)
    printf(" --fault none");
  printf("\n");
}

static void report_finding(const wanted *w, plan *p, const verdict *v)
{
  verdict again = *v;

  if (findings < FINDINGS_SHOWN)
    found_seeds[findings] = p->seed;
  if (findings++ >= FINDINGS_SHOWN)
    return;
  printf("\nseed %" PRIu64 " fails %s\n", p->seed, v->flaw);
  if (w->minimises) {
    minimise(p, &again);
    printf("with fewer faults: %s\n", again.flaw);
  }
  print_plan(p);
  tail_count = 0;
  tail_is_over = false;
  if (!w->traces)
    trial_run(p, keep_line, NULL, &again);
  print_tail();
  printf("%s\nagain:\n", again.flaw[0] != 0 ? again.flaw : "NOT AGAIN: the world is not "
                                                           "determined by its seed");
  print_command(w, p, w->minimises || w->has_faults);
  (void)fflush(stdout);
}

static void run_seed(const wanted *w, uint64_t seed)
{
  verdict v, again;
  plan p;

  plan_of(w, seed, &p);
  if (w->traces)
    print_plan(&p);
  trial_run(&p, w->traces ? print_line : NULL, NULL, &v);
  if (w->twice_each > 0 && seed % w->twice_each == 0 && v.flaw[0] == 0) {
    trial_run(&p, NULL, NULL, &again);
    if (again.fingerprint != v.fingerprint)
      (void)snprintf(v.flaw, sizeof(v.flaw), "twice: %016" PRIx64 " and %016" PRIx64,
                     v.fingerprint, again.fingerprint);
  }
  if (v.flaw[0] != 0)
    report_finding(w, &p, &v);
}

/* ---- jobs ---- */

static int64_t now_seconds(void)
{
  struct timespec t;

  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec;
}

static void run_share(const wanted *w, int job)
{
  int64_t end = now_seconds() + w->seconds;

  for (uint64_t seed = w->first + (uint64_t)job; seed <= w->last; seed += (uint64_t)w->jobs) {
    if (w->seconds > 0 && now_seconds() >= end)
      return;
    run_seed(w, seed);
  }
}

typedef struct share { coverage covered; uint64_t findings; } share;

static bool read_all(int fd, void *to, size_t size)
{
  char *at = to;

  while (size > 0) {
    ssize_t got = read(fd, at, size);

    if (got <= 0 && errno != EINTR)
      return false;
    if (got > 0) {
      at += got;
      size -= (size_t)got;
    }
  }
  return true;
}

static void run_child(const wanted *w, int job, int fd)
{
  share s = { .findings = 0 };

  run_share(w, job);
  s.covered = covered;
  s.findings = findings;
  (void)fflush(stdout);
  _exit(write(fd, &s, sizeof(s)) == (ssize_t)sizeof(s) ? 0 : 3);
}

static bool run_jobs(const wanted *w)
{
  int fds[JOBS_MAX][2];
  bool all_ended_well = true;

  (void)fflush(stdout);
  for (int i = 0; i < w->jobs; i++) {
    if (pipe(fds[i]) != 0)
      return false;
    if (fork() == 0)
      run_child(w, i, fds[i][1]);
    (void)close(fds[i][1]);
  }
  for (int i = 0; i < w->jobs; i++) {
    share s;

    if (read_all(fds[i][0], &s, sizeof(s))) {
      coverage_add(&covered, &s.covered);
      findings += s.findings;
    } else {
      printf("job %d died\n", i);
      all_ended_well = false;
    }
    (void)close(fds[i][0]);
  }
  while (wait(NULL) > 0) {
  }
  return all_ended_well;
}

/* ---- regressions: `SEED [KIND ; fault ; fault ...]`, # begins a comment ---- */

static kinds kind_read(const char *word)
{
  static const struct { const char *name; unsigned bits; } all[] = {
    { "mutex", KIND_MUTEX }, { "share", KIND_SHARE }, { "many", KIND_MUTEX | KIND_MANY },
    { "meet", KIND_MEET }, { "mixed", KIND_ALL }, { "redisson", KIND_REDISSON },
    { "redisson-plain", KIND_PLAIN }, { "redisson-fair", KIND_FAIR },
    { "redisson-fenced", KIND_FENCED }, { "redisson-spin", KIND_SPIN },
  };

  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
    if (strcmp(all[i].name, word) == 0)
      return (kinds)all[i].bits;
  return (kinds)0;
}

static bool fault_add(wanted *w, const char *line)
{
  w->has_faults = true;
  if (strcmp(line, "none") == 0)
    return true;
  return w->fault_count < FAULTS_MAX && fault_read(line, &w->faults[w->fault_count++]);
}

static bool run_regression(char *line)
{
  wanted w = { .kinds_asked = KIND_ALL, .jobs = 1 };
  char *rest = NULL, *part = strtok_r(line, ";", &rest), kind[20] = "";

  if (part == NULL || sscanf(part, "%" SCNu64 " %19s", &w.first, kind) < 1)
    return false;
  if (kind[0] != 0) {
    w.kinds_asked = kind_read(kind);
    w.kind_name = kind;
  }
  while ((part = strtok_r(NULL, ";", &rest)) != NULL)
    if (!fault_add(&w, part + strspn(part, " ")))
      return false;
  run_seed(&w, w.first);
  return true;
}

static bool run_regressions(const char *path)
{
  FILE *file = fopen(path, "r");
  char line[8192];
  bool is_good = file != NULL;

  while (is_good && fgets(line, sizeof(line), file) != NULL) {
    line[strcspn(line, "#\n")] = 0;
    if (line[strspn(line, " ")] != 0)
      is_good = run_regression(line);
  }
  if (!is_good)
    printf("%s: cannot be read: %s\n", path, line);
  if (file != NULL)
    (void)fclose(file);
  return is_good;
}

/* ---- the command line ---- */

static int usage(void)
{
  (void)fprintf(stderr,
    "dibs-explore [--seed N | --seeds FROM..TO] [--seconds S] [--jobs N] [--trace]\n"
    "             [--twice | --twice-each N]\n"
    "             [--minimise] [--kind KIND] [--fault LINE]...\n"
    "             [--regressions FILE] [--report] [--all-points] [--plain] [--ifeq]\n"
    "KIND: mutex, share, many, meet, mixed; redisson, redisson-plain, redisson-fair,\n"
    "      redisson-fenced, redisson-spin\n");
  return 2;
}

static bool option_take(wanted *w, int option)
{
  switch (option) {
  case 's': w->first = w->last = strtoull(optarg, NULL, 10); return true;
  case 'S': return sscanf(optarg, "%" SCNu64 "..%" SCNu64, &w->first, &w->last) == 2;
  case 'd': w->seconds = strtoll(optarg, NULL, 10); w->last = UINT64_MAX / 2; return true;
  case 'j': w->jobs = (int)strtoll(optarg, NULL, 10); return w->jobs >= 1 && w->jobs <= JOBS_MAX;
  case 't': w->traces = true; return true;
  case '2': w->twice_each = 1; return true;
  case 'e': w->twice_each = strtoull(optarg, NULL, 10); return true;
  case 'm': w->minimises = true; return true;
  case 'k': w->kind_name = optarg; w->kinds_asked = kind_read(optarg); return w->kinds_asked != 0;
  case 'f': return fault_add(w, optarg);
  case 'r': w->regressions = optarg; return true;
  case 'p': w->is_plain = true; return true;
  case 'i': w->has_ifeq = true; return true;
  case 'R': w->reports = true; return true;
  case 'a': w->needs_all = true; return true;
  default:  return false;
  }
}

int main(int argc, char **argv)
{
  static const struct option options[] = {
    { "seed", 1, NULL, 's' }, { "seeds", 1, NULL, 'S' }, { "seconds", 1, NULL, 'd' },
    { "jobs", 1, NULL, 'j' }, { "trace", 0, NULL, 't' }, { "twice", 0, NULL, '2' },
    { "twice-each", 1, NULL, 'e' },
    { "minimise", 0, NULL, 'm' }, { "kind", 1, NULL, 'k' }, { "fault", 1, NULL, 'f' },
    { "regressions", 1, NULL, 'r' }, { "report", 0, NULL, 'R' }, { "plain", 0, NULL, 'p' },
    { "all-points", 0, NULL, 'a' }, { "ifeq", 0, NULL, 'i' }, { NULL, 0, NULL, 0 },
  };
  static wanted w = { .first = 1, .last = 100, .kinds_asked = KIND_ALL, .jobs = 1 };
  bool is_good = true;
  int option, holes;

  /* Clients register it: one seed is one world, whatever this file is called. */
  program_invocation_short_name = "dibs-explore";
  while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
    if (!option_take(&w, option))
      return usage();
  if (optind != argc)
    return usage();
  if (w.regressions != NULL)
    is_good = run_regressions(w.regressions);
  if (w.jobs == 1)
    run_share(&w, 0);
  else
    is_good = run_jobs(&w) && is_good;
  coverage_write(&covered, w.reports);
  holes = w.needs_all ? coverage_holes(&covered, true) : 0;
  printf("%" PRIu64 " findings\n", findings);
  return findings == 0 && is_good && holes == 0 ? 0 : 1;
}
