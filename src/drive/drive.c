/* SPDX-License-Identifier: MIT */
/* drive/drive.c - opens and closes a drive, and locks its mutex. */
#include "drive/drive.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/errno_text.h"
#include "drive/fork_epoch.h"
#include "drive/internal.h"

bool drive_is_forked(const drive *d)
{
  return d->epoch != fork_epoch();
}

void drive_lock(drive *d)
{
  (void)pthread_mutex_lock(&d->mutex);
}

engine *drive_engine(drive *d)
{
  return d->engine;
}

void drive_alarm(drive *d, instant at)
{
  d->alarm_at = at;
  loop_timer_set(d);
}

/* ---- life ---- */

static bool watch(int set, int fd, source kind)
{
  struct epoll_event event = { .events = EPOLLIN, .data.u64 = source_word(kind, 0) };

  return epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0;
}

static bool descriptors_make(drive *d)
{
  d->main_fd = descriptor_keep(epoll_create1(EPOLL_CLOEXEC));
  d->links_fd = descriptor_keep(epoll_create1(EPOLL_CLOEXEC));
  d->wake_fd = descriptor_keep(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  d->leader_fd = descriptor_keep(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  d->callbacks_fd = descriptor_keep(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  d->timer_fd = descriptor_keep(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
  if (d->main_fd < 0 || d->links_fd < 0 || d->wake_fd < 0 || d->leader_fd < 0 ||
      d->callbacks_fd < 0 || d->timer_fd < 0)
    return false;
  return watch(d->main_fd, d->wake_fd, SOURCE_WAKE) &&
         watch(d->main_fd, d->timer_fd, SOURCE_TIMER) &&
         watch(d->main_fd, d->links_fd, SOURCE_LINKS) &&
         watch(d->links_fd, d->leader_fd, SOURCE_LEADER) &&
         (d->has_thread || watch(d->main_fd, d->callbacks_fd, SOURCE_CALLBACKS));
}

/* Reports unusable files now, not when the first server that needs them is connected. */
static dibs_status tls_try(drive *d, const deployment *servers, text *why)
{
  tls_context *context = NULL;
  dibs_status status = tls_shared_get(&d->tls, &servers->data, &context, why);

  for (size_t i = 0; status == DIBS_OK && i < servers->seed_count; i++)
    status = tls_shared_get(&d->tls, &servers->seeds[i], &context, why);
  return status;
}

static void node_name(drive *d, const deployment *servers)
{
  text node = text_over(d->node, sizeof(d->node));

  if (servers->seed_count > 0)
    server_url_show(&servers->seeds[0], &node);
}

const char *drive_node(const drive *d)
{
  return d->heard_of != NULL ? d->heard_of->place.shown : d->node;
}

static void mutex_init(drive *d)
{
  pthread_mutexattr_t attributes;

  (void)pthread_mutexattr_init(&attributes);
#ifdef HAVE_ADAPTIVE_MUTEX
  /* The mutex is held for microseconds: a short spin is cheaper than a sleep. */
  (void)pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
#endif
  (void)pthread_mutex_init(&d->mutex, &attributes);
  (void)pthread_mutexattr_destroy(&attributes);
  drive_waiter_init(&d->jobs_waiter);
}

dibs_status drive_new(const drive_settings *settings, drive **ret_drive, text *why)
{
  drive *d = mem_zalloc(&settings->engine.memory, sizeof(*d));
  dibs_status status;

  if (d == NULL)
    return DIBS_ERR_NO_MEMORY;
  d->memory = settings->engine.memory;
  d->epoch = fork_epoch();
  d->handler = settings->handler;
  d->has_thread = settings->has_thread;
  d->has_callback_thread = settings->has_callback_thread;
  d->command_timeout = settings->engine.command_timeout;
  d->read_limit = (span){ settings->engine.connect_timeout.ns / 4 };
  d->timer_at = d->show_at = d->alarm_at = INSTANT_NEVER;
  d->main_fd = d->links_fd = d->wake_fd = d->leader_fd = d->callbacks_fd = d->timer_fd = -1;
  mutex_init(d);
  tls_shared_init(&d->tls, &d->memory);
  node_name(d, settings->engine.deployment);

  status = tls_try(d, settings->engine.deployment, why);
  if (status != DIBS_OK)
    goto fail;
  status = DIBS_ERR_NO_MEMORY;
  d->engine = engine_new(&settings->engine, drive_now());
  if (d->engine == NULL)
    goto fail;
  status = DIBS_ERR_SYSTEM;
  if (!descriptors_make(d)) {
    text_add(why, "no descriptor left for a client: ");
    text_add(why, errno_text(errno));
    goto fail;
  }
  status = loop_start(d);
  if (status != DIBS_OK) {
    text_add(why, "the thread dibs-io" THREAD_REFUSED);
    goto fail;
  }
  drive_list(d);
  *ret_drive = d;
  return DIBS_OK;

fail:
  (void)drive_free(d);
  return status;
}

void drive_close(drive *d, instant until)
{
  drive_waiter closer;

  drive_waiter_init(&closer);
  closer.is_done = d->is_closed;
  d->closer = &closer;
  engine_close(d->engine, drive_now());
  (void)drive_wait(d, &closer, until);
  d->closer = NULL;
}

/* -1: all. */
static void descriptors_close_but(drive *d, int kept)
{
  int *const all[] = { &d->main_fd,   &d->links_fd,     &d->wake_fd,
                       &d->leader_fd, &d->callbacks_fd, &d->timer_fd };

  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
    if (*all[i] >= 0 && *all[i] != kept) {
      descriptor_close(*all[i]);
      *all[i] = -1;
    }
}

void descriptors_drop(drive *d)
{
  descriptors_close_but(d, atomic_load(&d->fd_is_shown) ? drive_fd(d) : -1);
}

static void watched_free(drive *d)
{
  while (d->watched != NULL) {
    watched *w = d->watched;

    d->watched = w->next;
    mem_free(&d->memory, w);
  }
}

/* dibs-io ends at its next turn. A leader, or a call that sends for others, may be there for one
 * turn more: what the engine reports then stays in the engine. */
void drive_end_effects(drive *d)
{
  d->must_stop = true;
}

void drive_stop(drive *d)
{
  loop_stop(d);
  callbacks_stop(d);
}

drive *drive_free(drive *d)
{
  bool is_forked;

  if (d == NULL)
    return NULL;
  drive_unlist(d);
  is_forked = drive_is_forked(d);
  if (!is_forked)
    drive_stop(d);
  transports_free(d);
  watched_free(d);
  descriptors_close_but(d, -1);
  engine_free(d->engine);
  tls_shared_deinit(&d->tls);
  if (!is_forked)
    (void)pthread_mutex_destroy(&d->mutex);
  mem_free(&d->memory, d);
  return NULL;
}
