/* SPDX-License-Identifier: MIT */
/* test/lib/server_place.c - directories and ports for test servers, and the way out when they
 * cannot be had. */
#include "server_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "local/port.h"

static const char prefix[] = "dibs-test-";

void test_bail_out(const char *format, ...)
{
  va_list values;

  (void)fputs("Bail out! ", stdout);
  va_start(values, format);
  (void)vprintf(format, values);
  va_end(values);
  (void)fputs("\n", stdout);
  exit(1);
}

/* ---- directories ---- */

static int remove_entry(const char *path, const struct stat *found, int kind,
                        struct FTW *where)
{
  (void)found, (void)kind, (void)where;
  (void)remove(path);
  return 0;
}

void test_directory_remove(const char *path)
{
  (void)nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static bool is_of_a_dead_process(const char *name)
{
  char *end;
  long pid;

  if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
    return false;
  pid = strtol(name + sizeof(prefix) - 1, &end, 10);
  return pid > 0 && *end == '-' && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

static void sweep(void)
{
  static bool is_done;
  DIR *directory = is_done ? NULL : opendir("/tmp");
  struct dirent *entry;
  char path[300];

  is_done = true;
  if (directory == NULL)
    return;
  while ((entry = readdir(directory)) != NULL) {
    if (!is_of_a_dead_process(entry->d_name))
      continue;
    (void)snprintf(path, sizeof(path), "/tmp/%s", entry->d_name);
    test_directory_remove(path);
  }
  (void)closedir(directory);
}

void test_directory_make(char *ret_path, size_t size)
{
  sweep();
  (void)snprintf(ret_path, size, "/tmp/%s%ld-XXXXXX", prefix, (long)getpid());
  if (mkdtemp(ret_path) == NULL)
    test_bail_out("%s: %s", ret_path, strerror(errno));
}

/* ---- ports ---- */

int test_port_claim(int *ret_claim)
{
  int port = port_claim(ret_claim);

  if (port == 0)
    test_bail_out("no free port: %s", strerror(errno));
  return port;
}
