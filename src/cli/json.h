/* SPDX-License-Identifier: MIT */
/* cli/json.h - parts of the JSON objects on stdout and stderr. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <jansson.h>

/* Text as JSON, whatever bytes it has. */
json_t *json_text(const char *text);

/* Sets "time" to now: ISO 8601, UTC, milliseconds. */
void json_set_time(json_t *object);

/* Writes the object with its time as one line to stdout, and drops it. */
void json_print(json_t *object);

#endif
