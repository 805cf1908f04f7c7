/* SPDX-License-Identifier: MIT */
#include <dibs/version.h>

const char *dibs_version(void)
{
  return DIBS_VERSION;
}
