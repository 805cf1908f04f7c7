/* SPDX-License-Identifier: MIT */
/* base/descriptor_numbers.c - which numbers of descriptors the library has in this process; see
 * descriptor.h. */
#include "base/descriptor_numbers.h"

#include <stdatomic.h>
#include <stdint.h>

/* Greater numbers, which few systems allow, are not remembered. */
#define NUMBERS (1 << 20)

static _Atomic uint64_t taken[NUMBERS / 64];

bool descriptor_number_take(int fd)
{
  uint64_t bit = (uint64_t)1 << fd % 64;

  return fd >= NUMBERS || (atomic_fetch_or(&taken[fd / 64], bit) & bit) == 0;
}

void descriptor_number_give(int fd)
{
  if (fd < NUMBERS)
    (void)atomic_fetch_and(&taken[fd / 64], ~((uint64_t)1 << fd % 64));
}
