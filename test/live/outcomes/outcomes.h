/* SPDX-License-Identifier: MIT */
/* test/live/outcomes/outcomes.h - tables of outcomes: each outcome that a header lists, and the
 * situation in which it comes. test/doc/outcomes.py compares the tables with the headers, in both
 * directions. */
#ifndef TEST_OUTCOMES_H
#define TEST_OUTCOMES_H

#include <string.h>

#include "live.h"

/* A test server replies within ANSWER_MS. */
enum { TTL_MS = 60000, SOON_MS = 200, ANSWER_MS = 3000 };

typedef dibs_status situation(void);

struct outcome_row {
  const char *function, *situation;
  dibs_status outcome;
  situation *run;
};

/* In a file: ROWS(X, NOT_HERE), a list of
 *   X(function, outcome, situation)
 *   NOT_HERE(function, outcome, the test that holds it, or why none can)
 * and then OUTCOMES(outcomes_of_...). */
#define OUTCOME_ROW(function, outcome, situation) { #function, #situation, outcome, situation },
#define OUTCOME_ELSEWHERE(function, outcome, why)

struct outcome_table {
  const struct outcome_row *rows;
  size_t count;
};

#define OUTCOMES(table) \
  static const struct outcome_row rows[] = { ROWS(OUTCOME_ROW, OUTCOME_ELSEWHERE) }; \
  const struct outcome_table table = { rows, sizeof(rows) / sizeof(rows[0]) }

extern const struct outcome_table outcomes_of_holds, outcomes_of_tokens, outcomes_of_views,
  outcomes_of_shares, outcomes_of_latches, outcomes_of_elections, outcomes_of_writes,
  outcomes_of_rates, outcomes_of_clients, outcomes_of_opens, outcomes_of_data,
  outcomes_of_readings, outcomes_of_places;

/* What does not come as a table says is a live_fault(). */
void outcomes_walk(const struct outcome_table *table);
void outcomes_walk_ways(void);
void outcomes_walk_data(void);

/* A situation of all functions that do nearly the same, or of those with one of `traits`. */
struct way_row {
  const char *situation;
  dibs_status outcome;
  situation *run;
  unsigned traits;               /* 0: of all */
};

void outcomes_walk_way(const char *function, unsigned traits, const struct way_row *rows,
                       size_t count);
void outcome_expect(const char *function, const char *situation, dibs_status got,
                    dibs_status wanted);

/* ---- situations ---- */

/* `quick` gives up soon, the others do not. */
extern dibs_client *client, *other, *quick;
extern dibs_hold *hold;
extern char token[DIBS_TOKEN_SIZE];

/* Each situation has a name of its own, at most 60 bytes. */
extern const char *name;

dibs_options patient_options(void);
void situations_begin(void);
void situations_end(void);

dibs_hold *held(dibs_client *c);              /* `name` */
void token_of(dibs_hold *of);
void lease_of(char ret_lease[96]);
void deleted(void);                           /* the key of `name`, as by an administrator */
dibs_hold *fixed_and_over(void);
void wait_for_end(void);                      /* of the lease on `name` */
dibs_client *nowhere(void);                   /* its server does not exist */

/* What `run` returns ... */
dibs_status in_a_child(situation *run);
dibs_status in_a_callback(situation *run);
/* ... while another thread closes the client that it is given, which waits for a stopped
 * server; that client has `hold`. */
dibs_status while_closing(dibs_status (*run)(dibs_client *c));
/* ... in a process that may open no further descriptor. */
dibs_status without_descriptors(situation *run);
/* ... of `other`, when the server does not reply. */
dibs_status without_a_reply(situation *run);
/* ... of `other`, which has no server; which speaks the dialect plain, without permits and
 * elections. */
dibs_status at_no_server(situation *run);
dibs_status in_plain(situation *run);
/* ... where `name` is the key of a list. */
dibs_status of_a_list(situation *run);
/* ... of `client` and `other` with an era guard: a server is not believed then that no other
 * client had a name. */
dibs_status with_an_era_guard(situation *run);

#endif
