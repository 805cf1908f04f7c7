/* SPDX-License-Identifier: MIT */
/* dialect/call_words.h - the arguments of a script call, each over bytes of its caller. */
#ifndef DIALECT_CALL_WORDS_H
#define DIALECT_CALL_WORDS_H

#include "dialect/native.h"

#define NUMBER_SIZE 24
#define PLACE_SIZE (PREFIX_MAX_BYTES + NAME_MAX_BYTES + 2)

resp_argument word_of(const text *t);
resp_argument word_uint(char bytes[NUMBER_SIZE], uint64_t value);
/* Server times are never negative; one that is says as little as 0. */
resp_argument word_time(char bytes[NUMBER_SIZE], int64_t us);
resp_argument word_lease(char bytes[LEASE_TEXT_SIZE], const lease_id *lease);
resp_argument word_key(const native *n, char bytes[KEY_TEXT_SIZE], const void *name,
                       size_t size);
/* `<prefix> <name>`: what a script needs to write to an inbox. */
resp_argument word_place(const native *n, char bytes[PLACE_SIZE], const void *name,
                         size_t size);

void add_place(const native *n, text *t, const void *name, size_t size);
void add_time(text *t, int64_t us);
/* `<give up> <watched lease|-> <its renewals> <prefix> <name>` */
void add_watching(const native *n, text *t, int64_t give_up_us, const lease_id *watched,
                  uint64_t renewals, const void *name, size_t size);

#endif
