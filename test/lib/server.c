/* SPDX-License-Identifier: MIT */
/* test/lib/server.c - the life of a throw-away server: start, faults, end. */
#include "server_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "now.h"
#include "promise.h"

#include "local/server_program.h"

enum { ARGUMENTS_MAX = 96, START_MS = 20000, PORT_TRIES = 20 };

static struct test_server *all_servers;

static void pause_ms(long ms)
{
  struct timespec left = { .tv_sec = 0, .tv_nsec = ms * 1000000 };

  while (nanosleep(&left, &left) != 0 && errno == EINTR)
    ;
}

/* ---- the command line ---- */

struct arguments {
  char *all[ARGUMENTS_MAX];
  size_t count;
};

static void add(struct arguments *a, const char *words)
{
  if (a->count + 1 >= ARGUMENTS_MAX)
    test_bail_out("too many arguments for the server");
  a->all[a->count] = strdup(words);
  if (a->all[a->count] == NULL)
    test_bail_out("no memory");
  a->count++;
  a->all[a->count] = NULL;
}

static void add_pair(struct arguments *a, const char *name, const char *value)
{
  add(a, name);
  add(a, value);
}

static void add_tls(struct arguments *a, const struct test_server *s, const char *port)
{
  const struct test_authority *by = s->options.authority;

  add_pair(a, "--port", "0");
  add_pair(a, "--tls-port", port);
  add_pair(a, "--tls-ca-cert-file", test_authority_ca(by));
  add_pair(a, "--tls-cert-file", test_authority_certificate(by, s->options.certificate));
  add_pair(a, "--tls-key-file", test_authority_key(by, s->options.certificate));
  add_pair(a, "--tls-auth-clients", s->options.wants_client_certificate ? "yes" : "no");
}

/* A file that it can rewrite; Sentinel insists on one. */
static void add_configuration(struct arguments *a, const struct test_server *s,
                              const char *file)
{
  char path[128];
  int fd;

  (void)snprintf(path, sizeof(path), "%s/%s", s->directory, file);
  fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0)
    test_bail_out("%s: %s", path, strerror(errno));
  (void)close(fd);
  add(a, path);
}

/* Before 7.0 there are no such options, and what they allow is always allowed. */
static const char *const guards[] = { "--enable-debug-command",
                                      "--enable-protected-configs" };

enum { GUARDS = sizeof(guards) / sizeof(guards[0]) };

static bool is_guard(const char *option)
{
  for (int i = 0; i < GUARDS; i++)
    if (strcmp(option, guards[i]) == 0)
      return true;
  return false;
}

static void arguments_make(struct arguments *a, const struct test_server *s,
                           const server_program *program)
{
  const char *const *more = s->options.arguments;
  char port[16];

  (void)snprintf(port, sizeof(port), "%d", s->port);
  a->count = 0;
  add(a, program->argv0);
  if (s->options.is_sentinel) {
    add_configuration(a, s, "sentinel.conf");
    add(a, "--sentinel");
  } else if (s->options.keeps_configuration) {
    add_configuration(a, s, "server.conf");
  }
  if (s->options.has_tls)
    add_tls(a, s, port);
  else
    add_pair(a, "--port", port);
  add_pair(a, "--bind", s->options.address);
  if (strncmp(s->options.address, "127.", 4) != 0)
    add_pair(a, "--protected-mode", "no");
  add_pair(a, "--unixsocket", s->socket);
  add_pair(a, "--dir", s->directory);
  add_pair(a, "--logfile", s->log);
  if (!s->options.is_sentinel) {
    add_pair(a, "--save", "");
    add_pair(a, "--appendonly", "no");
  }
  /* Its background thread sleeps until a wall time of its own making: one behind the
   * machine's has passed already, and it would never sleep. */
  if (s->options.has_clock && !s->options.is_sentinel)
    add_pair(a, "--jemalloc-bg-thread", "no");
  if (s->options.password != NULL && s->options.user == NULL)
    add_pair(a, "--requirepass", s->options.password);
  if (s->options.has_cluster)
    add_pair(a, "--cluster-enabled", "yes");
  if (test_acl_is_for(s)) {
    add_pair(a, "--masteruser", TEST_ADMIN);
    add_pair(a, "--masterauth", TEST_ADMIN);
  }
  while (more != NULL && *more != NULL) {
    if (s->has_no_guards && is_guard(*more) && more[1] != NULL)
      more += 2;
    else
      add(a, *more++);
  }
}

static void arguments_free(struct arguments *a)
{
  for (size_t i = 0; i < a->count; i++)
    free(a->all[i]);
}

/* ---- the process ---- */

_Noreturn void test_become(const char *path, char *const *words, char *const *environment,
                           const char *log, pid_t parent)
{
  sigset_t none;
  int null, out;

  /* The parent may have died before the request was made: then nothing would come. */
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
    _exit(126);
  (void)sigemptyset(&none);
  (void)sigprocmask(SIG_SETMASK, &none, NULL);
  null = open("/dev/null", O_RDWR);
  out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (null < 0 || out < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
    _exit(126);
  (void)syscall(SYS_close_range, 3U, ~0U, 0U);
  (void)execve(path, words, environment);
  _exit(127);
}

static void spawn(struct test_server *s)
{
  server_program program;
  struct arguments arguments;
  pid_t parent = getpid();
  char **with_shims = test_shims_environment(s);

  if (!server_program_find(&program))
    test_bail_out("no server program: apt-get install redis-tools, or set DIBS_SERVER");
  arguments_make(&arguments, s, &program);
  s->pid = fork();
  if (s->pid < 0)
    test_bail_out("fork: %s", strerror(errno));
  if (s->pid == 0 && s->options.network > 0
      && setns(s->options.network, CLONE_NEWNET) != 0)
    _exit(126);
  if (s->pid == 0)
    test_become(program.path, arguments.all, with_shims != NULL ? with_shims : environ, s->log,
                parent);
  free(with_shims);
  arguments_free(&arguments);
}

/* Whether it answers; anything but "still loading" will do, as it may want a password. */
static bool answers(const struct test_server *s)
{
  const char *answer = test_server_command(s, "PING");

  return strcmp(answer, "(gone)") != 0 && strncmp(answer, "LOADING", 7) != 0;
}

/* Not by its command line: a user that a rewritten configuration has as well would be
 * refused there. */
static void make_user(const struct test_server *s)
{
  if (s->options.user == NULL)
    return;
  (void)test_server_command(s, "ACL SETUSER %s reset on >%s ~* &* +@all", s->options.user,
                            s->options.password);
  if (strcmp(test_server_command(s, "ACL SETUSER default off"), "OK") != 0)
    test_bail_out("the server in %s cannot have the user %s", s->directory, s->options.user);
}

/* False when it ended instead of answering. */
static bool wait_until_it_answers(struct test_server *s)
{
  int64_t until = test_now_ms() + START_MS;

  for (;;) {
    if (waitpid(s->pid, NULL, WNOHANG) == s->pid) {
      s->pid = 0;
      return false;
    }
    if (answers(s)) {
      make_user(s);
      test_acl_make(s);
      return true;
    }
    if (test_now_ms() >= until)
      test_bail_out("the server in %s does not answer", s->directory);
    pause_ms(2);
  }
}

static void read_tail(const struct test_server *s, char *ret_tail, size_t size)
{
  FILE *log = fopen(s->log, "r");
  size_t used = 0;

  if (log != NULL) {
    if (fseek(log, -(long)(size - 1), SEEK_END) != 0)
      rewind(log);
    used = fread(ret_tail, 1, size - 1, log);
    (void)fclose(log);
  }
  ret_tail[used] = '\0';
}

static bool refuses_a_guard(const struct test_server *s)
{
  char tail[2048];

  read_tail(s, tail, sizeof(tail));
  for (int i = 0; i < GUARDS; i++)
    if (strstr(tail, guards[i] + 2) != NULL)
      return true;
  return false;
}

static _Noreturn void bail_out_with_log(const struct test_server *s)
{
  char tail[2048];

  read_tail(s, tail, sizeof(tail));
  (void)fprintf(stderr, "%s\n", tail);
  test_bail_out("the server in %s ended at once", s->directory);
}

static void end_process(struct test_server *s)
{
  if (s->pid == 0)
    return;
  (void)kill(s->pid, SIGKILL);
  while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
    ;
  s->pid = 0;
  s->is_paused = false;
}

/* ---- all of them ---- */

static void stop_all(void)
{
  struct test_server *next;

  for (struct test_server *s = all_servers; s != NULL; s = next) {
    next = s->next;
    if (s->owner == getpid())     /* not in a forked child that calls exit() */
      (void)test_server_stop(s);
  }
}

static void enlist(struct test_server *s)
{
  static bool is_registered;

  if (!is_registered && atexit(stop_all) != 0)
    test_bail_out("atexit");
  promise_clean_up_by(stop_all);
  is_registered = true;
  s->next = all_servers;
  all_servers = s;
}

static void delist(struct test_server *s)
{
  struct test_server **at = &all_servers;

  while (*at != NULL && *at != s)
    at = &(*at)->next;
  if (*at == s)
    *at = s->next;
}

/* ---- public ---- */

struct test_server *test_server_start(void)
{
  return test_server_start_with(NULL);
}

struct test_server *test_server_start_with(const struct test_server_options *options)
{
  struct test_server *s = calloc(1, sizeof(*s));

  if (s == NULL)
    test_bail_out("no memory");
  if (options != NULL)
    s->options = *options;
  s->owner = getpid();
  test_directory_make(s->directory, sizeof(s->directory));
  enlist(s);
  (void)snprintf(s->socket, sizeof(s->socket), "%s/s", s->directory);
  (void)snprintf(s->log, sizeof(s->log), "%s/server.log", s->directory);
  (void)snprintf(s->unix_url, sizeof(s->unix_url), "unix://%s", s->socket);
  if (s->options.address == NULL)
    s->options.address = "127.0.0.1";
  if (s->options.has_tls && s->options.authority == NULL) {
    s->own_authority = test_authority_make();
    s->options.authority = s->own_authority;
  }
  if (s->options.has_clock)
    test_clock_make(s);
  if (s->options.can_lose_power)
    test_power_make(s);

  /* Between looking for a port and using it somebody else may take it. */
  s->port_claim = -1;
  for (int tries = 0; tries < PORT_TRIES; tries++) {
    if (s->port_claim >= 0)
      (void)close(s->port_claim);
    s->port = test_port_claim(&s->port_claim);
    spawn(s);
    if (wait_until_it_answers(s))
      break;
    s->has_no_guards |= refuses_a_guard(s);
  }
  if (s->pid == 0)
    bail_out_with_log(s);
  (void)snprintf(s->tcp_url, sizeof(s->tcp_url), "%s://%s:%d",
                 s->options.has_tls ? "rediss" : "redis", s->options.address, s->port);
  return s;
}

struct test_server *test_server_stop(struct test_server *s)
{
  if (s == NULL)
    return NULL;
  end_process(s);
  delist(s);
  test_clock_free(s);
  test_power_free(s);
  test_directory_remove(s->directory);
  s->own_authority = test_authority_free(s->own_authority);
  if (s->port_claim >= 0)
    (void)close(s->port_claim);
  free(s);
  return NULL;
}

const char *test_server_url(const struct test_server *s) { return s->unix_url; }
const char *test_server_unix_url(const struct test_server *s) { return s->unix_url; }
const char *test_server_tcp_url(const struct test_server *s) { return s->tcp_url; }
const char *test_server_socket(const struct test_server *s) { return s->socket; }
int test_server_port(const struct test_server *s) { return s->port; }
const char *test_server_directory(const struct test_server *s) { return s->directory; }
const char *test_server_log(const struct test_server *s) { return s->log; }
pid_t test_server_pid(const struct test_server *s) { return s->pid; }

const char *test_server_address(const struct test_server *s)
{
  return s->options.address;
}

const char *test_server_ca(const struct test_server *s)
{
  return test_authority_ca(s->options.authority);
}

const char *test_server_foreign_ca(const struct test_server *s)
{
  return test_authority_foreign_ca(s->options.authority);
}

const char *test_server_client_certificate(const struct test_server *s)
{
  return test_authority_client_certificate(s->options.authority);
}

const char *test_server_client_key(const struct test_server *s)
{
  return test_authority_client_key(s->options.authority);
}

void test_server_kill9(struct test_server *s)
{
  end_process(s);
}

/* While it saves for a replica, it refuses to. */
static void save(struct test_server *s)
{
  int tries = 1000;

  while (strcmp(test_server_command(s, "SAVE"), "OK") != 0) {
    if (--tries == 0)
      test_bail_out("the server in %s cannot save", s->directory);
    pause_ms(10);
  }
}

void test_server_restart(struct test_server *s, bool keeps_data)
{
  char path[128];

  if (keeps_data && s->pid != 0 && !s->options.is_sentinel) {
    test_server_resume(s);
    save(s);
  }
  end_process(s);
  if (!keeps_data) {
    (void)snprintf(path, sizeof(path), "%s/dump.rdb", s->directory);
    (void)unlink(path);
    (void)snprintf(path, sizeof(path), "%s/appendonly.aof", s->directory);
    (void)unlink(path);
    (void)snprintf(path, sizeof(path), "%s/appendonlydir", s->directory);
    test_directory_remove(path);
  }
  spawn(s);
  if (!wait_until_it_answers(s))
    bail_out_with_log(s);
}

void test_server_pause(struct test_server *s)
{
  int how;

  if (s->pid == 0 || s->is_paused)
    return;
  (void)kill(s->pid, SIGSTOP);
  while (waitpid(s->pid, &how, WUNTRACED) < 0 && errno == EINTR)
    ;
  if (!WIFSTOPPED(how))
    test_bail_out("the server in %s ended instead of stopping", s->directory);
  s->is_paused = true;
}

void test_server_resume(struct test_server *s)
{
  if (!s->is_paused)
    return;
  (void)kill(s->pid, SIGCONT);
  s->is_paused = false;
}
