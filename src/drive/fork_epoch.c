/* SPDX-License-Identifier: MIT */
/* drive/fork_epoch.c - detects forks with a page that the kernel empties in each child
 * (MADV_WIPEONFORK), whatever call made the child. Where the kernel refuses that, or the emulator
 * of qemu-user takes the advice and does not follow it, a child of fork() is found by the
 * handlers of fork_whole.c. */
#include "drive/fork_epoch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

static _Atomic uint64_t fallback_cell;
static _Atomic uint64_t last_epoch;
static _Atomic(_Atomic uint64_t *) cell;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void cell_make(void)
{
  size_t size = (size_t)sysconf(_SC_PAGESIZE);
  void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  if (page != MAP_FAILED && madvise(page, size, MADV_WIPEONFORK) == 0) {
    atomic_store(&cell, (_Atomic uint64_t *)page);
    return;
  }
  if (page != MAP_FAILED)
    (void)munmap(page, size);
  atomic_store(&cell, &fallback_cell);
}

uint64_t fork_epoch(void)
{
  _Atomic uint64_t *here = atomic_load(&cell);
  uint64_t epoch, none = 0;

  if (here == NULL) {
    (void)pthread_once(&once, cell_make);
    here = atomic_load(&cell);
  }
  epoch = atomic_load_explicit(here, memory_order_relaxed);
  if (epoch != 0)
    return epoch;
  /* First call in this process: of several threads, one sets the epoch. */
  epoch = atomic_fetch_add(&last_epoch, 1) + 1;
  return atomic_compare_exchange_strong(here, &none, epoch) ? epoch : none;
}

uint64_t fork_epoch_known(void)
{
  const _Atomic uint64_t *here = atomic_load(&cell);

  return here == NULL ? 0 : atomic_load(here);
}

void fork_epoch_leave(uint64_t parents)
{
  _Atomic uint64_t *here = atomic_load(&cell);

  if (here != NULL && parents != 0)
    (void)atomic_compare_exchange_strong(here, &parents, 0);
}
