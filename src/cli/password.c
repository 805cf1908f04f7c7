/* SPDX-License-Identifier: MIT */
/* cli/password.c - the password of a file, a pipe or a terminal. */
#include "cli/password.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/message.h"

#define PASSWORD_MAX 4096
#define PASS_PIPE_MS 10000

/* `line` has room for `size` bytes. Waits for a pipe, such as <(command), at most as long as
 * a command may take to find a password. 0 or an errno. */
static int read_line(int fd, char *line, size_t size)
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
      return errno;
    else if (errno == EAGAIN && (left <= 0 || poll(&ready, 1, (int)left) == 0))
      return ETIMEDOUT;
  }
  line[used] = '\0';
  line[strcspn(line, "\r\n")] = '\0';
  return 0;
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
  int error;

  if (fd < 0)
    return pass_fault(path, strerror(errno));
  if (fstat(fd, &facts) != 0 || (!S_ISREG(facts.st_mode) && !S_ISFIFO(facts.st_mode))) {
    close(fd);
    return pass_fault(path, "not a regular file or a pipe (--askpass asks on the terminal)");
  }
  error = read_line(fd, line, sizeof(line));
  close(fd);
  if (error != 0 || line[0] == '\0') {
    explicit_bzero(line, sizeof(line));
    return pass_fault(path, error == 0 ? "its first line is empty" : strerror(error));
  }
  s->password = strdup(line);
  explicit_bzero(line, sizeof(line));
  if (S_ISREG(facts.st_mode))
    s->password_file = path;
  return s->password == NULL ? CODE_INTERNAL : 0;
}

static int ask_password(session *s)
{
  struct termios before, silent;
  char line[PASSWORD_MAX];
  int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
  ssize_t size;

  if (terminal < 0 || tcgetattr(terminal, &before) != 0) {
    if (terminal >= 0)
      close(terminal);
    return say_usage(NULL, "--askpass: there is no terminal to ask on");
  }
  silent = before;
  silent.c_lflag &= ~(tcflag_t)ECHO;
  tcsetattr(terminal, TCSAFLUSH, &silent);
  dprintf(terminal, "Password: ");
  size = read(terminal, line, sizeof(line) - 1);
  tcsetattr(terminal, TCSAFLUSH, &before);
  dprintf(terminal, "\n");
  close(terminal);

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
