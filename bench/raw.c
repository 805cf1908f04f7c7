/* SPDX-License-Identifier: MIT */
/* bench/raw.c - see raw.h. */
#include "raw.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#define TTL_MS 30000
#define TOGETHER_MAX 256
#define PATIENCE_US 2000000
#define DAY_US 86400000000

/* ---- memory ---- */

static void *allocate(size_t bytes, void *data)
{
  (void)data;
  return malloc(bytes);
}

static void *reallocate(void *old, size_t bytes, void *data)
{
  (void)data;
  return realloc(old, bytes);
}

static void release(void *bytes, void *data)
{
  (void)data;
  free(bytes);
}

static const memory heap = { allocate, reallocate, release, NULL };

/* ---- the socket ---- */

static int connect_unix(const char *path)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

  (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
  if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
    bench_die("cannot connect to %s", path);
  return fd;
}

static int connect_tcp(int port)
{
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                                 .sin_addr = { htonl(INADDR_LOOPBACK) } };
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

  if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
    bench_die("cannot connect to port %d", port);
  (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return fd;
}

static void write_all(raw *r)
{
  while (buffer_size(&r->out) > 0) {
    ssize_t n = write(r->fd, buffer_bytes(&r->out), buffer_size(&r->out));

    if (n <= 0)
      bench_die("the server is gone");
    buffer_consume(&r->out, (size_t)n);
  }
}

/* Every answer here is one line: +PONG, +OK, :1; or, to an acquire, two. */
static const char *read_line(raw *r)
{
  for (;;) {
    char *line = r->input + r->read;
    char *end = memchr(line, '\n', r->used - r->read);
    ssize_t n;

    if (end != NULL) {
      *end = 0;
      r->read = (size_t)(end - r->input) + 1;
      return line;
    }
    memmove(r->input, line, r->used - r->read);
    r->used -= r->read;
    r->read = 0;
    n = read(r->fd, r->input + r->used, sizeof(r->input) - r->used);
    if (n <= 0)
      bench_die("the server is gone");
    r->used += (size_t)n;
  }
}

static uint64_t read_number(raw *r)
{
  const char *line = read_line(r);

  if (line[0] != ':')
    bench_die("the server answers %s", line);
  return strtoull(line + 1, NULL, 10);
}

/* The answer to an acquire: a number, or `$16` and its digits. */
static uint64_t read_token(raw *r)
{
  const char *line = read_line(r);

  if (line[0] == '$')
    return strtoull(read_line(r), NULL, 10);
  if (line[0] != ':')
    bench_die("the server answers %s", line);
  return strtoull(line + 1, NULL, 10);
}

static void expect_done(raw *r)
{
  uint64_t done = read_number(r);

  if (done != 1 && done != 5)
    bench_die("a release was not done");
  r->has_ifeq = done == 5;
}

/* ---- commands ---- */

static int64_t wall_us(void)
{
  struct timespec wall;

  (void)clock_gettime(CLOCK_REALTIME, &wall);
  return (int64_t)wall.tv_sec * 1000000 + wall.tv_nsec / 1000;
}

static void put(raw *r, bool is_filled, bool with_text)
{
  r->command.carries_text = with_text;
  if (!is_filled || !request_render(&r->command, r->names.uses_functions, &r->out))
    bench_die("no memory");
}

static void put_acquire(raw *r, const char *name, bool with_text, int64_t patience_us)
{
  acquire_call call = { .name = name, .name_size = strlen(name), .ask = ++r->ask,
                        .ttl_ms = TTL_MS, .waits = true };

  /* As the library sends them: both times are part of the arguments. */
  call.estimate_us = wall_us();
  call.until_us = call.estimate_us + patience_us;
  put(r, native_acquire(&r->names, &r->command, &call), with_text);
}

static void put_release(raw *r, const char *name, uint64_t ask, uint64_t token, bool with_text)
{
  lease_id lease = { .ask = ask, .token = token };

  memcpy(lease.client, r->names.client, sizeof(lease.client));
  put(r, native_release(&r->names, &r->command, name, strlen(name), &lease, wall_us()),
      with_text);
}

static void put_release_ifeq(raw *r, const char *name, uint64_t ask, uint64_t token)
{
  static const lease_string stored = { .ttl_ms = TTL_MS };
  lease_id lease = { .ask = ask, .token = token };

  memcpy(lease.client, r->names.client, sizeof(lease.client));
  put(r, native_release_ifeq(&r->names, &r->command, name, strlen(name), &lease, &stored), false);
}

static void expect_ok(raw *r)
{
  if (strncmp(read_line(r), "+OK", 3) != 0)
    bench_die("a release by IFEQ was not done");
}

static void pair(raw *r, const char *name, bool with_text)
{
  uint64_t token;

  put_acquire(r, name, with_text, PATIENCE_US);
  write_all(r);
  token = read_token(r);
  put_release(r, name, r->ask, token, with_text);
  write_all(r);
  expect_done(r);
}

raw *raw_open(const struct test_server *s, bool is_unix)
{
  raw *r = calloc(1, sizeof(*r));
  uint8_t id[16];

  if (r == NULL || getrandom(id, sizeof(id), 0) != (ssize_t)sizeof(id))
    bench_die("no memory");
  r->fd = is_unix ? connect_unix(test_server_socket(s)) : connect_tcp(test_server_port(s));
  buffer_init(&r->out, &heap);
  request_init(&r->command, &heap);
  (void)snprintf(r->names.prefix, sizeof(r->names.prefix), "dibs");
  text_base64url_16(id, r->names.client);
  pair(r, "raw-warm-up", true);          /* the server knows both scripts from now on */
  return r;
}

raw *raw_close(raw *r)
{
  if (r == NULL)
    return NULL;
  (void)close(r->fd);
  buffer_deinit(&r->out);
  request_deinit(&r->command);
  free(r);
  return NULL;
}

void raw_ping(raw *r)
{
  if (!buffer_append(&r->out, "*1\r\n$4\r\nPING\r\n", 14))
    bench_die("no memory");
  write_all(r);
  if (read_line(r)[0] != '+')
    bench_die("no PONG");
}

/* The answer has `lines` lines. */
static void ask_inline(raw *r, const char *verb, const char *channel, int lines)
{
  char line[100];
  int size = snprintf(line, sizeof(line), "%s %s\r\n", verb, channel);

  if (!buffer_append(&r->out, line, (size_t)size))
    bench_die("no memory");
  write_all(r);
  for (int i = 0; i < lines; i++)
    (void)read_line(r);
}

void raw_publish(raw *r, const char *channel)
{
  ask_inline(r, "EVAL \"return redis.call('PUBLISH', KEYS[1], '')\" 1", channel, 1);
}

void raw_listen(raw *r, const char *channel)
{
  ask_inline(r, "SUBSCRIBE", channel, 6);
}

void raw_hear(raw *r)
{
  for (int i = 0; i < 7; i++)
    (void)read_line(r);
}

void raw_pair(raw *r, const char *name)
{
  pair(r, name, false);
}

void raw_hold(raw *r, const char *name)
{
  put_acquire(r, name, false, PATIENCE_US);
  write_all(r);
  (void)read_token(r);
}

void raw_pairs(raw *r, const char *const *names, size_t count)
{
  uint64_t tokens[TOGETHER_MAX], first = r->ask + 1;

  if (count > TOGETHER_MAX)
    bench_die("more than %d pairs together", TOGETHER_MAX);
  for (size_t i = 0; i < count; i++)
    put_acquire(r, names[i], false, PATIENCE_US);
  write_all(r);
  for (size_t i = 0; i < count; i++)
    tokens[i] = read_token(r);
  for (size_t i = 0; i < count; i++)
    if (r->uses_ifeq)
      put_release_ifeq(r, names[i], first + i, tokens[i]);
    else
      put_release(r, names[i], first + i, tokens[i], false);
  write_all(r);
  for (size_t i = 0; i < count; i++)
    if (r->uses_ifeq)
      expect_ok(r);
    else
      expect_done(r);
}

/* ---- for redis-benchmark ---- */

/* Takes the command apart that was just put: "*N" and N times "$size", bytes. */
static const char *take_words(raw *r)
{
  const char *at = buffer_bytes(&r->out);
  const char *words = "";

  for (long left = strtol(at + 1, NULL, 10); left > 0; left--) {
    int size;

    at = strchr(at, '$');
    if (at == NULL)
      bench_die("not a command");
    size = atoi(at + 1);
    at = strchr(at, '\n') + 1;
    words = bench_text("%s '%.*s'", words, size, at);
    at += size;
  }
  buffer_clear(&r->out);
  return words;
}

const char *raw_acquire_words(raw *r, const char *name)
{
  put_acquire(r, name, false, DAY_US);
  return take_words(r);
}

const char *raw_release_words(raw *r, const char *name, const char *lease)
{
  lease_id l;

  if (!lease_id_read(lease, strlen(lease), &l) || strcmp(l.client, r->names.client) != 0)
    bench_die("%s is no lease of this client", lease);
  put_release(r, name, l.ask, l.token, false);
  return take_words(r);
}
