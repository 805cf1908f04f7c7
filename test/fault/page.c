/* SPDX-License-Identifier: MIT */
/* test/fault/page.c - the shared witness, store and counters. */
#include "page.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <dibs/guard.h>

struct whole {
  struct page page;
  _Atomic uint64_t store[LOCKS_MAX][STORE_MAX];   /* pages that nobody touches cost nothing */
};

static struct page *map(int fd, const char *path)
{
  struct whole *w = MAP_FAILED;

  if (fd >= 0)
    w = mmap(NULL, sizeof(struct whole), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (w == MAP_FAILED) {
    perror(path);
    exit(70);
  }
  return &w->page;
}

/* Memory of no file system: writing back would stop workers at times that nobody chose. Its
 * name leads to the descriptor of the process that made it, which stays open. */
struct page *page_make(const char *directory, uint32_t lock_count)
{
  char path[300], target[64];
  int fd = memfd_create("dibs-fault", MFD_CLOEXEC);
  struct page *p;

  (void)snprintf(path, sizeof(path), "%s/page", directory);
  (void)snprintf(target, sizeof(target), "/proc/%ld/fd/%d", (long)getpid(), fd);
  if (fd < 0 || ftruncate(fd, (off_t)sizeof(struct whole)) != 0 || symlink(target, path) != 0) {
    perror(path);
    exit(70);
  }
  p = map(fd, path);
  p->lock_count = lock_count;
  return p;
}

struct page *page_open(const char *directory)
{
  struct page *p;
  char path[300];
  int fd;

  (void)snprintf(path, sizeof(path), "%s/page", directory);
  fd = open(path, O_RDWR | O_CLOEXEC);
  p = map(fd, path);
  (void)close(fd);
  return p;
}

struct page *page_close(struct page *p)
{
  if (p != NULL)
    (void)munmap(p, sizeof(struct whole));
  return NULL;
}

/* ---- witness ---- */

/* Whether two who are in at one instant may be; permits are counted elsewhere. */
static bool may_share(enum hold_mode one, enum hold_mode other)
{
  return one == other && (one == HOLD_READ || one == HOLD_PERMITS);
}

/* What the others in use of `l` add up to with `units`, at one instant: the same grants are
 * there in two walks, so all of them were there between the two. */
static bool is_too_many(struct page_lock *l, uint16_t who, uint32_t used, uint32_t units,
                        int64_t believed_ns)
{
  uint64_t fences[SLOTS_MAX] = { 0 }, sum = units;
  int64_t until = believed_ns;

  for (uint32_t i = 0; i < used; i++)
    if (i != who && atomic_load(&l->slots[i].believed_ns) != 0)
      fences[i] = atomic_load(&l->slots[i].fence);
  for (uint32_t i = 0; i < used; i++) {
    int64_t end = atomic_load(&l->slots[i].believed_ns);

    if (fences[i] == 0 || end == 0 || atomic_load(&l->slots[i].fence) != fences[i])
      continue;
    if (history_now_ns() >= end)
      continue;
    sum += atomic_load(&l->slots[i].units);
    until = end < until ? end : until;
  }
  return sum > atomic_load(&l->limit) && history_now_ns() < until;
}

int page_enter(struct page *p, uint16_t lock, uint16_t who, enum hold_mode mode, uint32_t units,
               uint64_t fence, int64_t believed_ns)
{
  struct page_lock *l = &p->locks[lock];
  struct slot *mine = &l->slots[who];
  uint32_t used = atomic_load(&p->slots_used);
  int clash = -1;

  while (used <= who && !atomic_compare_exchange_weak(&p->slots_used, &used, who + 1U))
    ;
  used = atomic_load(&p->slots_used);
  atomic_store(&mine->mode, mode);
  atomic_store(&mine->units, units);
  atomic_store(&mine->fence, fence);
  atomic_store(&mine->believed_ns, believed_ns);
  (void)atomic_fetch_add(&l->entered, 1);
  for (uint32_t i = 0; i < used; i++) {
    struct slot *other = &l->slots[i];
    int64_t until = i == who ? 0 : atomic_load(&other->believed_ns), now;

    if (until == 0 || may_share(mode, (enum hold_mode)atomic_load(&other->mode)))
      continue;
    /* Read after the slot: the other was in, and believed, and so was I. */
    now = history_now_ns();
    if (now < until && now < believed_ns)
      clash = (int)i;
  }
  if (mode == HOLD_PERMITS && is_too_many(l, who, used, units, believed_ns))
    clash = who;
  if (clash >= 0)
    (void)atomic_fetch_add(&l->clashes, 1);
  return clash;
}

void page_believe(struct page *p, uint16_t lock, uint16_t who, int64_t believed_ns)
{
  atomic_store(&p->locks[lock].slots[who].believed_ns, believed_ns);
}

void page_leave(struct page *p, uint16_t lock, uint16_t who)
{
  atomic_store(&p->locks[lock].slots[who].believed_ns, 0);
}

/* ---- store ---- */

static _Atomic uint64_t *places_of(const struct page *p, uint16_t lock)
{
  return ((struct whole *)(uintptr_t)p)->store[lock];
}

int64_t page_write(struct page *p, uint16_t lock, uint64_t fence)
{
  _Atomic uint64_t *places = places_of(p, lock);
  struct page_lock *l = &p->locks[lock];
  uint64_t at = atomic_load(&l->tail), empty, last;

  for (;;) {
    while (at < STORE_MAX && atomic_load(&places[at]) != 0)
      at++;
    if (at == STORE_MAX)
      return -2;
    last = at == 0 ? 0 : atomic_load(&places[at - 1]);
    if (!dibs_fence_admits(last, fence)) {
      (void)atomic_fetch_add(&l->stale_refused, 1);
      return -1;
    }
    empty = 0;
    /* Nobody can have written behind `at` yet, so `last` is the newest if this succeeds. */
    if (atomic_compare_exchange_strong(&places[at], &empty, fence)) {
      atomic_store(&l->tail, at);      /* a hint, where to begin */
      return (int64_t)at;
    }
  }
}

uint64_t page_written(const struct page *p, uint16_t lock, int64_t place)
{
  return place < 0 || place >= STORE_MAX ? 0 : atomic_load(&places_of(p, lock)[place]);
}
