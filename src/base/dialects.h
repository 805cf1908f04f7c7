/* SPDX-License-Identifier: MIT */
/* base/dialects.h - the dialects, each once: its number in dibs_dialect, its identifier, its word
 * in URLs and options. */
#ifndef BASE_DIALECTS_H
#define BASE_DIALECTS_H

#define DIALECTS(ROW) \
  ROW(1, NATIVE, native) ROW(2, REDISSON, redisson) ROW(3, SPRING, spring) ROW(4, PLAIN, plain)

/* NOLINTNEXTLINE(bugprone-macro-parentheses): a part of a sum */
#define DIALECTS_ADD_ONE(number, NAME, word) + 1
enum { DIALECT_COUNT = 0 DIALECTS(DIALECTS_ADD_ONE) };

/* For messages and help. */
#define DIALECT_WORDS "native, redisson, spring or plain"

#endif
