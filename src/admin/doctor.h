/* SPDX-License-Identifier: MIT */
/* admin - what operators use: the examination of servers here, the rights of a user in acl.c
 * (dibs/acl.h). Nothing below includes it.
 *
 * The examination of one server: its facts, and the checks, which are small functions in tables,
 * one table for each theme.
 *
 * A check sends requests and reports findings. It never fails: a fact that the server does
 * not let this user read is a finding. */
#ifndef ADMIN_DOCTOR_H
#define ADMIN_DOCTOR_H

#include "api/api.h"
#include "api/options.h"

#include <dibs/doctor.h>

#define ADVICE_RIGHTS "give this user the rights that dibs acl prints"
#define ADVICE_MODE "give this user the rights of dibs acl --mode doctor"

/* `INFO`, or the reply of another command in lines of `field:value`. */
typedef struct facts {
  resp_reply *reply;             /* NULL: not available */
  const char *bytes;
  size_t size;
  dibs_status status;            /* why not */
} facts;

typedef struct examination {
  client_record *client;
  dibs_finding_callback callback;
  void *data;
  bool is_stopped;               /* the callback ended the examination */
  deployment_kind deployment;
  /* Of the server under examination: */
  size_t route;
  char node[320];
  facts info;
  int64_t version[3];            /* 0 0 0: not known */
  bool is_valkey, is_cluster;
  bool is_there;                 /* it has answered: no connection to wait for */
  bool is_silent;                /* and then it stopped answering: it is asked no more */
  const dibs_server_numbers *numbers;   /* of the finding that is added; or NULL */
  bool is_down;                  /* of a Cluster that serves no key now: a finding says so */
  char tag[16];                  /* the tag of a name that this server stores */
  char run_ids[QUORUM_SERVERS_MAX][48]; /* of the servers of a quorum until now; "": not known */
  int64_t lag_s;                 /* min-replicas-max-lag where it applies; 0: not, or not known */
  /* Of the primary of a replicated set: its address, run_id, master_replid; "": not known. */
  char primary[320], primary_id[48], set_id[48];
} examination;

typedef struct doctor_check {
  const char *name;              /* shown in findings */
  void (*look)(examination *x, const char *name);
} doctor_check;

/* One table for each theme; each ends with a check without a name. */
extern const doctor_check doctor_server_checks[], doctor_memory_checks[],
  doctor_replica_checks[], doctor_clock_checks[], doctor_rights_checks[],
  doctor_setting_checks[], doctor_cluster_checks[], doctor_activity_checks[];

/* ---- doctor_ask.c ---- */

/* `advice` is "" for PASS. `format` is printf's. */
void doctor_add(examination *x, const char *check, dibs_finding_grade grade,
                   const char *advice, const char *format, ...)
  __attribute__((format(printf, 5, 6)));
/* PASS if it `is_fine`, else WARN with the `result` of that: `setting=number`. */
void doctor_add_number(examination *x, const char *check, const char *setting, int64_t number,
                       bool is_fine, const char *advice, const char *result);
/* A server that refuses this user or a write has replied too. */
bool doctor_has_replied(dibs_status status);
/* Sends one command; the arguments end with NULL. OK: the reply, to be freed; otherwise
 * NULL. */
resp_reply *doctor_ask(examination *x, dibs_status *ret_status, ...)
  __attribute__((sentinel));
/* Any request, as question_ask(). */
resp_reply *doctor_ask_request(examination *x, dibs_status *ret_status,
                               const request *command);
/* One command to a server without a route; OK: the reply, to be freed; otherwise NULL. TLS is
 * DIBS_ERR_UNSUPPORTED. */
resp_reply *doctor_ask_once(const examination *x, const server_url *url,
                            const resp_argument *words, size_t count, dibs_status *ret_status);
bool doctor_is_unix(const examination *x);
/* Its role can change: it has replicas, sentinels or shards. */
bool doctor_has_failover(const examination *x);

/* ---- doctor_sentinel.c: after the servers ---- */
void doctor_sentinels_examine(examination *x);

/* ---- doctor_set.c: after the primary ---- */
void doctor_set_examine(examination *x);
/* x->node is the primary that the other addresses are compared with; `f`: its INFO. */
void doctor_set_primary(examination *x, const facts *f);

/* ---- doctor_facts.c ---- */

facts facts_ask(examination *x, const char *command, const char *about);   /* about: or NULL */
facts facts_take(resp_reply *reply, dibs_status status);      /* the reply to such a command */
void facts_deinit(facts *f);
/* The value of `field`, not terminated; false: no such field. */
bool facts_find(const facts *f, const char *field, const char **ret_value, size_t *ret_size);
bool facts_are(const facts *f, const char *field, const char *value);
int64_t facts_number(const facts *f, const char *field, int64_t otherwise);
/* Copies the value, truncated to `size`; "" without the field. */
void facts_copy(const facts *f, const char *field, char *ret_value, size_t size);
/* The same for `name=value` in a value of such parts, separated by commas. */
void part_copy(const char *words, size_t words_size, const char *name, char *ret_value,
               size_t size);
/* "host:port", or "[host]:port" of IPv6. */
void doctor_address(const char *host, const char *port, char *ret_shown, size_t size);
int64_t part_number(const char *words, size_t size, const char *name);      /* or -1 */
/* One setting by CONFIG GET. DIBS_OK; DIBS_ERR_DENIED and similar; DIBS_ERR_UNSUPPORTED:
 * the server has no such setting. */
dibs_status setting_read(examination *x, const char *name, char *ret_value, size_t size);
/* The same for a number; faults also when it is no number. */
dibs_status setting_number(examination *x, const char *name, int64_t *ret_number);
/* Whether the version is at least this; true when it is not known. */
bool doctor_is_since(const examination *x, int major, int minor);

#endif
