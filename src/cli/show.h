/* SPDX-License-Identifier: MIT */
/* cli/show.h - what the server knows of a name, as text and as JSON. */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include <dibs/inspect.h>

#include "cli/json.h"

/* Whether a try by another client would be refused because of a lease. */
bool show_is_held(const dibs_inspection *i);

/* A semaphore that has 0 permits: requests wait, and no client holds it. */
bool show_is_paused(const dibs_inspection *i);

/* The leases that are shown, the oldest first; at most the first hundred. */
size_t show_holder_count(const dibs_inspection *i);
const dibs_holder *show_holder_at(const dibs_inspection *i, size_t place);

/* "lock", "rw", "semaphore". */
const char *show_kind(dibs_kind kind);

/* "free", "held", "read x3", "written", "3/4 used". */
void show_state(const dibs_inspection *i, char *ret_text, size_t size);

/* `web-3 (pid 4121 "backup.sh")`, as far as the server knows it. */
void show_party(const dibs_party *party, char *ret_text, size_t size);

/* `web-3:4121 backup.sh`, for tables and graphs. */
void show_party_short(const dibs_party *party, char *ret_text, size_t size);

/* "held by ...", "read by ...", "3 of 4 permits held by ..."; "" when it is free. */
void show_by(const dibs_inspection *i, char *ret_text, size_t size);

/* `held for 2:41, lease 24.1s, renewed 6.0s ago`; of several, the first. */
void show_lease(const dibs_inspection *i, char *ret_text, size_t size);

/* "over for 5m00s, but clocks disagree: a wait of 31s takes it"; false: it is not in doubt. */
bool show_doubt(const dibs_holder *h, char *ret_text, size_t size);

/* `held by web-3 (pid 4121 "backup.sh") for 2:41, lease 24.1s, renewed 6.0s ago`. */
void show_holder(const dibs_inspection *i, char *ret_text, size_t size);

/* "2", "1 writer", "2 readers, 1 writer": the waiters. */
void show_waiting(const dibs_inspection *i, char *ret_text, size_t size);

/* "reader", "writer", "3 permits"; "" where there is only one way to take it. */
void show_mode(dibs_kind kind, const dibs_party *party, char *ret_text, size_t size);

bool show_is_own(const dibs_party *party);      /* this process */
/* Where this process stands in the queue, from 1; 0 when it is not seen there. */
size_t show_own_place(const dibs_inspection *i);

/* "1st", "2nd", "3rd", "4th", "11th". */
void show_ordinal(size_t n, char *ret_text, size_t size);

/* ---- show_json.c ---- */

/* Owned by the caller; NULL when memory is refused. */
json_t *show_json(const dibs_inspection *i, bool is_private);
/* Of what is no lock: its name and kind, then `facts`, which this frees. */
json_t *object_json(const char *name, const char *kind, bool is_private, json_t *facts);
json_t *party_json(const dibs_party *party);
const char *mode_word(dibs_kind kind, dibs_mode mode);

/* A fence twice: as a number, and as text for tools whose numbers end at 2^53. */
void json_set_fence(json_t *object, uint64_t fence);

/* The name, and "name_hex" beside it where JSON cannot say it. */
void json_set_name(json_t *object, const char *name, size_t size);

#endif
