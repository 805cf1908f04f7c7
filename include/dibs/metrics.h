/* SPDX-License-Identifier: MIT */
/* dibs/metrics.h - what one client counted since dibs_open(): as numbers, or as text for a page
 * that Prometheus reads. Nothing here asks a server or serves HTTP: a program adds the text to its
 * own page. The totals of all clients, and `dibs metrics`, which serves them: fleet.h.
 *
 * Numbers are by class of names, as in fleet.h, never by name, so that there are few. They are
 * counted in every deployment and dialect, also with DIBS_REPORT_OFF. */
#ifndef DIBS_METRICS_H
#define DIBS_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include <dibs/fleet.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a request that waited got its lease, or took one without a request to the server. Values
 * never change; expect unknown ones. */
typedef enum dibs_handover {
  DIBS_HANDOVER_MESSAGE = 0,     /* at once: by a message of the server, or an ask after one */
  DIBS_HANDOVER_POLL = 1,        /* later: no message came, and an ask repeated by time had it */
  DIBS_HANDOVER_LOCAL = 2,       /* from another owner of this client */
  DIBS_HANDOVER_LINGER = 3       /* a lingering lease of this client, taken again */
} dibs_handover;
#define DIBS_HANDOVERS 4

/* The numbers of one client at one moment. */
typedef struct dibs_metrics {
  size_t size;
  size_t count;
  const dibs_fleet_row *const *rows;   /* by class, then by kind; their since_us is 0: they begin
                                    with the client, and dibs_fleet_change() compares two of them */
  uint64_t renewed;              /* leases; in a quorum by a majority */
  uint64_t renew_failed;         /* refused, or not answered in time: it tries again while there is
                                    time */
  int32_t lease_slack_ppm;       /* the least share of a lease that was left when its renewal
                                    succeeded, in the last one to two minutes, in millionths; -1:
                                    none was renewed. About 666666 while all is well; near zero
                                    leases are about to be lost */
  uint64_t handovers[DIBS_HANDOVERS];   /* 0 in a quorum: it asks its servers again */
  dibs_fleet_times round_trips;  /* from a command to its reply */
  uint64_t commands;             /* sent to servers */
  uint64_t reconnects;           /* connections made again after they had worked */
} dibs_metrics;

/* Reads the numbers of this client.
 *
 * `ret_metrics`  written on DIBS_OK only, also without any row; dibs_metrics_free(), also after
 *                dibs_close().
 * Returns        DIBS_OK, DIBS_ERR_ARGUMENT, DIBS_ERR_NO_MEMORY, DIBS_ERR_CLOSED, DIBS_ERR_FORKED.
 * Thread         any; never waits for a server; allowed in callbacks.
 * Source         doc/guide/what-is-going-on.md. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_metrics_read(dibs_client *client,
                                                       dibs_metrics **ret_metrics);

/* Frees what dibs_metrics_read() returned. Returns NULL; NULL allowed. Thread: any. Since 0.5 */
DIBS_API dibs_metrics *dibs_metrics_free(dibs_metrics *metrics);

/* Receives lines of the text, without a zero at the end; returns false to stop. It runs in the
 * caller's thread, and may call functions that do not block. */
typedef bool (*dibs_metrics_writer)(const char *text, size_t size, void *data);

/* `flags` of dibs_metrics_write(). 0: OpenMetrics 1.0, to be served as
 * application/openmetrics-text; version=1.0.0; charset=utf-8. */
#define DIBS_METRICS_PROMETHEUS 0x1u /* Prometheus' older text format, text/plain; version=0.0.4 */
#define DIBS_METRICS_NO_END 0x2u     /* without the last line of OpenMetrics, `# EOF`: more
                                        follows on the page */

/* Writes the numbers of this client as text, in whole lines. Two clients have the same metrics,
 * which may not be twice on one page: each needs a page, or add up what dibs_metrics_read() gives.
 *
 * `flags`   DIBS_METRICS_* bits; unknown bits are refused.
 * `writer`  called in this thread, before the function returns, without a lock of the library.
 * Returns   DIBS_OK, also if the writer stopped it, DIBS_ERR_ARGUMENT, DIBS_ERR_NO_MEMORY,
 *           DIBS_ERR_CLOSED, DIBS_ERR_FORKED; after a fault nothing was written.
 * Thread    any; never waits for a server; allowed in callbacks.
 * Source    doc/guide/what-is-going-on.md. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_metrics_write(dibs_client *client, uint32_t flags,
                                                        dibs_metrics_writer writer, void *data);

#ifdef __cplusplus
}
#endif

#endif
