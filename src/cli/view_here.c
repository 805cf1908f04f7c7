/* SPDX-License-Identifier: MIT */
/* cli/view_here.c - in dibs-view, and in a program that has all in itself. */
#include "cli/view.h"

#include <stdio.h>

void view_become(char **argv)
{
  (void)argv;
}

const char *view_hindrance(const char *library)
{
  static char text[VIEW_TEXT_SIZE];

  (void)snprintf(text, sizeof(text), NO_VIEW " %s", library);
  return text;
}
