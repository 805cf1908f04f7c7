/* SPDX-License-Identifier: MIT */
/* local/place.h - the directory of the private server and the paths in it. */
#ifndef LOCAL_PLACE_H
#define LOCAL_PLACE_H

#include <dibs/status.h>

/* macOS has 104 bytes in sun_path, Linux 108; one limit, so that a path that works on one
 * works on the other. */
enum { PLACE_SOCKET_MAX = 104 };

typedef struct place {
  char directory[PLACE_SOCKET_MAX];
  char socket[PLACE_SOCKET_MAX];
  char start_lock[PLACE_SOCKET_MAX + 16];
  char users_lock[PLACE_SOCKET_MAX + 16];
  char supervisor_lock[PLACE_SOCKET_MAX + 16];
  char log[PLACE_SOCKET_MAX + 16];
  char url[PLACE_SOCKET_MAX + 16];
} place;

/* Where it is for this user, whether it is there or not.
 *
 * $XDG_RUNTIME_DIR/dibs when that is a directory of this user, else /tmp/dibs-<uid>.
 * The session's own /run/user/<uid> does not count: it comes and goes with logins, cron
 * jobs and services do not have it, and a lock that the shell and cron do not share is
 * none. A path too long for a socket becomes /tmp/dibs-<uid>-<hash of it>. */
void place_find(place *ret_place);

/* The paths of a server in `directory`, which is shorter than 90 bytes. */
void place_in(const char *directory, place *ret_place);

/* Makes the directory if needed and checks that nobody else can get at it.
 * DIBS_ERR_CONFIG otherwise, with words. */
dibs_status place_make(const place *p, dibs_error *error);

#endif
