/* SPDX-License-Identifier: MIT */
/* test/lib/server_clock.c - servers whose wall clock is the test's: the file that
 * clock_shim.c reads. */
#include "server_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "clock_shim.h"

enum { CREEP_US = 1000 };

void test_clock_make(struct test_server *s)
{
  char path[128];
  void *found;
  int fd;

  (void)snprintf(path, sizeof(path), "%s/clock", s->directory);
  (void)snprintf(s->clock_file, sizeof(s->clock_file), "%s=%s", CLOCK_SHIM_FILE, path);
  fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(struct clock_shim)) != 0)
    test_bail_out("%s: %s", path, strerror(errno));
  found = mmap(NULL, sizeof(struct clock_shim), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (found == MAP_FAILED)
    test_bail_out("%s: %s", path, strerror(errno));
  (void)close(fd);
  s->clock = found;
}

void test_clock_free(struct test_server *s)
{
  if (s->clock != NULL)
    (void)munmap(s->clock, sizeof(*s->clock));
  s->clock = NULL;
}

static struct clock_shim *clock_of(const struct test_server *s)
{
  if (s->clock == NULL)
    test_bail_out("a server that was started without has_clock has the machine's clock");
  return s->clock;
}

/* Asked once: all servers of a run are the same program. */
int64_t test_server_clock_creep_us(const struct test_server *s)
{
  static int64_t known = -1;
  redisReply *reply = NULL;

  if (known < 0 && s->pid != 0 && !s->is_paused)
    reply = test_server_ask(s, "INFO server");
  if (reply != NULL && reply->str != NULL)
    known = strstr(reply->str, "X86 TSC") != NULL
                && strstr(reply->str, "valkey_version:") != NULL
              ? CREEP_US
              : 0;
  if (reply != NULL)
    freeReplyObject(reply);
  return known > 0 ? known : 0;
}

/* By then a server that guesses has looked again. */
static void let_it_look(const struct test_server *s)
{
  struct timespec left = { .tv_nsec = (long)(1000 * test_server_clock_creep_us(s)) };

  while (left.tv_nsec > 0 && nanosleep(&left, &left) != 0 && errno == EINTR)
    ;
}

void test_server_clock_shift(const struct test_server *s, int64_t ms)
{
  clock_of(s)->shift_ms = ms;
  let_it_look(s);
}

void test_server_clock_freeze(const struct test_server *s, int64_t us)
{
  if (us <= 0)
    test_bail_out("a clock cannot stand at %lld", (long long)us);
  clock_of(s)->frozen_us = us;
  let_it_look(s);
}

void test_server_clock_thaw(const struct test_server *s)
{
  clock_of(s)->frozen_us = 0;
  let_it_look(s);
}
