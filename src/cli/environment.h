/* SPDX-License-Identifier: MIT */
/* cli/environment.h - the environment of the command: ours, with some variables set or
 * removed. Made before fork, since nothing may be allocated after it. */
#ifndef CLI_ENVIRONMENT_H
#define CLI_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct environment {
  char **entries;      /* NULL at the end; what execve() wants */
  size_t count;
  bool is_broken;      /* memory was refused somewhere */
} environment;

void environment_begin(environment *e);
void environment_set(environment *e, const char *name, const char *value);
void environment_set_number(environment *e, const char *name, long long value);
void environment_unset(environment *e, const char *name);
void environment_end(environment *e);

#endif
