/* SPDX-License-Identifier: MIT */
/* local/server_run.c - builds the server's command line and starts it. */
#include "local/server_run.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "local/detach.h"

/* exec expects char *, and writes to none of these. */
static char *unconst(const char *words)
{
  union {
    const char *in;
    char *out;
  } u = { .in = words };

  return u.out;
}

/* Copies a variable that the server needs from the environment; secrets are not copied. */
static void keep_variable(server_run *r, size_t *count, char *bytes, size_t size,
                          const char *name)
{
  const char *value = secure_getenv(name);
  int length = value == NULL ? -1 : snprintf(bytes, size, "%s=%s", name, value);

  if (length >= 0 && (size_t)length < size)
    r->environment[(*count)++] = bytes;
}

static void begin(server_run *r, const server_program *program, const place *p)
{
  size_t variables = 0;

  memset(r, 0, sizeof(*r));
  r->program = *program;
  r->place = *p;
  r->arguments[r->argument_count++] = r->program.argv0;
  keep_variable(r, &variables, r->path_variable, sizeof(r->path_variable), "PATH");
  keep_variable(r, &variables, r->library_variable, sizeof(r->library_variable),
                "LD_LIBRARY_PATH");
}

void server_run_add(server_run *r, const char *const *options)
{
  for (; *options != NULL; options++) {
    assert(r->argument_count + 1 < SERVER_RUN_ARGUMENTS_MAX);
    r->arguments[r->argument_count++] = unconst(*options);
  }
}

void server_run_prepare(server_run *r, const server_program *program, const place *p,
                        bool with_aof)
{
  begin(r, program, p);
  server_run_add(r, (const char *const[]){
                      "--port", "0",
                      "--unixsocket", r->place.socket,
                      "--unixsocketperm", "700",
                      "--dir", r->place.directory,
                      "--logfile", r->place.log,
                      "--daemonize", "no",
                      "--save", "",
                      "--maxmemory-policy", "noeviction",
                      "--appendonly", with_aof ? "yes" : "no",
                      "--appendfsync", "always",
                      NULL });
}

void server_run_listen(server_run *r, int port)
{
  (void)snprintf(r->port, sizeof(r->port), "%d", port);
  server_run_add(r, (const char *const[]){ "--port", r->port, "--bind", "127.0.0.1", NULL });
}

void server_run_prepare_sentinel(server_run *r, const server_program *program,
                                 const place *p, int port)
{
  begin(r, program, p);
  (void)snprintf(r->configuration, sizeof(r->configuration), "%s/sentinel.conf",
                 p->directory);
  server_run_add(r, (const char *const[]){
                      r->configuration,
                      "--sentinel",
                      "--unixsocket", r->place.socket,
                      "--dir", r->place.directory,
                      "--logfile", r->place.log,
                      NULL });
  server_run_listen(r, port);
}

static _Noreturn void become_server(const server_run *r, bool dies_with_me, pid_t parent,
                                    int report)
{
  int log, cause;

  if (dies_with_me && (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent))
    _exit(1);
  /* For output before the server has read its --logfile. */
  log = above_stdio(open(r->place.log,
                         O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (log >= 0) {
    (void)dup2(log, 1);
    (void)dup2(log, 2);
  }
  (void)execve(r->program.path, r->arguments, r->environment);
  cause = errno;
  (void)!write(report, &cause, sizeof(cause));
  _exit(127);
}

pid_t server_run_start(const server_run *r, bool dies_with_me, int report)
{
  pid_t parent = getpid();
  pid_t pid = bare_fork();

  if (pid == 0)
    become_server(r, dies_with_me, parent, report);
  return pid;
}
