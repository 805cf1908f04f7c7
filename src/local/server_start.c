/* SPDX-License-Identifier: MIT */
/* local/server_start.c - makes sure that one server and one supervisor run.
 *
 * Several programs may do this at once, and any of them, the supervisor or the server may
 * be killed at any point. So no state is kept between turns: each turn of the loop in
 * start_what_is_missing() checks the actual state and does one thing. */
#include "local/server_start.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "local/ask.h"
#include "local/failure.h"
#include "local/own_files.h"
#include "local/server_program.h"
#include "local/server_run.h"
#include "local/supervisor.h"

enum { PING_MS = 1000, TURN_MS = 2, LOCK_TURN_MS = 3 };

typedef struct starting {
  const place *place;
  int64_t idle_ms;
  bool with_aof;
  int report;        /* of the supervisor that this process started, or -1 */
  bool has_ended;    /* the report pipe ended, so the server has ended */
  bool is_not_alone; /* the supervisor found another private server of this user */
  int exec_errno;    /* of the server, or 0 */
} starting;

dibs_status lock_file(const char *path, int how, int64_t until, int *ret_fd,
                      dibs_error *error)
{
  int fd = own_file_open(path, O_RDWR);

  if (fd < 0)
    return failure(error, failure_status(errno), "private server: %s cannot be opened: %s",
                   path, strerror(errno));
  while (flock(fd, how | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      int cause = errno;
      (void)close(fd);
      return failure(error, DIBS_ERR_SYSTEM, "private server: %s cannot be locked: %s",
                     path, strerror(cause));
    }
    if (clock_ms() >= until) {
      (void)close(fd);
      return failure(error, DIBS_ERR_UNREACHABLE,
                     "private server: another process keeps %s locked", path);
    }
    nap_ms(LOCK_TURN_MS);
  }
  *ret_fd = fd;
  return DIBS_OK;
}

void log_tail(const char *path, char *ret_words, size_t size)
{
  FILE *log = file_read(path);
  size_t used = 0;

  if (log != NULL) {
    if (fseek(log, -(long)(size - 1), SEEK_END) != 0)
      rewind(log);
    used = fread(ret_words, 1, size - 1, log);
    (void)fclose(log);
  }
  while (used > 0 && ret_words[used - 1] == '\n')
    used--;
  ret_words[used] = '\0';
  if (used == 0)
    (void)snprintf(ret_words, size, "(empty)");
  for (size_t i = 0; i < used; i++)
    if ((unsigned char)ret_words[i] < ' ')
      ret_words[i] = ret_words[i] == '\n' ? '|' : ' ';
}

dibs_status server_program_get(server_program *ret_program, dibs_error *error)
{
  const char *chosen = secure_getenv("DIBS_SERVER");

  if (server_program_find(ret_program))
    return DIBS_OK;
  if (chosen != NULL && chosen[0] != '\0')
    return failure(error, DIBS_ERR_NO_SERVER, "DIBS_SERVER=%.200s is not a program",
                   chosen);
  return failure(error, DIBS_ERR_NO_SERVER,
                 "no server program found. Install one: apt-get install redis-tools "
                 "(or valkey-tools); on other systems the package redis or valkey. Or "
                 "set DIBS_URL to a server");
}

static dibs_status start_supervisor(starting *s, const server_run *run, pid_t adopted,
                                    dibs_error *error)
{
  int report;

  if (!supervisor_start(s->place, run, adopted, s->idle_ms, &report))
    return failure(error, DIBS_ERR_SYSTEM, "private server: cannot start a process: %s",
                   strerror(errno));
  if (s->report >= 0)
    (void)close(s->report);
  s->report = report;
  return DIBS_OK;
}

/* A server that was once configured to keep its data keeps them again. */
static bool has_kept_data(const place *p)
{
  char path[PLACE_SOCKET_MAX + 32];

  (void)snprintf(path, sizeof(path), "%s/appendonlydir", p->directory);
  if (access(path, F_OK) == 0)
    return true;
  (void)snprintf(path, sizeof(path), "%s/appendonly.aof", p->directory);   /* before 7.0 */
  return access(path, F_OK) == 0;
}

static dibs_status start_server(starting *s, dibs_error *error)
{
  server_program program;
  server_run run;
  dibs_status status;

  status = server_program_get(&program, error);
  if (status != DIBS_OK)
    return status;
  (void)unlink(s->place->socket);
  server_run_prepare(&run, &program, s->place, s->with_aof || has_kept_data(s->place));
  return start_supervisor(s, &run, 0, error);
}

/* Waits one turn, or until a message of the supervisor. */
static void listen_to_supervisor(starting *s)
{
  struct pollfd wait = { .fd = s->report, .events = POLLIN };
  int word;

  if (s->report < 0) {
    nap_ms(TURN_MS);
    return;
  }
  if (poll(&wait, 1, TURN_MS) <= 0)
    return;
  if (read(s->report, &word, sizeof(word)) != (ssize_t)sizeof(word)) {
    s->has_ended = true;
  } else if (word == SUPERVISOR_NOT_NEEDED || word == SUPERVISOR_NOT_ALONE) {
    s->is_not_alone = word == SUPERVISOR_NOT_ALONE;
    (void)close(s->report);
    s->report = -1;
  } else if (word != SUPERVISOR_STARTED) {
    s->exec_errno = word;
  }
}

static dibs_status report_end(const starting *s, dibs_error *error)
{
  char tail[256];

  if (s->exec_errno != 0)
    return failure(error, DIBS_ERR_NO_SERVER,
                   "private server: the server program cannot be executed: %s",
                   strerror(s->exec_errno));
  log_tail(s->place->log, tail, sizeof(tail));
  return failure(error, DIBS_ERR_UNREACHABLE,
                 "private server: it ended at once; the end of %s: %s", s->place->log,
                 tail);
}

static dibs_status report_late(const starting *s, answer a, pid_t pid, dibs_error *error)
{
  char tail[200];

  log_tail(s->place->log, tail, sizeof(tail));
  if (a == ANSWER_NOT_YET)
    return failure(error, DIBS_ERR_UNREACHABLE,
                   "private server: process %ld does not answer; `dibs local stop` ends "
                   "it. The end of %s: %s",
                   (long)pid, s->place->log, tail);
  return failure(error, DIBS_ERR_UNREACHABLE,
                 "private server: no answer in time; the end of %s: %s", s->place->log,
                 tail);
}

/* Under start.lock. */
static dibs_status start_what_is_missing(starting *s, int64_t until, dibs_error *error)
{
  for (;;) {
    pid_t pid = 0;
    answer a = ask_ping(s->place->socket, PING_MS, &pid);
    bool is_supervised = supervisor_is_there(s->place);
    dibs_status status = DIBS_OK;

    if (a == ANSWER_PONG && is_supervised)
      return DIBS_OK;
    if (a == ANSWER_OTHER)
      return failure(error, failure_status(errno), "private server: %s cannot be used: %s",
                     s->place->socket, strerror(errno));
    if (s->is_not_alone || (s->place->seen_through != 0 && a == ANSWER_NONE))
      return DIBS_BUSY;
    if (s->has_ended)
      return report_end(s, error);
    if (clock_ms() >= until)
      return report_late(s, a, pid, error);
    /* A supervisor without a server is about to start one, or about to end. */
    if (s->report < 0 && a == ANSWER_NONE && !is_supervised)
      status = start_server(s, error);
    else if (s->report < 0 && a == ANSWER_PONG && pid > 0)
      status = start_supervisor(s, NULL, pid, error);
    else if (a == ANSWER_PONG && pid == 0)
      return DIBS_OK;        /* the kernel does not report the pid: no supervisor */
    if (status != DIBS_OK)
      return status;
    listen_to_supervisor(s);
  }
}

dibs_status server_ensure(const place *p, int64_t idle_ms, bool with_aof, int64_t until,
                          dibs_error *error)
{
  starting s = { .place = p, .idle_ms = idle_ms, .with_aof = with_aof, .report = -1 };
  dibs_status status;
  int start_fd = -1;

  if (ask_ping(p->socket, PING_MS, NULL) == ANSWER_PONG && supervisor_is_there(p))
    return DIBS_OK;
  status = lock_file(p->start_lock, LOCK_EX, until, &start_fd, error);
  if (status != DIBS_OK)
    return status;
  status = start_what_is_missing(&s, until, error);
  if (s.report >= 0)
    (void)close(s.report);
  (void)close(start_fd);
  return status;
}
