/* SPDX-License-Identifier: MIT */
/* A C++ program of somebody else that uses the installed headers. Its other half, which may
 * be compiled as another C++, is part.cpp. */
#include <dibs/dibs.hpp>

#include <cstdio>
#include <cstring>
#include <mutex>

bool part_is_refused();

int main()
{
  dibs_options options = DIBS_OPTIONS_INIT;

  options.connect_timeout_ms = 100;
  if (std::strcmp(dibs_version(), DIBS_VERSION) != 0)
    return 1;
  try {
    dibs::client client("gopher://nowhere");
    return 2;
  } catch (const dibs::error &e) {
    if (e.status() != DIBS_ERR_CONFIG)
      return 3;
  }
  dibs::client client("redis://127.0.0.1:1", &options);
  dibs::mutex mutex(client, "outside");

  try {
    const std::lock_guard<dibs::mutex> lock(mutex);
    return 4;
  } catch (const std::system_error &e) {
    if (e.code() != std::errc::host_unreachable)
      return 5;
  }
  if (!part_is_refused())
    return 6;
  std::printf("%s %s\n", dibs_version(), dibs_status_name(DIBS_OK));
  return 0;
}
