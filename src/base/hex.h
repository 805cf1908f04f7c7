/* SPDX-License-Identifier: MIT */
/* base/hex.h - hexadecimal digits of either case as numbers. */
#ifndef BASE_HEX_H
#define BASE_HEX_H

static inline int hex_value(char c)
{
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

/* Of two digits, the byte; -1: they are none. Does not read past a final zero. */
static inline int hex_byte(const char *at)
{
  int high = hex_value(at[0]), low = high < 0 ? -1 : hex_value(at[1]);

  return low < 0 ? -1 : high << 4 | low;
}

#endif
