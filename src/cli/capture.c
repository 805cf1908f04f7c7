/* SPDX-License-Identifier: MIT */
/* cli/capture.c - --quiet-on-success. */
#include "cli/capture.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file without a name: on disk, or in memory where that is not possible. */
static int nameless_file(void)
{
  const char *directory = getenv("TMPDIR");
  int fd = open(directory != NULL && *directory != '\0' ? directory : "/tmp",
                O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);

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

void capture_end(capture *c, bool is_shown)
{
  if (is_shown && c->output >= 0)
    copy_all(c->output, STDOUT_FILENO);
  if (is_shown && c->error >= 0 && !are_same(c->output, c->error))
    copy_all(c->error, STDERR_FILENO);
  if (c->output >= 0)
    close(c->output);
  if (c->error >= 0)
    close(c->error);
  c->output = c->error = -1;
}
