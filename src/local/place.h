/* SPDX-License-Identifier: MIT */
/* local/place.h - the directory of the private server and its paths. */
#ifndef LOCAL_PLACE_H
#define LOCAL_PLACE_H

#include <dibs/status.h>
#include <stdbool.h>
#include <sys/types.h>

/* sun_path has 104 bytes on macOS, 108 on Linux; one limit, so that paths are portable. */
enum { PLACE_SOCKET_MAX = 104 };

/* Each byte of the path may be encoded as %XX; dibs_local_info has room for it. */
enum { PLACE_URL_MAX = 320 };

typedef struct place {
  bool is_chosen;      /* by DIBS_LOCAL_DIR: not the default place of this user */
  bool is_of_lock_files; /* of degrade=local, no server: messages say so */
  pid_t seen_through;  /* its /tmp is that of this process; 0: our own */
  char directory[PLACE_SOCKET_MAX];
  char socket[PLACE_SOCKET_MAX];
  char start_lock[PLACE_SOCKET_MAX + 16];
  char users_lock[PLACE_SOCKET_MAX + 16];
  char supervisor_lock[PLACE_SOCKET_MAX + 16];
  char log[PLACE_SOCKET_MAX + 16];
  char url[PLACE_URL_MAX];
} place;

/* The place where this program would start the private server: DIBS_LOCAL_DIR, else
 * /tmp/dibs-<uid>. Other environment variables (XDG_RUNTIME_DIR, TMPDIR, HOME) have no effect:
 * they differ between a login, cron and a service of one user, which must share their locks.
 * Creates nothing. DIBS_ERR_CONFIG: DIBS_LOCAL_DIR is not absolute, or too long for a socket. */
dibs_status place_base(place *ret_place, dibs_error *error);

/* The place of the private server of this user: place_base(), unless one runs on another
 * /tmp (see others.h). That one is reached through /proc/<pid>/root. DIBS_ERR_CONFIG: it
 * cannot be reached from here, or /proc cannot be read; see the message. */
dibs_status place_find(place *ret_place, dibs_error *error);

/* The paths of a server in `directory`, which has less than 90 bytes. */
void place_in(const char *directory, place *ret_place);

/* Creates the directory if needed and checks that no other user has access. Else
 * DIBS_ERR_CONFIG, with a message. */
dibs_status place_make(const place *p, dibs_error *error);

#endif
