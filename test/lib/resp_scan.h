/* SPDX-License-Identifier: MIT */
/* test/lib/resp_scan.h - where replies (or commands) end in a stream of RESP 2 or 3.
 *
 * Needs no stack: what counts is only how many elements are still to come. */
#ifndef TEST_RESP_SCAN_H
#define TEST_RESP_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct resp_scan {
  uint64_t elements_left;   /* of the present whole */
  uint64_t skip;            /* bytes of a bulk and its line end */
  char line[40];
  size_t line_size;
  bool is_inside;           /* a whole has begun and not ended */
};

/* Takes bytes up to the end of one whole, or all of them. Returns how many it took and
 * whether that ends a whole. All zeros is the beginning of a stream. */
size_t resp_scan_feed(struct resp_scan *s, const char *bytes, size_t size,
                      bool *ret_is_end);

#endif
