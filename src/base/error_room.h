/* SPDX-License-Identifier: MIT */
/* base/error_room.h - whether a program's dibs_error has the fields that the library writes. */
#ifndef BASE_ERROR_ROOM_H
#define BASE_ERROR_ROOM_H

#include <dibs/status.h>

/* What the refusal says where the program can still read it. */
#define NO_ERROR_ROOM "error->size is not set: start from DIBS_ERROR_INIT"

static inline bool error_has_room(const dibs_error *error)
{
  return error == NULL || error->size >= sizeof(*error);
}

#endif
