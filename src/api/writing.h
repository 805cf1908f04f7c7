/* SPDX-License-Identifier: MIT */
/* api/writing.h - the guarded writes of a client that are not acknowledged.
 *
 * Each has a number. A write sends the number below which all writes of this client on
 * this key are acknowledged: later copies of those have no effect (protocol.md 13). Only a sum
 * looks at sums there: the server has their copies in a key of their own. A sum
 * whose reply was lost stays here after its call: the next identical call continues with
 * its number, and so counts once; for no longer than the server knows that number (sync.h). */
#ifndef API_WRITING_H
#define API_WRITING_H

#include "api/api.h"
#include "dialect/native/guard.h"

/* After this number of writes an unacknowledged sum is forgotten; an identical call is
 * then new. */
#define WRITING_MEMORY 100

typedef struct writing {
  struct writing *next;
  uint64_t number, fence;
  instant in_doubt_from;         /* sync.h; of the calls that had this number */
  int64_t late_until_us;         /* the same */
  int64_t by;
  bool is_sum, is_running;
  size_t key_size;
  char key[];
} writing;

/* Mutex held. Fills in number and settled of `call`. NULL: no memory. `by`: NULL unless it
 * is a sum. writing_end() must follow. */
writing *writing_begin(client_record *c, guard_call *call, const int64_t *by);
/* Mutex held. `is_settled`: its outcome is known. */
void writing_end(client_record *c, writing *w, bool is_settled);
/* Mutex held. `w` has written the whole value of its key: forgets the sums on it that are in doubt
 * since before `at`, which the server has forgotten, too. */
void writings_replaced(client_record *c, const writing *w, instant at);
void writings_free(client_record *c);          /* when no call runs any more */

#endif
