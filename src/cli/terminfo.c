/* SPDX-License-Identifier: MIT */
/* cli/terminfo.c - whether the terminal is known. Apart from screen.c: the macros of <term.h> take
 * names such as `columns`. */
#include "cli/terminfo.h"

#include <curses.h>
#include <term.h>
#include <unistd.h>

bool terminfo_is_known(void)
{
  int error;

  if (setupterm(NULL, STDOUT_FILENO, &error) != OK)
    return false;
  (void)del_curterm(cur_term);
  return true;
}
