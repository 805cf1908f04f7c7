/* SPDX-License-Identifier: MIT */
/* test/lib/proxy.c - the proxy's life and its switches. */
#include "proxy_parts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "server_parts.h"

/* ---- listening ---- */

static int listen_on(int family, const struct sockaddr *address, socklen_t size)
{
  int yes = 1, fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

  if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0
      || bind(fd, address, size) != 0 || listen(fd, 128) != 0)
    test_bail_out("the proxy cannot listen: %s", strerror(errno));
  return fd;
}

void proxy_listen(struct test_proxy *p)
{
  struct sockaddr_un path = { .sun_family = AF_UNIX };
  struct sockaddr_in port = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)p->port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

  (void)unlink(p->socket);
  memcpy(path.sun_path, p->socket, strlen(p->socket));
  p->listener[0] = listen_on(AF_UNIX, (struct sockaddr *)&path, sizeof(path));
  p->listener[1] = listen_on(AF_INET, (struct sockaddr *)&port, sizeof(port));
}

void proxy_close_listeners(struct test_proxy *p)
{
  for (int i = 0; i < 2; i++) {
    if (p->listener[i] >= 0)
      (void)close(p->listener[i]);
    p->listener[i] = -1;
  }
}

/* ---- life ---- */

static void start_thread(struct test_proxy *p)
{
  pthread_condattr_t monotonic;
  sigset_t all, before;
  int failed;

  (void)pthread_mutex_init(&p->mutex, NULL);
  (void)pthread_condattr_init(&monotonic);
  (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  (void)pthread_cond_init(&p->changed, &monotonic);
  (void)pthread_condattr_destroy(&monotonic);
  /* Signals are for the test's own threads. */
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  failed = pthread_create(&p->thread, NULL, proxy_pump, p);
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (failed != 0)
    test_bail_out("no thread for the proxy: %s", strerror(failed));
}

struct test_proxy *test_proxy_start(const struct test_server *s)
{
  struct test_proxy *p = calloc(1, sizeof(*p));

  if (p == NULL)
    test_bail_out("no memory");
  p->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (p->wake < 0)
    test_bail_out("eventfd: %s", strerror(errno));
  p->port = test_port_claim(&p->port_claim);
  p->server_port = s->options.has_tls ? s->port : 0;
  test_directory_make(p->directory, sizeof(p->directory));
  (void)snprintf(p->target, sizeof(p->target), "%s", s->socket);
  (void)snprintf(p->socket, sizeof(p->socket), "%s/p", p->directory);
  (void)snprintf(p->url, sizeof(p->url), "unix://%s", p->socket);
  (void)snprintf(p->tcp_url, sizeof(p->tcp_url), "%s://127.0.0.1:%d",
                 s->options.has_tls ? "rediss" : "redis", p->port);
  proxy_listen(p);
  start_thread(p);
  return p;
}

static void wake(struct test_proxy *p)
{
  uint64_t one = 1;

  (void)!write(p->wake, &one, sizeof(one));
}

struct test_proxy *test_proxy_stop(struct test_proxy *p)
{
  if (p == NULL)
    return NULL;
  (void)pthread_mutex_lock(&p->mutex);
  p->is_ending = true;
  wake(p);
  (void)pthread_mutex_unlock(&p->mutex);
  (void)pthread_join(p->thread, NULL);
  proxy_close_listeners(p);
  (void)close(p->wake);
  (void)close(p->port_claim);
  (void)pthread_cond_destroy(&p->changed);
  (void)pthread_mutex_destroy(&p->mutex);
  test_directory_remove(p->directory);
  free(p);
  return NULL;
}

const char *test_proxy_url(const struct test_proxy *p) { return p->url; }
const char *test_proxy_tcp_url(const struct test_proxy *p) { return p->tcp_url; }
const char *test_proxy_socket(const struct test_proxy *p) { return p->socket; }
int test_proxy_port(const struct test_proxy *p) { return p->port; }

/* ---- switches ---- */

static void begin(struct test_proxy *p)
{
  (void)pthread_mutex_lock(&p->mutex);
}

/* The thread must look again: it may not poll what changed. A closed socket lives on in
 * the kernel while somebody polls it, so wait until the thread has left that poll. */
static void commit(struct test_proxy *p)
{
  uint64_t mine = ++p->generation;

  wake(p);
  while (p->seen_generation < mine)
    (void)pthread_cond_wait(&p->changed, &p->mutex);
  (void)pthread_mutex_unlock(&p->mutex);
}

/* `limit`: of a delay, ms; or bytes a second. */
static void set_mode(struct test_proxy *p, enum test_direction d, enum flow_mode mode,
                     int delay_ms, int limit)
{
  begin(p);
  for (int which = 0; which < 2; which++)
    if (((int)d & (1 << which)) != 0) {
      p->direction[which].mode = mode;
      p->direction[which].delay_ms = delay_ms;
      p->direction[which].delay_ms_max = limit;
      p->direction[which].rate = limit;
    }
  if (mode == FLOW_PASS && d == TEST_BOTH) {
    p->has_chances = false;
    p->silence_after = 0;
  }
  commit(p);
}

void test_proxy_pass(struct test_proxy *p, enum test_direction d)
{
  set_mode(p, d, FLOW_PASS, 0, 0);
}

void test_proxy_black_hole(struct test_proxy *p, enum test_direction d)
{
  set_mode(p, d, FLOW_BLACK_HOLE, 0, 0);
}

void test_proxy_hold(struct test_proxy *p, enum test_direction d)
{
  set_mode(p, d, FLOW_HOLD, 0, 0);
}

void test_proxy_delay(struct test_proxy *p, enum test_direction d, int ms)
{
  set_mode(p, d, FLOW_DELAY, ms, ms);
}

void test_proxy_jitter(struct test_proxy *p, enum test_direction d, int ms_min, int ms_max)
{
  set_mode(p, d, FLOW_DELAY, ms_min, ms_max);
}

void test_proxy_rate(struct test_proxy *p, enum test_direction d, int bytes_per_second)
{
  set_mode(p, d, FLOW_RATE, 0, bytes_per_second);
}

void test_proxy_trickle(struct test_proxy *p, enum test_direction d)
{
  set_mode(p, d, FLOW_TRICKLE, 0, 0);
}

void test_proxy_cut(struct test_proxy *p)
{
  begin(p);
  for (struct connection *c = p->connections; c != NULL; c = c->next)
    if (!c->is_cut && connection_is_chosen(p, c)) {
      p->counts.cuts++;
      connection_cut(p, c);
    }
  commit(p);
}

void test_proxy_cut_after(struct test_proxy *p, enum test_direction d, uint64_t bytes)
{
  struct direction *chosen = &p->direction[d == TEST_TO_SERVER ? 0 : 1];

  if (d == TEST_BOTH)
    test_bail_out("test_proxy_cut_after: one direction");
  begin(p);
  chosen->has_cut_after = true;
  chosen->cut_after = bytes;
  commit(p);
}

void test_proxy_swallow_replies(struct test_proxy *p, unsigned count)
{
  begin(p);
  p->swallow = count;
  commit(p);
}

void test_proxy_silence_after(struct test_proxy *p, unsigned count)
{
  begin(p);
  p->silence_after = count;
  commit(p);
}

static void set_word(struct test_proxy *p, char *place, const char *word)
{
  if (word != NULL && strlen(word) >= PROXY_WORD)
    test_bail_out("the proxy looks for at most %d bytes", PROXY_WORD - 1);
  begin(p);
  (void)snprintf(place, PROXY_WORD, "%s", word == NULL ? "" : word);
  commit(p);
}

void test_proxy_lose_reply_to(struct test_proxy *p, const char *word)
{
  set_word(p, p->lose, word);
}

void test_proxy_only(struct test_proxy *p, const char *word)
{
  set_word(p, p->only, word);
}

void test_proxy_chance(struct test_proxy *p, const struct test_proxy_chances *chances)
{
  set_word(p, p->chance_word, chances == NULL ? NULL : chances->word);
  begin(p);
  p->has_chances = chances != NULL;
  if (chances != NULL) {
    p->chances = *chances;
    p->random = chances->seed;
  }
  commit(p);
}

void test_proxy_refuse(struct test_proxy *p, bool is_refusing)
{
  begin(p);
  /* Not closed and opened in one go: the pump's poll() may still hold the port. */
  if (is_refusing)
    proxy_close_listeners(p);
  else if (p->listener[0] < 0)
    proxy_listen(p);
  commit(p);
}

/* ---- counts ---- */

struct test_proxy_counts test_proxy_counts(struct test_proxy *p)
{
  struct test_proxy_counts counts;

  begin(p);
  counts = p->counts;
  (void)pthread_mutex_unlock(&p->mutex);
  return counts;
}

bool test_proxy_wait(struct test_proxy *p, int limit_ms,
                     bool (*is_so)(const struct test_proxy_counts *counts, void *data),
                     void *data)
{
  struct timespec until;
  bool is_done;
  int failed = 0;

  (void)clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += limit_ms / 1000;
  until.tv_nsec += (limit_ms % 1000) * 1000000L;
  if (until.tv_nsec >= 1000000000L) {
    until.tv_sec++;
    until.tv_nsec -= 1000000000L;
  }
  begin(p);
  while (!(is_done = is_so(&p->counts, data)) && failed == 0)
    failed = pthread_cond_timedwait(&p->changed, &p->mutex, &until);
  (void)pthread_mutex_unlock(&p->mutex);
  return is_done;
}

struct wish {
  enum test_direction direction;
  uint64_t least;
};

static bool has_cuts(const struct test_proxy_counts *counts, void *data)
{
  return counts->cuts >= ((const struct wish *)data)->least;
}

static bool has_drops(const struct test_proxy_counts *counts, void *data)
{
  const struct wish *wish = data;
  uint64_t drops = 0;

  drops += ((int)wish->direction & TEST_TO_SERVER) != 0 ? counts->dropped_to_server : 0;
  drops += ((int)wish->direction & TEST_TO_CLIENT) != 0 ? counts->dropped_to_client : 0;
  return drops >= wish->least;
}

bool test_proxy_wait_for_cuts(struct test_proxy *p, uint64_t cuts, int limit_ms)
{
  return test_proxy_wait(p, limit_ms, has_cuts, &(struct wish){ .least = cuts });
}

bool test_proxy_wait_for_drops(struct test_proxy *p, enum test_direction d,
                               uint64_t bytes, int limit_ms)
{
  return test_proxy_wait(p, limit_ms, has_drops, &(struct wish){ d, bytes });
}
