/* SPDX-License-Identifier: MIT */
/* test/oracle/log.h - writes a history to memory, for an instrument that sees all its programs:
 * what each asks for, and what becomes of that, as it happens.
 *
 * Instants are nanoseconds of one clock. Records of one instant keep their order: each is a
 * nanosecond later than the one before. */
#ifndef ORACLE_LOG_H
#define ORACLE_LOG_H

#include "oracle/oracle.h"

struct history_log {
  struct record *records;
  size_t count, room;
};

/* One ask, of one name or of a set, and what it was granted. The instrument fills what stands
 * above `call`. */
struct logged {
  struct history_log *log;
  uint16_t worker, life, thread;
  unsigned locks;              /* bits */
  uint32_t units;
  int32_t ttl_ms;
  uint8_t mode, flags;
  uint64_t call, fence;        /* call 0: not asked yet */
  int64_t valid_ns;            /* 0: gone */
  bool is_granted;
};

void history_log_free(struct history_log *log);
/* Adds one; what it is about is the caller's to fill. */
struct record *history_log_add(struct history_log *log, int64_t at_ns, enum op op,
                               enum phase phase);
/* The process `worker` was killed, or ended. */
void history_log_death(struct history_log *log, int64_t at_ns, uint16_t worker, uint16_t life);
/* The history of all that was written, the caller's: of locks with these names, and a kind for
 * each (struct run_lock). Finds what is wrong with the beliefs in it: C1, C3, C5, C6, C11. */
struct history *history_judge(const struct history_log *log, const char *const *names,
                              const char *kinds, uint32_t permits, bool orders_beliefs,
                              struct findings *ret_findings);

void logged_ask(struct logged *l, int64_t at_ns, enum op op);
void logged_failed(struct logged *l, int64_t at_ns, int status);
/* `fence` 0: none is promised. */
void logged_granted(struct logged *l, int64_t at_ns, uint64_t fence, int64_t valid_ns);
/* What the library says just now; only what is new is written. 0: it is gone. */
void logged_valid(struct logged *l, int64_t at_ns, int64_t valid_ns);
void logged_lost(struct logged *l, int64_t at_ns);
/* Before logged_granted(), too. */
void logged_excused(struct logged *l, int64_t at_ns);
/* A writer reads from here on: a new ask, which nests in the first and has its lease. */
void logged_downgrade(struct logged *l, int64_t at_ns);
/* Its release begins; it is not believed any more. */
void logged_release(struct logged *l, int64_t at_ns);

#endif
