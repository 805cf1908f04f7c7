/* SPDX-License-Identifier: MIT */
/* cli/view.c - finds dibs-view from the place of this program: where it is installed, or in the
 * directory of a build. */
#include "cli/view.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/errno_text.h"

#ifndef VIEW_FOLDER                       /* as seen from the folder of this program */
#define VIEW_FOLDER "../libexec/dibs"
#endif

static int place_error;                  /* an errno: why the place of this program is not known */

void view_become(char **argv)
{
  static const char *const folders[] = { VIEW_FOLDER, "." };
  char path[PATH_MAX + sizeof(VIEW_FOLDER) + 16];
  ssize_t size = readlink("/proc/self/exe", path, PATH_MAX - 1);
  char *name;

  if (size < 0) {
    place_error = errno;
    return;
  }
  path[size] = '\0';
  name = strrchr(path, '/') + 1;
  for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
    char *to = folders[i][0] == '/' ? path : name;

    (void)snprintf(to, sizeof(path) - (size_t)(to - path), "%s/dibs-view", folders[i]);
    (void)execv(path, argv);
  }
}

const char *view_hindrance(const char *library)
{
  static char text[VIEW_TEXT_SIZE];

  if (place_error != 0)
    (void)snprintf(text, sizeof(text), "dibs-view, a part of dibs, is found from the place of this "
                   "program, and /proc/self/exe cannot be read: %s", errno_text(place_error));
  else
    (void)snprintf(text, sizeof(text), NO_VIEW " %s", library);
  return text;
}
