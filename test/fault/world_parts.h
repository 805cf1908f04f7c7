/* SPDX-License-Identifier: MIT */
/* test/fault/world_parts.h - what the files of a world tell each other. */
#ifndef WORLD_PARTS_H
#define WORLD_PARTS_H

#include <dibs/dibs.h>

#include "stall.h"
#include "world.h"

enum { SERVERS_MAX = 8, INSPECTORS_MAX = 4, COUNTS_MAX = 16 };

struct hired {
  struct plan plan;
  char url[256], program[300];
  pid_t pid;                   /* 0: dead */
  uint16_t lives;
  bool is_stopped;
  bool is_expected_to_end;     /* killed or dismissed by us */
  int stop_fault;
  int64_t killed_ns;
};

struct count { char what[48]; int64_t times; };

struct world {
  const struct scenario *scenario;
  struct scale scale;
  char directory[256], programs[256];     /* where ours and the worker's are */
  int64_t began_ns;
  uint64_t chance;
  bool has_failed, has_broken, is_prepared, has_turned, is_settled;
  struct recorder *recorder;
  struct stall_watch *stalls;
  struct page *page;

  struct test_server_options server_options;
  struct test_server *server, *adopted[SERVERS_MAX];
  int adopted_count;
  struct test_proxy *proxy;
  void (*stop)(void *data);    /* of world_at_end() */
  void *stop_data;
  int server_fault;            /* of world_server_kill() or _stop(); -1 */

  struct run_lock locks[LOCKS_MAX];
  uint32_t lock_count;
  struct hired workers[WORKERS_MAX];
  int worker_count;
  pid_t inspectors[INSPECTORS_MAX];
  uint32_t inspected;          /* bit i: lock i */
  int inspector_count;

  uint64_t fault_number;
  struct record *open_faults;  /* as they began; call 0: over */
  size_t open_room;
  char markers[MARKERS_MAX][48];
  int64_t demanded[MARKERS_MAX], reached[MARKERS_MAX];
  int marker_count;
  struct count counts[COUNTS_MAX];
  int count_count;
  int settle_flags, progress_ms;
};

/* The directory for the next world_new(), which the runner keeps or removes. */
void world_use_directory(const char *directory);

void world_tell(struct world *w, struct record *r);
/* Starts a program of ours; `words` end with NULL. Its output goes to `log` there. */
pid_t world_spawn(struct world *w, const char *program, const char *const *words,
                  const char *log);
/* Waits for deaths, records them; an unexpected one fails the scenario. */
void world_reap(struct world *w);
void world_prepare(struct world *w);         /* page, run.txt, semaphores: once */
void world_permits(struct world *w, int lock);
/* Grants; for those who only try, and may always come too late, all answers. */
uint64_t world_answers_of(const struct world *w, int worker);
void world_end_crew(struct world *w);        /* SIGTERM to all, and their end */
void world_end_inspectors(struct world *w);
void world_end_faults(struct world *w);
/* What is left on the server when all are gone (C10). */
void world_check_keys(struct world *w);
/* Loads, checks and prints; whether all is as expected. */
bool world_judge(struct world *w);

#endif
