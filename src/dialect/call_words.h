/* SPDX-License-Identifier: MIT */
/* dialect/call_words.h - the keys and arguments of a script call. */
#ifndef DIALECT_CALL_WORDS_H
#define DIALECT_CALL_WORDS_H

#include "dialect/native.h"

#define NUMBER_SIZE 24
/* `<prefix>{<words>`, protocol.md 15. */
#define PREFIX_WORD_SIZE (PREFIX_MAX_BYTES + NUMBER_SIZE + 4)
#define PLACE_SIZE (PREFIX_WORD_SIZE + NAME_MAX_BYTES + 2)

resp_argument word_of(const text *t);
resp_argument word_uint(char bytes[NUMBER_SIZE], uint64_t value);

/* One key or argument more, as request_put() adds it. */
void put_of(request *out, const text *t);
void put_text(request *out, const char *plain);
void put_uint(request *out, uint64_t value);
/* Server times are never negative; a negative one counts as 0. */
void put_time(request *out, int64_t us);
/* The same, or ESTIMATE_AT_SENDING. */
void put_estimate(request *out, int64_t us);
void put_lease(request *out, const lease_id *lease);
void put_key(const protocol *n, request *out, const void *name, size_t size);
/* The last key of a script that grants: the era, if there is one. */
void put_era(const protocol *n, request *out, const void *name, size_t size);
extern const char *const share_set_words[3];        /* by share_set_what */
/* Begins a script whose keys are the name's and the era. */
void begin_with_era(const protocol *n, request *out, const script *s, const void *name,
                    size_t size);
/* `<prefix> <name>`: what a script needs to publish to an inbox. */
void put_place(const protocol *n, request *out, const void *name, size_t size);
void put_prefix(const protocol *n, request *out);

void add_prefix(const protocol *n, text *t);
void add_place(const protocol *n, text *t, const void *name, size_t size);
/* The mark before a channel that a script publishes to: `{` if the channel is sharded. */
void add_channel_mark(const protocol *n, text *t);
void add_time(text *t, int64_t us);
/* Permits that are asked for: `2`, or `2/5` of a semaphore that has to have five. */
void add_units(text *t, const share_call *c);
/* How an ask waits: `w<nonce> `, `p `, or `t ` for a try. */
void add_mode(text *t, bool waits, bool polls, uint64_t nonce);
/* `<give up> <watched lease|-> <its renewals> ` */
void add_watching(text *t, int64_t give_up_us, const lease_id *watched, uint64_t renewals);

/* How long a copy of a request may arrive, for scripts that take a span; 0: not at all. */
#define DIALECT_COPIES_MS 10000       /* when the time of the server is not known */
int64_t dialect_copies_ms(int64_t copies_us, int64_t estimate_us);

#endif
