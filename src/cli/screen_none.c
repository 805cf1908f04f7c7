/* SPDX-License-Identifier: MIT */
/* cli/screen_none.c - in place of screen.c in a program without ncurses. */
#include "cli/screen.h"

#include <stdio.h>

#include "cli/view.h"

const char *screen_hindrance(void)
{
  static char text[VIEW_TEXT_SIZE + 40];

  (void)snprintf(text, sizeof(text), "there is no screen: %s",
                 view_hindrance("ncurses (libncurses-dev, -Dscreen=enabled)"));
  return text;
}

bool screen_open(void)
{
  return false;
}

void screen_close(void)
{
}

void screen_leave(void)
{
}

void screen_enter(void)
{
}

void screen_size(size_t *ret_lines, size_t *ret_columns)
{
  *ret_lines = *ret_columns = 0;
}

void screen_begin(void)
{
}

void screen_put(const top_cell *cell, void *data)
{
  (void)cell, (void)data;
}

void screen_show(void)
{
}

bool screen_key(int *ret_key)
{
  (void)ret_key;
  return false;
}

bool screen_message(char *ret_text, size_t size)
{
  (void)ret_text, (void)size;
  return false;
}
