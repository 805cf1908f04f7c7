/* SPDX-License-Identifier: MIT */
/* cli/capture.c - --quiet-on-success. */
#include "cli/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/message.h"

#define RESERVED_BYTES (1 << 20)

static const char *directory(void)
{
  const char *named = getenv("TMPDIR");

  return named != NULL && *named != '\0' ? named : "/tmp";
}

/* Whether there is room for `size` bytes from `at` on, as far as the file system says so; they are
 * reserved. */
static bool has_room(int fd, off_t at, off_t size)
{
  return fallocate(fd, FALLOC_FL_KEEP_SIZE, at, size) == 0 || (errno != ENOSPC && errno != EDQUOT);
}

/* A file without a name: on disk, or in memory where that is not possible or full. */
static int nameless_file(void)
{
  int fd = open(directory(), O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);

  if (fd >= 0 && !has_room(fd, 0, RESERVED_BYTES)) {
    close(fd);
    fd = -1;
  }
  return fd >= 0 ? fd : memfd_create("dibs-output", MFD_CLOEXEC);
}

static bool are_same(int a, int b)
{
  struct stat of_a, of_b;

  return fstat(a, &of_a) == 0 && fstat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
         of_a.st_ino == of_b.st_ino;
}

bool capture_begin(capture *c)
{
  c->error = -1;
  c->output = nameless_file();
  if (c->output < 0)
    return false;
  c->error = are_same(STDOUT_FILENO, STDERR_FILENO) ? fcntl(c->output, F_DUPFD_CLOEXEC, 3)
                                                    : nameless_file();
  return c->error >= 0;
}

static void copy_all(int from, int to)
{
  static char bytes[65536];
  off_t at = 0;

  for (;;) {
    ssize_t size = pread(from, bytes, sizeof(bytes), at);

    if (size <= 0)
      return;
    for (ssize_t done = 0; done < size;) {
      ssize_t wrote = write(to, bytes + done, (size_t)(size - done));

      if (wrote <= 0)
        return;
      done += wrote;
    }
    at += size;
  }
}

/* The command was refused what it wrote then. */
static bool is_cut(int fd)
{
  struct stat facts;

  return fd >= 0 && fstat(fd, &facts) == 0 && !has_room(fd, facts.st_size, 1);
}

void capture_end(capture *c, bool is_shown)
{
  bool was_cut = is_shown && (is_cut(c->output) || is_cut(c->error));
  char shown[600];

  if (is_shown && c->output >= 0)
    copy_all(c->output, STDOUT_FILENO);
  if (is_shown && c->error >= 0 && !are_same(c->output, c->error))
    copy_all(c->error, STDERR_FILENO);
  if (c->output >= 0)
    close(c->output);
  if (c->error >= 0)
    close(c->error);
  c->output = c->error = -1;
  if (was_cut)
    say("the output of the command may be incomplete: no space is left in %s (TMPDIR)",
        printable(directory(), shown, sizeof(shown)));
}
