/* SPDX-License-Identifier: MIT */
/* api/fault.h - how a call or an operation ended, for people: dibs_client_error() and the error
 * that a callback gets.
 *
 * An operation ends in the thread that reads its reply, which is often not the thread that
 * waits for it. So the operation's record keeps an outcome; the waiting call, or the callback,
 * takes the error from there. What dibs_client_error() answers is kept for each thread: a call
 * notes its fault while it runs, and client_end() makes the note agree with the status that the
 * call returns. */
#ifndef API_FAULT_H
#define API_FAULT_H

#include <dibs/client.h>

#include "base/base.h"
#include "base/record_size.h"

typedef struct client_record client_record;

typedef struct outcome {
  dibs_status status;
  struct fault_detail *detail;     /* NULL: the status is enough, or there was no memory */
} outcome;

/* Mutex held. "" as message: the text of the status. Returns `status`. */
dibs_status outcome_set(outcome *o, client_record *c, dibs_status status, const char *message);
void outcome_clear(outcome *o);
/* Clears `from`. */
void outcome_move(outcome *to, outcome *from);
/* For a callback; borrowed from `o` or `room`. */
const dibs_error *outcome_error(const outcome *o, dibs_error *room);

/* ---- this thread's note ---- */

/* The last call of this thread. */
typedef struct last_call {
  const void *client;              /* its handle; NULL: unknown */
  bool is_over;                    /* false: noted by a call that still runs */
  uint64_t snapshot;
  dibs_error error;
} last_call;

/* Notes this outcome for a call of this thread. Mutex held. Returns its status. */
dibs_status outcome_note(const outcome *o, client_record *c);
/* Note a fault without an operation: mutex held, and mutex not held. Return `status`. */
dibs_status client_fault(client_record *c, dibs_status status, const char *message);
dibs_status client_refuse(client_record *c, dibs_status status, const char *message);
/* As client_fault(), of an errno: there is no descriptor left for `wants_it`, such as "a hold". */
dibs_status descriptor_fault(client_record *c, const char *wants_it, int fault);
/* client_refuse() with a message by text_format(). */
dibs_status client_refuse_with(client_record *c, dibs_status status, const char *format, ...)
  __attribute__((format(printf, 3, 4)));
/* Notes an error again that another call of this thread has replaced. */
void fault_again(const dibs_error *error);
/* Changes the status of the noted fault to `status`. Returns it. */
dibs_status fault_as(dibs_status status);
/* Ends the call: the noted fault stays if it has `status`, otherwise the text of `status`
 * replaces it. `client`: the handle; NULL: unknown, because the call's hold or request is
 * stale. */
dibs_status fault_end(const void *client, dibs_status status);
/* fault_end() for a call that has its own message. */
dibs_status fault_end_with(const void *client, dibs_status status, const char *message);
/* A function that only reads or frees leaves the note as it was: also what callbacks that run in
 * it have called. */
last_call fault_keep(void);
void fault_restore(const last_call *kept);
/* Snapshots of the servers of a quorum, for dibs_client_error(). */
void fault_servers_free(client_record *c);

/* ---- the data of callbacks ---- */

/* The data of a callback that is to be freed when that cannot run any more. */
typedef struct callback_data {
  dibs_free_callback free;        /* NULL: none, or given on */
  void *data;
} callback_data;

/* Runs `over->free`, if there is one, and clears it; mutex not held. It may call the library:
 * dibs_client_error() of this thread is afterwards as before. Returns `status`. */
dibs_status callback_data_end(callback_data *over, dibs_status status);

/* The same for the callbacks of one hold, which end together. */
typedef struct watch_data {
  callback_data lost, change;     /* of on_lost and of on_change */
} watch_data;
bool watch_data_is_empty(const watch_data *over);
dibs_status watch_data_end(watch_data *over, dibs_status status);

/* ---- records ---- */

/* Copies a record of `size` bytes to the program's, which begins with the size that it has there,
 * and keeps that. Fields that a newer program knows and this library does not are zero. */
void record_give(void *to, const void *from, size_t size);

#endif
