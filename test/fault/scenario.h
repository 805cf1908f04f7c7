/* SPDX-License-Identifier: MIT */
/* test/fault/scenario.h - what a scenario file gives to the runner.
 *
 * A scenario is one function and a struct of this type, `const struct scenario f02_...`, in a
 * file f02_holder_paused.c (several related ones may share a file); its name is added to
 * scenarios.c, and its file and id to meson.build. It runs in a process of its own, with a
 * world made for it; the runner settles and judges the world afterwards (world.h). */
#ifndef SCENARIO_H
#define SCENARIO_H

#include <stdbool.h>
#include <stdint.h>

#include "oracle/oracle.h"

struct world;

struct scale {
  double seconds;      /* what the scenario may take, start and end included: about 5 in
                          ./check. Faults are repeated until it is over */
  uint64_t seed;
  int dialect;         /* of all clients, enum dibs_dialect; 0: native */
};

struct scenario {
  const char *id;      /* "F02" */
  const char *name;    /* "a_stopped_holder_writes_nothing_stale": a fact */
  void (*run)(struct world *w, const struct scale *scale);
  struct expectations expects;
  const char *skip_without;  /* NULL; else what it needs: "root", "iptables", "tmpfs": a TAP
                                skip where it is missing, with these words */
};

/* All of them, by id; NULL at the end. */
extern const struct scenario *const all_scenarios[];

#endif
