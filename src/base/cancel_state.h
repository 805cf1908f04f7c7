/* SPDX-License-Identifier: MIT */
/* base/cancel_state.h - pthread_cancel() must not end a thread inside a public call: it would leave
 * a mutex locked, or a client whose sockets no thread reads. A call that has a handle pins it,
 * which does this (drive_enter_call()); the few without one, and what frees the data of a callback
 * after the last handle, do it by themselves. */
#ifndef BASE_CANCEL_STATE_H
#define BASE_CANCEL_STATE_H

#include <pthread.h>

/* Returns what cancel_restore() takes. Async-signal-safe, as dibs_cancel() needs it. */
static inline int cancel_off(void)
{
  int before = PTHREAD_CANCEL_ENABLE;

  (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  return before;
}

static inline void cancel_restore(int before)
{
  (void)pthread_setcancelstate(before, NULL);
}

#endif
