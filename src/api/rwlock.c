/* SPDX-License-Identifier: MIT */
/* api/rwlock.c - converts a write hold into a read hold. */
#include "api/api.h"

/* A longer lease, which a writer has if it is fixed, could be shortened by a peer that reads. What
 * is no read/write lock is refused by the engine. */
static bool is_too_long_to_read(const claim *cl)
{
  int32_t most_ms = cl->client->names.dialect->traits.readers_ttl_ms;
  int64_t left_ns = atomic_load(&cl->hold->valid_until_ns) - drive_now().ns;

  return cl->note.kind == DIBS_KIND_RWLOCK && most_ms != 0 &&
         left_ns > span_ms(most_ms).ns;
}

dibs_status dibs_downgrade(dibs_hold *hold)
{
  entry in;
  dibs_status status = claim_enter(hold, HANDLE_HOLD, false, &in);

  if (status != DIBS_OK)
    return status;
  if (is_too_long_to_read(in.claim)) {
    status = client_fault(in.client, DIBS_ERR_UNSUPPORTED,
                          "its fixed lease is longer than one to read may be in this dialect");
    return claim_leave(&in, status);
  }
  status = engine_downgrade(drive_engine(in.client->drive), in.claim->id, drive_now());
  drive_flush(in.client->drive);
  if (status == DIBS_ERR_ARGUMENT)
    (void)client_fault(in.client, status,
                       "not the only write hold of its owner on a read/write lock");
  return claim_leave(&in, status);
}
