/* SPDX-License-Identifier: MIT */
/* api/value.h - values that are handed out: dibs_value. */
#ifndef API_VALUE_H
#define API_VALUE_H

#include <dibs/value.h>

#include "api/fault.h"
#include "dialect/data.h"

/* Copies a value for the program. Client pinned. `is_read`: of a request that changes nothing. */
dibs_status value_out(client_record *c, const data_value *v, bool is_read,
                      dibs_value **ret_value);

#endif
