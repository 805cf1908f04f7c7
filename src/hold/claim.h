/* SPDX-License-Identifier: MIT */
/* hold/claim.h - the records of claims, for hold/ and its backends only.
 *
 *   hold_front ── claims, by id and in the order of their events
 *   acquisition ─┬─ waiting  claims, first come first served
 *                ├─ holders  claims; of one owner, or readers that share a lease
 *                ├─ lost     claims whose owner has not released yet
 *                └─ parked   a claim that is kept for the next owner of a parked lease
 *
 * An acquisition (acquisition.h) is a part of the backend's record: of a lease, of a quorum
 * record, of a multi-lock. */
#ifndef HOLD_CLAIM_H
#define HOLD_CLAIM_H

#include <utlist.h>

#include "hold/acquisition.h"

typedef enum claim_state {
  CLAIM_WAITING = 1, CLAIM_HELD, CLAIM_LOST, CLAIM_RELEASING, CLAIM_OVER,
  CLAIM_PARKED      /* released, and kept with its parked lease: hold_retake() */
} claim_state;

/* What a claim met that failed: as in lock_event. */
typedef struct claim_refusal { watched_lease watched; instant free_at; } claim_refusal;

struct claim {
  uint64_t id;
  hold_front *front;
  hold_backend *backend;
  void *context;                 /* of its spec */
  acquisition *of;               /* NULL: of none yet, or it has ended */
  claim *prev, *next;            /* in the list of its acquisition */
  claim *previous_reporting, *next_reporting;      /* while it has events */
  unsigned events;               /* bits 1 << lock_event_kind: events to report */
  claim_state state;
  union {
    struct {
      claim_terms spec;
      timer timer;               /* waiting: limit; held: ends soon; releasing: answer unknown */
      instant asked_at;
      uint64_t fence, units;
    };
    claim_refusal refusal;       /* `is_refused` */
  };
  bool is_refused;               /* it has failed: BUSY */
  bool was_short;                /* FAILED: its time was too short to know about its server */
  bool was_broken, was_let_go;   /* as in lock_event */
  bool is_reported;              /* it is in the wait report */
  bool has_fsync;
  uint16_t owner_size;
  int depth;
  uint32_t acknowledged, replicas_wanted;
  dibs_status status;            /* why it failed, was lost, or how the release ended */
  char *words;                   /* a copy; NULL: none */
  char owner[];
};

/* How the claims of one backend get their leases. */
struct hold_ops {
  const char *name;
  bool (*takes)(const hold_backend *b, const lock_spec *spec);      /* NULL: all */
  /* Puts a new claim into an acquisition, or ends it at once. `spec` has the names. Not
   * DIBS_OK: it did neither. */
  dibs_status (*place)(hold_backend *b, claim *c, const lock_spec *spec, instant now);
  void (*fail)(claim *c, dibs_status status, const char *words, instant now);  /* WAITING */
  void (*release)(claim *c, instant now);                           /* HELD */
  void (*forget)(acquisition *a);        /* a lost claim has ended: nothing may refer to it */
  dibs_status (*detach)(claim *c, instant now);    /* HELD; NULL: not supported */
  void (*downgrade)(acquisition *a, instant now);  /* its last writer reads now */
  bool (*keep_alone)(claim *c);                    /* HELD; NULL: never */
  bool (*token)(const claim *c, text *out);        /* HELD; NULL: has none */
  void (*check)(claim *c);                         /* HELD: asks whether it is; NULL: never */
  /* HELD: `before`, and why its lease was not renewed; adds nothing if it was. */
  void (*add_why)(const claim *c, const char *before, text *out);
  dibs_status (*raise)(claim *c, uint64_t token, instant now);      /* HELD; NULL: never */
  void (*limit)(claim *c, instant limit, bool is_fixed);            /* HELD; of parts only */
  bool (*park)(claim *c, instant now, bool *ret_sends);             /* HELD; NULL: never */
  bool (*retake)(claim *c, const void *owner, size_t owner_size, instant now,
                 hold_retaken *ret);                                /* PARKED */
  void (*describe)(const claim *c, lock_event *event);    /* of a claim that has not ended */
  void (*tick)(hold_backend *b, instant now);             /* NULL: has no timers */
  instant (*deadline)(const hold_backend *b);
  void (*close)(hold_backend *b, instant now);
  bool (*is_quiet)(const hold_backend *b);
  bool (*next_name)(const hold_backend *b, lock_name_at *at, lock_name *ret_name);
};

struct hold_front {
  memory memory;
  hold_backend *backends[HOLD_BACKENDS_MAX];
  size_t backend_count;
  slots slots;                   /* claims by id, until their last event */
  claim *reporting;              /* utlist head: claims with events */
  char fault_words[256];
  char reported_words[512];      /* message of the last event: its claim may be gone */
};

/* ---- claim_terms.c ---- */
bool claim_terms_set(claim *c, const lock_spec *spec);    /* false: no memory; to be freed, too */
void claim_terms_free(claim *c);
claim_extras *claim_extras_reserve(claim *c);         /* NULL: no memory */

/* ---- claim.c ---- */
/* NULL: no memory. It is in no acquisition. */
claim *claim_make(hold_front *f, hold_backend *b, const lock_spec *spec, instant now);
claim *claim_unmake(claim *c);           /* of claim_make(), before it was placed */
claim *claim_of(const hold_front *f, uint64_t id);    /* NULL: it has ended */
void claim_count_waiting(const claim *c, int by);     /* it begins (1) or ends (-1) to wait */
bool claim_is_of(const claim *c, const void *owner, size_t owner_size);

/* Sets the message of its next event. A copy: several claims may fail before an event is
 * taken. */
void claim_say(claim *c, const char *words);
void claim_fail(claim *c, dibs_status status, const char *words);       /* WAITING */
/* The last event of a claim: it leaves its list, and its id becomes stale. */
void claim_end(claim *c, lock_event_kind kind, dibs_status status);

void claim_report(claim *c, lock_event_kind kind);
void claim_unreport(claim *c);           /* drops its events */

/* ---- acquisition.c, beside what acquisition.h declares ---- */
/* The first of its holds; NULL: none. */
claim *holder_of(const acquisition *a, const void *owner, size_t owner_size);
/* Whether a holder other than `except` (NULL: any) writes. */
bool holders_write(const acquisition *a, const claim *except);

void claim_wait(acquisition *a, claim *c);         /* the last of its waiters */

/* The lease that holders have. */
typedef struct held_terms {
  bool reads, is_suspect;
  bool is_fixed;                         /* not renewed */
  instant limit;                         /* no renewal goes beyond; INSTANT_NEVER: none */
} held_terms;

/* Whether the owner of `c` holds `a` already: then `c` holds it too, or has failed. A writer
 * that is a reader would wait for itself: only reading is granted. What `c` says of the end of
 * its lease must be true of the one that is there. */
bool claim_reenters(acquisition *a, claim *c, const held_terms *held);

/* Its timer, while it holds. */
void claim_ends_soon(claim *c);

void holder_park(acquisition *a);        /* its only holder */
/* The parked claim holds again; `owner` has as many bytes as the former one. */
void parked_holds(acquisition *a, const void *owner, uint64_t fence);

#endif
