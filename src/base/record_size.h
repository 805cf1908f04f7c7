/* SPDX-License-Identifier: MIT */
/* base/record_size.h - whether a program has set the size of a record that the library reads or
 * fills in. A size that no version has is what was in its memory before: the record is neither
 * read nor written then. */
#ifndef BASE_RECORD_SIZE_H
#define BASE_RECORD_SIZE_H

#include <stdbool.h>
#include <stddef.h>

#include <dibs/status.h>

#define RECORD_SIZE_MAX 4096     /* no record will ever be that large */

/* What the refusal says where the program can still read it. */
#define NO_ERROR_ROOM "error->size is not set: start from DIBS_ERROR_INIT"

static inline bool record_size_is_set(size_t size)
{
  return size >= sizeof(size_t) && size <= RECORD_SIZE_MAX;
}

/* Of a record that the library reads: none has its end inside of a pointer. */
static inline bool record_size_is_whole(size_t size)
{
  return record_size_is_set(size) && size % sizeof(size_t) == 0;
}

/* Also that it has the fields that the library writes. */
static inline bool error_has_room(const dibs_error *error)
{
  return error == NULL || (error->size >= sizeof(*error) && record_size_is_set(error->size));
}

#endif
