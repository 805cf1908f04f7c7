/* SPDX-License-Identifier: MIT */
/* local/calls.c - the exported functions. In none of them can the thread be cancelled: servers,
 * locks and descriptors would stay. */
#include "base/cancel_state.h"
#include "base/record_size.h"
#include "local/local.h"

dibs_status dibs_local_start(int32_t idle_ms, bool with_aof, dibs_local_info *ret_info,
                             dibs_error *error)
{
  int before = cancel_off();
  dibs_status status = !error_has_room(error) ? DIBS_ERR_ARGUMENT
                         : local_start(idle_ms, with_aof, ret_info, error);

  cancel_restore(before);
  return status;
}

dibs_status dibs_local_stop(bool forgets, dibs_error *error)
{
  int before = cancel_off();
  dibs_status status = !error_has_room(error) ? DIBS_ERR_ARGUMENT
                         : local_stop(forgets, error);

  cancel_restore(before);
  return status;
}

dibs_status dibs_local_status(dibs_local_info *ret_info, dibs_error *error)
{
  int before = cancel_off();
  dibs_status status = !error_has_room(error) ? DIBS_ERR_ARGUMENT
                         : local_status(ret_info, error);

  cancel_restore(before);
  return status;
}

dibs_status dibs_sandbox_start(dibs_sandbox **ret_sandbox, char *ret_url, size_t url_size,
                               dibs_error *error)
{
  return dibs_sandbox_start_with(NULL, ret_sandbox, ret_url, url_size, error);
}

dibs_status dibs_sandbox_start_with(const dibs_sandbox_options *options,
                                    dibs_sandbox **ret_sandbox, char *ret_url,
                                    size_t url_size, dibs_error *error)
{
  int before = cancel_off();
  dibs_status status = !error_has_room(error) ? DIBS_ERR_ARGUMENT
                         : sandbox_start(options, ret_sandbox, ret_url, url_size, error);

  cancel_restore(before);
  return status;
}

int64_t dibs_sandbox_keep(dibs_sandbox *sandbox)
{
  int before = cancel_off();
  int64_t pid = sandbox_keep(sandbox);

  cancel_restore(before);
  return pid;
}

dibs_sandbox *dibs_sandbox_stop(dibs_sandbox *sandbox)
{
  int before = cancel_off();
  dibs_sandbox *left = sandbox_stop(sandbox);

  cancel_restore(before);
  return left;
}
