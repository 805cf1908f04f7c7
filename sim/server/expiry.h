/* SPDX-License-Identifier: MIT */
/* sim/server/expiry.h - times to live as commands are told them. */
#ifndef SIM_SERVER_EXPIRY_H
#define SIM_SERVER_EXPIRY_H

#include "server/parts.h"

typedef enum expiry_unit { EXPIRY_S, EXPIRY_MS, EXPIRY_AT_S, EXPIRY_AT_MS } expiry_unit;

bool expiry_unit_of(slice word, expiry_unit *ret);         /* EX PX EXAT PXAT */
/* When `number` ends, in ms of the wall clock. false: answered with an error, in the name
 * of command `name`. */
bool expiry_read(call *c, slice number, expiry_unit unit, const char *name,
                 int64_t *ret_ms);
bool expiry_read_positive(call *c, slice number, expiry_unit unit, const char *name,
                          int64_t *ret_ms);                /* 0 and less are errors */

#endif
