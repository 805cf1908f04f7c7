/* SPDX-License-Identifier: MIT */
/* cli/top_json.h - a reading of dibs top as JSON. */
#ifndef CLI_TOP_JSON_H
#define CLI_TOP_JSON_H

#include <jansson.h>

#include "watch/top.h"

/* With the `count` rows; owned by the caller. */
json_t *top_json(const top_reading *r, const watch_row *const *rows, size_t count);

#endif
