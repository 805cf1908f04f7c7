/* SPDX-License-Identifier: MIT */
/* The other half of program.cpp. */
#include <dibs/dibs.hpp>

bool part_is_refused()
{
  dibs_options options = DIBS_OPTIONS_INIT;

  options.connect_timeout_ms = 100;
  dibs::client client("redis://127.0.0.1:1", &options);
  dibs::mutex mutex(client, "outside");
  dibs_status status = DIBS_OK;

  return !mutex.acquire(dibs::at_once, status) && status == DIBS_ERR_UNREACHABLE;
}
