/* SPDX-License-Identifier: MIT */
/* cli/json.h - parts of the JSON objects on stdout and stderr. */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <jansson.h>
#include <stdbool.h>

#include <dibs/client.h>

/* Text as JSON, whatever bytes it has. */
json_t *json_text(const char *text);

/* Of a process; null: not known, as 0 is the caller's own group for kill(1). */
json_t *json_pid(int64_t pid);

/* A name of at most DIBS_NAME_MAX bytes as two digits for each of them, and back with a final
 * zero: name_of_hex() returns its size; 0: `hex` is none. */
void name_to_hex(const char *name, size_t size, char ret_hex[2 * DIBS_NAME_MAX + 1]);
size_t name_of_hex(const char *hex, char ret_name[DIBS_NAME_MAX + 1]);

/* Sets the key, and the one that it had in 0.5, which ends with 0.7; dibs(1) lists them. */
void json_set_renamed(json_t *object, const char *key, const char *key_of_0_5, json_t *value);

/* The object as one line, without characters that control a terminal; NULL: no memory. */
char *json_line(const json_t *object);

/* Sets "time" to now: ISO 8601, UTC, milliseconds. */
void json_set_time(json_t *object);

/* Writes the object with its time as one line to stdout, and drops it. Without memory it says so
 * and writes nothing. */
void json_print(json_t *object);

/* Whether all that json_print() got was written. */
bool json_is_complete(void);

#endif
