/* SPDX-License-Identifier: MIT */
/* cli/keeper.c - dibs acquire --for-pid: a process in the background that holds the lock
 * while another process lives.
 *
 *     dibs acquire --for-pid P            keeper
 *     fork  ----------------------------> takes the lock, may wait
 *     prints the token  <---- grant -----
 *                       ----- "kept" ---> leaves the terminal
 *     exits 0           <---- closes ---- renews; P ends, or a signal: releases
 *
 * If P ends before the token is printed, nothing is printed and the keeper ends. So it is with a
 * signal to the process that prints, which decides; the keeper forgets what came until then.
 *
 * The token is printed only for a lock that was taken; a token that could not be printed
 * is a lock given back. Until then the keeper dies with its parent. The keeper is forked
 * before the client is opened, since no client survives a fork. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/acquire.h"
#include "cli/descriptors.h"
#include "cli/message.h"

#define KEEPER_SOCKET 3
#define KEEPER_PROCESS 4

/* ---- the keeper ---- */

/* Nothing of the caller's may be kept open by a process in the background: a script that
 * reads our stdout to its end would wait for ever. */
static void keep_only(int socket_fd, int process_fd)
{
  int a = fcntl(socket_fd, F_DUPFD_CLOEXEC, KEEPER_PROCESS + 1);
  int b = fcntl(process_fd, F_DUPFD_CLOEXEC, KEEPER_PROCESS + 1);

  dup3(a, KEEPER_SOCKET, O_CLOEXEC);
  dup3(b, KEEPER_PROCESS, O_CLOEXEC);
  close_from(KEEPER_PROCESS + 1);
}

/* Whether the token was printed. */
static bool is_kept(void)
{
  char answer = 0;
  ssize_t size;

  do
    size = recv(KEEPER_SOCKET, &answer, 1, 0);
  while (size < 0 && errno == EINTR);
  return size == 1;
}

/* 0 once the token was printed. */
static int hand_over(const session *s, const target *t, const take_result *taken)
{
  token_grant grant;
  dibs_status status = token_grant_fill(&grant, s, taken);

  if (status != DIBS_OK)
    return token_refused(s, status, t->shown);
  if (send(KEEPER_SOCKET, &grant, sizeof(grant), MSG_NOSIGNAL) != (ssize_t)sizeof(grant))
    return CODE_INTERNAL;
  return is_kept() ? 0 : CODE_INTERNAL;
}

static bool has_end_signal(signal_watch *signals)
{
  struct signalfd_siginfo info;
  bool has_come = false;

  while (signals_next(signals, &info)) {
    int number = (int)info.ssi_signo;

    if (signals_is_fatal(number))
      has_come = true;
  }
  return has_come;
}

static void leave_terminal(signal_watch *signals)
{
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);

  prctl(PR_SET_PDEATHSIG, 0);
  setsid();
  /* What has come until now was for the group that acquired, which has decided: the token is
   * printed. */
  (void)has_end_signal(signals);
  for (int fd = 0; fd <= 2 && null >= 0; fd++)
    dup2(null, fd);
  if (null > 2)
    close(null);
  /* So that file systems can be unmounted; a failure does no harm. */
  (void)!chdir("/");
  close(KEEPER_SOCKET); /* the process that started this one may end now */
}

/* Until the process ends, the lock is lost or a signal ends this process. */
static void keep(signal_watch *signals, dibs_hold *hold)
{
  struct pollfd fds[] = { { .fd = KEEPER_PROCESS, .events = POLLIN },
                          { .fd = dibs_hold_fd(hold), .events = POLLIN },
                          { .fd = signals->fd, .events = POLLIN } };

  for (;;) {
    poll(fds, 3, -1);
    if (fds[0].revents != 0 || fds[1].revents != 0 || has_end_signal(signals))
      return;
  }
}

static int keeper_main(session *s, const acquire_arguments *a, const target *t)
{
  signal_watch signals;
  take_result taken;
  int code;

  if (!signals_begin(&signals))
    return CODE_INTERNAL;
  code = session_open(s, NULL);
  if (code != 0)
    return code;

  take_lock(s, &(take_order) { .target = t, .options = &a->taking }, &signals, &taken);
  if (taken.signal != 0)
    code = 128 + taken.signal;
  else if (taken.hold == NULL)
    code = taken.code;
  else if ((code = hand_over(s, t, &taken)) == 0) {
    leave_terminal(&signals);
    keep(&signals, taken.hold);
  }
  if (taken.hold != NULL)
    dibs_release(taken.hold);
  (void)take_end(s, &taken);   /* ends by _exit() in any case */
  return code;
}

/* ---- the process that starts it ---- */

/* Also if its parent has not waited for it yet. */
static bool process_has_ended(int process_fd)
{
  struct pollfd process = { .fd = process_fd, .events = POLLIN };

  return poll(&process, 1, 0) > 0;
}

/* Passes on what should stop the keeper. Returns the signal that ends this process, or 0. */
static int pass_signals_on(pid_t keeper, signal_watch *signals)
{
  struct signalfd_siginfo info;
  int end = 0;

  while (signals_next(signals, &info)) {
    int number = (int)info.ssi_signo;

    if (signals_is_fatal(number))
      end = number;
    if (number == SIGTSTP)
      signals_stop_self();
    else if (number != SIGCHLD && number != SIGCONT)
      kill(keeper, number);
  }
  return end;
}

#define GRANTED 0
#define NOT_GRANTED (-1)

/* Waits for the grant, or for the keeper's end. The end of the process that the lock is for ends
 * the wait. Returns GRANTED, NOT_GRANTED, or the signal that came before the grant was seen: then
 * no token is printed, as the keeper has got that signal, too. */
static int wait_for_grant(pid_t keeper, int socket_fd, int process_fd, signal_watch *signals,
                          token_grant *ret_grant)
{
  int end = 0;

  for (;;) {
    struct pollfd fds[] = { { .fd = socket_fd, .events = POLLIN },
                            { .fd = signals->fd, .events = POLLIN },
                            { .fd = process_fd, .events = POLLIN } };
    int number;

    poll(fds, 3, -1);
    number = pass_signals_on(keeper, signals);
    end = number != 0 ? number : end;
    if (fds[0].revents != 0)
      return recv(socket_fd, ret_grant, sizeof(*ret_grant), 0) == (ssize_t)sizeof(*ret_grant)
               ? end : NOT_GRANTED;
    if (fds[2].revents != 0) {
      kill(keeper, SIGTERM);
      process_fd = -1;
    }
  }
}

static int keeper_code(pid_t keeper)
{
  int status = 0;

  while (waitpid(keeper, &status, 0) < 0 && errno == EINTR)
    continue;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Until the keeper no longer dies with us. */
static void wait_for_farewell(int socket_fd)
{
  char nothing;

  while (recv(socket_fd, &nothing, 1, 0) < 0 && errno == EINTR)
    continue;
}

static int say_has_ended(const acquire_arguments *a, const target *t)
{
  const message_facts facts = { .code = CODE_USAGE, .status = "DIBS_ERR_ARGUMENT",
                                .name = t->shown };
  char name[600];

  return say_fault(&facts, "%s was not taken: --for-pid %lld: the process has ended",
                   printable(t->shown, name, sizeof(name)), (long long)a->token.for_pid);
}

static int hand_over_token(const acquire_arguments *a, const target *t, pid_t keeper,
                           int socket_fd, int process_fd, signal_watch *signals)
{
  token_grant grant;
  int got = wait_for_grant(keeper, socket_fd, process_fd, signals, &grant);
  bool has_ended = process_has_ended(process_fd);
  bool is_printed = got == GRANTED && !has_ended && token_print(a, t, &grant) &&
                    send(socket_fd, "k", 1, MSG_NOSIGNAL) == 1;
  int code;

  if (is_printed)
    wait_for_farewell(socket_fd);
  close(socket_fd); /* without the word: gives the lock back */
  if (is_printed)
    return CODE_OK;
  code = keeper_code(keeper);
  if (got > 0)
    code = 128 + got;
  if (code == 128 + SIGINT)
    return acquire_interrupted(signals);
  if (has_ended && (got == GRANTED || code == 128 + SIGTERM))
    return say_has_ended(a, t);
  return got == GRANTED ? CODE_INTERNAL : code;
}

/* Returns 0, or the exit code. */
static int open_process(int64_t pid, int *ret_fd)
{
  *ret_fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
  if (*ret_fd >= 0)
    return 0;
  if (errno == ENOSYS)
    return say_fault(&(message_facts) { .code = CODE_UNSUPPORTED,
                                        .status = "DIBS_ERR_UNSUPPORTED" },
                     "acquire: --for-pid needs Linux 5.3");
  return say_usage("acquire", "--for-pid %lld: %s", (long long)pid, strerror(errno));
}

/* "for pid 77 bash": the process that the lock is kept for, unless there is a --note. */
static const char *default_note(int64_t pid, char *text, size_t size)
{
  char path[40], program[32] = "";
  FILE *file;

  snprintf(path, sizeof(path), "/proc/%lld/comm", (long long)pid);
  file = fopen(path, "re");
  if (file != NULL) {
    if (fgets(program, sizeof(program), file) == NULL)
      program[0] = '\0';
    fclose(file);
  }
  program[strcspn(program, "\n")] = '\0';
  snprintf(text, size, "for pid %lld %s", (long long)pid, program);
  return text;
}

int keeper_run(const acquire_arguments *a, const target *t)
{
  acquire_arguments own = *a;
  char note[80];
  signal_watch signals;
  session s;
  int sockets[2], process_fd, code, error;
  pid_t keeper;

  code = open_process(a->token.for_pid, &process_fd);
  if (code != 0)
    return code;
  if (own.taking.note == NULL)
    own.taking.note = default_note(a->token.for_pid, note, sizeof(note));
  own.line.connection.note = own.taking.note;
  code = session_prepare(&s, &own.line);
  if (code != 0)
    return code;
  if (!signals_begin(&signals))
    return say_system("receive signals");
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
    return say_system("create a socket");
  keeper = fork();
  error = errno;
  if (keeper == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    keep_only(sockets[1], process_fd);
    _exit(keeper_main(&s, &own, t));
  }
  close(sockets[1]);
  session_close(&s);
  if (keeper < 0) {
    errno = error;
    return say_system("start the process that renews the lock");
  }
  return hand_over_token(&own, t, keeper, sockets[0], process_fd, &signals);
}
