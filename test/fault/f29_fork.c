/* SPDX-License-Identifier: MIT */
/* test/fault/f29_fork.c - a process forks while it holds and while its threads are in the
 * middle of calls. The child's copies neither renew nor release, whoever of the two dies
 * first; the parent goes on; what is executed inherits no descriptor. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"

enum { TTL_MS = 500 };

static char url[128];
static _Atomic int *wrong;                /* of grandchildren, in shared memory */

static dibs_client *client;
static dibs_hold *hold;

/* ---- the grandchild ---- */

#define EXPECT(fact) \
  do { \
    if (!(fact)) \
      atomic_store(wrong, __LINE__); \
  } while (0)

static void on_any(const dibs_error *error, dibs_hold *got, void *data)
{
  (void)error;
  (void)got;
  (void)data;
  atomic_store(wrong, __LINE__);
}

static void misuse(void)
{
  dibs_hold *got = NULL;
  char token[DIBS_TOKEN_SIZE];

  (void)alarm(5);            /* a mutex that was taken at the fork would hang here */
  EXPECT(dibs_hold_state(hold) == DIBS_HOLD_GONE);
  EXPECT(dibs_hold_valid_ms(hold) == 0);
  EXPECT(dibs_release(hold) == DIBS_ERR_FORKED);
  EXPECT(dibs_release_async(hold, NULL, NULL) == DIBS_ERR_FORKED);
  EXPECT(dibs_hold_detach(hold) == DIBS_ERR_FORKED);
  EXPECT(dibs_hold_token(hold, token, sizeof(token)) == DIBS_ERR_FORKED);
  EXPECT(dibs_try_lock(client, "other", NULL, &got) == DIBS_ERR_FORKED);
  EXPECT(dibs_lock_async(client, "other", NULL, on_any, NULL, NULL) == DIBS_ERR_FORKED);
  (void)alarm(0);
}

/* `stays`: lives on until the scenario is over, or lets it go. */
static pid_t fork_grandchild(int wait_fd, bool closes)
{
  pid_t pid = fork();
  char byte;

  if (pid != 0)
    return pid;
  misuse();
  if (closes)
    client = dibs_close(client);
  if (wait_fd >= 0)
    (void)!read(wait_fd, &byte, 1);
  _exit(0);
}

/* ---- the parent ---- */

static atomic_bool is_over;

static void *keep_busy(void *data)
{
  struct child *self = data;

  while (!atomic_load(&is_over)) {
    dibs_hold *got = NULL;
    dibs_status status = dibs_lock(client, "busy", NULL, &got);

    (void)child_check(self, status == DIBS_OK, "a thread of the parent: %s",
                      dibs_status_name(status));
    if (status == DIBS_OK)
      (void)child_check(self, dibs_release(got) == DIBS_OK, "its release");
  }
  return NULL;
}

static void check_descriptors(struct child *self)
{
  for (int fd = 5; fd < 256; fd++) {
    int flags = fcntl(fd, F_GETFD);

    if (flags >= 0)
      (void)child_check(self, (flags & FD_CLOEXEC) != 0, "descriptor %d outlives exec", fd);
  }
}

/* Forks again and again beside busy threads, and keeps its lease all the time. */
static void fork_often(struct child *self, void *data)
{
  pthread_t threads[2];
  int64_t until = child_now_ms() + *(int *)data;
  int forks = 0, status = 0;

  client = child_open(self, url, NULL);
  hold = child_lock(self, client, "forked", TTL_MS);
  for (int i = 0; i < 2; i++)
    (void)pthread_create(&threads[i], NULL, keep_busy, self);
  check_descriptors(self);
  while (child_now_ms() < until) {
    pid_t pid = fork_grandchild(-1, forks % 2 == 0);

    (void)promise_waitpid(pid, &status, 0);
    (void)child_check(self, status == 0, "a grandchild ended with status %#x",
                      (unsigned)status);
    (void)child_check(self, dibs_hold_state(hold) == DIBS_HOLD_HELD, "the parent's hold is not");
    forks++;
  }
  atomic_store(&is_over, true);
  for (int i = 0; i < 2; i++)
    (void)pthread_join(threads[i], NULL);
  (void)child_check(self, dibs_release(hold) == DIBS_OK, "the parent's release");
  client = dibs_close(client);
  child_mark(self, "forks under a hold", forks);
}

/* Holds, forks, and is killed: the grandchild has the sockets yet. */
static void be_outlived(struct child *self, void *data)
{
  client = child_open(self, url, NULL);
  hold = child_lock(self, client, "outlived", TTL_MS);
  if (fork_grandchild(*(int *)data, false) < 0)
    (void)child_check(self, false, "no fork");
  child_tell(self, "forked");
  child_sleep_ms(20000);
}

static void take_after(struct child *self, void *data)
{
  dibs_client *own = child_open(self, url, NULL);
  dibs_lock_options o = child_lock_options(TTL_MS, 10000);
  struct child_time begun = child_time();
  dibs_hold *got = NULL;
  dibs_status status = dibs_lock(own, "outlived", &o, &got);

  (void)data;
  (void)child_check(self, status == DIBS_OK, "the lock of the dead: %s",
                    dibs_status_name(status));
  /* Its lease, a second of doubt, and a poll: L1. */
  (void)child_check_time(self, "its inheritance", begun, TTL_MS + 1000 + 1000);
  (void)dibs_release(got);
  own = dibs_close(own);
}

/* The grandchild waits for the end of its parent's orders, so it ends with the scenario too. */
static void outlive(struct world *w)
{
  static int order = CHILD_ORDERS_FD;
  struct child *parent = child_start(w, be_outlived, &order), *heir;

  if (!child_hear(parent, "forked", 5000)) {
    parent = child_kill(parent);
    return;
  }
  (void)kill(child_pid(parent), SIGKILL);
  heir = child_start(w, take_after, NULL);
  heir = child_end(heir, 15000);
  parent = child_kill(parent);           /* closes the pipe: the grandchild ends */
  world_mark(w, "parents died before their children");
}

static void run(struct world *w, const struct scale *scale)
{
  struct child *c;
  int ms = (int)(scale->seconds * 250);

  (void)world_lock(w, 'm', "forked", 0);
  (void)world_lock(w, 'm', "outlived", 0);
  (void)world_lock(w, 'm', "busy", 0);
  child_bystanders(w);
  (void)snprintf(url, sizeof(url), "%s", test_server_url(world_server(w)));
  wrong = mmap(NULL, sizeof(*wrong), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  world_demand(w, "parents died before their children", 1);
  c = child_start(w, fork_often, &ms);
  c = child_end(c, ms + 20000);
  do {
    outlive(w);
  } while (world_goes_on(w));
  world_demand(w, "forks under a hold", 30);
  if (atomic_load(wrong) != 0)
    world_fail(w, "a grandchild was answered wrongly: %s:%d", __FILE__, atomic_load(wrong));
}

const struct scenario f29_fork = {
  .id = "F29", .name = "a_forked_child_neither_renews_nor_releases", .run = run,
};
