/* SPDX-License-Identifier: MIT */
/* api/removed_files.h - lock files that are removed while they are locked, as by a program that
 * clears a directory of temporary files.
 *
 * Such a file excludes no later process, which makes a new one. While the client has lock files
 * open it looks every half second whether they have names: a lock of this machine is lost if not; a
 * claim of the servers locks the new file shared, and is lost if another process has a lock of this
 * machine by it.
 *
 * All functions need the mutex. */
#ifndef API_REMOVED_FILES_H
#define API_REMOVED_FILES_H

#include "api/api.h"

/* At a claim that has files from now on. False: the next look is planned already. */
bool removed_files_plan(client_record *c);
/* The look, if it is due; plans the next one if a claim still needs its files. */
void removed_files_look(client_record *c, instant now);

#endif
