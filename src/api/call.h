/* SPDX-License-Identifier: MIT */
/* api/call.h - a call that runs one operation of sync/, blocking or with a callback. Inside a
 * call of the program (client_begin()); the mutex is not held. */
#ifndef API_CALL_H
#define API_CALL_H

#include "api/wait.h"

/* Blocks until `op` is over; its results are in the op. `plan` NULL: the client's limit of a
 * call. The result is noted for this thread. */
dibs_status call_blocking(client_record *c, sync_op *op, const wait_plan *plan);

typedef struct call_end call_end;
struct call_end {
  /* Gives what the copy of the op has to the program's callback. */
  void (*deliver)(const call_end *to, const sync_op *op, const dibs_error *error);
  void (*callback)(void);            /* cast to its type by deliver() */
  void *data;
};

/* Runs a copy of `op`, a record of `size` bytes. DIBS_OK: `to` gets its end once.
 * DIBS_ERR_ARGUMENT: it has no callback. */
dibs_status call_async(client_record *c, const sync_op *op, size_t size, const wait_plan *plan,
                       const call_end *to, dibs_request **ret_request);

/* A call_end.deliver for operations whose callback gets a status only. */
void call_deliver_status(const call_end *to, const sync_op *op, const dibs_error *error);

#endif
