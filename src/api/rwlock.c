/* SPDX-License-Identifier: MIT */
/* api/rwlock.c - converts a write hold into a read hold. */
#include "api/api.h"

dibs_status dibs_downgrade(dibs_hold *hold)
{
  entry in;
  dibs_status status = claim_enter(hold, HANDLE_HOLD, false, &in);

  if (status != DIBS_OK)
    return status;
  status = engine_downgrade(drive_engine(in.client->drive), in.claim->id, drive_now());
  drive_flush(in.client->drive);
  if (status == DIBS_ERR_ARGUMENT)
    (void)client_fault(in.client, status,
                       "not the only write hold of its owner on a read/write lock");
  return claim_leave(&in, status);
}
