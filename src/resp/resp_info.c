/* SPDX-License-Identifier: MIT */
/* resp/resp_info.c - reads the replies of INFO, lines "field:value", and of TIME. */
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

#define MICROSECONDS 1000000

bool resp_time(const resp_reply *reply, int64_t *ret_us)
{
  const resp_node *root = resp_root(reply);
  const resp_node *seconds = resp_child(reply, root, 0);
  const resp_node *rest = resp_child(reply, root, 1);
  uint64_t s, us;

  if (rest == NULL || root->integer != 2 || seconds->kind != RESP_STRING ||
      rest->kind != RESP_STRING || !text_to_uint(seconds->bytes, seconds->size, &s) ||
      !text_to_uint(rest->bytes, rest->size, &us) || s > INT64_MAX / MICROSECONDS - 1 ||
      us >= MICROSECONDS)
    return false;
  *ret_us = (int64_t)(s * MICROSECONDS + us);
  return true;
}
