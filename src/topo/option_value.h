/* SPDX-License-Identifier: MIT */
/* topo/option_value.h - what an option of a URL and a key of the config file may hold. */
#ifndef TOPO_OPTION_VALUE_H
#define TOPO_OPTION_VALUE_H

#include "topo/server_url_parts.h"

/* From VALUE_CHOICE on, values are an int32_t, 0 if not set; keywords count from 1. */
typedef enum value_kind {
  VALUE_TEXT, VALUE_SECRET, VALUE_URL, VALUE_DATABASE, VALUE_MAP,
  VALUE_CHOICE, VALUE_DEGRADE, VALUE_DIALECT, VALUE_HISTORY,
  VALUE_DURATION, VALUE_PAUSE, VALUE_REPORT, VALUE_PPM, VALUE_COUNT_OF
} value_kind;

/* Returns NULL, or the end of a message about the option: " must be yes or no". */
const char *option_value_read(value_kind kind, part value, int32_t *ret_value);
void option_value_add(value_kind kind, int32_t value, text *out);
/* Whether nothing but keywords is allowed, so that a message may show what was written. */
bool option_value_is_word(value_kind kind);

#endif
