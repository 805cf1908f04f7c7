/* SPDX-License-Identifier: MIT */
/* test/live/process_state.h - whether a process is still there, and whose child it is.
 *
 * A process ends in steps, and each look may meet another one: it runs, it is a zombie, it
 * is being reaped (its file opens, and reads as nothing or as 'X'), it is no more. Who asks
 * twice may be answered from two steps, so the answer for each step behind the end is the
 * same: gone. */
#ifndef PROCESS_STATE_H
#define PROCESS_STATE_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

/* The line of /proc/<pid>/stat; "" when the process ended before it was read. False: there
 * is no such process. */
static inline bool process_line(pid_t pid, char line[512])
{
  char path[64];
  FILE *file;

  line[0] = '\0';
  (void)snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
  file = fopen(path, "re");
  if (file == NULL)
    return false;
  (void)!fgets(line, 512, file);
  (void)fclose(file);
  return true;
}

/* Of field `number`, from the fourth on; -1 when the line ends before it. */
static inline long process_field(const char *line, int number)
{
  const char *at = strrchr(line, ')');      /* a name may have blanks and brackets */
  long value = -1;

  for (int i = 2; at != NULL && i < number; i++)
    at = strchr(at + 1, ' ');
  if (at != NULL)
    (void)sscanf(at, " %ld", &value);
  return value;
}

/* A zombie is gone: whoever is to reap it may take its time. But one whose other threads
 * are still ending is not, its sockets are open. */
static inline bool process_line_says_gone(const char *line)
{
  const char *end = strrchr(line, ')');
  char state = end != NULL && end[1] == ' ' ? end[2] : 'X';

  return state == 'X' || state == 'x' || (state == 'Z' && process_field(line, 20) <= 1);
}

static inline bool is_gone(pid_t pid)
{
  char line[512];

  if (!process_line(pid, line))
    return kill(pid, 0) != 0 && errno == ESRCH;
  return process_line_says_gone(line);
}

static inline pid_t parent_of(pid_t pid)
{
  char line[512];

  return process_line(pid, line) ? (pid_t)process_field(line, 4) : 0;
}

#endif
