/* SPDX-License-Identifier: MIT */
/* dibs/status.h - results of calls: success, an outcome to handle, or a fault.
 *
 * 0 is success. Positive values are outcomes: each caller decides what they mean for
 * it. Negative values are faults: pass them up. Values never change between releases. */
#ifndef DIBS_STATUS_H
#define DIBS_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dibs/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a call returns: DIBS_OK, an outcome, or a fault (DIBS_ERR_...). */
typedef enum dibs_status {
  DIBS_OK = 0,

  /* Outcomes. */
  /* Only if the server answered that another owner has it: another client, or another thread or
   * session of this one. A waiter is not a holder; but where several may hold a name at
   * once (read/write locks, permits), a call is also refused while one waits that asked before
   * it. A semaphore with 0 permits, a pause, refuses all. A server that cannot
   * decide is UNREACHABLE, REFUSED or READ_ONLY; doc/guide/time-limits.md. */
  DIBS_BUSY = 1,           /* another owner has it, and this call does not wait. After a
                              restart or failover with quarantine_ms: another client may have it */
  DIBS_TIMED_OUT = 2,      /* wait_ms is over, and another owner still has it, or may */
  DIBS_CANCELLED = 3,      /* the caller's own cancel */
  /* The hold or lease had ended before the call. Programs may decide by the difference. EXPIRED
   * is for tokens and dibs_break(): dibs_release() does not return it. */
  DIBS_LOST = 4,           /* another client may have had the name since; or its server has
                              no memory of the lease (FLUSHALL, a restart without data, an
                              hour unused), or the format of the dialect has none */
  DIBS_EXPIRED = 5,        /* no other client had the name between the end of the hold and
                              this answer: this lease is the last that the server granted.
                              As reliable as the server's memory: after a failover that lost
                              grants it may be wrong, unless the era guard is on
                              (quarantine=; then LOST is answered) */
  DIBS_TAKEN = 6,          /* another lease holds the name now */
  DIBS_WOULD_DEADLOCK = 7, /* the caller would wait for itself, directly or in a cycle;
                              dibs_client_error() names it */
  DIBS_UNKNOWN = 8,        /* sent, and no reply came: it may or may not have been executed,
                              but no change is made after the call; or, if
                              dibs_request_cancel() or dibs_close() ended it, after its
                              limit. Nothing is owned; a lease may exist on the server for
                              at most one ttl */
  DIBS_BROKEN = 9,         /* barrier: a party gave up or died; dibs_barrier_reset() */
  DIBS_FENCED = 10,        /* guarded write: a newer fence was seen; not written, or (if a reply
                              was lost and the library repeated it) before that fence */

  /* Faults. */
  DIBS_ERR_ARGUMENT = -1,       /* a value out of range; nothing was done */
  DIBS_ERR_NO_MEMORY = -2,      /* nothing was done */
  DIBS_ERR_UNREACHABLE = -3,    /* no server answers, of a quorum no majority, or it cannot
                                   decide for now: LOADING, BUSY, MASTERDOWN, CLUSTERDOWN. Or the
                                   time of the call was over before that was known: the text has
                                   "within 50 ms, which may be too short" */
  DIBS_ERR_AUTH = -4,           /* wrong credentials */
  DIBS_ERR_DENIED = -5,         /* an ACL forbids a command, key or channel */
  DIBS_ERR_REFUSED = -6,        /* the server cannot write now: MISCONF, OOM, NOREPLICAS;
                                   nothing was written */
  DIBS_ERR_READ_ONLY = -7,      /* the server is a replica */
  DIBS_ERR_WRONG_TYPE = -8,     /* the key holds something that is not this kind of lock */
  DIBS_ERR_PROTOCOL = -9,       /* the peer does not use RESP, or a reply is too large */
  DIBS_ERR_TLS = -10,           /* certificate, host name or handshake */
  DIBS_ERR_CONFIG = -11,        /* a URL, file or environment variable is wrong */
  DIBS_ERR_NO_SERVER = -12,     /* no server program for the private server */
  DIBS_ERR_FORKED = -13,        /* this handle belongs to the parent process */
  DIBS_ERR_CLOSED = -14,        /* the client is being closed */
  DIBS_ERR_STALE = -15,         /* the handle was released or never existed */
  DIBS_ERR_WOULD_BLOCK = -16,   /* a blocking call inside a callback; a call in a signal
                                   handler that interrupted another one */
  DIBS_ERR_UNSUPPORTED = -17,   /* the server or dialect cannot do this: also a command that the
                                   server has not, or that was renamed */
  DIBS_ERR_SYSTEM = -18,        /* the operating system refused: descriptors, threads */
  DIBS_ERR_SERVER = -19,        /* any other error answer of the server */
  DIBS_ERR_NOT_SET = -20,       /* nothing was set yet for this semaphore, latch or limiter */
  DIBS_ERR_NOT_REPLICATED = -21, /* too few replicas acknowledged the grant in time; it was
                                   given back. Since 0.4 */
  DIBS_ERR_LIMIT = -22          /* the client has names_max names in memory (dibs_options);
                                   nothing was asked. Since 0.5 */
} dibs_status;

/* An error as text. Filled by calls that take a `dibs_error *`: start from DIBS_ERROR_INIT; a
 * `size` that is smaller is DIBS_ERR_ARGUMENT. NULL is allowed there. `text` names the value or
 * the server's error and says what to do next; it never contains a password. */
typedef struct dibs_error {
  size_t size;           /* set by DIBS_ERROR_INIT, and by the library for callbacks. Since 0.6 */
  dibs_status status;
  uint32_t reserved;     /* 0 */
  char node[128];        /* the server's address, or "" */
  char text[512];
} dibs_error;

#define DIBS_ERROR_INIT { sizeof(dibs_error), DIBS_OK, 0, "", "" }

/* Returns the name of `status`, "DIBS_BUSY"; "DIBS_?" for a value unknown to this
 * library. A constant string. Thread: any. Since 0.1 */
DIBS_API const char *dibs_status_name(dibs_status status);

/* Returns one short English sentence for `status`. A constant string.
 * Thread: any. Since 0.1 */
DIBS_API const char *dibs_status_text(dibs_status status);

/* Returns whether the same call may succeed later without changing anything: BUSY, TIMED_OUT,
 * UNKNOWN, UNREACHABLE, REFUSED, READ_ONLY, NOT_REPLICATED. Thread: any. Since 0.1 */
DIBS_API bool dibs_status_is_retriable(dibs_status status);

/* Returns whether the hold or lease had ended before the call that returned `status`: LOST,
 * EXPIRED, TAKEN. Thread: any. Since 0.6 */
DIBS_API bool dibs_status_is_lost(dibs_status status);

#ifdef __cplusplus
}
#endif

#endif
