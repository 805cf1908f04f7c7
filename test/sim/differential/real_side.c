/* SPDX-License-Identifier: MIT */
/* test/sim/differential/real_side.c - a real server whose wall clock stands where the test
 * puts it, and that does nothing by itself. */
#include "side.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "resp/resp.h"
#include "server_parts.h"

/* One more connection, for what is not compared. */
enum { READ_S = 60, CONTROL = SIDE_CONNECTIONS, ALL };

struct real {
  side side;
  struct test_server *server;
  int fd[ALL];
  buffer in[ALL];
  size_t taken[ALL];                 /* of `in`: the frame that was read last */
};

static int open_connection(const struct test_server *server)
{
  struct sockaddr_un where = { .sun_family = AF_UNIX };
  struct timeval limit = { .tv_sec = READ_S };
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

  assert(strlen(test_server_socket(server)) < sizeof(where.sun_path));
  memcpy(where.sun_path, test_server_socket(server), strlen(test_server_socket(server)) + 1);
  if (fd < 0 || connect(fd, (struct sockaddr *)&where, sizeof(where)) != 0
      || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) != 0)
    test_bail_out("the real server has gone: %s", strerror(errno));
  return fd;
}

static void real_clock(void *self, int64_t wall_us)
{
  struct real *r = self;

  test_server_clock_freeze(r->server, wall_us);
}

static void real_send(void *self, int connection, const char *bytes, size_t size)
{
  struct real *r = self;

  while (size > 0) {
    ssize_t sent = send(r->fd[connection], bytes, size, MSG_NOSIGNAL);
    if (sent <= 0)
      return;              /* then nothing will be read, which is told */
    bytes += sent;
    size -= (size_t)sent;
  }
}

static frame real_read(void *self, int connection)
{
  struct real *r = self;
  buffer *in = &r->in[connection];

  buffer_consume(in, r->taken[connection]);
  r->taken[connection] = 0;
  for (;;) {
    frame f = frame_first(buffer_bytes(in), buffer_size(in));
    ssize_t got;

    r->taken[connection] = f.size;
    if (f.size > 0)
      return f;
    if (!buffer_reserve(in, 65536))
      test_bail_out("no memory");
    got = recv(r->fd[connection], in->bytes + in->end, 65536, 0);
    if (got < 0 && errno == EINTR)       /* a debugger, or a stop, does that */
      continue;
    if (got <= 0) {
      (void)printf("# the real server %s\n", got == 0 ? "hung up" : strerror(errno));
      return f;
    }
    in->end += (size_t)got;
  }
}

/* Words without blanks; must be answered by OK or PONG. */
static void must_do(struct real *r, const char *form)
{
  char words[128], *state = NULL;
  resp_argument all[6];
  size_t count = 0;
  buffer command;
  frame answer;

  (void)snprintf(words, sizeof(words), "%s", form);
  for (char *w = strtok_r(words, " ", &state); w != NULL; w = strtok_r(NULL, " ", &state))
    all[count++] = (resp_argument){ w, strlen(w) };
  buffer_init(&command, &frame_heap);
  if (!resp_command(&command, all, count))
    test_bail_out("no memory");
  real_send(r, CONTROL, buffer_bytes(&command), buffer_size(&command));
  buffer_deinit(&command);
  answer = real_read(r, CONTROL);
  if (answer.size == 0 || answer.bytes[0] != '+')
    test_bail_out("the real server refuses %s", form);
}

/* A primary that is never there. */
static const char *const orders[SIDE_CONDITIONS][2] = {
  { "CONFIG SET maxmemory 0", "CONFIG SET maxmemory 1" },
  { "CONFIG SET min-replicas-to-write 0", "CONFIG SET min-replicas-to-write 1" },
  { "REPLICAOF NO ONE", "REPLICAOF 127.0.0.1 1" },
};

static void real_set(void *self, side_condition which, bool is_on)
{
  must_do(self, orders[which][is_on]);
}

static void reconnect(struct real *r, int connection)
{
  (void)close(r->fd[connection]);
  buffer_clear(&r->in[connection]);
  r->taken[connection] = 0;
  r->fd[connection] = open_connection(r->server);
}

/* A server sees the end of a connection before a request that was made later. */
static void real_hang_up(void *self, int connection)
{
  reconnect(self, connection);
  must_do(self, "PING");
}

static void real_reset(void *self)
{
  for (int i = 0; i < SIDE_CONNECTIONS; i++)
    reconnect(self, i);
  for (int which = 0; which < SIDE_CONDITIONS; which++)
    must_do(self, orders[which][false]);
  must_do(self, "FLUSHALL SYNC");
  must_do(self, "SCRIPT FLUSH SYNC");
}

static const char *real_unknown(void *self)
{
  (void)self;
  return NULL;
}

/* Nothing that comes by chance or by itself: no sampled expiry, and small things keep the
 * order in which they were written. */
static const char *const arguments[] = {
  "--enable-debug-command", "yes", "--maxmemory-policy", "noeviction",
  "--hash-max-listpack-entries", "1000000", "--hash-max-listpack-value", "1000000",
  "--zset-max-listpack-entries", "1000000", "--zset-max-listpack-value", "1000000", NULL
};

static bool is_redis_7(const struct test_server *server)
{
  const char *info = test_server_command(server, "INFO server");

  return strstr(info, "redis_version:7.") != NULL && strstr(info, "valkey") == NULL
         && strcmp(test_server_command(server, "DEBUG SET-ACTIVE-EXPIRE 0"), "OK") == 0;
}

side *real_side_new(const char *name, const char **ret_why_not)
{
  struct test_server_options options = { .arguments = arguments, .has_clock = true };
  struct real *r = calloc(1, sizeof(*r));

  assert(r != NULL);
  r->side = (side){ name, r, real_reset, real_clock, real_set, real_send, real_read,
                    real_hang_up, real_unknown };
  r->server = test_server_start_with(&options);
  for (int i = 0; i < ALL; i++) {
    buffer_init(&r->in[i], &frame_heap);
    r->fd[i] = open_connection(r->server);
  }
  if (is_redis_7(r->server))
    return &r->side;
  *ret_why_not = "the model is one of Redis 7, and this server is another";
  return real_side_free(&r->side);
}

side *real_side_free(side *s)
{
  struct real *r = s != NULL ? s->self : NULL;

  if (r == NULL)
    return NULL;
  for (int i = 0; i < ALL; i++) {
    (void)close(r->fd[i]);
    buffer_deinit(&r->in[i]);
  }
  r->server = test_server_stop(r->server);
  free(r);
  return NULL;
}
