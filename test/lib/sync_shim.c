/* SPDX-License-Identifier: MIT */
/* test/lib/sync_shim.c - notes how much of its files a real server has synced, by LD_PRELOAD.
 *
 * Stands before fsync and fdatasync, and can make them last. The size counts that the file
 * had before the call: bytes that another thread appends meanwhile may or may not be on the
 * disk. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sync_shim.h"

static struct sync_shim nobody_looks = { .disk_ms = -1 };
static struct sync_shim *shim = &nobody_looks;

__attribute__((constructor)) static void find_file(void)
{
  const char *path = getenv(SYNC_SHIM_FILE);
  int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
  void *found;

  if (fd < 0)
    return;
  found = mmap(NULL, sizeof(*shim), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  (void)close(fd);
  if (found != MAP_FAILED)
    shim = found;
}

static void raise_to(_Atomic int64_t *synced_bytes, int64_t size)
{
  int64_t known = *synced_bytes;

  while (known < size && !atomic_compare_exchange_weak(synced_bytes, &known, size))
    ;
}

/* Any thread of the server: a place is taken by one exchange. With all taken nothing more
 * is noted, so that more would be lost than a disk loses. */
static void note(uint64_t inode, int64_t size)
{
  for (size_t i = 0; i < SYNC_SHIM_FILES; i++) {
    uint64_t found = 0;

    if (atomic_compare_exchange_strong(&shim->files[i].inode, &found, inode)
        || found == inode) {
      raise_to(&shim->files[i].synced_bytes, size);
      return;
    }
  }
}

static int wait_ms(int32_t ms)
{
  struct timespec left = { ms / 1000, ms % 1000 * 1000000L };

  while (nanosleep(&left, &left) != 0)
    ;
  return 0;
}

static int synced_by(long call, int fd)
{
  struct stat before;
  bool has_size = fstat(fd, &before) == 0 && S_ISREG(before.st_mode);
  int32_t disk_ms = shim->disk_ms;
  int fault = disk_ms < 0 ? (int)syscall(call, fd) : wait_ms(disk_ms);

  if (fault == 0 && has_size)
    note(before.st_ino, before.st_size);
  return fault;
}

int fsync(int fd)
{
  return synced_by(SYS_fsync, fd);
}

int fdatasync(int fd)
{
  return synced_by(SYS_fdatasync, fd);
}
