/* SPDX-License-Identifier: MIT */
/* dibs/doctor.h - checks whether the servers are configured for locks. */
#ifndef DIBS_DOCTOR_H
#define DIBS_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

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

typedef struct dibs_finding {
  size_t size;
  dibs_finding_grade grade;
  const char *check;  /* one word: "eviction", "clock"; never changes its meaning */
  const char *node;   /* the server's address */
  const char *text;   /* the result, with the values */
  const char *advice; /* what to do; "" for PASS */
} dibs_finding;

/* `finding` is borrowed until it returns. Return false to stop. Runs inside dibs_doctor() only:
 * `data` is not used after it. */
typedef bool (*dibs_finding_callback)(const dibs_finding *finding, void *data);

/* Examines every server of the deployment: connection, version, eviction, persistence,
 * replication, clock (offset and rate of this machine against it), permissions of this user
 * for scripts and channels, latency; in Cluster also slots and node timeout, with Sentinel
 * the sentinels. Writes only one key under `<prefix>:doctor`, which it deletes.
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
