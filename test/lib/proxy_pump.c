/* SPDX-License-Identifier: MIT */
/* test/lib/proxy_pump.c - the proxy's thread: accepts, reads, writes, waits.
 *
 * It holds the mutex except while it polls. Calls from the test may close descriptors
 * meanwhile; they raise `generation` then, and the thread looks at everything anew. */
#include "proxy_parts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "server_parts.h"

enum { POLLS_MAX = 3 + 2 * PROXY_CONNECTIONS, READ_SIZE = 65536, QUEUE_MAX = 8 << 20 };

struct polls {
  struct pollfd all[POLLS_MAX];
  nfds_t count;
  int64_t until;        /* test_now_us() when to go on at the latest */
};

/* ---- connections ---- */

static int connect_to_server(const struct test_proxy *p, bool is_tcp)
{
  struct sockaddr_un path = { .sun_family = AF_UNIX };
  struct sockaddr_in port = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)p->server_port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  int fd = socket(is_tcp ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int failed;

  if (fd < 0)
    return -1;
  memcpy(path.sun_path, p->target, strlen(p->target));
  failed = is_tcp ? connect(fd, (struct sockaddr *)&port, sizeof(port))
                  : connect(fd, (struct sockaddr *)&path, sizeof(path));
  if (failed == 0)
    return fd;
  (void)close(fd);
  return -1;
}

/* A dead server looks as it would without us: the connection breaks. */
static void accept_one(struct test_proxy *p, int listener, bool is_tcp)
{
  int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  struct linger reset = { .l_onoff = 1, .l_linger = 0 };
  struct connection *c;
  int server;

  if (client < 0)
    return;
  p->counts.connections++;
  (void)pthread_cond_broadcast(&p->changed);
  server = connect_to_server(p, is_tcp && p->server_port != 0);
  if (server < 0) {
    (void)setsockopt(client, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    (void)close(client);
    return;
  }
  c = calloc(1, sizeof(*c));
  if (c == NULL)
    test_bail_out("no memory");
  c->fd[0] = client;
  c->fd[1] = server;
  c->flow[0].last = &c->flow[0].first;
  c->flow[1].last = &c->flow[1].first;
  c->next = p->connections;
  p->connections = c;
  p->counts.open++;
}

static bool is_over(const struct connection *c)
{
  return c->is_cut || (c->flow[0].is_end_passed && c->flow[1].is_end_passed)
         || (c->flow[0].is_ended && c->flow[1].is_ended
             && (c->flow[0].has_lost || c->flow[1].has_lost));
}

static void free_connection(struct connection *c)
{
  for (int which = 0; which < 2; which++) {
    while (c->flow[which].first != NULL) {
      struct chunk *chunk = c->flow[which].first;
      c->flow[which].first = chunk->next;
      free(chunk);
    }
    if (c->fd[which] >= 0)
      (void)close(c->fd[which]);
  }
  free(c->command);
  free(c);
}

static void bury(struct test_proxy *p, bool all)
{
  struct connection **at = &p->connections;

  while (*at != NULL) {
    struct connection *c = *at;
    if (!all && !is_over(c)) {
      at = &c->next;
      continue;
    }
    *at = c->next;
    free_connection(c);
    p->counts.open--;
    (void)pthread_cond_broadcast(&p->changed);
  }
}

/* ---- a turn ---- */

static void add_poll(struct polls *ps, int fd, short events)
{
  if (ps->count < POLLS_MAX)
    ps->all[ps->count++] = (struct pollfd){ .fd = fd, .events = events };
}

/* An ended side is left out: poll() would report its hang-up for ever. */
static void add_connection(const struct test_proxy *p, struct polls *ps,
                           const struct connection *c, const int64_t due[2])
{
  for (int side = 0; side < 2; side++) {
    const struct flow *in = &c->flow[side], *out = &c->flow[!side];
    bool reads = !in->is_ended && in->queued < QUEUE_MAX
                 && flow_mode_of(p, c, side) != FLOW_HOLD;
    bool writes = out->first != NULL && due[!side] == 0;
    short events = (short)((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));
    add_poll(ps, events == 0 ? -1 : c->fd[side], events);
  }
}

static void write_and_list(struct test_proxy *p, struct polls *ps)
{
  int64_t now = test_now_us();

  for (struct connection *c = p->connections; c != NULL; c = c->next)
    for (int which = 0; which < 2; which++)
      (void)flow_write(p, c, which, now);
  bury(p, false);
  ps->count = 0;
  ps->until = INT64_MAX;
  add_poll(ps, p->wake, POLLIN);
  add_poll(ps, p->listener[0], POLLIN);
  add_poll(ps, p->listener[1], POLLIN);
  for (struct connection *c = p->connections; c != NULL; c = c->next) {
    int64_t due[2];
    for (int which = 0; which < 2; which++) {
      due[which] = flow_write(p, c, which, now);
      if (due[which] > 0 && due[which] < ps->until)
        ps->until = due[which];
    }
    add_connection(p, ps, c, due);
  }
}

static void read_some(struct test_proxy *p, struct connection *c, int side)
{
  static _Thread_local char bytes[READ_SIZE];
  ssize_t size = recv(c->fd[side], bytes, sizeof(bytes), MSG_DONTWAIT);

  if (size > 0)
    flow_take(p, c, side, bytes, (size_t)size);
  else if (size == 0)
    flow_end(p, c, side, false);
  else if (errno != EAGAIN && errno != EINTR)
    flow_end(p, c, side, true);
}

/* Connections are in the order in which they were listed. */
static void read_all(struct test_proxy *p, const struct polls *ps)
{
  struct connection *c = p->connections;

  for (nfds_t i = 3; i + 1 < ps->count && c != NULL; i += 2, c = c->next)
    for (int side = 0; side < 2 && !c->is_cut; side++)
      if ((ps->all[i + (nfds_t)side].revents & (POLLIN | POLLHUP | POLLERR)) != 0
          && !c->flow[side].is_ended && flow_mode_of(p, c, side) != FLOW_HOLD)
        read_some(p, c, side);
}

static void turn(struct test_proxy *p, struct polls *ps)
{
  uint64_t generation, woken;
  int64_t now = test_now_us();
  struct timespec limit = { 0 };

  write_and_list(p, ps);
  generation = p->generation;
  if (p->seen_generation != generation) {
    p->seen_generation = generation;
    (void)pthread_cond_broadcast(&p->changed);
  }
  if (ps->until != INT64_MAX && ps->until > now) {
    limit.tv_sec = (time_t)((ps->until - now) / 1000000);
    limit.tv_nsec = (long)((ps->until - now) % 1000000) * 1000;
  }
  (void)pthread_mutex_unlock(&p->mutex);
  (void)ppoll(ps->all, ps->count, ps->until == INT64_MAX ? NULL : &limit, NULL);
  (void)pthread_mutex_lock(&p->mutex);
  if (ps->all[0].revents != 0)
    (void)!read(p->wake, &woken, sizeof(woken));
  if (generation != p->generation)
    return;
  read_all(p, ps);
  for (int i = 0; i < 2; i++)
    if (ps->all[1 + i].revents != 0 && p->listener[i] >= 0)
      accept_one(p, p->listener[i], i == 1);
}

void *proxy_pump(void *proxy)
{
  struct test_proxy *p = proxy;
  struct polls *ps = calloc(1, sizeof(*ps));

  if (ps == NULL)
    test_bail_out("no memory");
  (void)pthread_mutex_lock(&p->mutex);
  while (!p->is_ending)
    turn(p, ps);
  bury(p, true);
  (void)pthread_mutex_unlock(&p->mutex);
  free(ps);
  return NULL;
}
