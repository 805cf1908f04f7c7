/* SPDX-License-Identifier: MIT */
/* local/tree.c - removes a sandbox's directory, without heap memory. */
#include "local/tree.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "local/entries.h"

enum { LEVELS = 2 };

/* A directory to empty, and how many levels may be below it. */
struct level {
  int fd;
  int below;
};

static int open_directory(int at, const char *name)
{
  return above_stdio(openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

static void remove_entry(const char *name, void *data)
{
  const struct level *here = data;
  struct level next = { .below = here->below - 1 };

  if (unlinkat(here->fd, name, 0) == 0 || here->below == 0
      || unlinkat(here->fd, name, AT_REMOVEDIR) == 0)
    return;
  next.fd = open_directory(here->fd, name);
  if (next.fd < 0)
    return;
  (void)entries_each(next.fd, remove_entry, &next);
  (void)close(next.fd);
  (void)unlinkat(here->fd, name, AT_REMOVEDIR);
}

void tree_remove(const char *path)
{
  tree_remove_at(open_directory(AT_FDCWD, path), path);
}

void tree_remove_at(int fd, const char *path)
{
  struct level top = { .fd = fd, .below = LEVELS - 1 };

  if (top.fd < 0)
    return;
  (void)entries_each(top.fd, remove_entry, &top);
  (void)close(top.fd);
  (void)rmdir(path);
}
