/* SPDX-License-Identifier: MIT */
/* drive/errand.c - threads that run one function, and records with two owners. */
#include "drive/errand.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "drive/internal.h"

errand *errand_let_go(errand *e)
{
  if (e == NULL || atomic_fetch_sub(&e->owners, 1) > 1)
    return NULL;
  errand_drop(e);
  e->free(e);
  return NULL;
}

void errand_drop(errand *e)
{
  if (e->fd >= 0)
    descriptor_close(e->fd);
  e->fd = -1;
}

static void *errand_thread(void *data)
{
  errand *e = data;

  (void)pthread_setname_np(pthread_self(), e->thread);
  e->run(e);
  atomic_store(&e->is_done, true);
  (void)loop_ring(e->fd);
  (void)errand_let_go(e);
  return NULL;
}

bool errand_begin(errand *e, const char *thread, void (*run)(errand *e),
                  void (*release)(errand *e))
{
  pthread_t id;

  e->thread = thread;
  e->run = run;
  e->free = release;
  e->fd = descriptor_keep(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  atomic_store(&e->owners, 2);
  if (e->fd >= 0 && loop_thread(&id, errand_thread, e, true))
    return true;
  errand_drop(e);
  release(e);
  return false;
}

bool errand_is_done(const errand *e)
{
  return atomic_load(&e->is_done);
}
