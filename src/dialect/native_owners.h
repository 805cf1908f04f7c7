/* SPDX-License-Identifier: MIT */
/* dialect/native_owners.h - what a client tells of its owners: who of them waits for a name
 * while he holds others, and which; protocol.md 14.
 *
 * One text, in one field of the client's hash, so that it is of one moment:
 *
 *   owners  ::= "1 " { "e " nonce " " } { entry }
 *   entry   ::= "w " owner " " id " " since " " set " " ask " " size ":" name " "
 *             | "h " owner " " id " " set " " ask " " token " " size ":" name " "
 */
#ifndef DIALECT_NATIVE_OWNERS_H
#define DIALECT_NATIVE_OWNERS_H

#include "dialect/native.h"

#define OWNER_ID_SIZE 17         /* 16 hex digits and a zero */
#define OWNERS_FIELD "owners"
#define OWNERS_MAX_BYTES 16384   /* of the text; what does not fit is not told */

/* Of the owner key, within this client. */
uint64_t owner_hash(const char *client, const void *owner, size_t owner_size);
void owner_id_write(uint64_t hash, text *out);

typedef struct owner_entry {
  char kind;                     /* 'w' waits, 'h' holds */
  char owner[OWNER_ID_SIZE];
  uint64_t id;                   /* of the wait or hold: never used again by this client */
  uint64_t since_us;             /* w: when it began, by the server's clock, about */
  uint32_t set;                  /* as in lease_id */
  uint64_t ask, token;           /* h: token 0, any: kept by a set that still waits */
  const void *name; size_t name_size;   /* borrowed from the text when read */
} owner_entry;

void owners_begin(text *out);
void owners_echo(text *out, const char *nonce);
/* false: no room, nothing was written. */
bool owners_add(text *out, const owner_entry *e);

/* Reading; broken texts end at the fault. */
typedef struct owners_reader { const char *at; size_t size; } owners_reader;

owners_reader owners_read(const void *bytes, size_t size);
bool owners_next(owners_reader *r, owner_entry *ret);
bool owners_have_echo(const void *bytes, size_t size, const char *nonce);

/* The message `tell <nonce>` to an inbox: the client tells its owners anew, and with them
 * the nonce. What it then says was so after the nonce was made. */
void owners_tell_write(const char *nonce, text *out);
bool owners_tell_read(const char *bytes, size_t size, char ret_nonce[OWNER_ID_SIZE]);

#endif
