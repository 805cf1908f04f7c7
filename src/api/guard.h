/* SPDX-License-Identifier: MIT */
/* api/guard.h - the key of a guarded write or read. */
#ifndef API_GUARD_H
#define API_GUARD_H

#include "api/api.h"

resp_argument guarded_key(const char *key);
dibs_status guarded_key_check(client_record *c, const void *key, size_t size);

#endif
