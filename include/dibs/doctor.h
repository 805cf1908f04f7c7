/* SPDX-License-Identifier: MIT */
/* dibs/doctor.h - checks whether the servers are configured for locks. */
#ifndef DIBS_DOCTOR_H
#define DIBS_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dibs/client.h>
#include <dibs/status.h>
#include <dibs/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum dibs_finding_grade {
  DIBS_FINDING_PASS = 1,
  DIBS_FINDING_UNKNOWN = 2, /* this user lacks the rights; the text names the command */
  DIBS_FINDING_WARN = 3,    /* works with weaker guarantees */
  DIBS_FINDING_FAIL = 4     /* locks do not work here, or may have two holders */
} dibs_finding_grade;

/* What a server counts itself, of all its users; since its start where it is no present value.
 * -1: not known. Since 0.5 */
typedef struct dibs_server_numbers {
  int64_t memory_bytes;       /* used now */
  int64_t memory_max_bytes;   /* maxmemory; 0: no limit */
  int64_t expired_keys;
  int64_t evicted_keys;       /* removed because memory was full: locks may be among them */
  int64_t script_calls;       /* EVALSHA, EVAL and FCALL */
  int64_t script_us;          /* that they took, microseconds */
  int64_t replicas;           /* connected now */
  int64_t replica_lag_bytes;  /* not yet confirmed by the slowest of them; 0 without replicas */
} dibs_server_numbers;

typedef struct dibs_finding {
  size_t size;
  dibs_finding_grade grade;
  const char *check;  /* one word: "eviction", "clock"; never changes its meaning */
  const char *node;   /* the server's address */
  const char *text;   /* the result, with the values */
  const char *advice; /* what to do; "" for PASS */
  const dibs_server_numbers *numbers;  /* of the check "activity", else NULL. Since 0.5 */
} dibs_finding;

/* `finding` is borrowed until it returns. Return false to stop. Runs inside dibs_doctor() only:
 * `data` is not used after it. */
typedef bool (*dibs_finding_callback)(const dibs_finding *finding, void *data);

/* Examines every server that takes locks: connection, version, eviction, persistence,
 * replication, clock (offset and rate of this machine against it), permissions of this user
 * for scripts and channels, latency; in Cluster also slots and node timeout, with Sentinel
 * the sentinels. Of a replicated set each further address of the URL is asked by INFO whether it
 * answers, follows the primary, or is a second one (not with TLS: DIBS_FINDING_UNKNOWN). Writes
 * only one key under `<prefix>:doctor`, which it deletes.
 *
 * Returns  DIBS_OK (whatever was found), DIBS_ERR_ARGUMENT (no callback); if no server could be
 *          reached at all, the server's faults.
 * Thread   any; blocks; not from a callback. A server that stops answering is asked no more after
 *          twice command_timeout_ms, and is a finding.
 * Source   doc/reliability.md; doc/guide/which-deployment.md.
 * Since    0.4 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_examine(
  dibs_client *client, dibs_finding_callback callback, void *data);

#ifdef __cplusplus
}
#endif

#endif
