/* SPDX-License-Identifier: MIT */
/* base/first_line.h - the first line of a file as a password. */
#ifndef BASE_FIRST_LINE_H
#define BASE_FIRST_LINE_H

#include <stddef.h>
#include <string.h>

/* Ends the first line of `bytes`, which has room for one more than `size`. NULL, or why it is no
 * password: cut at a zero byte, or with a mark that editors do not show, it is another one. */
static inline const char *first_line_end(char *bytes, size_t size)
{
  size_t end = 0;

  while (end < size && bytes[end] != '\n' && bytes[end] != '\r')
    end++;
  bytes[end] = 0;
  if (end == 0)
    return "its first line is empty";
  if (strlen(bytes) < end)
    return "a zero byte in its first line; a password is text without one";
  if (strncmp(bytes, "\xEF\xBB\xBF", 3) == 0)
    return "it begins with a byte order mark, which would be a part of the password; save it "
           "without one";
  return NULL;
}

#endif
