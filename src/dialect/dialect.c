/* SPDX-License-Identifier: MIT */
/* dialect/dialect.c - the rows of all dialects, and what follows from a row. */
#include "dialect/dialect.h"

#include <dibs/semaphore.h>

#define DIALECT_AT(number, NAME, word) [(number) - 1] = &word##_dialect,
static const dialect_ops *const dialects[] = { DIALECTS(DIALECT_AT) };

const dialect_ops *dialect_of_number(unsigned number)
{
  return number - 1 < DIALECT_COUNT ? dialects[number - 1] : &native_dialect;
}

bool dialect_has_channels(const protocol *n)
{
  return n->has_tags || !n->dialect->traits.hands_over;
}

const char *dialect_name_fault(const protocol *n, const void *name, size_t size)
{
  const char *fault = native_name_fault(name, size);

  if (fault == NULL && n->has_tags && n->dialect->cluster_name_fault != NULL)
    fault = n->dialect->cluster_name_fault(n, name, size);
  return fault;
}

void dialect_spell(const protocol *n, const void **name, size_t *size)
{
  if (n->dialect->spell != NULL)
    n->dialect->spell(name, size);
}

uint64_t dialect_permits_max(const protocol *n, lock_kind kind)
{
  return kind == LOCK_COUNTER ? DIBS_PERMITS_MAX
                                     : n->dialect->leased_permits_max;
}
