/* SPDX-License-Identifier: MIT */
/* test/live/unload_test.c - a plugin's host unloads the library while a name is being resolved.
 * This program is not linked with the library; its own getaddrinfo() answers when it is told. */
#define _GNU_SOURCE
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dirent.h>
#include <dlfcn.h>
#include <netdb.h>
#include <poll.h>
#include <semaphore.h>
#include <time.h>

#include <dibs/dibs.h>

enum { LONG_MS = 30000 };

static sem_t is_asked, may_answer;

/* The library finds it before that of the C library. Only names are asked on a thread. */
int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
                struct addrinfo **ret_addresses)
{
  (void)host;
  (void)port;
  (void)ret_addresses;
  if ((hints->ai_flags & AI_NUMERICHOST) != 0)
    return EAI_NONAME;
  (void)sem_post(&is_asked);
  while (sem_wait(&may_answer) != 0)
    continue;
  return EAI_FAIL;
}

static int64_t now_ms(void)
{
  struct timespec at;

  (void)clock_gettime(CLOCK_MONOTONIC, &at);
  return (int64_t)at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

static int threads_count(void)
{
  DIR *tasks = opendir("/proc/self/task");
  int count = 0;

  assert_non_null(tasks);
  for (const struct dirent *e; (e = readdir(tasks)) != NULL;)
    count += e->d_name[0] != '.';
  (void)closedir(tasks);
  return count;
}

/* What a plugin does, from its load to its end. */
static void open_ask_and_close(void *library)
{
  __typeof__(dibs_open) *open_client;
  __typeof__(dibs_ping) *ping;
  __typeof__(dibs_close) *close_client;
  dibs_client *c = NULL;

  *(void **)&open_client = dlsym(library, "dibs_open");
  *(void **)&ping = dlsym(library, "dibs_ping");
  *(void **)&close_client = dlsym(library, "dibs_close");
  assert_true(open_client != NULL && ping != NULL && close_client != NULL);
  assert_int_equal(open_client("redis://no.such.host", NULL, &c, NULL), DIBS_OK);
  assert_int_not_equal(ping(c, 50, NULL), DIBS_OK);
  assert_int_equal(sem_wait(&is_asked), 0);
  assert_null(close_client(c));
}

TEST(a_library_that_still_resolves_a_name_may_be_unloaded)
{
  int64_t until = now_ms() + LONG_MS;
  void *library = dlopen(LIBDIBS, RTLD_NOW | RTLD_LOCAL);
  int resolving;

  if (library == NULL)
    fail_msg("%s", dlerror());
  open_ask_and_close(library);
  assert_int_equal(dlclose(library), 0);
  resolving = threads_count();
  assert_true(resolving > 1);
  assert_int_equal(sem_post(&may_answer), 0);
  while (threads_count() == resolving && now_ms() < until)
    (void)poll(NULL, 0, 1);
  assert_int_equal(threads_count(), resolving - 1);
}

int main(void)
{
  (void)sem_init(&is_asked, 0, 0);
  (void)sem_init(&may_answer, 0, 0);
  return tests_run(NULL, NULL, NULL, NULL);
}
