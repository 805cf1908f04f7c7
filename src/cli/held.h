/* SPDX-License-Identifier: MIT */
/* cli/held.h - DIBS_HOLD_HELD, the list of locks that the wrappers around a process hold:
 * "name=fence:client" with escaped names, separated by blanks. The client's id says which lease
 * it is in every dialect; not every dialect has fences on the server. */
#ifndef CLI_HELD_H
#define CLI_HELD_H

#include <stdbool.h>
#include <stdint.h>

/* `list` may be NULL: nothing is held. */
bool held_has_name(const char *list, const char *name);
bool held_has_fence(const char *list, const char *name, uint64_t fence);
bool held_has_client(const char *list, const char *name, const char *client);

/* The list with one more entry; to be freed; NULL when memory is refused. */
char *held_add(const char *list, const char *name, uint64_t fence, const char *client);

#endif
