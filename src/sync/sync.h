/* SPDX-License-Identifier: MIT */
/* sync - operations that are not holds: one row of functions for each, without a connection
 * and without a thread. The engine runs them (engine/ops.c), the API fills their records.
 *
 * May include dialect/, request/, script/, resp/, base/.
 *
 * An operation asks the server and reads the reply, which ends it, or has it repeated: after
 * a message on its channel, or some time; or leads to its next question. The engine sends a
 * question again when its connection was lost before the reply, so a question that changes
 * something must carry what makes a second execution harmless, as a number of the client
 * does; and where the server remembers that for a time only, `repeats_for` is shorter. */
#ifndef SYNC_SYNC_H
#define SYNC_SYNC_H

#include <dibs/status.h>

#include "dialect/dialect.h"

/* What follows from a reply. */
typedef struct sync_next {
  enum {
    SYNC_OVER = 1,
    SYNC_REPEAT,                   /* the same question */
    SYNC_STEP                      /* what ask() asks now */
  } what;
  dibs_status status;              /* OVER */
  const char *message;             /* OVER: constant or in the record; "": text of the status */
  bool is_news;                    /* REPEAT: for the caller: EFFECT_OP_NEWS */
  instant at;                      /* not OVER: the next request then at the latest */
} sync_next;

typedef struct sync_op sync_op;

typedef struct sync_row {
  const char *name;                /* "latch.await" */
  span every;                      /* of repetitions without a message; 0: one reply ends it */
  bool only_reads;                 /* never executed in doubt: UNREACHABLE, not UNKNOWN */
  span repeats_for;                /* after the first sending whose reply was lost: then UNKNOWN,
                                      as the server might do it twice; 0: without a limit */
  bool keeps_reply;                /* the effect of its end is EFFECT_ANSWERED, and has it */
  bool is_patient;                 /* with `every`: waits for a server without a limit, and
                                      has news when it cannot be asked for connect_timeout, or
                                      refuses the client, and when it replies again */
  /* Fills the request, in engine_run() and for each step. false: no memory. */
  bool (*ask)(const sync_op *op, const protocol *p, request *out);
  sync_next (*read)(sync_op *op, const resp_reply *reply);
  /* Of a row with `repeats_for`; NULL: never. Whether this error shows that no copy was executed
   * before it. Asked only if none can be executed later. */
  bool (*denies)(sync_op *op, const resp_node *error);
  /* Of an operation with `every`; NULL: it has no channel, and only time repeats it. */
  void (*channel)(const sync_op *op, const protocol *p, text *out);
  /* NULL, or fills the request that undoes on the server what the operation did there, which
   * ended otherwise than by read(). false: no memory, or nothing to undo. */
  bool (*undo)(const sync_op *op, const protocol *p, request *out);
  /* NULL, or reads the reply to undo(), NULL without one. `end`: how the operation ended;
   * OVER changes that, REPEAT leaves it. */
  sync_next (*undone)(sync_op *op, dibs_status end, const resp_reply *reply);
} sync_row;

/* The server keeps the reply for 60 s: lua/native/shared/latch.lua, and in lua/redisson/shared/.
 * Its clock, by which it refuses a late copy, is an estimate here. */
#define SYNC_REPEATS_FOR { 55000000000 }

#define SYNC_CHANNEL_SIZE (NAME_MAX_BYTES + 64)

/* Each operation's record begins with this. */
struct sync_op {
  const sync_row *row;
  void *context;                   /* of the caller: in the effect of its end */
  instant give_up_at;
  bool is_single;                  /* with `every`: REPEAT ends it, too, with TIMED_OUT */
  instant now;                     /* of the call of read() or undo() */
  bool may_be_done;                /* of the call of undone(): there was no reply to a copy of a
                                      request, which may have been executed */
  instant in_doubt_from;           /* of a row with `repeats_for`, in and out: the first sending
                                      whose reply was lost, also in an earlier call; 0: none */
  int64_t late_until_us;           /* the same: the latest limit of those, in the server's time */
  /* Of a row without `every`: */
  bool is_once;                    /* sent again only if the server refused it; if its connection
                                      ends, UNKNOWN when no copy can be executed any more */
  bool is_brief;                   /* ends as soon as `server` cannot be asked; in a Cluster it
                                      waits while that one refuses: no other one has its slots */
  bool is_pinned; size_t server;   /* asks this one of engine_route_count() */
};

static inline sync_next sync_over(dibs_status status, const char *message)
{
  return (sync_next){ .what = SYNC_OVER, .status = status, .message = message };
}

static inline sync_next sync_repeat(void)
{
  return (sync_next){ .what = SYNC_REPEAT, .message = "", .at = INSTANT_NEVER };
}

static inline sync_next sync_repeat_at(instant at)
{
  return (sync_next){ .what = SYNC_REPEAT, .message = "", .at = at };
}

static inline sync_next sync_step(void)
{
  return (sync_next){ .what = SYNC_STEP, .message = "", .at = { 0 } };
}

/* All rows; NULL at the end. */
extern const sync_row *const sync_rows[];

#endif
