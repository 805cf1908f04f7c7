/* SPDX-License-Identifier: MIT */
/* cli/view.c - finds dibs-view from the place of this program: where it is installed, or in the
 * directory of a build. */
#include "cli/view.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef VIEW_FOLDER                       /* as seen from the folder of this program */
#define VIEW_FOLDER "../libexec/dibs"
#endif

void view_become(char **argv)
{
  static const char *const folders[] = { VIEW_FOLDER, "." };
  char path[PATH_MAX + sizeof(VIEW_FOLDER) + 16];
  ssize_t size = readlink("/proc/self/exe", path, PATH_MAX - 1);
  char *name;

  if (size < 0)
    return;
  path[size] = '\0';
  name = strrchr(path, '/') + 1;
  for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
    char *to = folders[i][0] == '/' ? path : name;

    (void)snprintf(to, sizeof(path) - (size_t)(to - path), "%s/dibs-view", folders[i]);
    (void)execv(path, argv);
  }
}
