/* SPDX-License-Identifier: MIT */
/* local/tree.c - removing a sandbox's directory, without memory from the heap. */
#include "local/tree.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LEVELS = 2 };

/* As the kernel writes it. */
struct entry {
  uint64_t inode;
  int64_t offset;
  unsigned short size;
  unsigned char kind;
  char name[];
};

static bool is_itself_or_parent(const char *name)
{
  return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int open_directory(int at, const char *name)
{
  return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void empty(int fd, int levels);

static void remove_entry(int fd, const char *name, int levels)
{
  int below;

  if (unlinkat(fd, name, 0) == 0 || levels == 0)
    return;
  below = open_directory(fd, name);
  if (below < 0)
    return;
  empty(below, levels - 1);
  (void)close(below);
  (void)unlinkat(fd, name, AT_REMOVEDIR);
}

static void empty(int fd, int levels)
{
  _Alignas(struct entry) char bytes[2048];
  long size;

  while ((size = syscall(SYS_getdents64, fd, bytes, sizeof(bytes))) > 0) {
    for (long at = 0; at < size;) {
      const struct entry *e = (const struct entry *)(const void *)(bytes + at);
      if (!is_itself_or_parent(e->name))
        remove_entry(fd, e->name, levels);
      at += e->size;
    }
  }
}

void tree_remove(const char *path)
{
  int fd = open_directory(AT_FDCWD, path);

  if (fd < 0)
    return;
  empty(fd, LEVELS - 1);
  (void)close(fd);
  (void)rmdir(path);
}
