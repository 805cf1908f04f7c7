/* SPDX-License-Identifier: MIT */
/* api/rwlock.c - taking a read/write lock, and turning a write hold into a read hold. */
#include "api/api.h"

dibs_status dibs_read_lock(dibs_client *client, const char *name,
                           const dibs_lock_options *options, dibs_hold **ret_hold)
{
  lock_target target = lock_target_of(LOCK_READ, name);

  return lock_blocking(client, &target, options, false, ret_hold);
}

dibs_status dibs_try_read_lock(dibs_client *client, const char *name,
                               const dibs_lock_options *options, dibs_hold **ret_hold)
{
  lock_target target = lock_target_of(LOCK_READ, name);

  return lock_blocking(client, &target, options, true, ret_hold);
}

dibs_status dibs_write_lock(dibs_client *client, const char *name,
                            const dibs_lock_options *options, dibs_hold **ret_hold)
{
  lock_target target = lock_target_of(LOCK_WRITE, name);

  return lock_blocking(client, &target, options, false, ret_hold);
}

dibs_status dibs_try_write_lock(dibs_client *client, const char *name,
                                const dibs_lock_options *options, dibs_hold **ret_hold)
{
  lock_target target = lock_target_of(LOCK_WRITE, name);

  return lock_blocking(client, &target, options, true, ret_hold);
}

dibs_status dibs_read_lock_async(dibs_client *client, const char *name,
                                 const dibs_lock_options *options,
                                 dibs_lock_callback callback, void *data,
                                 dibs_request **ret_request)
{
  lock_target target = lock_target_of(LOCK_READ, name);

  return lock_async(client, &target, options, false, callback, data, ret_request);
}

dibs_status dibs_try_read_lock_async(dibs_client *client, const char *name,
                                     const dibs_lock_options *options,
                                     dibs_lock_callback callback, void *data,
                                     dibs_request **ret_request)
{
  lock_target target = lock_target_of(LOCK_READ, name);

  return lock_async(client, &target, options, true, callback, data, ret_request);
}

dibs_status dibs_write_lock_async(dibs_client *client, const char *name,
                                  const dibs_lock_options *options,
                                  dibs_lock_callback callback, void *data,
                                  dibs_request **ret_request)
{
  lock_target target = lock_target_of(LOCK_WRITE, name);

  return lock_async(client, &target, options, false, callback, data, ret_request);
}

dibs_status dibs_try_write_lock_async(dibs_client *client, const char *name,
                                      const dibs_lock_options *options,
                                      dibs_lock_callback callback, void *data,
                                      dibs_request **ret_request)
{
  lock_target target = lock_target_of(LOCK_WRITE, name);

  return lock_async(client, &target, options, true, callback, data, ret_request);
}

dibs_status dibs_downgrade(dibs_hold *hold)
{
  entry in;
  dibs_status status = claim_enter(hold, HANDLE_HOLD, false, &in);

  if (status != DIBS_OK)
    return status;
  status = engine_downgrade(drive_engine(in.client->drive), in.claim->id, drive_now());
  drive_settle(in.client->drive);
  if (status == DIBS_ERR_ARGUMENT)
    (void)client_fault(in.client, status,
                       "not the only write hold of its owner on a read/write lock");
  claim_leave(&in);
  return status;
}
