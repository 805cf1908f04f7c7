/* SPDX-License-Identifier: MIT */
/* local/disabled.c - replaces local/ in a library built with -Dlocal=disabled. */
#include "local/local.h"

#include "base/record_size.h"
#include "local/failure.h"

static dibs_status refuse(dibs_error *error)
{
  if (!error_has_room(error))
    return DIBS_ERR_ARGUMENT;
  return failure(error, DIBS_ERR_CONFIG,
                 "this library was built without the private server. Set DIBS_URL to a "
                 "server");
}

dibs_status local_join(char *ret_url, size_t url_size, int *ret_use_fd,
                       dibs_error *error)
{
  (void)ret_url, (void)url_size, (void)ret_use_fd;
  return refuse(error);
}

dibs_status local_lock_open(const char *digest, local_lock *ret_lock, dibs_error *error)
{
  (void)digest, (void)ret_lock;
  return failure(error, DIBS_ERR_UNSUPPORTED, "this library was built without local locks");
}

dibs_status local_lock_try(const local_lock *l, uint64_t *ret_fence)
{
  (void)l, (void)ret_fence;
  return DIBS_ERR_UNSUPPORTED;
}

dibs_status local_lock_share(const local_lock *l)
{
  (void)l;
  return DIBS_ERR_UNSUPPORTED;
}

bool local_lock_is_named(const local_lock *l)
{
  (void)l;
  return true;
}

bool local_lock_copy(const local_lock *l, local_lock *ret_copy)
{
  (void)l, (void)ret_copy;
  return false;
}

void local_lock_close(local_lock *l)
{
  (void)l;
}

void local_lock_end(local_lock *l)
{
  (void)l;
}

dibs_status dibs_local_start(int32_t idle_ms, bool with_aof, dibs_local_info *ret_info,
                             dibs_error *error)
{
  (void)idle_ms, (void)with_aof, (void)ret_info;
  return refuse(error);
}

dibs_status dibs_local_stop(bool forgets, dibs_error *error)
{
  (void)forgets;
  return refuse(error);
}

dibs_status dibs_local_status(dibs_local_info *ret_info, dibs_error *error)
{
  (void)ret_info;
  return refuse(error);
}

dibs_status dibs_sandbox_start(dibs_sandbox **ret_sandbox, char *ret_url, size_t url_size,
                               dibs_error *error)
{
  (void)ret_sandbox, (void)ret_url, (void)url_size;
  return refuse(error);
}

dibs_status dibs_sandbox_start_with(const dibs_sandbox_options *options,
                                    dibs_sandbox **ret_sandbox, char *ret_url,
                                    size_t url_size, dibs_error *error)
{
  (void)options, (void)ret_sandbox, (void)ret_url, (void)url_size;
  return refuse(error);
}

const dibs_sandbox_server *dibs_sandbox_server_at(const dibs_sandbox *sandbox, size_t index)
{
  (void)sandbox, (void)index;
  return NULL;
}

const char *dibs_sandbox_directory(const dibs_sandbox *sandbox)
{
  (void)sandbox;
  return NULL;
}

int64_t dibs_sandbox_keep(dibs_sandbox *sandbox)
{
  (void)sandbox;
  return 0;
}

dibs_sandbox *dibs_sandbox_stop(dibs_sandbox *sandbox)
{
  (void)sandbox;
  return NULL;
}
