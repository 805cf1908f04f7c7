/* SPDX-License-Identifier: MIT */
/* api/event_loop.c - a client in the program's own event loop: dibs_fd() and dibs_process(). */
#include "api/api.h"

int dibs_fd(dibs_client *client)
{
  client_record *c;
  int fd;

  if (client_look(client, &c) != DIBS_OK)
    return -1;
  fd = drive_show_fd(c->drive);
  client_unlook(c);
  return fd;
}

/* Counted as a call, so that dibs_close() waits for the callbacks that run in it. */
static dibs_status process(client_record *c, int64_t *ret_wait_ms)
{
  dibs_status status = client_enter(c, true);
  int64_t left;

  if (status != DIBS_OK)
    return status;
  if (drive_fd(c->drive) < 0) {
    status = client_fault(c, DIBS_ERR_UNSUPPORTED,
                          "this client has its own threads; open it with "
                          "DIBS_CLIENT_NO_THREAD or DIBS_CLIENT_PROCESS_CALLBACKS");
    client_leave(c);
    return status;
  }
  drive_unlock(c->drive);
  left = drive_process(c->drive);
  if (c->epoch != fork_epoch())          /* a callback has made this child; it came back from it */
    return DIBS_ERR_FORKED;
  drive_lock(c->drive);
  client_leave(c);
  if (ret_wait_ms != NULL)
    *ret_wait_ms = left;
  return DIBS_OK;
}

dibs_status dibs_process(dibs_client *client, int64_t *ret_wait_ms)
{
  client_record *c;
  dibs_status status = client_begin(client, true, &c);

  return status == DIBS_OK ? client_end(c, process(c, ret_wait_ms)) : status;
}
