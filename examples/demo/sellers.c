/* SPDX-License-Identifier: MIT */
/* Processes, threads and pipes of the flash sale. */
#include "sellers.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct shift {
  seller seller;
  const char *url;
  sell_function sell;
  int go;
} shift;

static _Noreturn void give_up(const char *what)
{
  perror(what);
  exit(1);
}

int64_t now_ns(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void pause_ms(int milliseconds)
{
  struct timespec left = { .tv_sec = milliseconds / 1000,
                           .tv_nsec = milliseconds % 1000 * 1000000L };

  while (nanosleep(&left, &left) != 0 && errno == EINTR)
    ;
}

void tell(const seller *s, event e)
{
  e.process = s->process;
  if (e.at_ns == 0)
    e.at_ns = now_ns();
  if (write(s->reports, &e, sizeof(e)) != (ssize_t)sizeof(e))
    _exit(1); /* the parent is gone */
}

static void wait_for_end_of_file(int fd)
{
  char byte;

  while (read(fd, &byte, 1) < 0 && errno == EINTR)
    ;
}

static void *work(void *data)
{
  shift *my = data;
  seller s = my->seller;

  s.lamps = shop_open(my->url);
  tell(&s, (event){ .kind = EVENT_READY });
  wait_for_end_of_file(my->go);
  my->sell(&s);
  s.lamps = shop_close(s.lamps);
  return NULL;
}

/* One process: its own dibs client, shared by its threads. */
static _Noreturn void run_process(shift *my)
{
  pthread_t threads[THREADS];
  dibs_error error = DIBS_ERROR_INIT;

  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (dibs_open(my->url, NULL, &my->seller.client, &error) != DIBS_OK) {
    fprintf(stderr, "flash_sale: %s\n", error.text);
    exit(1);
  }
  for (int i = 0; i < THREADS; i++)
    if (pthread_create(&threads[i], NULL, work, my) != 0)
      give_up("flash_sale: pthread_create");
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  my->seller.client = dibs_close(my->seller.client);
  exit(0);
}

void sale_open(sale *run, const char *url, sell_function sell)
{
  int events[2], go[2], resume[2];
  event e;

  fflush(stdout); /* or each child would print it again */
  if (pipe(events) != 0 || pipe(go) != 0 || pipe(resume) != 0)
    give_up("flash_sale: pipe");
  for (int i = 0; i < PROCESSES; i++) {
    run->processes[i] = fork();
    if (run->processes[i] < 0)
      give_up("flash_sale: fork");
    if (run->processes[i] == 0) {
      shift my = { .seller = { .process = i, .reports = events[1], .resume = resume[0] },
                   .url = url, .sell = sell, .go = go[0] };

      close(events[0]);
      close(go[1]);
      close(resume[1]);
      run_process(&my);
    }
  }
  close(events[1]);
  close(go[0]);
  close(resume[0]);
  run->events = events[0];
  run->go = go[1];
  run->resume = resume[1];
  for (int ready = 0; ready < SELLERS; ready++)
    if (!sale_next(run, &e) || e.kind != EVENT_READY)
      give_up("flash_sale: a seller could not begin");
  close(run->go);
}

bool sale_next(sale *run, event *ret_event)
{
  ssize_t size;

  do
    size = read(run->events, ret_event, sizeof(*ret_event));
  while (size < 0 && errno == EINTR);
  return size == (ssize_t)sizeof(*ret_event);
}

void sale_resume(sale *run)
{
  if (run->resume >= 0)
    close(run->resume);
  run->resume = -1;
}

void sale_close(sale *run)
{
  sale_resume(run);
  close(run->events);
  for (int i = 0; i < PROCESSES; i++)
    while (waitpid(run->processes[i], NULL, 0) < 0 && errno == EINTR)
      ;
}
