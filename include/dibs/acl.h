/* SPDX-License-Identifier: MIT */
/* dibs/acl.h - the rights that a client needs on a server, and the scripts as a library of
 * functions for servers that forbid EVAL. Both are texts for an administrator; no request is
 * sent to a server. */
#ifndef DIBS_ACL_H
#define DIBS_ACL_H

#include <stddef.h>
#include <stdint.h>

#include <dibs/client.h>
#include <dibs/status.h>
#include <dibs/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bits of dibs_acl_options.uses: features that the URL does not name. */
#define DIBS_ACL_FUNCTIONS 0x1u  /* FCALL instead of EVAL; as functions=yes */
#define DIBS_ACL_POLL 0x2u       /* no publish/subscribe; as pubsub=no */
#define DIBS_ACL_ROLES 0x4u      /* replicated, Sentinel: ROLE of the data servers */
#define DIBS_ACL_CLUSTER 0x8u    /* slots, and channels that live on them */
#define DIBS_ACL_REPLICAS 0x10u  /* min_replicas: WAIT */
#define DIBS_ACL_FSYNC 0x20u     /* DIBS_LOCK_FSYNC: WAITAOF, which came with 7.2 */
#define DIBS_ACL_DOCTOR 0x40u    /* dibs_examine(): reads settings, and there may be passwords
                                    among them: for administrators */
#define DIBS_ACL_BEFORE_7 0x80u  /* leaves out what servers before 7.0 do not know */
#define DIBS_ACL_SENTINEL 0x100u /* the line for the sentinels instead */
#define DIBS_ACL_QUARANTINE 0x200u /* quarantine: INFO replication, in scripts */

typedef struct dibs_acl_options {
  size_t size;            /* set by DIBS_ACL_OPTIONS_INIT */
  uint32_t uses;          /* DIBS_ACL_* bits; unknown bits are refused */
  const char *user;       /* NULL: the URL's, else "worker" */
  const char *password;   /* shown as its SHA-256, which servers accept as well. NULL: the
                             placeholder >PASSWORD, to be replaced */
  const char *prefix;     /* NULL: the URL's, else "dibs" */
  const char *latches;    /* a glob of names of latches, which have no prefix; NULL: none */
  const char *guarded;    /* a glob of keys of guarded writes; NULL: none */
  const char *limiters;   /* a glob of names of rate limiters, which have no prefix; NULL:
                             none. Since 0.5 */
  const char *data;       /* a glob of names of maps, lists and sets; NULL: none. Since 0.5 */
  const char *locks;      /* a glob of names of locks and permits in another dialect, which
                             have no prefix there; NULL: none. Since 0.5 */
  dibs_dialect dialect;   /* of `locks`; DEFAULT: the URL's. Since 0.5 */
  const char *registry;   /* dialect spring; NULL: the URL's. Since 0.5 */
} dibs_acl_options;

#define DIBS_ACL_OPTIONS_INIT \
  { sizeof(dibs_acl_options), 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
    DIBS_DIALECT_DEFAULT, NULL }

/* Enough for every line. */
#define DIBS_ACL_LINE_SIZE 4096

/* Writes the `ACL SETUSER` line that gives a user what clients of `url` need, and no more:
 * one line, to be sent to each server of the deployment.
 *
 * `url`       as dibs_open(), for kind, options, prefix and user; NULL: one server.
 *             No file and no environment variable is read, and its password is not used.
 * `options`   NULL: all defaults.
 * `error`     may be NULL.
 * Returns DIBS_OK; DIBS_ERR_CONFIG (the URL); DIBS_ERR_ARGUMENT (a bit, an argument that a
 *         line cannot contain, or text_size); DIBS_ERR_NO_MEMORY; DIBS_ERR_SYSTEM (with a
 *         password: OpenSSL cannot be loaded, or has no SHA-256).
 * Thread  any; blocks only to load OpenSSL, for a password.
 * Source  doc/design/protocol.md 4, 12, 13, 15 to 21. Since 0.4 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_acl_line(
  const char *url, const dibs_acl_options *options, char *ret_text, size_t text_size,
  dibs_error *error);

/* Returns the scripts as one library, to be loaded by `FUNCTION LOAD` for clients with FCALL.
 * Its name contains this library's version, so that two versions may be loaded at the same
 * time. A constant text. Thread: any. Since 0.4 */
DIBS_API const char *dibs_function_library(void);

#ifdef __cplusplus
}
#endif

#endif
