/* SPDX-License-Identifier: MIT */
/* test/fault/hostile.c - the mad server: its connections and its attacks. */
#include "hostile.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { PIECE = 16384, DRIP_MS = 20 };

struct hostile {
  char path[108], url[128], target[108];
  int listener;
  pthread_t thread;
  uint64_t seed;
  _Atomic int attack, open;
  _Atomic bool is_over;
  _Atomic int64_t attacks[ATTACK_COUNT];
};

struct victim {
  struct hostile *hostile;
  int client, server;
  enum attack attack;
  uint64_t chance;
  bool is_attacked;
};

const char *attack_name(enum attack a)
{
  static const char *const names[ATTACK_COUNT] = {
    "wrong types", "huge lengths", "endless nesting", "floods of pushes", "slow drips",
    "endless lines", "answers to no question", "noise", "changed answers", "answers cut off" };

  return names[a];
}

static uint64_t draw(struct victim *v, uint64_t limit)
{
  v->chance = v->chance * 6364136223846793005U + 1442695040888963407U;
  return (v->chance >> 33) % limit;
}

static bool say(struct victim *v, const char *bytes, size_t size)
{
  while (size > 0) {
    ssize_t sent = send(v->client, bytes, size, MSG_NOSIGNAL);

    if (sent <= 0)
      return false;
    bytes += sent;
    size -= (size_t)sent;
  }
  return !atomic_load(&v->hostile->is_over);
}

static bool say_words(struct victim *v, const char *words)
{
  return say(v, words, strlen(words));
}

/* `words` without end: until the client has had enough. */
static void say_for_ever(struct victim *v, const char *words)
{
  static _Thread_local char piece[PIECE];
  size_t size = strlen(words), used = 0;

  for (; used + size <= sizeof(piece); used += size)
    memcpy(piece + used, words, size);
  while (say(v, piece, used))
    ;
}

/* Until the client goes. */
static void listen_on(struct victim *v)
{
  char bytes[PIECE];

  while (!atomic_load(&v->hostile->is_over) && recv(v->client, bytes, sizeof(bytes), 0) > 0)
    ;
}

static void drip(struct victim *v, const char *words)
{
  struct pollfd client = { .fd = v->client, .events = POLLRDHUP };

  for (size_t i = 0; poll(&client, 1, DRIP_MS) == 0; i++)
    if (!say(v, words + i % strlen(words), 1))
      return;
}

static void say_noise(struct victim *v)
{
  char bytes[512];

  for (int times = 0; times < 64; times++) {
    for (size_t i = 0; i < sizeof(bytes); i++)
      bytes[i] = (char)draw(v, 256);
    if (!say(v, bytes, sizeof(bytes)))
      return;
  }
}

static void attack(struct victim *v)
{
  static const char *const types[] = {
    "+OK\r\n", "$3\r\nabc\r\n", "$-1\r\n", "*-1\r\n", "*0\r\n", "_\r\n", "#t\r\n", ",3.14\r\n",
    "(123456789012345678901234567890\r\n", "%1\r\n+a\r\n:1\r\n", "~2\r\n:1\r\n:2\r\n",
    "=7\r\ntxt:abc\r\n", "*3\r\n:1\r\n$1\r\nx\r\n*1\r\n_\r\n", "!5\r\nERR x\r\n",
    "*7\r\n:2\r\n:-1\r\n:9223372036854775807\r\n:-9223372036854775808\r\n:0\r\n:0\r\n:0\r\n",
    "-\r\n", "-LOADING\r\n", "|1\r\n+a\r\n+b\r\n:1\r\n", ":0\r\n", ":-1\r\n", "*1\r\n:99\r\n" };
  static const char *const lengths[] = { "$2147483647\r\n", "*2147483647\r\n", "%1073741823\r\n",
                                         "~2147483647\r\n", "$536870911\r\n" };

  (void)atomic_fetch_add(&v->hostile->attacks[v->attack], 1);
  switch (v->attack) {
  case ATTACK_WRONG_TYPE:
    while (say_words(v, types[draw(v, sizeof(types) / sizeof(types[0]))]) && draw(v, 3) != 0)
      ;
    break;
  case ATTACK_HUGE_LENGTH:
    (void)say_words(v, lengths[draw(v, sizeof(lengths) / sizeof(lengths[0]))]);
    say_for_ever(v, ":1\r\n");
    break;
  case ATTACK_NESTING:
    say_for_ever(v, draw(v, 2) == 0 ? "*1\r\n" : "*2\r\n:1\r\n");
    break;
  case ATTACK_PUSHES:
    say_for_ever(v, ">3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$5\r\nhello\r\n");
    break;
  case ATTACK_DRIP:
    drip(v, draw(v, 2) == 0 ? "$1000000\r\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" : ":0");
    break;
  case ATTACK_LINE:
    say_for_ever(v, draw(v, 2) == 0 ? "+++++++" : "-ERR no end ");
    break;
  case ATTACK_UNASKED:
    for (int i = 0; i < 1000 && say_words(v, ":1\r\n"); i++)
      ;
    break;
  default:
    say_noise(v);
    break;
  }
  listen_on(v);
}

/* Answers of the real server, on their way. False: it is over. */
static bool pass_answer(struct victim *v, char *bytes, size_t size)
{
  if (v->is_attacked && v->attack == ATTACK_CUT) {
    (void)say(v, bytes, (size_t)draw(v, size));
    return false;
  }
  if (v->is_attacked && draw(v, 2) == 0)
    bytes[draw(v, size)] ^= (char)(1 << draw(v, 7));
  return say(v, bytes, size);
}

static bool pass_some(struct victim *v, int from, bool is_answer)
{
  char bytes[PIECE];
  ssize_t size = recv(from, bytes, sizeof(bytes), 0);

  if (size <= 0)
    return false;
  if (is_answer)
    return pass_answer(v, bytes, (size_t)size);
  if (!v->is_attacked && memmem(bytes, (size_t)size, "EVALSHA", 7) != NULL) {
    v->is_attacked = true;
    if (v->attack != ATTACK_CHANGED && v->attack != ATTACK_CUT) {
      attack(v);
      return false;
    }
    (void)atomic_fetch_add(&v->hostile->attacks[v->attack], 1);
  }
  return send(v->server, bytes, (size_t)size, MSG_NOSIGNAL) == size;
}

static void *serve(void *data)
{
  struct victim *v = data;
  struct pollfd both[2] = { { .fd = v->client, .events = POLLIN },
                            { .fd = v->server, .events = POLLIN } };
  bool goes_on = v->server >= 0;

  while (goes_on && !atomic_load(&v->hostile->is_over)) {
    if (poll(both, 2, 100) <= 0)
      continue;
    if (both[0].revents != 0)
      goes_on = pass_some(v, v->client, false);
    if (goes_on && both[1].revents != 0)
      goes_on = pass_some(v, v->server, true);
  }
  (void)close(v->client);
  if (v->server >= 0)
    (void)close(v->server);
  (void)atomic_fetch_sub(&v->hostile->open, 1);
  free(v);
  return NULL;
}

static int connect_to(const char *path)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

  memcpy(address.sun_path, path, strlen(path));
  if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
    return fd;
  if (fd >= 0)
    (void)close(fd);
  return -1;
}

static void accept_one(struct hostile *h)
{
  struct timeval limit = { .tv_usec = 300000 };   /* a client that neither reads nor ends */
  int fd = accept4(h->listener, NULL, NULL, SOCK_CLOEXEC);
  struct victim *v = fd < 0 ? NULL : calloc(1, sizeof(*v));
  pthread_t thread;

  if (v == NULL)
    return;
  (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){ .tv_sec = 2 },
                   sizeof(limit));
  *v = (struct victim){ .hostile = h, .client = fd, .server = connect_to(h->target),
                        .attack = (enum attack)atomic_load(&h->attack), .chance = h->seed++ };
  (void)atomic_fetch_add(&h->open, 1);
  if (pthread_create(&thread, NULL, serve, v) == 0)
    (void)pthread_detach(thread);
}

static void *accept_all(void *data)
{
  struct hostile *h = data;

  while (!atomic_load(&h->is_over)) {
    struct pollfd listener = { .fd = h->listener, .events = POLLIN };

    if (poll(&listener, 1, 50) > 0)
      accept_one(h);
  }
  return NULL;
}

struct hostile *hostile_start(const struct test_server *s, uint64_t seed)
{
  struct hostile *h = calloc(1, sizeof(*h));
  struct sockaddr_un address = { .sun_family = AF_UNIX };

  if (h == NULL)
    abort();
  h->seed = seed;
  (void)snprintf(h->path, sizeof(h->path), "%s/mad", test_server_directory(s));
  (void)snprintf(h->url, sizeof(h->url), "unix://%s", h->path);
  (void)snprintf(h->target, sizeof(h->target), "%s", test_server_socket(s));
  memcpy(address.sun_path, h->path, strlen(h->path));
  h->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (h->listener < 0 || bind(h->listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
      listen(h->listener, 64) != 0 || pthread_create(&h->thread, NULL, accept_all, h) != 0)
    abort();
  return h;
}

const char *hostile_url(const struct hostile *h)
{
  return h->url;
}

void hostile_choose(struct hostile *h, enum attack a)
{
  atomic_store(&h->attack, a);
}

int64_t hostile_attacks(const struct hostile *h, enum attack a)
{
  return atomic_load(&h->attacks[a]);
}

struct hostile *hostile_stop(struct hostile *h)
{
  atomic_store(&h->is_over, true);
  (void)pthread_join(h->thread, NULL);
  while (atomic_load(&h->open) > 0)       /* at most a time limit of a socket */
    (void)poll(NULL, 0, 2);
  (void)close(h->listener);
  (void)unlink(h->path);
  free(h);
  return NULL;
}
