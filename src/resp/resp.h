/* SPDX-License-Identifier: MIT */
/* resp - RESP2 bytes to flat replies, and commands to bytes.
 *
 * Owns hiredis' redisReader and command formatter; nobody else includes hiredis.
 * May include base/. Limits (depth 8, elements, bytes) hold against a hostile peer:
 * what is beyond them is a protocol error, never a large allocation. */
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
  size_t end;            /* index just behind this node and all below it */
} resp_node;

/* A whole reply, root first, then its children depth first; one allocation family,
 * freed as one. */
typedef struct resp_reply resp_reply;

const resp_node *resp_root(const resp_reply *reply);
/* Child `i` of an array node; NULL when there is none or `parent` is no array. */
const resp_node *resp_child(const resp_reply *reply, const resp_node *parent, size_t i);
resp_reply *resp_reply_free(resp_reply *reply);            /* NULL allowed */

/* The value of `field` in the `size` bytes that INFO answered; borrowed from them. false, and
 * nothing is set, when no line is about it. */
bool resp_info_field(const char *bytes, size_t size, const char *field, const char **ret_value,
                     size_t *ret_size);

typedef struct resp_limits {
  size_t depth_max;      /* 8 */
  size_t elements_max;   /* in one reply: 16384 */
  size_t bytes_max;      /* of one unfinished reply: 2 MiB */
} resp_limits;

#define RESP_LIMITS_DEFAULT ((resp_limits){ 8, 16384, 2u << 20 })

typedef struct resp_reader resp_reader;

resp_reader *resp_reader_new(const memory *m, resp_limits limits);   /* NULL: memory */
resp_reader *resp_reader_free(resp_reader *r);
/* Takes bytes. DIBS_OK, DIBS_ERR_NO_MEMORY, DIBS_ERR_PROTOCOL; after a fault the reader
 * only answers that fault. */
dibs_status resp_reader_feed(resp_reader *r, const void *bytes, size_t size);
/* Next whole reply, or *ret_reply = NULL when more bytes are needed. */
dibs_status resp_reader_next(resp_reader *r, resp_reply **ret_reply);
/* What was wrong, for people: names the limit or the first bytes seen. */
const char *resp_reader_fault(const resp_reader *r);

typedef struct resp_argument { const void *bytes; size_t size; } resp_argument;

#define RESP_TEXT(literal) ((resp_argument){ (literal), sizeof(literal) - 1 })

/* Appends one command to `out`; false and unchanged when memory is refused. */
bool resp_command(buffer *out, const resp_argument *arguments, size_t count);
/* Reads the first words, at most `most`, of what resp_command() has written: for those who
 * have to know which key a command is about. Returns how many; borrowed from `command`. */
size_t resp_command_words(const buffer *command, resp_argument *ret_words, size_t most);

/* What an error reply means for the one who asked. */
typedef enum resp_fault {
  RESP_FAULT_NO_SCRIPT,    /* send the script's text */
  RESP_FAULT_NO_FUNCTION,  /* the library of functions is not loaded, or another version */
  RESP_FAULT_LATER,        /* LOADING BUSY TRYAGAIN MASTERDOWN: ask again soon */
  RESP_FAULT_MOVED,        /* MOVED: this slot is another node's */
  RESP_FAULT_ASK,          /* ASK: this key is on its way to another node */
  RESP_FAULT_NO_SLOT,      /* CLUSTERDOWN: nobody serves this slot now */
  RESP_FAULT_READ_ONLY,    /* READONLY: this is a replica */
  RESP_FAULT_REFUSED,      /* MISCONF OOM NOREPLICAS: not executed, cannot write now */
  RESP_FAULT_AUTH,         /* NOAUTH WRONGPASS, "invalid password" */
  RESP_FAULT_DENIED,       /* NOPERM */
  RESP_FAULT_WRONG_TYPE,   /* WRONGTYPE */
  RESP_FAULT_OTHER
} resp_fault;

/* Classifies the text of an error reply. Errors that a script raised or passed on
 * ("ERR ... script: ..., @user_script: ... WRONGTYPE ...") are seen through. */
resp_fault resp_fault_of(const char *bytes, size_t size);

/* The status a fault ends in when retrying does not help. */
dibs_status resp_fault_status(resp_fault fault);
/* What to do about it, where the server's own words do not say so; else NULL. */
const char *resp_fault_advice(resp_fault fault);

#endif
