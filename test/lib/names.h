/* SPDX-License-Identifier: MIT */
/* test/lib/names.h - host names that mean what a test says, and addresses that lead nowhere.
 *
 * Defines getaddrinfo() for the whole program, so that it is included by one file of it.
 * Digits are addresses as ever; a name that was not set is unknown. */
#ifndef TEST_NAMES_H
#define TEST_NAMES_H

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- names ---- */

enum { NAMES_MAX = 16 };

static struct names {
  pthread_mutex_t mutex;
  pthread_cond_t condition;
  struct { char name[64], addresses[256]; int asked; } all[NAMES_MAX];
  bool are_held;               /* questions of names wait */
  int waiting;
  pthread_t last_asker;
} names = { .mutex = PTHREAD_MUTEX_INITIALIZER, .condition = PTHREAD_COND_INITIALIZER };

static inline int names_find(const char *name)
{
  for (int i = 0; i < NAMES_MAX; i++)
    if (strcmp(names.all[i].name, name) == 0)
      return i;
  return -1;
}

/* From now on `name` has these addresses, parted by blanks, in this order; "!": the system has
 * no descriptor left to ask for it. */
static inline void names_set(const char *name, const char *addresses)
{
  int i;

  (void)pthread_mutex_lock(&names.mutex);
  i = names_find(name);
  if (i < 0)
    i = names_find("");
  assert(i >= 0 && strlen(name) < 64 && strlen(addresses) < 256);
  memcpy(names.all[i].name, name, strlen(name) + 1);
  memcpy(names.all[i].addresses, addresses, strlen(addresses) + 1);
  (void)pthread_mutex_unlock(&names.mutex);
}

/* How often it was asked for. */
static inline int names_asked(const char *name)
{
  int i, asked;

  (void)pthread_mutex_lock(&names.mutex);
  i = names_find(name);
  asked = i < 0 ? 0 : names.all[i].asked;
  (void)pthread_mutex_unlock(&names.mutex);
  return asked;
}

/* Whoever asks for a name waits until it is false again. */
static inline void names_hold(bool are_held)
{
  (void)pthread_mutex_lock(&names.mutex);
  names.are_held = are_held;
  (void)pthread_cond_broadcast(&names.condition);
  (void)pthread_mutex_unlock(&names.mutex);
}

static inline int names_waiting(void)
{
  int waiting;

  (void)pthread_mutex_lock(&names.mutex);
  waiting = names.waiting;
  (void)pthread_mutex_unlock(&names.mutex);
  return waiting;
}

/* One address in digits; NULL: it is none. */
static inline struct addrinfo *names_address(const char *digits, const char *port)
{
  struct room { struct addrinfo info; struct sockaddr_storage address; };
  struct room *r = calloc(1, sizeof(*r));
  struct sockaddr_in *four = (struct sockaddr_in *)&r->address;
  struct sockaddr_in6 *six = (struct sockaddr_in6 *)&r->address;
  uint16_t number = htons((uint16_t)atoi(port));

  r->info.ai_socktype = SOCK_STREAM;
  r->info.ai_addr = (struct sockaddr *)&r->address;
  if (inet_pton(AF_INET, digits, &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = number;
    r->info.ai_family = AF_INET;
    r->info.ai_addrlen = sizeof(*four);
  } else if (inet_pton(AF_INET6, digits, &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
    six->sin6_port = number;
    r->info.ai_family = AF_INET6;
    r->info.ai_addrlen = sizeof(*six);
  } else {
    free(r);
    return NULL;
  }
  return &r->info;
}

static inline int names_answer(char *addresses, const char *port, struct addrinfo **ret)
{
  char *rest = NULL;

  for (char *one = strtok_r(addresses, " ", &rest); one != NULL; one = strtok_r(NULL, " ", &rest)) {
    *ret = names_address(one, port);
    assert(*ret != NULL);
    ret = &(*ret)->ai_next;
  }
  return 0;
}

int getaddrinfo(const char *restrict host, const char *restrict port,
                const struct addrinfo *restrict hints, struct addrinfo **restrict ret)
{
  char addresses[256] = "";
  int i;

  *ret = names_address(host, port);
  if (*ret != NULL)
    return 0;
  if (hints != NULL && (hints->ai_flags & AI_NUMERICHOST) != 0)
    return EAI_NONAME;
  (void)pthread_mutex_lock(&names.mutex);
  names.waiting++;
  while (names.are_held)
    (void)pthread_cond_wait(&names.condition, &names.mutex);
  names.waiting--;
  names.last_asker = pthread_self();
  i = names_find(host);
  if (i >= 0) {
    names.all[i].asked++;
    memcpy(addresses, names.all[i].addresses, sizeof(addresses));
  }
  (void)pthread_mutex_unlock(&names.mutex);
  if (addresses[0] == '!') {
    errno = ENFILE;
    return EAI_SYSTEM;
  }
  return addresses[0] == 0 ? EAI_NONAME : names_answer(addresses, port, ret);
}

void freeaddrinfo(struct addrinfo *info)
{
  while (info != NULL) {
    struct addrinfo *next = info->ai_next;

    free(info);
    info = next;
  }
}

/* ---- addresses that lead nowhere ---- */

/* Whoever connects there waits as for a machine that is gone: the queue of a listening
 * socket is full, and the kernel drops what asks to come in. */
struct black_hole { int listener, fillers[8], count; };

static inline struct black_hole black_hole_open(const char *digits, int port)
{
  struct black_hole hole = { .count = 0 };
  struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
  bool is_full = false;
  int on = 1;

  (void)inet_pton(AF_INET, digits, &address.sin_addr);
  hole.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  (void)setsockopt(hole.listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(hole.listener, (struct sockaddr *)&address, sizeof(address)) != 0
      || listen(hole.listener, 0) != 0)
    abort();
  while (!is_full && hole.count < 8) {
    struct pollfd is_open = { .events = POLLOUT };

    is_open.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    (void)connect(is_open.fd, (struct sockaddr *)&address, sizeof(address));
    is_full = poll(&is_open, 1, 10) == 0;
    hole.fillers[hole.count++] = is_open.fd;
  }
  if (!is_full)
    abort();
  return hole;
}

static inline void black_hole_close(struct black_hole *hole)
{
  while (hole->count > 0)
    (void)close(hole->fillers[--hole->count]);
  (void)close(hole->listener);
}

#endif
