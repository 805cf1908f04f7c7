/* SPDX-License-Identifier: MIT */
/* cli/web_json.h - what dibs web answers, as JSON. Each is owned by the caller. */
#ifndef CLI_WEB_JSON_H
#define CLI_WEB_JSON_H

#include <jansson.h>

#include "cli/sampler.h"

#define WEB_PAGE 50          /* rows of a page */

/* Sums, classes, and the names with the longest waits. */
json_t *web_state(const sampler *s);

/* Page `page`, from 0, of the names that contain `filter`. */
json_t *web_names(const sampler *s, enum watch_order order, const char *filter, bool all,
                  size_t page);

/* Holders, queue and history of a name. NULL after a fault, which is written to ret_error. */
json_t *web_name(dibs_client *client, const char *name, size_t size, dibs_error *ret_error);

/* All names with waiters, at most the first hundred, with holders and queue. */
json_t *web_waits(sampler *s);

json_t *web_findings(dibs_client *client);

#endif
