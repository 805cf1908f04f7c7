/* SPDX-License-Identifier: MIT */
/* cli/url.h - small changes to a server's URL; only the library understands it all. */
#ifndef CLI_URL_H
#define CLI_URL_H

#include <stdbool.h>

/* Each returns a new text, to be freed; NULL when memory is refused. */

/* Without the password of the user part and of the query. */
char *url_without_password(const char *url);

/* With another database number. */
char *url_with_database(const char *url, int database);

/* With `key=value` in the query, instead of what it said there; the value is escaped. */
char *url_with_query(const char *url, const char *key, const char *value);

/* The password in the user part, unescaped; NULL when there is none. */
char *url_password(const char *url);

#endif
