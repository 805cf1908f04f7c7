/* SPDX-License-Identifier: MIT */
/* api/writing.h - the guarded writes of a client that are not settled.
 *
 * Each has a number. A write tells the server below which number all writes of this client
 * on this key are settled: whatever copy of those still comes has no effect (protocol.md 13).
 * A sum whose answer was lost stays here after its call: the next call that is the same
 * goes on with its number, and so counts once. */
#ifndef API_WRITING_H
#define API_WRITING_H

#include "api/api.h"
#include "dialect/native_guard.h"

/* So many writes later an unsettled sum is forgotten; the same call is then a new one. */
#define WRITING_MEMORY 100

typedef struct writing {
  struct writing *next;
  uint64_t number, fence;
  int64_t by;
  bool is_sum, is_running;
  size_t key_size;
  char key[];
} writing;

/* Mutex held. Fills in number and settled of `call`. NULL: memory. `by`: NULL unless it is
 * a sum. writing_end() must follow. */
writing *writing_begin(dibs_client *c, guard_call *call, const int64_t *by);
/* Mutex held. `is_settled`: its outcome is known. */
void writing_end(dibs_client *c, writing *w, bool is_settled);
void writings_free(dibs_client *c);          /* when nothing runs any more */

#endif
