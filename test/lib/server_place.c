/* SPDX-License-Identifier: MIT */
/* test/lib/server_place.c - directories and ports for test servers, and the way out when they
 * cannot be had. */
#include "server_parts.h"

#include <arpa/inet.h>
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
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

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

/* Below the ephemeral range, so that no outgoing connection takes the port of a server
 * that is about to be restarted. */
enum { PORT_FIRST = 10240, PORT_COUNT = 9700 };

/* A name in the abstract socket space is a lock among all tests of this machine which
 * the kernel gives back with the descriptor. -1: taken. */
static int claim(int port)
{
  struct sockaddr_un name = { .sun_family = AF_UNIX };
  int length, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

  if (fd < 0)
    test_bail_out("socket: %s", strerror(errno));
  length = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "dibs-test-port-%d",
                    port);
  if (bind(fd, (struct sockaddr *)&name,
           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) == 0)
    return fd;
  (void)close(fd);
  return -1;
}

static bool is_free(int port)
{
  struct sockaddr_in address = { .sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)port),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  int yes = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  bool is_bound = fd >= 0
                  && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0
                  && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;

  if (fd >= 0)
    (void)close(fd);
  return is_bound;
}

int test_port_claim(int *ret_claim)
{
  for (int tries = 0; tries < 1000; tries++) {
    uint32_t chance = 0;
    int port, fd;

    if (getrandom(&chance, sizeof(chance), 0) != (ssize_t)sizeof(chance))
      test_bail_out("getrandom: %s", strerror(errno));
    port = PORT_FIRST + (int)(chance % PORT_COUNT);
    fd = claim(port);
    if (fd >= 0 && is_free(port) && is_free(port + 10000)) {
      *ret_claim = fd;
      return port;
    }
    if (fd >= 0)
      (void)close(fd);
  }
  test_bail_out("no free port");
}
