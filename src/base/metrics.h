/* SPDX-License-Identifier: MIT */
/* base/metrics.h - all metrics: name, type, unit ("" none), labels, meaning. The library writes
 * those of classes and of the client, `dibs metrics` those of classes and of the fleet. */
#ifndef BASE_METRICS_H
#define BASE_METRICS_H

/* By class of names: of one client, or of all that report. */
#define METRICS_OF_CLASSES(ROW) \
  ROW(dibs_holds, "gauge", "", "class, kind", "Holds now") \
  ROW(dibs_waiting, "gauge", "", "class, kind", "Requests that wait now") \
  ROW(dibs_acquire_wait_seconds, "histogram", "seconds", "class, kind, outcome", \
      "From the call to its end") \
  ROW(dibs_hold_seconds, "histogram", "seconds", "class, kind, end", \
      "From the grant to the end of the hold") \
  ROW(dibs_lost_total, "counter", "", "class, kind, cause", \
      "Holds that ended before their release")

/* Of one client: dibs_metrics_write(). */
#define METRICS_OF_CLIENT(ROW) \
  ROW(dibs_build_info, "info", "", "version", "Always 1; the library that counts") \
  ROW(dibs_renewals_total, "counter", "", "result", "Renewals of leases") \
  ROW(dibs_lease_slack_ratio, "gauge", "ratio", "", \
      "The least share of a lease that was left at a renewal in the last minute") \
  ROW(dibs_handovers_total, "counter", "", "path", \
      "Leases that went to a waiting request, or were kept for the next one") \
  ROW(dibs_round_trip_seconds, "histogram", "seconds", "", "From a command to its reply") \
  ROW(dibs_commands_total, "counter", "", "", "Commands that were sent to servers") \
  ROW(dibs_reconnects_total, "counter", "", "", \
      "Connections that were made again after they had worked")

/* Of the servers and their live names: dibs metrics. */
#define METRICS_OF_FLEET(ROW) \
  ROW(dibs_up, "gauge", "", "", "1 if the servers answered") \
  ROW(dibs_server_round_trip_seconds, "gauge", "seconds", "", \
      "Time of one question to the server") \
  ROW(dibs_sample_duration_seconds, "gauge", "seconds", "", \
      "Time that reading the servers took") \
  ROW(dibs_names, "gauge", "", "", "Names of locks under the prefix, free ones included") \
  ROW(dibs_names_held, "gauge", "", "", "Names that are held") \
  ROW(dibs_names_waiters, "gauge", "", "", "Clients that wait, over all names") \
  ROW(dibs_names_oldest_wait_seconds, "gauge", "seconds", "", \
      "The longest present wait of all names") \
  ROW(dibs_names_not_inspected, "gauge", "", "", "Names that were not inspected yet") \
  ROW(dibs_names_not_shown, "gauge", "", "", \
      "Held or awaited names without series of their own") \
  ROW(dibs_lock_waiters, "gauge", "", "name", "Clients that wait for the name") \
  ROW(dibs_lock_oldest_wait_seconds, "gauge", "seconds", "name", \
      "The longest present wait for the name") \
  ROW(dibs_lock_held_seconds, "gauge", "seconds", "name", \
      "Since when the oldest holder has the name") \
  ROW(dibs_lock_lease_left_seconds, "gauge", "seconds", "name", \
      "What is left of the shortest lease") \
  ROW(dibs_clients, "gauge", "", "", "Registered clients that report") \
  ROW(dibs_server_memory_bytes, "gauge", "bytes", "node", "Memory that the server uses") \
  ROW(dibs_server_memory_max_bytes, "gauge", "bytes", "node", "Its maxmemory; 0: no limit") \
  ROW(dibs_server_expired_keys_total, "counter", "", "node", \
      "Keys that ended by their ttl, of all users of the server") \
  ROW(dibs_server_evicted_keys_total, "counter", "", "node", \
      "Keys that the server removed because its memory was full; locks may be among them") \
  ROW(dibs_server_scripts_total, "counter", "", "node", \
      "Scripts and functions that the server executed, of all its users") \
  ROW(dibs_server_script_seconds_total, "counter", "seconds", "node", "Time that they took") \
  ROW(dibs_server_replicas, "gauge", "", "node", "Connected replicas") \
  ROW(dibs_server_replica_lag_bytes, "gauge", "bytes", "node", \
      "What the slowest replica has not confirmed") \
  ROW(dibs_doctor_grade, "gauge", "", "check, node", \
      "Findings of dibs doctor: 1 pass, 2 unknown, 3 warn, 4 fail")

/* What the labels say. */
#define METRICS_LABELS(ROW) \
  ROW(class, "The first pattern of `classes` that the name fits, else its part before the first " \
      "`:`, with numbers, UUIDs and hashes as `*`; after 64 classes of a client `other`") \
  ROW(kind, "`lock`, `rw` (read/write), `semaphore`") \
  ROW(outcome, "How a request ended: `ok` (granted), `busy`, `timeout`, `cancelled`, `unknown`, " \
      "`error`") \
  ROW(end, "How a hold ended: `released` (also by its token), `lost` (no renewal in time, " \
      "a fixed lease was over, or it was broken), `taken` (another client has it)") \
  ROW(cause, "The same without `released`") \
  ROW(result, "`ok`; `failed`: refused or not answered in time, tried again while there is time") \
  ROW(path, "`message` of the server, at once; `poll`: found later by asking again; `local`: " \
      "from another owner of the same client; `linger`: a lingering lease taken again") \
  ROW(version, "Of the library") \
  ROW(name, "Of the lock; unprintable bytes as `\\xHH`") \
  ROW(check, "Of `dibs doctor`") \
  ROW(node, "The server that it examined")

#endif
