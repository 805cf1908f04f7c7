/* SPDX-License-Identifier: MIT */
/* api/stripe.c - which of several locks a key belongs to. All programs that share a
 * resource have to agree for ever, so the sum below may never change. */
#include "base/base.h"

#include <dibs/many.h>
#include <string.h>

#define STRIPES_MAX 1000000

/* 64-bit FNV-1a. Its low bits alone mix worse, so the upper half is folded into them. */
static uint32_t key_sum(const void *key, size_t size)
{
  const unsigned char *bytes = key;
  uint64_t sum = 14695981039346656037u;

  for (size_t i = 0; i < size; i++)
    sum = (sum ^ bytes[i]) * 1099511628211u;
  return (uint32_t)(sum >> 32) ^ (uint32_t)sum;
}

dibs_status dibs_stripe(const char *name, const void *key, size_t key_size, uint32_t stripes,
                        char *ret_name, size_t size)
{
  char digits[24];
  text number = text_over(digits, sizeof(digits));
  size_t name_size;

  if (name == NULL || name[0] == '\0' || (key == NULL && key_size > 0) || ret_name == NULL ||
      stripes == 0 || stripes > STRIPES_MAX)
    return DIBS_ERR_ARGUMENT;
  text_add(&number, "#");
  text_add_uint(&number, key_sum(key, key_size) % stripes);
  name_size = strlen(name);
  if (size <= number.used || size - number.used <= name_size)
    return DIBS_ERR_ARGUMENT;
  memcpy(ret_name, name, name_size);
  memcpy(ret_name + name_size, digits, number.used + 1);
  return DIBS_OK;
}
