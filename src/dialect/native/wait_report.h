/* SPDX-License-Identifier: MIT */
/* dialect/native/wait_report.h - the wait report of a client: its owners that wait for a name
 * while they hold others, and which; protocol.md 14.
 *
 * One text, in one field of the client registration, so that it is of one moment:
 *
 *   owners  ::= "1 " { "e " nonce " " } { entry }
 *   entry   ::= "w " owner " " id " " since " " set " " ask " " size ":" name " "
 *             | "h " owner " " id " " set " " ask " " token " " size ":" name " "
 */
#ifndef DIALECT_NATIVE_WAIT_REPORT_H
#define DIALECT_NATIVE_WAIT_REPORT_H

#include "dialect/native.h"

#define OWNER_ID_SIZE 17         /* 16 hex digits and a zero */
#define WAIT_REPORT_FIELD "owners"
#define WAIT_REPORT_BYTES_MAX 16384  /* of the text; the rest is not reported */

/* Of the owner key, within this client. */
uint64_t owner_hash(const char *client, const void *owner, size_t owner_size);
void owner_id_write(uint64_t hash, text *out);

typedef struct owner_entry {
  char kind;                     /* 'w' waits, 'h' holds */
  char owner[OWNER_ID_SIZE];
  uint64_t id;                   /* of the wait or hold: never used again by this client */
  uint64_t since_us;             /* w: when it began, by the server's clock, estimated */
  uint32_t set;                  /* as in lease_id */
  uint64_t ask, token;           /* h: token 0, any: kept by a multi-lock that still waits */
  const void *name; size_t name_size;   /* borrowed from the text when read */
} owner_entry;

void wait_report_begin(text *out);
void wait_report_add_nonce(text *out, const char *nonce);
/* false: no room, nothing was written. */
bool wait_report_add(text *out, const owner_entry *e);

/* Reading; stops at the first malformed item. */
typedef struct wait_report_reader { const char *at; size_t size; } wait_report_reader;

wait_report_reader wait_report_read(const void *bytes, size_t size);
bool wait_report_next(wait_report_reader *r, owner_entry *ret);
bool wait_report_has_nonce(const void *bytes, size_t size, const char *nonce);

/* The message `tell <nonce>` to an inbox: the client stores its wait report again, with
 * the nonce. That report is newer than the nonce. */
void wait_report_request_write(const char *nonce, text *out);
bool wait_report_request_read(const char *bytes, size_t size, char ret_nonce[OWNER_ID_SIZE]);

#endif
