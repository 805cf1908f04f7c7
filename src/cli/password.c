/* SPDX-License-Identifier: MIT */
/* cli/password.c - the password of a file, a pipe or a terminal. */
#include "cli/password.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/first_line.h"
#include "cli/clock.h"
#include "cli/message.h"
#include "cli/signals.h"

#define PASSWORD_MAX 4096
#define PASS_PIPE_MS 10000

/* `line` has room for `size` bytes. Waits for a pipe, such as <(command), at most as long as
 * a command may take to find a password. NULL, or why there is none. */
static const char *read_line(int fd, char *line, size_t size)
{
  int64_t until = clock_ms() + PASS_PIPE_MS;
  size_t used = 0;

  while (used < size - 1 && memchr(line, '\n', used) == NULL) {
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    int64_t left = until - clock_ms();
    ssize_t got = read(fd, line + used, size - 1 - used);

    if (got == 0)
      break;
    if (got > 0)
      used += (size_t)got;
    else if (errno != EINTR && errno != EAGAIN)
      return strerror(errno);
    else if (errno == EAGAIN && (left <= 0 || poll(&ready, 1, (int)left) == 0))
      return strerror(ETIMEDOUT);
  }
  if (used == size - 1 && memchr(line, '\n', used) == NULL)
    return "its first line is longer than 4094 bytes";
  return first_line_end(line, used);
}

static int pass_fault(const char *path, const char *reason)
{
  char shown[600];

  return say_fault(&(message_facts) { .code = CODE_CONFIG, .status = "DIBS_ERR_CONFIG" },
                   "--pass-file %s: %s", printable(path, shown, sizeof(shown)), reason);
}

/* A regular file, or a pipe that is written to already. O_NONBLOCK: open() itself would wait
 * at a FIFO. */
static int read_password_file(const char *path, session *s)
{
  char line[PASSWORD_MAX];
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  struct stat facts;
  const char *reason;

  if (fd < 0)
    return pass_fault(path, strerror(errno));
  if (fstat(fd, &facts) != 0 || (!S_ISREG(facts.st_mode) && !S_ISFIFO(facts.st_mode))) {
    close(fd);
    return pass_fault(path, "not a regular file or a pipe (--askpass asks on the terminal)");
  }
  reason = read_line(fd, line, sizeof(line));
  close(fd);
  if (reason != NULL) {
    explicit_bzero(line, sizeof(line));
    return pass_fault(path, reason);
  }
  s->password = strdup(line);
  explicit_bzero(line, sizeof(line));
  if (S_ISREG(facts.st_mode))
    s->password_file = path;
  return s->password == NULL ? CODE_INTERNAL : 0;
}

/* ---- the terminal ---- */

/* The terminal while it shows nothing of what is typed. Signals that have come wait at `signals`
 * until the terminal is as before: its shell would be silent after an end or a stop. */
typedef struct silence {
  int terminal, signals;
  struct termios before;
  sigset_t mask_before;
} silence;

static bool silence_open(silence *q)
{
  static const int harmless[] = { SIGCHLD, SIGURG, SIGWINCH };
  sigset_t waiting;

  /* O_NONBLOCK: a terminal that Ctrl-S holds must not keep the signals waiting. */
  q->signals = -1;
  q->terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (q->terminal < 0 || tcgetattr(q->terminal, &q->before) != 0)
    return false;
  sigfillset(&waiting);
  for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
    sigdelset(&waiting, harmless[i]);
  sigprocmask(SIG_BLOCK, &waiting, &q->mask_before);
  q->signals = signalfd(-1, &waiting, SFD_CLOEXEC);
  return q->signals >= 0;
}

/* The signals that have come take effect here. */
static void silence_let_signals_in(const silence *q)
{
  sigset_t waiting;

  sigprocmask(SIG_SETMASK, &q->mask_before, &waiting);
  sigprocmask(SIG_SETMASK, &waiting, NULL);
}

static void silence_close(silence *q)
{
  if (q->signals >= 0) {
    sigprocmask(SIG_SETMASK, &q->mask_before, NULL);
    close(q->signals);
  }
  if (q->terminal >= 0)
    close(q->terminal);
}

/* In the background the terminal is in the hands of others. */
static bool silence_come_to_foreground(const silence *q)
{
  while (tcgetpgrp(q->terminal) != getpgrp()) {
    if (!signals_stop_in_background(q->terminal))
      return false;
    silence_let_signals_in(q);
  }
  return true;
}

/* As read(), or -1 and EINTR when there are signals to let in; the terminal is as before then. */
static ssize_t silence_read_once(const silence *q, char *line, size_t size)
{
  struct pollfd ready[] = { { .fd = q->terminal, .events = POLLIN },
                            { .fd = q->signals, .events = POLLIN } };
  struct termios silent = q->before;
  ssize_t got = -1;

  silent.c_lflag &= ~(tcflag_t)ECHO;
  tcflush(q->terminal, TCIFLUSH);
  tcsetattr(q->terminal, TCSANOW, &silent);
  dprintf(q->terminal, "Password: ");
  poll(ready, 2, -1);
  errno = EINTR;
  if (ready[1].revents == 0)
    got = read(q->terminal, line, size);
  /* What was typed in part is not for the shell to show. */
  tcflush(q->terminal, TCIFLUSH);
  tcsetattr(q->terminal, TCSANOW, &q->before);
  dprintf(q->terminal, "\n");
  return got;
}

static ssize_t silence_read(const silence *q, char *line, size_t size)
{
  ssize_t got = -1;

  errno = EINTR;
  while (got < 0 && (errno == EINTR || errno == EAGAIN)) {
    silence_let_signals_in(q);
    if (!silence_come_to_foreground(q))
      return -1;
    got = silence_read_once(q, line, size);
  }
  return got;
}

static int ask_password(session *s)
{
  char line[PASSWORD_MAX];
  ssize_t size;
  silence q;

  if (!silence_open(&q)) {
    silence_close(&q);
    return say_usage(s->line->subcommand, "--askpass: there is no terminal to ask on");
  }
  size = silence_read(&q, line, sizeof(line) - 1);
  silence_close(&q);

  line[size < 0 ? 0 : size] = '\0';
  line[strcspn(line, "\r\n")] = '\0';
  s->password = strdup(line);
  explicit_bzero(line, sizeof(line));
  return s->password == NULL ? CODE_INTERNAL : 0;
}

int password_find(session *s)
{
  const connection_options *c = &s->line->connection;

  if (c->wants_askpass)
    return ask_password(s);
  if (c->pass_file != NULL)
    return read_password_file(c->pass_file, s);
  return 0; /* the library knows DIBS_PASSWORD and REDISCLI_AUTH */
}
