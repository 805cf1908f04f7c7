/* SPDX-License-Identifier: MIT */
/* drive/canceller.c - cancels waiting calls: a flag and an eventfd.
 *
 * The eventfd is never read, so it stays readable for all clients that watch it. Each
 * watches it in its `links`, edge-triggered, once for all its requests. A forked child shares it
 * with its parent, and each has its own flag: what one writes wakes both, and each looks at its
 * flag. */
#include "base/cancel_state.h"
#include "drive/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/descriptor.h"

/* A canceller belongs to no client, so it uses the C library's memory. */
static dibs_status canceller_make(dibs_canceller **ret_canceller)
{
  dibs_canceller *c = calloc(1, sizeof(*c));

  if (c == NULL)
    return DIBS_ERR_NO_MEMORY;
  c->fd = descriptor_keep(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (c->fd < 0) {
    free(c);
    return DIBS_ERR_SYSTEM;
  }
  *ret_canceller = c;
  return DIBS_OK;
}

dibs_status dibs_canceller_new(dibs_canceller **ret_canceller)
{
  int state = cancel_off();              /* for the close() of descriptor_keep() */
  dibs_status status = ret_canceller == NULL ? DIBS_ERR_ARGUMENT : canceller_make(ret_canceller);

  cancel_restore(state);
  return status;
}

void dibs_cancel(dibs_canceller *c)
{
  uint64_t one = 1;
  int before = errno, state;

  if (c == NULL)
    return;
  state = cancel_off();                  /* in write() it would have cancelled nothing */
  atomic_store(&c->has_fired, true);
  if (write(c->fd, &one, sizeof(one)) < 0)
    (void)one;         /* EAGAIN: it is full, so already readable */
  cancel_restore(state);
  errno = before;
}

dibs_canceller *dibs_canceller_free(dibs_canceller *c)
{
  int state = cancel_off();

  if (c != NULL)
    descriptor_close(c->fd);
  free(c);
  cancel_restore(state);
  return NULL;
}

bool canceller_has_fired(const dibs_canceller *c)
{
  return c != NULL && atomic_load(&c->has_fired);
}

static watched **watched_find(drive *d, const dibs_canceller *c)
{
  watched **at = &d->watched;

  while (*at != NULL && (*at)->canceller != c)
    at = &(*at)->next;
  return at;
}

dibs_status drive_watch(drive *d, dibs_canceller *c)
{
  watched *w = *watched_find(d, c);
  struct epoll_event event;

  if (w != NULL) {
    w->uses++;
    return DIBS_OK;
  }
  w = mem_zalloc(&d->memory, sizeof(*w));
  if (w == NULL)
    return DIBS_ERR_NO_MEMORY;
  w->canceller = c;
  w->uses = 1;
  w->number = ++d->watched_number;
  event = (struct epoll_event){ .events = EPOLLIN | EPOLLET,
                                .data.u64 = source_word(SOURCE_CANCELLER, w->number) };
  if (epoll_ctl(d->links_fd, EPOLL_CTL_ADD, c->fd, &event) != 0) {
    mem_free(&d->memory, w);
    return DIBS_ERR_SYSTEM;
  }
  w->next = d->watched;
  d->watched = w;
  return DIBS_OK;
}

void drive_unwatch(drive *d, dibs_canceller *c)
{
  watched **at = watched_find(d, c);
  watched *w = *at;

  if (w == NULL || --w->uses > 0)
    return;
  (void)epoll_ctl(d->links_fd, EPOLL_CTL_DEL, c->fd, NULL);
  *at = w->next;
  mem_free(&d->memory, w);
}

void watched_event(drive *d, uint64_t number)
{
  for (const watched *w = d->watched; w != NULL; w = w->next)
    if (w->number == number) {
      if (canceller_has_fired(w->canceller))
        d->handler.cancelled(d->handler.owner, w->canceller);
      return;
    }
}
