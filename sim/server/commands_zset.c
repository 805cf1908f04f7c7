/* SPDX-License-Identifier: MIT */
/* Commands: sorted sets. */
#include "server/parts.h"

const command commands_zset[] = {
  { NULL, 0, 0, NULL }
};

const command commands_zset_range[] = {
  { NULL, 0, 0, NULL }
};
