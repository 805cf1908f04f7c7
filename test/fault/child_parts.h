/* SPDX-License-Identifier: MIT */
/* test/fault/child_parts.h - what both sides of a child know. */
#ifndef CHILD_PARTS_H
#define CHILD_PARTS_H

#include <fcntl.h>

#include "child.h"

struct child {
  struct world *world;
  pid_t pid;                   /* 0 in the child */
  int reports, orders;         /* this side's ends */
  char text[4096];             /* read, and not taken yet */
  size_t size;
  char heard[64];
};

/* Begins to measure when this process is kept from running. */
void child_clock_start(pid_t server);

#endif
