/* SPDX-License-Identifier: MIT */
/* test/lib/server_power.c - servers that lose their power: what they had not synced is gone;
 * and servers whose disk is slow.
 * sync_shim.c notes in a file what they had. */
#include "server_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sync_shim.h"

void test_power_make(struct test_server *s)
{
  char path[128];
  void *found;
  int fd;

  (void)snprintf(path, sizeof(path), "%s/synced", s->directory);
  (void)snprintf(s->synced_file, sizeof(s->synced_file), "%s=%s", SYNC_SHIM_FILE, path);
  fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(struct sync_shim)) != 0)
    test_bail_out("%s: %s", path, strerror(errno));
  found = mmap(NULL, sizeof(struct sync_shim), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (found == MAP_FAILED)
    test_bail_out("%s: %s", path, strerror(errno));
  (void)close(fd);
  s->synced = found;
  s->synced->disk_ms = TEST_DISK_AS_IT_IS;
}

void test_power_free(struct test_server *s)
{
  if (s->synced != NULL)
    (void)munmap(s->synced, sizeof(*s->synced));
  s->synced = NULL;
}

static int64_t synced_bytes_of(const struct test_server *s, uint64_t inode)
{
  for (size_t i = 0; i < SYNC_SHIM_FILES; i++)
    if (s->synced->files[i].inode == inode)
      return s->synced->files[i].synced_bytes;
  return 0;
}

/* The bytes that it loses. */
static int64_t forget_unsynced(const struct test_server *s, const char *path)
{
  struct stat now;
  int64_t kept;

  if (stat(path, &now) != 0 || !S_ISREG(now.st_mode))
    return 0;
  kept = synced_bytes_of(s, now.st_ino);
  if (kept >= now.st_size)
    return 0;
  if (truncate(path, kept) != 0)
    test_bail_out("%s: %s", path, strerror(errno));
  return now.st_size - kept;
}

void test_server_disk_takes(struct test_server *s, int ms)
{
  if (s->synced == NULL)
    test_bail_out("a server that was started without can_lose_power has the machine's disk");
  s->synced->disk_ms = ms;
}

int64_t test_server_lose_power(struct test_server *s)
{
  char directory[128], path[512];
  struct dirent *entry;
  int64_t lost = 0;
  DIR *all;

  if (s->synced == NULL)
    test_bail_out("nobody knows what a server has synced that was started without "
                  "can_lose_power");
  test_server_kill9(s);
  (void)snprintf(directory, sizeof(directory), "%s/appendonlydir", s->directory);
  all = opendir(directory);
  while (all != NULL && (entry = readdir(all)) != NULL) {
    (void)snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
    lost += forget_unsynced(s, path);
  }
  if (all != NULL)
    (void)closedir(all);
  (void)snprintf(path, sizeof(path), "%s/appendonly.aof", s->directory);   /* before 7.0 */
  lost += forget_unsynced(s, path);
  return lost;
}
