/* SPDX-License-Identifier: MIT */
/* test/peers/overlap.h - intervals during which workers of several processes were inside, on
 * one clock, and whether more of them overlapped than may. */
#ifndef TEST_PEERS_OVERLAP_H
#define TEST_PEERS_OVERLAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct interval {
  int64_t enter_ns, exit_ns;       /* an exit at the very time of an enter is before it */
  int who;                         /* of which process */
  bool is_shared;                  /* may overlap with others that are shared */
};

struct intervals {
  struct interval *all;
  size_t count, room;
};

struct overlaps {
  size_t count;                    /* intervals that began while they must not have */
  struct interval first[2];        /* of the first of them: who was inside, and who came */
  size_t handovers;                /* how often the next to enter was of another process */
  size_t inside_max;               /* most at a time */
};

/* How often sides 0 and 1 entered while both were at it: from when the second of them began
 * until the first of them was through. */
struct shares { size_t of[2]; };

void intervals_add(struct intervals *i, struct interval one);
/* Reads a file of lines "ENTER EXIT". False: it is not there, or not made of such lines. */
bool intervals_read(struct intervals *i, const char *path, int who, bool is_shared);
void intervals_deinit(struct intervals *i);

/* Sorts them. At most `permits` may be inside at a time; a shared one, with no other that is
 * not shared. */
struct overlaps intervals_check(struct intervals *i, size_t permits);
struct shares intervals_shares(const struct intervals *i);

#endif
