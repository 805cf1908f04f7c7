/* SPDX-License-Identifier: MIT */
/* requests.h - the page of requests that requests.txt keeps, each under the fact it shows:
 *
 *   FACT("native raise: the lease and its new token");
 *   SENT(native_raise(&here, out, "x", 1, &lease, 1700000000000005));
 *
 * SENT() makes the call with each of its allocations refused in turn, and then with none: a
 * refused call returns false and leaves nothing to send. */
#ifndef REQUESTS_H
#define REQUESTS_H

#include "tests.h"

#include <string.h>

#include "dialect/dialect.h"

/* Two clients. The bytes of the first are 0x00, 0x11, ... 0xff. */
#define ANNA "ABEiM0RVZneImaq7zN3u_w"
#define BERT "BBBBBBBBBBBBBBBBBBBBBB"

extern request *const out;

void fact(const char *title);
void send_begin(void);
bool send_end(bool is_shown, bool is_made);

#define FACT(title) fact(title)
#define SENT(...) do send_begin(); while (!send_end(true, (__VA_ARGS__)))
/* The same for a call of the greatest length, which is not shown. */
#define FITS(...) do send_begin(); while (!send_end(false, (__VA_ARGS__)))

/* The number of words of the last request. */
extern size_t sent_words;

/* A name of the greatest length; `n` with such a prefix and such a registry. */
extern char longest_name[NAME_MAX_BYTES];
protocol longest_of(const protocol *n);

void native_requests(void);
void foreign_requests(void);
void native_longest(void);
void foreign_longest(void);

#endif
