/* SPDX-License-Identifier: MIT */
/* Commands: lists. */
#include "server/parts.h"

const command commands_list[] = {
  { NULL, 0, 0, NULL }
};
