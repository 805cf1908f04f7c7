/* SPDX-License-Identifier: MIT */
/* test/fault/fault_test.c - runs scenarios, each in a process of its own, and speaks TAP.
 *
 *   fault_test [--seconds N] [--seed N] [--summary FILE] [--keep] [--dialect NAME] [--list]
 *              [F01 F02 ...]
 *
 * A scenario may be named by its id or its name. In a dialect all its clients are of that one;
 * not every scenario makes sense there.
 * DIBS_FAULT_SECONDS and DIBS_FAULT_SEED stand for the options; DIBS_TEST_SCALE multiplies
 * the default of 5 seconds. What failed leaves its directory, for dibs-history. */
#include "world.h"
#include "world_parts.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/server_parts.h"

enum { SECONDS = 5, MORE_SECONDS = 90 };

struct run {
  struct scale scale;
  const char *summary;
  bool keeps;
  char **ids;
  int id_count;
};

static bool is_wanted(const struct run *r, const struct scenario *s)
{
  for (int i = 0; i < r->id_count; i++)
    if (strcmp(r->ids[i], s->id) == 0 || strcmp(r->ids[i], s->name) == 0)
      return true;
  return r->id_count == 0;
}

/* What a scenario may need; NULL: it is here. */
static const char *missing(const char *needs)
{
  if (needs == NULL)
    return NULL;
  if (geteuid() != 0)
    return needs;
  if (strcmp(needs, "iptables") == 0 && system("iptables -w -L >/dev/null 2>&1") != 0)
    return needs;
  return NULL;
}

/* ---- the child ---- */

/* Whose format the locks have, by the names of the option `dialect`. */
static const char *const dialects[] = { "native", "native", "redisson", "spring", "plain" };

/* What other formats cannot promise: an order of service, and that readers who ask at the same
 * time are told different fences. Each waiter looks for himself each second. */
static struct scenario in_dialect(const struct scenario *s, int dialect)
{
  struct scenario copy = *s;

  if (dialect == DIBS_DIALECT_DEFAULT)
    return copy;
  copy.expects.without |= CHECK_BIT(CHECK_ORDER);
  copy.expects.allows_shared_reads = true;
  return copy;
}

static _Noreturn void run_here(const struct scenario *s, const struct scale *scale, int out,
                               pid_t parent)
{
  struct scenario played = in_dialect(s, scale->dialect);
  struct world *w;
  bool is_good, has_broken;

  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent || dup2(out, 1) < 0)
    _exit(126);
  w = world_new(&played, scale);
  played.run(w, scale);
  is_good = world_settle(w);
  has_broken = world_has_broken(w);
  w = world_free(w);
  (void)fflush(stdout);
  exit(is_good ? 0 : has_broken ? PROMISE_BROKEN_EXIT : 1);
}

/* ---- the parent ---- */

static void keep_summary(const struct run *r, const char *line)
{
  FILE *file = r->summary == NULL ? NULL : fopen(r->summary, "ae");

  if (file == NULL)
    return;
  (void)fputs(line + strlen("#summary "), file);
  (void)fclose(file);
}

/* Its lines, as TAP diagnosis. */
static void copy_lines(const struct run *r, FILE *from)
{
  char line[1024];

  while (fgets(line, sizeof(line), from) != NULL) {
    if (strncmp(line, "#summary ", 9) == 0)
      keep_summary(r, line);
    (void)printf("%s%s", line[0] == '#' ? "" : "# ", line);
    (void)fflush(stdout);
  }
}

static pid_t running;

static void on_alarm(int number)
{
  (void)number;
  if (running > 0)
    (void)kill(running, SIGKILL);      /* its workers and servers die with it */
}

static int run_child(const struct run *r, const struct scenario *s, const char *directory)
{
  pid_t parent = getpid();
  int ends[2], how = -1;
  FILE *lines;

  (void)fflush(stdout);
  if (pipe(ends) != 0)
    test_bail_out("pipe: %s", strerror(errno));
  world_use_directory(directory);
  running = fork();
  if (running == 0) {
    (void)close(ends[0]);
    run_here(s, &r->scale, ends[1], parent);
  }
  (void)close(ends[1]);
  lines = fdopen(ends[0], "r");
  if (running < 0 || lines == NULL)
    test_bail_out("fork: %s", strerror(errno));
  (void)alarm((unsigned)r->scale.seconds * 2 + MORE_SECONDS);
  copy_lines(r, lines);
  (void)fclose(lines);
  while (waitpid(running, &how, 0) < 0 && errno == EINTR)
    ;
  (void)alarm(0);
  running = 0;
  return how;
}

static bool run_one(const struct run *r, const struct scenario *s, int number, bool *ret_broken)
{
  const char *needs = missing(s->skip_without);
  char directory[256], kept[300];
  bool is_good;
  int how;

  if (needs != NULL) {
    (void)printf("ok %d - %s_%s # SKIP needs %s\n", number, s->id, s->name, needs);
    return true;
  }
  test_directory_make(directory, sizeof(directory));
  how = run_child(r, s, directory);
  is_good = WIFEXITED(how) && WEXITSTATUS(how) == 0;
  *ret_broken = *ret_broken || (WIFEXITED(how) && WEXITSTATUS(how) == PROMISE_BROKEN_EXIT);
  if (WIFSIGNALED(how))
    (void)printf("# the scenario ended by signal %d\n", WTERMSIG(how));
  if (is_good && !r->keeps) {
    test_directory_remove(directory);
  } else {
    (void)snprintf(kept, sizeof(kept), "/tmp/dibs-fault-%s-%llu-%ld", s->id,
                   (unsigned long long)r->scale.seed, (long)getpid());
    if (rename(directory, kept) == 0)
      (void)printf("# kept: %s   (dibs-history %s)\n", kept, kept);
  }
  (void)printf("%sok %d - %s_%s\n", is_good ? "" : "not ", number, s->id, s->name);
  (void)fflush(stdout);
  return is_good;
}

static double number_of(const char *variable, double otherwise)
{
  const char *text = getenv(variable);

  return text == NULL || text[0] == '\0' ? otherwise : strtod(text, NULL);
}

static int dialect_of(const char *name)
{
  for (int i = DIBS_DIALECT_NATIVE; i <= DIBS_DIALECT_PLAIN; i++)
    if (strcmp(name, dialects[i]) == 0)
      return i == DIBS_DIALECT_NATIVE ? DIBS_DIALECT_DEFAULT : i;
  test_bail_out("no such dialect: %s", name);
}

static void read_options(struct run *r, int argc, char **argv)
{
  r->scale.seconds = number_of("DIBS_FAULT_SECONDS",
                               SECONDS * number_of("DIBS_TEST_SCALE", 1));
  r->scale.seed = (uint64_t)number_of("DIBS_FAULT_SEED", 1);
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
      r->scale.seconds = strtod(argv[++i], NULL);
    else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
      r->scale.seed = strtoull(argv[++i], NULL, 10);
    else if (strcmp(argv[i], "--summary") == 0 && i + 1 < argc)
      r->summary = argv[++i];
    else if (strcmp(argv[i], "--dialect") == 0 && i + 1 < argc)
      r->scale.dialect = dialect_of(argv[++i]);
    else if (strcmp(argv[i], "--keep") == 0)
      r->keeps = true;
    else if (argv[i][0] != '-')
      r->ids[r->id_count++] = argv[i];
    else {
      (void)fputs("fault_test [--seconds N] [--seed N] [--summary FILE] [--keep] "
                  "[--dialect NAME] [--list] [F01 ...]\n", stderr);
      exit(64);
    }
  }
}

static int list(void)
{
  for (const struct scenario *const *s = all_scenarios; *s != NULL; s++)
    (void)printf("%s %s\n", (*s)->id, (*s)->name);
  return 0;
}

int main(int argc, char **argv)
{
  struct sigaction action = { .sa_handler = on_alarm };
  struct run r = { .scale = { .seconds = SECONDS, .seed = 1 } };
  int planned = 0, number = 0, failed = 0;
  bool has_broken = false;

  if (argc == 2 && strcmp(argv[1], "--list") == 0)
    return list();
  r.ids = calloc((size_t)argc, sizeof(*r.ids));
  if (r.ids == NULL)
    return 70;
  (void)sigaction(SIGALRM, &action, NULL);
  read_options(&r, argc, argv);
  for (const struct scenario *const *s = all_scenarios; *s != NULL; s++)
    planned += is_wanted(&r, *s);
  if (planned == 0)
    test_bail_out("no such scenario");
  (void)printf("1..%d\n", planned);
  for (const struct scenario *const *s = all_scenarios; *s != NULL; s++)
    if (is_wanted(&r, *s) && !run_one(&r, *s, ++number, &has_broken))
      failed++;
  free(r.ids);
  return failed == 0 ? 0 : has_broken ? PROMISE_BROKEN_EXIT : 1;
}
