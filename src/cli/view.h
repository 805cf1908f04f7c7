/* SPDX-License-Identifier: MIT */
/* cli/view.h - dibs-view, the same command with libmicrohttpd and ncurses, for the subcommands that
 * listen or have a screen. No other subcommand loads these libraries. */
#ifndef CLI_VIEW_H
#define CLI_VIEW_H

/* This process becomes dibs-view. Returns where it is this already, or where there is none: then a
 * subcommand does what it can without. */
void view_become(char **argv);

/* What a subcommand says then. `library` is missing in a program without dibs-view. */
const char *view_hindrance(const char *library);
#define VIEW_TEXT_SIZE 300

/* What it is if nothing else is known. */
#define NO_VIEW "the program dibs-view, a part of dibs, is not installed, or was built without"

#endif
