/* SPDX-License-Identifier: MIT */
/* two_shells - runs two shell commands, each on a terminal of its own as a person would
 * have it, the second a moment after the first has said something, and shows both.
 *
 *   two_shells COMMAND-OF-SHELL-1 COMMAND-OF-SHELL-2
 *
 * A terminal line that is redrawn in place is shown each time it says something new, at
 * most twice a second, so that the picture also fits into a file. Exit: 0 when both
 * commands ended with 0. */
#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SHELLS = 2, LINE = 512, COLUMNS = 100, REDRAW_MS = 900 };

typedef struct shell {
  int number, terminal;
  pid_t process;
  char line[LINE], shown[LINE];
  size_t used;
  bool is_escape;          /* inside a terminal's control sequence */
  bool is_redrawn;         /* a carriage return came: the next byte begins a new line */
  long long shown_ms;
} shell;

static _Noreturn void give_up(const char *what)
{
  perror(what);
  exit(1);
}

static long long now_ms(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void start(shell *s, int number, const char *command)
{
  struct winsize size = { .ws_row = 24, .ws_col = COLUMNS };

  memset(s, 0, sizeof(*s));
  s->number = number;
  printf("   shell %d $ %s\n", number, command);
  fflush(stdout);
  s->process = forkpty(&s->terminal, NULL, NULL, &size);
  if (s->process < 0)
    give_up("two_shells: no terminal (is /dev/pts mounted?)");
  if (s->process == 0) {
    prctl(PR_SET_PDEATHSIG, SIGHUP);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
  }
}

/* Shows what stands on the line now. A line that is to be redrawn may be skipped. */
static void show(shell *s, bool is_final)
{
  size_t length = s->used;

  while (length > 0 && s->line[length - 1] == ' ')
    length--;
  s->line[length] = 0;
  if (length == 0 || strcmp(s->line, s->shown) == 0)
    return;
  if (!is_final && now_ms() - s->shown_ms < REDRAW_MS)
    return;
  printf("   shell %d | %s\n", s->number, s->line);
  fflush(stdout);
  memcpy(s->shown, s->line, length + 1);
  s->shown_ms = now_ms();
}

static void take_byte(shell *s, char byte)
{
  if (s->is_escape) {
    s->is_escape = !((byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z'));
  } else if (byte == '\033') {
    s->is_escape = true;
  } else if (byte == '\n') {
    show(s, true);
    s->used = 0;
    s->is_redrawn = false;
  } else if (byte == '\r') {
    s->is_redrawn = true;
  } else {
    if (s->is_redrawn) {
      show(s, false);
      s->used = 0;
      s->is_redrawn = false;
    }
    if (s->used < LINE - 1)
      s->line[s->used++] = byte;
  }
}

/* Reads once; false when the shell is gone. */
static bool follow(shell *s)
{
  char bytes[1024];
  ssize_t size = read(s->terminal, bytes, sizeof(bytes));

  if (size < 0 && errno == EINTR)
    return true;
  for (ssize_t i = 0; i < size; i++)
    take_byte(s, bytes[i]);
  if (size > 0)
    show(s, false);
  if (size <= 0) {
    show(s, true);
    close(s->terminal);
    s->terminal = -1;
  }
  return size > 0;
}

static int exit_code(const shell *s)
{
  int how = 0;

  while (waitpid(s->process, &how, 0) < 0 && errno == EINTR)
    ;
  return WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
}

int main(int argc, char **argv)
{
  shell shells[SHELLS];
  int running = 1, codes = 0;
  bool is_second_started = false;

  if (argc != 3) {
    fprintf(stderr, "usage: two_shells COMMAND COMMAND\n");
    return 64;
  }
  start(&shells[0], 1, argv[1]);
  shells[1].terminal = -1;
  while (running > 0) {
    struct pollfd ready[SHELLS];

    for (int i = 0; i < SHELLS; i++)
      ready[i] = (struct pollfd){ .fd = shells[i].terminal, .events = POLLIN };
    if (poll(ready, SHELLS, -1) < 0 && errno != EINTR)
      give_up("two_shells: poll");
    for (int i = 0; i < SHELLS; i++)
      if (ready[i].revents != 0 && !follow(&shells[i]))
        running--;
    if (!is_second_started && shells[0].shown[0] != 0) {
      is_second_started = true;
      running++;
      start(&shells[1], 2, argv[2]);
    }
  }
  for (int i = 0; i < (is_second_started ? SHELLS : 1); i++)
    codes |= exit_code(&shells[i]);
  return codes == 0 && is_second_started ? 0 : 1;
}
