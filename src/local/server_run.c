/* SPDX-License-Identifier: MIT */
/* local/server_run.c - the server's command line, and running it. */
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

#include "local/detach.h"

/* exec wants char *; none of these is ever written to. */
static char *unconst(const char *words)
{
  union {
    const char *in;
    char *out;
  } u = { .in = words };

  return u.out;
}

/* What the server needs of the caller's environment, and none of its secrets. */
static void keep_variable(server_run *r, size_t *count, char *bytes, size_t size,
                          const char *name)
{
  const char *value = secure_getenv(name);
  int length = value == NULL ? -1 : snprintf(bytes, size, "%s=%s", name, value);

  if (length >= 0 && (size_t)length < size)
    r->environment[(*count)++] = bytes;
}

void server_run_prepare(server_run *r, const server_program *program, const place *p,
                        bool with_aof)
{
  size_t count = 0, variables = 0;

  memset(r, 0, sizeof(*r));
  r->program = *program;
  r->place = *p;
  {
    const char *const all[] = {
      r->program.argv0,
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
    };

    static_assert(sizeof(all) / sizeof(all[0]) < SERVER_RUN_ARGUMENTS_MAX, "room");
    for (; count < sizeof(all) / sizeof(all[0]); count++)
      r->arguments[count] = unconst(all[count]);
  }
  keep_variable(r, &variables, r->path_variable, sizeof(r->path_variable), "PATH");
  keep_variable(r, &variables, r->library_variable, sizeof(r->library_variable),
                "LD_LIBRARY_PATH");
}

static _Noreturn void become_server(const server_run *r, bool dies_with_me, pid_t parent,
                                    int report)
{
  int log, cause;

  if (dies_with_me && (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent))
    _exit(1);
  /* What it says before it has read its --logfile. */
  log = open(r->place.log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
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
