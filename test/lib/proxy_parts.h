/* SPDX-License-Identifier: MIT */
/* test/lib/proxy_parts.h - what the files of the proxy tell each other. */
#ifndef TEST_PROXY_PARTS_H
#define TEST_PROXY_PARTS_H

#include <pthread.h>

#include "now.h"
#include "proxy.h"
#include "resp_scan.h"

enum { PROXY_OPENING = 1000, PROXY_WORD = 64, PROXY_CONNECTIONS = 512 };

enum flow_mode { FLOW_PASS, FLOW_BLACK_HOLE, FLOW_HOLD, FLOW_DELAY, FLOW_TRICKLE, FLOW_RATE };
enum { TWINS_MAX = 64 };

struct chunk {
  struct chunk *next;
  int64_t due_us;
  size_t size, sent;
  char bytes[];
};

/* One direction of one connection. */
struct flow {
  struct chunk *first, **last;
  size_t queued;
  bool is_ended;        /* nothing more can be read */
  bool is_end_passed;   /* and the other side was told */
  bool has_lost;        /* bytes or an end were dropped: it never passes anything again */
  int64_t ready_us;     /* nothing more is written before: its rate */
  struct resp_scan scan;
};

struct connection {
  struct connection *next;
  int fd[2];            /* [0] the client's, [1] the server's */
  struct flow flow[2];  /* [0] to the server, read from fd[0]; [1] to the client */
  char opening[PROXY_OPENING + 1];
  size_t opening_size;
  char recent[PROXY_WORD * 2];   /* the last bytes to the server */
  size_t recent_size;
  uint64_t asked, answered;      /* whole commands and replies */
  bool is_losing;       /* nothing more to the client, and ... */
  uint64_t cut_at;      /* ... cut when so many are answered */
  bool is_cut;
  char *command;        /* one that is not whole yet, while chances are given */
  size_t command_size;
  uint64_t twins[TWINS_MAX];     /* numbers of answers that nobody asked for, ascending */
  size_t twin_count;
};

struct direction {
  enum flow_mode mode;
  int delay_ms, delay_ms_max;
  int rate;             /* bytes a second */
  bool has_cut_after;
  uint64_t cut_after;
};

struct test_proxy {
  pthread_t thread;
  pthread_mutex_t mutex;         /* everything below */
  pthread_cond_t changed;        /* the counts have */
  bool is_ending;
  uint64_t generation;           /* counts the changes made outside the thread */
  uint64_t seen_generation;      /* the thread polls nothing older */
  int wake;                      /* eventfd */
  int listener[2];               /* unix, TCP; -1 while refusing */
  int port, port_claim;
  int server_port;               /* for clients by TCP; 0: by the socket too */
  struct connection *connections;
  struct direction direction[2];
  unsigned swallow, silence_after;   /* replies; 0: no such fault */
  char lose[PROXY_WORD], only[PROXY_WORD];
  struct test_proxy_chances chances;
  bool has_chances;
  char chance_word[PROXY_WORD];
  uint64_t random;
  struct test_proxy_counts counts;
  char directory[64], socket[96], url[128], tcp_url[64], target[128];
};

/* The thread. */
void *proxy_pump(void *proxy);

/* With the mutex held: */
void proxy_listen(struct test_proxy *p);
void proxy_close_listeners(struct test_proxy *p);
void connection_cut(struct test_proxy *p, struct connection *c);
bool connection_is_chosen(const struct test_proxy *p, const struct connection *c);
/* Takes bytes that were read; may mark the connection as cut. */
void flow_take(struct test_proxy *p, struct connection *c, int which, const char *bytes,
               size_t size);
void flow_end(struct test_proxy *p, struct connection *c, int which, bool is_reset);
/* Writes what is due. Returns when more is due: 0 now if it could, INT64_MAX never. */
int64_t flow_write(struct test_proxy *p, struct connection *c, int which, int64_t now);
enum flow_mode flow_mode_of(const struct test_proxy *p, const struct connection *c,
                            int which);
uint64_t proxy_random(struct test_proxy *p, uint64_t limit);    /* 0 .. limit - 1 */

/* proxy_chance.c: a piece of a command; whole ones go on, or meet their chance. */
void chance_take_command(struct test_proxy *p, struct connection *c, const char *bytes,
                         size_t size, bool is_end);
/* Whether the answer that comes now is one of two, and the one to be dropped. */
bool chance_is_twin(struct connection *c, bool is_end);
void flow_queue(struct test_proxy *p, struct connection *c, int which, const char *bytes,
                size_t size, int64_t due_us);
void flow_count_drop(struct test_proxy *p, struct flow *f, int which, size_t size);

#endif
