/* SPDX-License-Identifier: MIT */
/* api/rwlock.c - takes read/write locks, and converts a write hold into a read hold. */
#include "api/api.h"

static lock_call rwlock_call_of_bytes(const void *name, size_t name_size, bool reads)
{
  lock_call call = lock_call_of_bytes(LOCK_RWLOCK, name, name_size);

  call.spec.reads = reads;
  return call;
}

static lock_call rwlock_call(const char *name, bool reads)
{
  lock_call call = lock_call_of(LOCK_RWLOCK, name);

  call.spec.reads = reads;
  return call;
}

dibs_status dibs_read_lock(dibs_client *client, const char *name,
                           const dibs_lock_options *options, dibs_hold **ret_hold)
{
  lock_call call = rwlock_call(name, true);

  return take_blocking(client, &call, options, false, ret_hold);
}

dibs_status dibs_try_read_lock(dibs_client *client, const char *name,
                               const dibs_lock_options *options, dibs_hold **ret_hold)
{
  lock_call call = rwlock_call(name, true);

  return take_blocking(client, &call, options, true, ret_hold);
}

dibs_status dibs_write_lock(dibs_client *client, const char *name,
                            const dibs_lock_options *options, dibs_hold **ret_hold)
{
  lock_call call = rwlock_call(name, false);

  return take_blocking(client, &call, options, false, ret_hold);
}

dibs_status dibs_try_write_lock(dibs_client *client, const char *name,
                                const dibs_lock_options *options, dibs_hold **ret_hold)
{
  lock_call call = rwlock_call(name, false);

  return take_blocking(client, &call, options, true, ret_hold);
}

dibs_status dibs_read_lock_bytes(dibs_client *client, const void *name, size_t name_size,
                                 const dibs_lock_options *options, dibs_hold **ret_hold)
{
  lock_call call = rwlock_call_of_bytes(name, name_size, true);

  return take_blocking(client, &call, options, false, ret_hold);
}

dibs_status dibs_try_read_lock_bytes(dibs_client *client, const void *name, size_t name_size,
                                     const dibs_lock_options *options, dibs_hold **ret_hold)
{
  lock_call call = rwlock_call_of_bytes(name, name_size, true);

  return take_blocking(client, &call, options, true, ret_hold);
}

dibs_status dibs_write_lock_bytes(dibs_client *client, const void *name, size_t name_size,
                                  const dibs_lock_options *options, dibs_hold **ret_hold)
{
  lock_call call = rwlock_call_of_bytes(name, name_size, false);

  return take_blocking(client, &call, options, false, ret_hold);
}

dibs_status dibs_try_write_lock_bytes(dibs_client *client, const void *name, size_t name_size,
                                      const dibs_lock_options *options, dibs_hold **ret_hold)
{
  lock_call call = rwlock_call_of_bytes(name, name_size, false);

  return take_blocking(client, &call, options, true, ret_hold);
}

dibs_status dibs_read_lock_async(dibs_client *client, const char *name,
                                 const dibs_lock_options *options,
                                 dibs_lock_callback callback, void *data,
                                 dibs_request **ret_request)
{
  lock_call call = rwlock_call(name, true);

  return take_async(client, &call, options, false, callback, data, ret_request);
}

dibs_status dibs_try_read_lock_async(dibs_client *client, const char *name,
                                     const dibs_lock_options *options,
                                     dibs_lock_callback callback, void *data,
                                     dibs_request **ret_request)
{
  lock_call call = rwlock_call(name, true);

  return take_async(client, &call, options, true, callback, data, ret_request);
}

dibs_status dibs_write_lock_async(dibs_client *client, const char *name,
                                  const dibs_lock_options *options,
                                  dibs_lock_callback callback, void *data,
                                  dibs_request **ret_request)
{
  lock_call call = rwlock_call(name, false);

  return take_async(client, &call, options, false, callback, data, ret_request);
}

dibs_status dibs_try_write_lock_async(dibs_client *client, const char *name,
                                      const dibs_lock_options *options,
                                      dibs_lock_callback callback, void *data,
                                      dibs_request **ret_request)
{
  lock_call call = rwlock_call(name, false);

  return take_async(client, &call, options, true, callback, data, ret_request);
}

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
