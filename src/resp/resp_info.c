/* SPDX-License-Identifier: MIT */
/* resp/resp_info.c - the lines "field:value" that INFO answers. */
#include "resp/resp.h"

#include <string.h>

bool resp_info_field(const char *bytes, size_t size, const char *field, const char **ret_value,
                     size_t *ret_size)
{
  size_t length = strlen(field);
  size_t at = 0;

  while (at < size) {
    size_t end = at;

    while (end < size && bytes[end] != '\r' && bytes[end] != '\n')
      end++;
    if (end - at > length && memcmp(bytes + at, field, length) == 0 &&
        bytes[at + length] == ':') {
      *ret_value = bytes + at + length + 1;
      *ret_size = end - at - length - 1;
      return true;
    }
    at = end + 1;
  }
  return false;
}
