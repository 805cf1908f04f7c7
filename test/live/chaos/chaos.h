/* SPDX-License-Identifier: MIT */
/* test/live/chaos/chaos.h - a world of engines, connections and wishes over one real server,
 * in which everything may come late, twice or never. The parts: wire.c the connections,
 * oracle.c what must be true, party.c the programs, revoke.c who ends their leases,
 * ../engine_chaos_test.c the worlds. */
#ifndef TEST_CHAOS_H
#define TEST_CHAOS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dialect/native.h"
#include "engine/engine.h"
#include "one_server.h"
#include "oracle/log.h"
#include "server.h"

enum { COMMANDS, INBOX };   /* the links of an engine */
/* Names 0 to 2 are mutexes and members of sets, then a read/write lock and a semaphore. */
enum { ENGINES = 3, MUTEXES = 3, RWLOCK = 3, SEMAPHORE = 4, NAMES = 5, PERMITS = 3,
       OWNERS = 2, EVENTS = 400, CHAOS_MS = 2500, LATE_MS = 700, HEAL_MS = 15000,
       WISHES_MAX = 5, BROKEN_MAX = 8 };

#define MS 1000000ll
#define TTL_MAX (300 * MS)

/* ---- bytes on their way ---- */

struct chunk {
  struct chunk *next;
  int64_t due;
  size_t size;
  char bytes[];
};

struct stream { struct chunk *first, *last; };

struct wire {
  struct wire *next;          /* of those the engine has forgotten */
  int fd;
  struct stream out, in;
  bool opened;                /* the engine was told */
  int64_t open_at, close_at;
};

/* ---- what a program wants and has ---- */

enum wish_state { WAITING = 1, HELD, LOST, RELEASING, OVER };

/* What an ask is for. */
enum choice {
  CHOICE_MUTEX, CHOICE_READ, CHOICE_WRITE, CHOICE_PERMITS, CHOICE_MANY, CHOICES
};

struct wish {
  struct wish *next;
  struct logged logged;       /* the same, as a history */
  uint64_t id, units;
  int number, owner, depth;
  enum choice choice;
  unsigned names;             /* bits 1 << name */
  enum wish_state state;
  bool was_cancelled, reads;  /* reads: by wish, or downgraded */
  bool is_broken;             /* by others: it may be believed until that is told */
  int64_t changed_at;         /* downgraded, or broken */
  bool renewed_since;         /* by a request sent after that */
  instant valid_until;
  int64_t act_at;
};

struct party {
  struct world *world;
  int number;
  engine *engine;
  char client[23];
  struct wire *wires[ONE_SERVER_LINKS], *old;
  struct wish *wishes;
  int open;
  bool is_closed;
  int64_t stopped_until;
  lease_id broken[BROKEN_MAX];            /* the last ones */
  int broken_count;
};

struct world {
  uint64_t seed;
  random_source random;
  protocol protocol;          /* the prefix; no client id */
  struct party parties[ENGINES];
  struct history_log log;     /* what all parties asked for and believed */
  uint16_t lives[ENGINES];    /* how often each party began */
  int64_t begun_at, healed_at, done_at;
  int last_wish;
  bool is_healing, is_closing, is_done;
  char events[EVENTS][160];
  size_t event_count;
  uint64_t granted[CHOICES], lost, steps, downgraded, broken;
};

/* ---- engine_chaos_test.c ---- */
extern struct test_server *chaos_server;
extern const memory chaos_heap;
int64_t now_ns(void);
instant now_instant(void);
int64_t wall_us(void);
uint64_t below(struct world *w, uint64_t limit);
void note(struct world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A broken promise, with the last events. */
void flaw(struct world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
extern const char *const name_texts[NAMES];
/* Asks the server behind all engines' backs; the answer is the caller's. */
resp_reply *ask_the_server(const buffer *command);

/* ---- wire.c ---- */
void stream_add(struct world *w, struct stream *s, const char *bytes, size_t size);
struct chunk *stream_take(struct stream *s, int64_t now);
struct wire *wire_new(struct world *w);
struct wire *wire_free(struct wire *x);
/* The engine is done with it. What it sent is lost, or on its way for a while still. */
void wire_forget(struct party *p, int i);
void wires_carry(struct party *p, int64_t now);
int64_t a_while(struct world *w);

/* ---- oracle.c ---- */
bool believes(const struct wish *h, instant now);
void check_server(struct party *p, const struct wish *h);
void check_end(struct world *w);
/* S1, S1', S2, S4, S7 of all that was believed: test/oracle. */
void check_history(struct world *w);

/* ---- party.c ---- */
void party_begin(struct world *w, int number);
void party_end(struct party *p);      /* killed: nothing more is sent */
void party_step(struct party *p);
void party_wish(struct party *p);
void party_break(struct party *p, int i);
void party_pull(struct party *p);

/* ---- revoke.c ---- */
void party_revoke(struct party *p);   /* somebody else ends a lease of it */
bool party_was_revoked(const struct party *p, const struct wish *h);

#endif
