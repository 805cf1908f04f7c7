/* SPDX-License-Identifier: MIT */
/* test/versions/sharer.c - takes one name again and again beside processes with another version of
 * the library, and looks in shared memory whether it is alone. tools/mixed-versions builds it once
 * with each version: it uses what 0.5.0 and <dibs/compat-0.5.h> have.
 *
 *   sharer URL KIND NAME SECONDS PLACES FIRST    KIND: mutex, linger, auto, rwlock, semaphore
 *
 * PLACES: a file that all map; FIRST: this process' first of its THREADS places there. */
#include <dibs/dibs.h>
#ifdef SHARER_COMPAT
#define DIBS_COMPAT_QUIET
#include <dibs/compat-0.5.h>
#endif

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 2, PLACES_MAX = 64, PERMITS = 2, TTL_MS = 2000, WAIT_MS = 20000 };

/* One for each thread that may hold it: its process, and how. A killed one leaves it. */
typedef struct place { _Atomic int pid, mode; } place;
typedef struct shared { place places[PLACES_MAX]; _Atomic uint64_t fence; } shared;

enum { FREE, READS, WRITES, HAS_PERMIT };

static shared *all;
static dibs_client *client;
static const char *kind, *name;
static double until;
static _Atomic long turns, longest_ms, faults;

static double now_ms(void)
{
  struct timespec at;

  (void)clock_gettime(CLOCK_MONOTONIC, &at);
  return (double)at.tv_sec * 1e3 + (double)at.tv_nsec / 1e6;
}

static void fault(const char *what, const char *more)
{
  atomic_fetch_add(&faults, 1);
  printf("fault: %s: %s\n", what, more);
}

static int is_alive(int pid)
{
  return pid != 0 && kill(pid, 0) == 0;
}

/* Of two that are there at once, at least one sees the other. */
static void enter(int mine, int mode, uint64_t fence)
{
  int permits = 0;
  uint64_t before;

  atomic_store(&all->places[mine].pid, getpid());
  atomic_store(&all->places[mine].mode, mode);
  for (int i = 0; i < PLACES_MAX; i++) {
    int other = atomic_load(&all->places[i].mode);

    if (other == FREE || !is_alive(atomic_load(&all->places[i].pid)))
      continue;
    permits += other == HAS_PERMIT;
    if (i != mine && (other == WRITES || mode == WRITES))
      fault("two hold it", name);
  }
  if (permits > PERMITS)
    fault("more permits than there are", name);
  if (mode != WRITES)
    return;
  before = atomic_exchange(&all->fence, fence);
  if (fence <= before)
    fault("the fence did not grow", name);
}

static dibs_status take(int *ret_mode, unsigned *seed, dibs_hold **ret_hold)
{
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;

  o.ttl_ms = TTL_MS;
  o.wait_ms = WAIT_MS;
  *ret_mode = WRITES;
  if (strcmp(kind, "linger") == 0)
    o.linger_ms = 1000;
  if (strcmp(kind, "auto") == 0)
    o.linger_ms = DIBS_LINGER_AUTO;
  if (strcmp(kind, "semaphore") == 0) {
    *ret_mode = HAS_PERMIT;
    return dibs_acquire_permits(client, name, 1, &o, ret_hold);
  }
  if (strcmp(kind, "rwlock") != 0)
    return dibs_lock(client, name, &o, ret_hold);
  if (rand_r(seed) % 4 == 0)
    return dibs_write_lock(client, name, &o, ret_hold);
  *ret_mode = READS;
  return dibs_read_lock(client, name, &o, ret_hold);
}

static void note_wait(double since)
{
  long took = (long)(now_ms() - since), longest = atomic_load(&longest_ms);

  while (took > longest && !atomic_compare_exchange_weak(&longest_ms, &longest, took))
    ;
}

static void turn(int mine, unsigned *seed)
{
  double since = now_ms();
  dibs_hold *hold = NULL;
  dibs_status status;
  int mode;

  status = take(&mode, seed, &hold);
  note_wait(since);
  if (status != DIBS_OK) {
    fault("it was not granted", dibs_status_text(status));
    return;
  }
  enter(mine, mode, dibs_hold_fence(hold));
  (void)usleep((useconds_t)(rand_r(seed) % 1000));
  atomic_store(&all->places[mine].mode, FREE);
  status = dibs_release(hold);
  if (status != DIBS_OK)
    fault("it was not released", dibs_status_text(status));
  atomic_fetch_add(&turns, 1);
  (void)usleep((useconds_t)(rand_r(seed) % 1000));
}

static void *share(void *place_number)
{
  int mine = *(int *)place_number;
  unsigned seed = (unsigned)getpid() * 31u + (unsigned)mine;

  while (now_ms() < until)
    turn(mine, &seed);
  return NULL;
}

static dibs_status open_client(const char *url)
{
#ifdef SHARER_COMPAT
  return dibs_open(url, NULL, &client, NULL);
#else
  return dibs_open(url, NULL, &client);
#endif
}

int main(int argc, char **argv)
{
  pthread_t threads[THREADS];
  int numbers[THREADS], fd;
  dibs_status status;

  if (argc != 7)
    return 64;
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);     /* also while it is stopped */
  kind = argv[2];
  name = argv[3];
  until = now_ms() + atof(argv[4]) * 1e3;
  fd = open(argv[5], O_RDWR);
  all = mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd < 0 || all == MAP_FAILED)
    return 71;
  status = open_client(argv[1]);
  if (status == DIBS_OK && strcmp(kind, "semaphore") == 0)
    status = dibs_semaphore_set(client, name, PERMITS);
  if (status != DIBS_OK) {
    fault("the client cannot begin", dibs_status_text(status));
    return 1;
  }
  for (int i = 0; i < THREADS; i++) {
    numbers[i] = atoi(argv[6]) + i;
    atomic_store(&all->places[numbers[i]].mode, FREE);
    if (pthread_create(&threads[i], NULL, share, &numbers[i]) != 0)
      return 71;
  }
  for (int i = 0; i < THREADS; i++)
    (void)pthread_join(threads[i], NULL);
  printf("turns %ld longest %ld\n", turns, longest_ms);
  client = dibs_close(client);
  return faults == 0 ? 0 : 1;
}
