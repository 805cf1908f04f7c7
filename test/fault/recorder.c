/* SPDX-License-Identifier: MIT */
/* test/fault/recorder.c - writes records: one write(2) each, before anybody acts on them. */
#include "history.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct recorder {
  pthread_mutex_t mutex;       /* order in the file is order of seq and at_ns */
  int fd;
  uint32_t seq;
  uint16_t worker, life;
};

int64_t history_now_ns(void)
{
  struct timespec now;

  (void)clock_gettime(CLOCK_BOOTTIME, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

struct recorder *recorder_open(const char *directory, uint16_t worker, uint16_t life)
{
  struct recorder *r = calloc(1, sizeof(*r));
  char path[300];

  (void)snprintf(path, sizeof(path), "%s/%u-%u.history", directory, worker, life);
  if (r != NULL)
    r->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
  if (r == NULL || r->fd < 0) {
    perror(path);
    exit(70);
  }
  (void)pthread_mutex_init(&r->mutex, NULL);
  r->worker = worker;
  r->life = life;
  return r;
}

struct recorder *recorder_close(struct recorder *r)
{
  if (r == NULL)
    return NULL;
  (void)close(r->fd);
  (void)pthread_mutex_destroy(&r->mutex);
  free(r);
  return NULL;
}

void recorder_put(struct recorder *r, const struct record *record)
{
  struct record whole = *record;

  (void)pthread_mutex_lock(&r->mutex);
  whole.worker = r->worker;
  whole.life = r->life;
  whole.seq = r->seq++;
  if (whole.at_ns == 0)
    whole.at_ns = history_now_ns();
  if (write(r->fd, &whole, sizeof(whole)) != (ssize_t)sizeof(whole)) {
    perror("a record cannot be written");
    _exit(70);
  }
  (void)pthread_mutex_unlock(&r->mutex);
}
