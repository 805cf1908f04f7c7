/* SPDX-License-Identifier: MIT */
/* dialect/call_words.h - the arguments of a script call, each over bytes of its caller. */
#ifndef DIALECT_CALL_WORDS_H
#define DIALECT_CALL_WORDS_H

#include "dialect/native.h"

#define NUMBER_SIZE 24
/* `<prefix>{<words>`, protocol.md 15. */
#define PREFIX_WORD_SIZE (PREFIX_MAX_BYTES + NUMBER_SIZE + 4)
#define PLACE_SIZE (PREFIX_WORD_SIZE + NAME_MAX_BYTES + 2)

bool call_script(const native *n, buffer *out, bool with_text, const script *s,
                 const resp_argument *keys, size_t key_count,
                 const resp_argument *arguments, size_t argument_count);

resp_argument word_of(const text *t);
resp_argument word_uint(char bytes[NUMBER_SIZE], uint64_t value);
/* Server times are never negative; one that is says as little as 0. */
resp_argument word_time(char bytes[NUMBER_SIZE], int64_t us);
resp_argument word_lease(char bytes[LEASE_TEXT_SIZE], const lease_id *lease);
resp_argument word_key(const native *n, char bytes[KEY_TEXT_SIZE], const void *name,
                       size_t size);
/* The key behind all others of a script that makes owners; how many that are, 0 or 1. */
size_t add_era(const native *n, resp_argument *ret_key, char bytes[KEY_TEXT_SIZE],
               const void *name, size_t size);
/* `<prefix> <name>`: what a script needs to write to an inbox. */
resp_argument word_place(const native *n, char bytes[PLACE_SIZE], const void *name,
                         size_t size);

void add_prefix(const native *n, text *t);
resp_argument word_prefix(const native *n, char bytes[PREFIX_WORD_SIZE]);
void add_place(const native *n, text *t, const void *name, size_t size);
/* In front of a channel that a script tells: `{` where it is one of its slot only. */
void add_channel_mark(const native *n, text *t);
void add_time(text *t, int64_t us);
/* How an ask waits: `w `, `p `, or `t ` for a try. */
void add_mode(text *t, bool waits, bool polls);
/* `<give up> <watched lease|-> <its renewals> <prefix> <name>` */
void add_watching(const native *n, text *t, int64_t give_up_us, const lease_id *watched,
                  uint64_t renewals, const void *name, size_t size);

#endif
