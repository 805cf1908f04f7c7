/* SPDX-License-Identifier: MIT */
/* api/stripe.c - the stripe of a key. All programs that share a resource must compute the
 * same, so the sum below never changes. */
#include "base/base.h"
#include "base/hash.h"

#include <dibs/many.h>
#include <string.h>

#define STRIPES_MAX 1000000

/* The low bits of FNV-1a mix less well, so the upper half is folded into them. */
static uint32_t key_sum(const void *key, size_t size)
{
  uint64_t sum = fnv1a(FNV1A_START, key, size);

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
