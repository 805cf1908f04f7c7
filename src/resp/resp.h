/* SPDX-License-Identifier: MIT */
/* resp - converts RESP2 bytes to flat replies, and commands to bytes.
 *
 * It owns hiredis' redisReader and command formatter; no other module includes hiredis.
 * May include base/. Limits (depth 8, elements, bytes) protect from a malicious peer:
 * input beyond them is a protocol error, never a large allocation. */
#ifndef RESP_H
#define RESP_H

#include "base/base.h"

typedef enum resp_kind {
  RESP_STRING = 1, RESP_STATUS, RESP_ERROR, RESP_INTEGER, RESP_NIL, RESP_ARRAY
} resp_kind;

typedef struct resp_node {
  resp_kind kind;
  int64_t integer;       /* RESP_INTEGER; RESP_ARRAY: number of children */
  const char *bytes;     /* strings, statuses, errors: zero-terminated; size counts */
  size_t size;
  size_t end;            /* index after this node and its descendants */
} resp_node;

/* A complete reply: root first, then its children depth first; one block of memory. */
typedef struct resp_reply resp_reply;

const resp_node *resp_root(const resp_reply *reply);
/* Child `i` of an array node; NULL: none, or `parent` is no array. */
const resp_node *resp_child(const resp_reply *reply, const resp_node *parent, size_t i);
resp_reply *resp_reply_free(resp_reply *reply);            /* NULL allowed */

/* Finds the value of `field` in the `size` bytes of an INFO reply; borrowed from them.
 * false: no line has it, and nothing is set. */
bool resp_info_field(const char *bytes, size_t size, const char *field, const char **ret_value,
                     size_t *ret_size);
/* The reply of TIME, two strings: seconds and microseconds. False: another form. */
bool resp_time(const resp_reply *reply, int64_t *ret_us);

typedef struct resp_limits {
  size_t depth_max;      /* 8 */
  size_t elements_max;   /* in one reply: 16384 */
  size_t bytes_max;      /* of one unfinished reply: 2 MiB */
} resp_limits;

#define RESP_LIMITS_DEFAULT ((resp_limits){ 8, 16384, 2u << 20 })
/* For the map of a Cluster: 1 000 nodes; or each slot a range of its own, with three nodes. */
#define RESP_LIMITS_OF_MAPS ((resp_limits){ 8, 524288, 8u << 20 })

typedef struct resp_reader resp_reader;

resp_reader *resp_reader_new(const memory *m, resp_limits limits);   /* NULL: no memory */
resp_reader *resp_reader_free(resp_reader *r);
/* Takes input. DIBS_OK, DIBS_ERR_NO_MEMORY, DIBS_ERR_PROTOCOL; after a fault the reader
 * always returns it. */
dibs_status resp_reader_feed(resp_reader *r, const void *bytes, size_t size);
/* Returns the next complete reply; *ret_reply is NULL when more input is needed. */
dibs_status resp_reader_next(resp_reader *r, resp_reply **ret_reply);
/* The fault for people: names the limit, or the first bytes. */
const char *resp_reader_fault(const resp_reader *r);

typedef struct resp_argument { const void *bytes; size_t size; } resp_argument;

#define RESP_TEXT(literal) ((resp_argument){ (literal), sizeof(literal) - 1 })

/* Appends one command to `out`; false: no memory, `out` is unchanged. */
bool resp_command(buffer *out, const resp_argument *arguments, size_t count);

/* The arguments of AUTH, borrowed from the texts; returns how many, 0: no AUTH. Without a user (""
 * or NULL) the password only; a user without a password, as nopass allows, gets an empty one. */
size_t resp_auth_arguments(const char *user, const char *password, resp_argument ret_arguments[3]);

/* The meaning of an error reply for the caller. */
typedef enum resp_fault {
  RESP_FAULT_NO_SCRIPT,    /* send the script's text */
  RESP_FAULT_NO_COMMAND,   /* renamed, or unknown to this server */
  RESP_FAULT_NO_FUNCTION,  /* the function library is missing, or of another version */
  RESP_FAULT_LATER,        /* LOADING BUSY TRYAGAIN: ask again later */
  RESP_FAULT_NO_PRIMARY,   /* MASTERDOWN: a replica that cannot reach its primary; another server
                              may be the primary now */
  RESP_FAULT_MOVED,        /* MOVED: another node has this slot */
  RESP_FAULT_ASK,          /* ASK: this key is being moved to another node */
  RESP_FAULT_NO_SLOT,      /* CLUSTERDOWN: no node serves this slot now */
  RESP_FAULT_READ_ONLY,    /* READONLY: this is a replica */
  RESP_FAULT_NO_REPLICAS,  /* NOREPLICAS: not executed, too few replicas, as after a failover */
  RESP_FAULT_REFUSED,      /* MISCONF OOM: not executed; writes fail until an administrator
                              acts */
  RESP_FAULT_AUTH,         /* NOAUTH WRONGPASS, "invalid password" */
  RESP_FAULT_DENIED,       /* NOPERM */
  RESP_FAULT_WRONG_TYPE,   /* WRONGTYPE */
  RESP_FAULT_LATE,         /* LATE, of lua/shared/late.lua: not executed, after its limit */
  RESP_FAULT_OTHER
} resp_fault;

/* Classifies the text of an error reply. For errors inside a script ("ERR ... script: ...,
 * @user_script: ... WRONGTYPE ...") the inner error counts. */
resp_fault resp_fault_of(const char *bytes, size_t size);
/* Whether it comes from a command inside a script: earlier ones were executed. */
bool resp_fault_in_script(const char *bytes, size_t size);
/* Whether `phrase` is a part of its text, for what has no fault of its own. */
bool resp_error_has(const char *bytes, size_t size, const char *phrase);
/* The server's time, us, in the text of RESP_FAULT_LATE. */
bool resp_late_time(const char *bytes, size_t size, int64_t *ret_us);

/* The status of a call that reaches its limit with this fault; at once if the fault does
 * not pass. */
dibs_status resp_fault_status(resp_fault fault);
/* Whether the state ends without an administrator: a call that may wait asks again. */
bool resp_fault_passes(resp_fault fault);
/* Instead of the server's text of an error, one that says what to do; else NULL. */
const char *resp_fault_advice(const char *bytes, size_t size);
/* What to do, to follow the server's text: " (...)"; "" where that text says it. */
const char *resp_fault_remedy(const char *bytes, size_t size);
/* Adds the advice; or the text, with ? for what cannot be printed, and the remedy. */
void resp_fault_add(const char *bytes, size_t size, text *out);

#endif
