/* SPDX-License-Identifier: MIT */
/* api/doctor.h - the examination of one server: what was read of it, and the checks, which
 * are small functions in tables, one table a theme.
 *
 * A check asks plain questions and tells findings. It never fails: what a server does not
 * let this user see is a finding of its own. */
#ifndef API_DOCTOR_H
#define API_DOCTOR_H

#include "api/api.h"

#include <dibs/doctor.h>

/* `INFO`, or the answer of another command in lines of `field:value`. */
typedef struct facts {
  resp_reply *reply;             /* NULL: not to be had */
  const char *bytes;
  size_t size;
  dibs_status status;            /* why not */
} facts;

typedef struct examination {
  dibs_client *client;
  dibs_finding_callback callback;
  void *data;
  bool is_stopped;               /* the callback has heard enough */
  deployment_kind deployment;
  /* Of the server under examination: */
  size_t route;
  char node[320];
  facts info;
  int64_t version[3];            /* 0 0 0: not known */
  bool is_valkey, is_cluster;
  bool is_there;                 /* it has answered: no connection has to be waited for */
  char tag[16];                  /* a name that lives on it */
  int64_t lag_s;                 /* min-replicas-max-lag where it binds; 0: not, or not known */
} examination;

typedef struct doctor_check {
  const char *name;              /* the word that people see */
  void (*look)(examination *x, const char *name);
} doctor_check;

/* One for each theme; each ends with a check without a name. */
extern const doctor_check doctor_server_checks[], doctor_memory_checks[],
  doctor_replica_checks[], doctor_clock_checks[], doctor_rights_checks[],
  doctor_setting_checks[], doctor_cluster_checks[];

/* ---- doctor.c ---- */

/* `advice` "" for PASS. The words of `format` are printf's. */
void doctor_tell(examination *x, const char *check, dibs_finding_grade grade,
                 const char *advice, const char *format, ...)
  __attribute__((format(printf, 5, 6)));
/* One command, its words up to a NULL. OK: the answer, to be freed; NULL otherwise. */
resp_reply *doctor_ask(examination *x, dibs_status *ret_status, ...)
  __attribute__((sentinel));
/* An encoded command, as question_ask(). */
resp_reply *doctor_ask_encoded(examination *x, dibs_status *ret_status, const buffer *command,
                               const buffer *with_text);
bool doctor_is_unix(const examination *x);
/* Its roles change: a set of replicas, with sentinels or without, or shards. */
bool doctor_has_failover(const examination *x);

/* ---- doctor_sentinel.c: after the servers ---- */
void doctor_sentinels_examine(examination *x);

/* ---- doctor_facts.c ---- */

facts facts_ask(examination *x, const char *command, const char *about);   /* about: or NULL */
void facts_deinit(facts *f);
/* The value of `field`, not terminated; false: it is not there. */
bool facts_find(const facts *f, const char *field, const char **ret_value, size_t *ret_size);
bool facts_are(const facts *f, const char *field, const char *value);
int64_t facts_number(const facts *f, const char *field, int64_t otherwise);
/* Copies the value, cut where it is longer; "" when it is not there. */
void facts_copy(const facts *f, const char *field, char *ret_value, size_t size);
/* One setting by CONFIG GET. DIBS_OK; DIBS_ERR_DENIED and the like; DIBS_ERR_UNSUPPORTED: this
 * server has none of that name. */
dibs_status setting_read(examination *x, const char *name, char *ret_value, size_t size);
/* The same for a number; `otherwise` also where it cannot be read. */
dibs_status setting_number(examination *x, const char *name, int64_t *ret_number);
/* Whether the version is at least this; also when none is known. */
bool doctor_is_since(const examination *x, int major, int minor);

#endif
