/* SPDX-License-Identifier: MIT */
/* dialect/call_words.h - the arguments of a script call, each over bytes of the caller. */
#ifndef DIALECT_CALL_WORDS_H
#define DIALECT_CALL_WORDS_H

#include "dialect/native.h"

#define NUMBER_SIZE 24
/* `<prefix>{<words>`, protocol.md 15. */
#define PREFIX_WORD_SIZE (PREFIX_MAX_BYTES + NUMBER_SIZE + 4)
#define PLACE_SIZE (PREFIX_WORD_SIZE + NAME_MAX_BYTES + 2)

resp_argument word_of(const text *t);
resp_argument word_uint(char bytes[NUMBER_SIZE], uint64_t value);
/* Server times are never negative; a negative one counts as 0. */
resp_argument word_time(char bytes[NUMBER_SIZE], int64_t us);
resp_argument word_lease(char bytes[LEASE_TEXT_SIZE], const lease_id *lease);
resp_argument word_key(const protocol *n, char bytes[KEY_TEXT_SIZE], const void *name,
                       size_t size);
/* The last key of a script that grants: the era; returns the number of keys, 0 or 1. */
size_t add_era(const protocol *n, resp_argument *ret_key, char bytes[KEY_TEXT_SIZE],
               const void *name, size_t size);
/* `<prefix> <name>`: what a script needs to publish to an inbox. */
resp_argument word_place(const protocol *n, char bytes[PLACE_SIZE], const void *name,
                         size_t size);

void add_prefix(const protocol *n, text *t);
resp_argument word_prefix(const protocol *n, char bytes[PREFIX_WORD_SIZE]);
void add_place(const protocol *n, text *t, const void *name, size_t size);
/* The mark before a channel that a script publishes to: `{` if the channel is sharded. */
void add_channel_mark(const protocol *n, text *t);
void add_time(text *t, int64_t us);
/* How an ask waits: `w<nonce> `, `p `, or `t ` for a try. */
void add_mode(text *t, bool waits, bool polls, uint64_t nonce);
/* `<give up> <watched lease|-> <its renewals> <prefix> <name>` */
void add_watching(const protocol *n, text *t, int64_t give_up_us, const lease_id *watched,
                  uint64_t renewals, const void *name, size_t size);

/* How long a copy of a request may arrive, for scripts that take a span; 0: not at all. */
#define DIALECT_COPIES_MS 10000       /* when the time of the server is not known */
int64_t dialect_copies_ms(int64_t copies_us, int64_t estimate_us);

#endif
