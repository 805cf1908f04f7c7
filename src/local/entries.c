/* SPDX-License-Identifier: MIT */
/* local/entries.c - lists a directory without heap memory. */
#include "local/entries.h"

#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's format. */
struct entry {
  uint64_t inode;
  int64_t offset;
  unsigned short size;
  unsigned char kind;
  char name[];
};

bool entries_each(int directory, void (*each)(const char *name, void *data), void *data)
{
  _Alignas(struct entry) char bytes[2048];
  long size;

  while ((size = syscall(SYS_getdents64, directory, bytes, sizeof(bytes))) > 0) {
    for (long at = 0; at < size;) {
      const struct entry *e = (const struct entry *)(const void *)(bytes + at);
      if (strcmp(e->name, ".") != 0 && strcmp(e->name, "..") != 0)
        each(e->name, data);
      at += e->size;
    }
  }
  return size == 0;
}
