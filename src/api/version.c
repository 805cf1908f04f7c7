/* SPDX-License-Identifier: MIT */
/* api/version.c - the version in use. */
#include <dibs/version.h>

const char *dibs_version(void)
{
  return DIBS_VERSION;
}
