/* SPDX-License-Identifier: MIT */
/* test/peers/dibs_peer.c - libdibs as a peer among peers: reads commands, answers them, each
 * worker in a thread of its own. PROTOCOL.md.
 *
 * Options: watchdog=MS; query=TEXT, which follows the address as ?TEXT; sharded=no, which follows
 * that; url=URL instead of all; kinds=LIST, where the dialect knows fewer than all. */
#include "dibs_peer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ALL_KINDS "lock,read,write,semaphore,multi,latch,rate,map,list,set,canary"

enum { WORKERS_MAX = 128 };

struct order { struct order *next; char line[]; };

struct desk {                      /* where a worker's commands wait */
  pthread_mutex_t mutex;
  pthread_cond_t comes;
  struct order *first, **end;
  int number;
  struct peer_worker worker;
};

static struct desk *desks[WORKERS_MAX];

int64_t peer_now_ns(void)
{
  struct timespec now;

  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* One write: lines of different workers do not mix. */
static void say(int worker, const char *what)
{
  char line[PEER_ANSWER_BYTES + 64];
  int n = snprintf(line, sizeof(line), "%d %lld %s\n", worker, (long long)peer_now_ns(), what);

  if (write(STDOUT_FILENO, line, (size_t)n) != n)
    _exit(1);
}

/* In place: %20 is a blank. */
static char *decoded(char *word)
{
  char *to = word;

  for (const char *from = word; *from != 0; to++) {
    unsigned byte;

    if (*from == '%' && sscanf(from + 1, "%2x", &byte) == 1) {
      *to = (char)byte;
      from += 3;
    } else {
      *to = *from++;
    }
  }
  *to = 0;
  return word;
}

static struct peer_words split(char *line)
{
  struct peer_words words = { 0 };
  char *rest = NULL;

  for (char *word = strtok_r(line, " \n", &rest); word != NULL && words.count < PEER_WORDS_MAX;
       word = strtok_r(NULL, " \n", &rest))
    words.word[words.count++] = decoded(word);
  return words;
}

static void *work(void *data)
{
  struct desk *d = data;

  for (;;) {
    char answer[PEER_ANSWER_BYTES];
    struct peer_words words;
    struct order *order;

    (void)pthread_mutex_lock(&d->mutex);
    while (d->first == NULL)
      (void)pthread_cond_wait(&d->comes, &d->mutex);
    order = d->first;
    d->first = order->next;
    if (d->first == NULL)
      d->end = &d->first;
    (void)pthread_mutex_unlock(&d->mutex);
    words = split(order->line);
    peer_run(&d->worker, &words, answer);
    say(d->number, answer);
    free(order);
  }
  return NULL;
}

static struct desk *hire(int number, const struct peer_worker *model)
{
  struct desk *d = calloc(1, sizeof(*d));
  pthread_t thread;

  if (d == NULL)
    exit(70);
  d->number = number;
  d->worker = *model;
  d->end = &d->first;
  (void)pthread_mutex_init(&d->mutex, NULL);
  (void)pthread_cond_init(&d->comes, NULL);
  if (pthread_create(&thread, NULL, work, d) != 0)
    exit(70);
  (void)pthread_detach(thread);
  return d;
}

static void give(struct desk *d, const char *line)
{
  size_t size = strlen(line) + 1;
  struct order *order = malloc(sizeof(*order) + size);

  if (order == NULL)
    exit(70);
  order->next = NULL;
  memcpy(order->line, line, size);
  (void)pthread_mutex_lock(&d->mutex);
  *d->end = order;
  d->end = &order->next;
  (void)pthread_cond_signal(&d->comes);
  (void)pthread_mutex_unlock(&d->mutex);
}

static const char *option(int count, char **words, const char *name, const char *otherwise)
{
  size_t length = strlen(name);

  for (int i = 2; i < count; i++)
    if (strncmp(words[i], name, length) == 0 && words[i][length] == '=')
      return words[i] + length + 1;
  return otherwise;
}

/* `a b c`, and the query behind the first of them. */
static void write_url(const char *address, const char *query, const char *sharded, char *url,
                      size_t size)
{
  int first = (int)strcspn(address, " ");

  (void)snprintf(url, size, "%.*s?%s%s%s%s", first, address, query,
                 sharded[0] != 0 ? "&sharded=" : "", sharded, address + first);
}

static void open_client(int count, char **words, struct peer_worker *model)
{
  const char *query = option(count, words, "query", "prefix=dibs");
  const char *sharded = option(count, words, "sharded", "");
  dibs_options options = DIBS_OPTIONS_INIT;
  dibs_error error = DIBS_ERROR_INIT;
  char url[600];

  write_url(words[1], query, sharded, url, sizeof(url));
  model->watchdog_ms = (int32_t)strtol(option(count, words, "watchdog", "30000"), NULL, 10);
  model->has_unleased = strstr(query, "dialect=redisson") != NULL;
  options.flags = DIBS_CLIENT_NO_LOCAL;
  if (dibs_open(option(count, words, "url", url), &options, &model->client,
                           &error) != DIBS_OK) {
    (void)printf("no %s\n", error.text);
    exit(1);
  }
  if (dibs_ping(model->client, 0, NULL) != DIBS_OK) {
    (void)dibs_client_error(model->client, 0, &error);
    (void)printf("no %s\n", error.text);
    exit(1);
  }
}

int main(int count, char **words)
{
  struct peer_worker model = { 0 };
  char line[1024];

  if (count < 2)
    return 64;
  open_client(count, words, &model);
  (void)printf("ready dibs %s %s\n", DIBS_VERSION,
               strchr(words[1], ' ') != NULL ? "redlock"
                                             : option(count, words, "kinds", ALL_KINDS));
  (void)fflush(stdout);
  while (fgets(line, sizeof(line), stdin) != NULL) {
    char *rest;
    long number = strtol(line, &rest, 10);

    if (number < 0 || number >= WORKERS_MAX)
      return 64;
    if (desks[number] == NULL)
      desks[number] = hire((int)number, &model);
    give(desks[number], rest);
  }
  _exit(0);                        /* gives nothing back, as the page says */
}
